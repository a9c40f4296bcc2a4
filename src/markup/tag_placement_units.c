/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The units of a translation, and what share of each source token they have. */
#include "base/memory/utf8.h"
#include "markup/tag_placement_int.h"
#include "text/terms/protect.h"

#include <string.h>

enum {
    FROZEN_MAX = 32,       /* frozen texts of one sentence that are searched for letter by letter */
    DIVIDED_MAX = 32,      /* words of one sentence that markup divides */
    DIVIDED_WORD_MAX = 64, /* bytes of one of them */
};

/* ---- Units ----------------------------------------------------------------------------------- */

static bool is_blank_cp(uint32_t cp)
{
    return cp <= ' ' || cp == 0xA0 || cp == 0x3000 || cp == 0x202F || cp == 0x2009;
}

bool dg_placement_is_mark(uint32_t cp)
{
    return (cp < 0x80 &&
            !((cp >= '0' && cp <= '9') || (cp >= 'A' && cp <= 'Z') || (cp >= 'a' && cp <= 'z'))) ||
           (cp >= 0xA1 && cp <= 0xBF && cp != 0xAA && cp != 0xB5 && cp != 0xBA) ||
           (cp >= 0x2010 && cp <= 0x206F) || (cp >= 0x3001 && cp <= 0x3003) ||
           (cp >= 0x3008 && cp <= 0x3011) || (cp >= 0xFF01 && cp <= 0xFF0F) || cp == 0x060C ||
           cp == 0x061F || cp == 0x0964;
}

/* Apostrophes, and hyphens, within a word. */
static bool is_joiner(uint32_t cp)
{
    return cp == '\'' || cp == 0x2019 || cp == '-' || cp == 0x2011 || cp == 0xAD;
}

/* The texts of frozen elements, FROZEN_MAX at most. */
static size_t list_frozen(const struct dg_placement *placement, struct dg_span frozen[FROZEN_MAX])
{
    size_t n = 0;
    for (size_t i = placement->part->inner; i < placement->part->end && n < FROZEN_MAX; i++)
        if (placement->items[i].kind == DG_DOC_FROZEN)
            frozen[n++] = dg_span_sub(placement->plain, placement->items[i].plain_at,
                                      placement->items[i].plain_len);
    return n;
}

/* The length of a frozen element's text at `at`; 0 when there is none. */
static size_t frozen_at(const struct dg_placement *placement, const struct dg_span *frozen,
                        size_t n, size_t at)
{
    for (size_t i = 0; i < n; i++)
        if (dg_span_eq(dg_span_sub(placement->text, at, frozen[i].len), frozen[i]))
            return frozen[i].len;
    return 0;
}

/* Units also begin and end where a frozen text does: "f's" is not one word after a frozen "f". What
 * is protected (protect.h), such as "{0}", is one unit; a number is not, as markup may divide it
 * from its measure. */
static void cut_units(struct dg_placement *placement)
{
    struct dg_span text = placement->text, list[FROZEN_MAX];
    const size_t n_frozen = list_frozen(placement, list);
    size_t at = 0, len, stop = 0, next = 0;
    bool in_word = false;
    uint32_t cp = 0, behind;
    struct dg_protect_list spans;
    dg_protect_list_init(&spans);
    placement->err = dg_protect_find(text, DG_PROTECT_ALL & ~(1u << DG_PROTECT_NUMBER), &spans);
    for (; at < text.len; at += len) {
        while (next < spans.n && spans.items[next].at < at)
            next++;
        if (next < spans.n && spans.items[next].at == at) {
            len = spans.items[next++].len;
            placement->units[placement->n_units++] =
                (struct dg_text_unit){.at = at, .len = len, .is_word = true};
            in_word = false;
            continue;
        }
        len = dg_utf8_decode(text, at, &cp);
        if (len == 0) {
            len = 1;
            cp = '?';
        }
        if (at >= stop) {
            size_t frozen = frozen_at(placement, list, n_frozen, at);
            in_word = in_word && frozen == 0 && at > stop;
            stop = frozen ? at + frozen : stop;
        }
        if (is_blank_cp(cp)) {
            in_word = false;
            continue;
        }
        bool is_word = !dg_placement_is_mark(cp) ||
                       (in_word && is_joiner(cp) && dg_utf8_decode(text, at + len, &behind) > 0 &&
                        !dg_placement_is_mark(behind) && !is_blank_cp(behind));
        if (is_word && in_word && !dg_cp_is_unspaced(cp))
            placement->units[placement->n_units - 1].len += len;
        else
            placement->units[placement->n_units++] =
                (struct dg_text_unit){.at = at, .len = len, .is_word = is_word};
        in_word = is_word && !dg_cp_is_unspaced(cp);
    }
    dg_protect_list_deinit(&spans);
}

/* ---- Words that markup divides --------------------------------------------------------------- */

static bool is_word_cp(uint32_t cp)
{
    return !dg_placement_is_mark(cp) && !is_blank_cp(cp);
}

/* The word of the source that has letters on both sides of `at`, or nothing. */
static struct dg_span word_around(const struct dg_placement *placement, size_t at, size_t *begin)
{
    const struct dg_span plain = placement->plain;
    const size_t first = placement->part->at, last = first + placement->part->len;
    size_t from = at, to = at, len;
    uint32_t cp = 0;
    while (from > first && to - from <= DIVIDED_WORD_MAX) {
        size_t before = from - 1;
        while (before > first && ((unsigned char)plain.ptr[before] & 0xC0) == 0x80)
            before--;
        if (dg_utf8_decode(plain, before, &cp) == 0 || !is_word_cp(cp))
            break;
        from = before;
    }
    while (to < last && to - from <= DIVIDED_WORD_MAX &&
           (len = dg_utf8_decode(plain, to, &cp)) > 0 && is_word_cp(cp))
        to += len;
    *begin = from;
    return from < at && at < to && to - from <= DIVIDED_WORD_MAX
               ? dg_span_sub(plain, from, to - from)
               : DG_SPAN("");
}

bool dg_placement_is_letter(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (unsigned char)c >= 0x80;
}

/* How often a word of the source occurs before `begin`. */
static size_t times_before(const struct dg_placement *placement, struct dg_span word, size_t begin)
{
    const struct dg_span plain = placement->plain;
    size_t n = 0;
    for (size_t at = placement->part->at; at + word.len <= begin; at++)
        n += plain.ptr[at] == word.ptr[0] && dg_span_eq(dg_span_sub(plain, at, word.len), word) &&
             (at == 0 || !dg_placement_is_letter(plain.ptr[at - 1])) &&
             !dg_placement_is_letter(plain.ptr[at + word.len]);
    return n;
}

/* Splits a unit into two; there is room, because every unit has a byte. */
static void divide_unit(struct dg_placement *placement, struct dg_text_unit *unit, size_t len,
                        size_t source_len)
{
    const size_t n_behind = placement->n_units - (size_t)(unit - placement->units);
    memmove(unit + 1, unit, n_behind * sizeof *unit);
    placement->n_units++;
    unit[0].len = len;
    unit[0].source_len = source_len;
    unit[1].at += len;
    unit[1].len -= len;
    unit[1].source_at += source_len;
    unit[1].source_len -= source_len;
}

/* Whether a unit is the word, or ends with it after an apostrophe: "l'H2O". */
static bool has_word(const struct dg_placement *placement, const struct dg_text_unit *unit,
                     struct dg_span word)
{
    const struct dg_span text = dg_span_sub(placement->text, unit->at, unit->len);
    const struct dg_span before = dg_span_sub(text, 0, text.len - word.len);
    return text.len >= word.len && dg_span_ends(text, word) &&
           (before.len == 0 || dg_span_ends(before, DG_SPAN("'")) ||
            dg_span_ends(before, DG_SPAN("\xE2\x80\x99")));
}

/* The unit that repeats a word of the source: of several, the one with the same number, or else the
 * last. */
static struct dg_text_unit *find_repeated(struct dg_placement *placement, struct dg_span word,
                                          size_t begin)
{
    struct dg_text_unit *found = NULL;
    size_t left = times_before(placement, word, begin) + 1;
    for (size_t u = 0; u < placement->n_units && left > 0; u++) {
        struct dg_text_unit *unit = &placement->units[u];
        if (unit->source_len == 0 && unit->len >= word.len && has_word(placement, unit, word)) {
            found = unit;
            left--;
        }
    }
    if (found && found->len > word.len) {
        divide_unit(placement, found, found->len - word.len, 0);
        found++;
    }
    return found;
}

static size_t count_digits(struct dg_span text)
{
    size_t n = 0;
    while (n < text.len && text.ptr[n] >= '0' && text.ptr[n] <= '9')
        n++;
    return n;
}

/* The unit that has the number of an ordinal with other letters or none: "1st" or "1" for "1er". */
static struct dg_text_unit *find_ordinal(const struct dg_placement *placement, struct dg_span word,
                                         size_t n_digits)
{
    const struct dg_span digits = dg_span_sub(word, 0, n_digits);
    for (size_t u = 0; u < placement->n_units && n_digits > 0; u++) {
        struct dg_text_unit *unit = &placement->units[u];
        const struct dg_span text = dg_span_sub(placement->text, unit->at, unit->len);
        if (unit->source_len == 0 && count_digits(text) == n_digits && dg_span_starts(text, digits))
            return unit;
    }
    return NULL;
}

static struct dg_text_unit *unit_across(const struct dg_placement *placement, size_t at)
{
    for (size_t u = 0; u < placement->n_units; u++) {
        struct dg_text_unit *unit = &placement->units[u];
        if (unit->source_at < at && at < unit->source_at + unit->source_len)
            return unit->len == unit->source_len ? unit : NULL;
    }
    return NULL;
}

/* Divides the units that repeat a word of the source where markup divides that word. */
static void divide_units(struct dg_placement *placement)
{
    size_t last_at = SIZE_MAX, last_begin = SIZE_MAX, n_words = 0, begin;
    for (size_t i = placement->part->inner; i < placement->part->end; i++) {
        const struct dg_doc_item *item = &placement->items[i];
        const size_t at = item->plain_at;
        if (item->kind < DG_DOC_OPEN || item->kind > DG_DOC_POINT || at == last_at)
            continue;
        last_at = at;
        const struct dg_span word = word_around(placement, at, &begin);
        if (word.len == 0)
            continue;
        struct dg_text_unit *unit = NULL;
        if (begin == last_begin) {
            unit = unit_across(placement, at);
        } else if (n_words++ == DIVIDED_MAX) {
            return;
        } else if ((unit = find_repeated(placement, word, begin)) != NULL) {
            unit->source_at = begin;
            unit->source_len = word.len;
        } else if (count_digits(word) == at - begin &&
                   (unit = find_ordinal(placement, word, at - begin)) != NULL) {
            unit->source_at = begin;
            unit->source_len = unit->len > at - begin ? word.len : at - begin;
        }
        last_begin = begin;
        if (unit && unit->len > at - unit->source_at)
            divide_unit(placement, unit, at - unit->source_at, at - unit->source_at);
    }
}

void dg_placement_cut(struct dg_placement *placement)
{
    cut_units(placement);
    if (!placement->doc->is_subtitle)
        divide_units(placement);
}

/* ---- Shares ---------------------------------------------------------------------------------- */

static float *row(const struct dg_placement *placement, size_t u)
{
    return placement->shares + u * (placement->n_source + 1);
}

static void share_attention(struct dg_placement *placement,
                            const struct dg_tag_placement_target *said)
{
    size_t from = 0, u = 0;
    for (size_t t = 0; t < said->n; t++) {
        size_t to = said->ends[t];
        const float *attention = said->alignment + t * placement->n_source;
        while (u < placement->n_units && placement->units[u].at + placement->units[u].len <= from)
            u++;
        for (size_t k = u; k < placement->n_units && placement->units[k].at < to; k++) {
            const struct dg_text_unit *unit = &placement->units[k];
            size_t start = unit->at > from ? unit->at : from;
            size_t stop = unit->at + unit->len < to ? unit->at + unit->len : to;
            for (size_t s = 0; s < placement->n_source && stop > start; s++)
                row(placement, k)[s + 1] += attention[s] * (float)(stop - start);
        }
        from = to > from ? to : from;
    }
}

/* Without attention, a unit's shares go to the source tokens at the same relative place. */
static void share_by_place(struct dg_placement *placement)
{
    float length = (float)placement->part->len + 1.0f, said = (float)placement->text.len + 1.0f;
    for (size_t u = 0; u < placement->n_units; u++) {
        float place = ((float)placement->units[u].at + (float)placement->units[u].len / 2) / said;
        for (size_t s = 0; s < placement->n_source; s++) {
            float middle = ((float)(placement->begins[s] + placement->ends[s]) / 2 -
                            (float)placement->part->at) /
                           length;
            float apart = (place - middle) * 12.0f;
            row(placement, u)[s + 1] = 1.0f / (1.0f + apart * apart * apart * apart);
        }
    }
}

/* True when the unit is, letter by letter, the source word that begins at a token. */
static bool is_same_word(const struct dg_placement *placement, const struct dg_text_unit *unit,
                         size_t s)
{
    struct dg_span word = dg_span_sub(placement->text, unit->at, unit->len);
    struct dg_span there = dg_span_sub(placement->plain, placement->begins[s], unit->len);
    size_t behind = placement->begins[s] + unit->len;
    bool begins = placement->begins[s] == 0 ||
                  !dg_placement_is_letter(placement->plain.ptr[placement->begins[s] - 1]);
    bool ends =
        behind >= placement->plain.len || !dg_placement_is_letter(placement->plain.ptr[behind]);
    return begins && ends && word.len > 1 && dg_span_eq(word, there);
}

/* A name or number that occurs in both texts is matched with itself, whatever the attention
 * says. */
static void share_same_words(struct dg_placement *placement)
{
    for (size_t u = 0; u < placement->n_units; u++) {
        const struct dg_text_unit *unit = &placement->units[u];
        for (size_t s = 0; s < placement->n_source && unit->is_word; s++)
            if (placement->ends[s] > placement->begins[s] && is_same_word(placement, unit, s))
                row(placement, u)[s + 1] += (float)unit->len;
    }
}

/* Makes the sums from the left; tokens without text of their own (the end token) do not count. */
static void sum_up(struct dg_placement *placement)
{
    for (size_t u = 0; u < placement->n_units; u++) {
        float *sums = row(placement, u), total = 0;
        sums[0] = 0;
        for (size_t s = 0; s < placement->n_source; s++)
            total += placement->ends[s] > placement->begins[s] ? sums[s + 1] : 0;
        for (size_t s = 0; s < placement->n_source; s++) {
            float share =
                placement->ends[s] > placement->begins[s] && total > 0 ? sums[s + 1] / total : 0;
            sums[s + 1] = sums[s] + share;
        }
    }
}

void dg_placement_tokens(const struct dg_placement *placement, size_t from, size_t to,
                         size_t *first, size_t *last)
{
    size_t s = 0;
    while (s < placement->n_source && placement->ends[s] <= from)
        s++;
    *first = s;
    while (s < placement->n_source && placement->begins[s] < to)
        s++;
    *last = s;
}

float dg_placement_affinity(const struct dg_placement *placement, size_t u, size_t first,
                            size_t last)
{
    return last > first ? row(placement, u)[last] - row(placement, u)[first] : 0;
}

void dg_placement_share(struct dg_placement *placement, const struct dg_tag_placement_target *said)
{
    if (said->alignment)
        share_attention(placement, said);
    else
        share_by_place(placement);
    share_same_words(placement);
    sum_up(placement);
}
