/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The translation is cut into units: words, ideographs, marks. Each unit has a share of every
 * source token. The affinity of a stretch of the source to a unit is the part of the unit's shares
 * that lies in the stretch. An element is placed around the units whose affinities, less one half
 * each, have the largest sum (Kadane's maximum subarray); its children are placed inside it in the
 * same way. So every tag occurs once, and nesting is legal by construction.
 *
 *     source   le [chat noir] dort        chat noir: cat .9  black .95  the .1  sleeps .0
 *     units    the black cat sleeps      -.4  +.45  +.4  -.5      ->  the [black cat] sleeps
 *
 * A word that markup divides, as in H<sub>2</sub>O, is divided in the same way where the
 * translation repeats it.
 *
 * Tags whose partner is in another sentence divide the units in two. So do the borders of cues in
 * subtitles; subtitle_layout.h chooses the places of these borders and of line ends. */
#include "markup/tag_placement.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "markup/subtitle.h"
#include "markup/subtitle_layout.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* siblings of which the best is placed first; further ones are placed in order */
    RANKED_MAX = 64,
    FROZEN_MAX = 32, /* frozen texts of one sentence that are searched for letter by letter */
    WORDS_MAX = 1000,
    WORD_MAX = 24,         /* bytes; longer words are cut, for scripts without spaces */
    DIVIDED_MAX = 32,      /* words of one sentence that markup divides */
    DIVIDED_WORD_MAX = 64, /* bytes of one of them */
};

/* An element or a point among its siblings. */
struct node {
    size_t item, end; /* items: that of its opening tag, and the one after its last */
    size_t lo, hi;    /* units; lo equals hi for what stands between two units */
    float score;
};

struct placement {
    const struct dg_doc *doc;
    const struct dg_doc_item *items;
    const struct dg_doc_part *part;
    struct dg_span original, plain, text;
    struct dg_buf *out;
    struct dg_text_unit *units; /* owned; [n_units] */
    size_t n_units;
    size_t *begins, *ends; /* owned; [n_source] bounds of the tokens, without spaces */
    size_t n_source;
    float *shares; /* owned; [n_units, n_source + 1] sums from the left; each unit has 0 to 1 */
    struct node *nodes; /* owned; [n_nodes] of all levels, those of a level in a row */
    size_t n_nodes;
    size_t n_claims; /* stretches that are taken so far */
    struct {
        size_t at, lo, hi, level, n_claims, found;
        bool is_set;
    } boundary; /* the result of the last search, because many tags may be at one place */
    struct {
        size_t from, to; /* white space of the text that becomes a line end */
        bool is_set;
    } line;
    enum dg_err err;
};

/* ---- Units ----------------------------------------------------------------------------------- */

static bool is_blank_cp(uint32_t cp)
{
    return cp <= ' ' || cp == 0xA0 || cp == 0x3000 || cp == 0x202F || cp == 0x2009;
}

static bool is_mark(uint32_t cp)
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
static size_t list_frozen(const struct placement *placement, struct dg_span frozen[FROZEN_MAX])
{
    size_t n = 0;
    for (size_t i = placement->part->inner; i < placement->part->end && n < FROZEN_MAX; i++)
        if (placement->items[i].kind == DG_DOC_FROZEN)
            frozen[n++] = dg_span_sub(placement->plain, placement->items[i].plain_at,
                                      placement->items[i].plain_len);
    return n;
}

/* The length of a frozen element's text at `at`; 0 when there is none. */
static size_t frozen_at(const struct placement *placement, const struct dg_span *frozen, size_t n,
                        size_t at)
{
    for (size_t i = 0; i < n; i++)
        if (dg_span_eq(dg_span_sub(placement->text, at, frozen[i].len), frozen[i]))
            return frozen[i].len;
    return 0;
}

/* Units also begin and end where a frozen text does: "f's" is not one word after a frozen "f". */
static void cut_units(struct placement *placement)
{
    struct dg_span text = placement->text, list[FROZEN_MAX];
    const size_t n_frozen = list_frozen(placement, list);
    size_t at = 0, len, stop = 0;
    bool in_word = false;
    uint32_t cp = 0, behind;
    for (; at < text.len; at += len) {
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
        bool is_word = !is_mark(cp) ||
                       (in_word && is_joiner(cp) && dg_utf8_decode(text, at + len, &behind) > 0 &&
                        !is_mark(behind) && !is_blank_cp(behind));
        if (is_word && in_word && !dg_cp_is_unspaced(cp))
            placement->units[placement->n_units - 1].len += len;
        else
            placement->units[placement->n_units++] =
                (struct dg_text_unit){.at = at, .len = len, .is_word = is_word};
        in_word = is_word && !dg_cp_is_unspaced(cp);
    }
}

/* ---- Words that markup divides --------------------------------------------------------------- */

static bool is_word_cp(uint32_t cp)
{
    return !is_mark(cp) && !is_blank_cp(cp);
}

/* The word of the source that has letters on both sides of `at`, or nothing. */
static struct dg_span word_around(const struct placement *placement, size_t at, size_t *begin)
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

static bool is_letter_or_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (unsigned char)c >= 0x80;
}

/* How often a word of the source occurs before `begin`. */
static size_t times_before(const struct placement *placement, struct dg_span word, size_t begin)
{
    const struct dg_span plain = placement->plain;
    size_t n = 0;
    for (size_t at = placement->part->at; at + word.len <= begin; at++)
        n += plain.ptr[at] == word.ptr[0] && dg_span_eq(dg_span_sub(plain, at, word.len), word) &&
             (at == 0 || !is_letter_or_digit(plain.ptr[at - 1])) &&
             !is_letter_or_digit(plain.ptr[at + word.len]);
    return n;
}

/* Splits a unit into two; there is room, because every unit has a byte. */
static void divide_unit(struct placement *placement, struct dg_text_unit *unit, size_t len,
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
static bool has_word(const struct placement *placement, const struct dg_text_unit *unit,
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
static struct dg_text_unit *find_repeated(struct placement *placement, struct dg_span word,
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
static struct dg_text_unit *find_ordinal(const struct placement *placement, struct dg_span word,
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

static struct dg_text_unit *unit_across(const struct placement *placement, size_t at)
{
    for (size_t u = 0; u < placement->n_units; u++) {
        struct dg_text_unit *unit = &placement->units[u];
        if (unit->source_at < at && at < unit->source_at + unit->source_len)
            return unit->len == unit->source_len ? unit : NULL;
    }
    return NULL;
}

/* Divides the units that repeat a word of the source where markup divides that word. */
static void divide_units(struct placement *placement)
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

/* ---- Shares ---------------------------------------------------------------------------------- */

static float *row(const struct placement *placement, size_t u)
{
    return placement->shares + u * (placement->n_source + 1);
}

static void share_attention(struct placement *placement, const struct dg_tag_placement_target *said)
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
static void share_by_place(struct placement *placement)
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
static bool is_same_word(const struct placement *placement, const struct dg_text_unit *unit,
                         size_t s)
{
    struct dg_span word = dg_span_sub(placement->text, unit->at, unit->len);
    struct dg_span there = dg_span_sub(placement->plain, placement->begins[s], unit->len);
    size_t behind = placement->begins[s] + unit->len;
    bool begins = placement->begins[s] == 0 ||
                  !is_letter_or_digit(placement->plain.ptr[placement->begins[s] - 1]);
    bool ends = behind >= placement->plain.len || !is_letter_or_digit(placement->plain.ptr[behind]);
    return begins && ends && word.len > 1 && dg_span_eq(word, there);
}

/* A name or number that occurs in both texts is matched with itself, whatever the attention
 * says. */
static void share_same_words(struct placement *placement)
{
    for (size_t u = 0; u < placement->n_units; u++) {
        const struct dg_text_unit *unit = &placement->units[u];
        for (size_t s = 0; s < placement->n_source && unit->is_word; s++)
            if (placement->ends[s] > placement->begins[s] && is_same_word(placement, unit, s))
                row(placement, u)[s + 1] += (float)unit->len;
    }
}

/* Makes the sums from the left; tokens without text of their own (the end token) do not count. */
static void sum_up(struct placement *placement)
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

/* The tokens that lie in a stretch of the plain text: [*first, *last). */
static void tokens_in(const struct placement *placement, size_t from, size_t to, size_t *first,
                      size_t *last)
{
    size_t s = 0;
    while (s < placement->n_source && placement->ends[s] <= from)
        s++;
    *first = s;
    while (s < placement->n_source && placement->begins[s] < to)
        s++;
    *last = s;
}

static float affinity(const struct placement *placement, size_t u, size_t first, size_t last)
{
    return last > first ? row(placement, u)[last] - row(placement, u)[first] : 0;
}

/* ---- Places ---------------------------------------------------------------------------------- */

static bool is_free(const struct placement *placement, size_t u, size_t level)
{
    return placement->units[u].level < level;
}

/* The value that a unit adds to a stretch. Punctuation marks decide nothing, but they never extend
 * a stretch. */
static float gain(const struct placement *placement, size_t u, size_t first, size_t last)
{
    float part = affinity(placement, u, first, last);
    return placement->units[u].is_word ? part - 0.5f : part > 0.5f ? 0.02f : -0.02f;
}

static bool begins_with_word(const struct placement *placement, size_t from)
{
    uint32_t cp = 0;
    return from < placement->plain.len && dg_utf8_decode(placement->plain, from, &cp) > 0 &&
           !is_mark(cp);
}

/* The free units that repeat a part of a word of the source, which markup divides. */
static bool repeated_stretch(const struct placement *placement, size_t from, size_t to, size_t lo,
                             size_t hi, size_t level, struct node *node)
{
    for (size_t u = lo; u < hi; u++) {
        const struct dg_text_unit *units = placement->units;
        size_t v = u, end = from;
        while (v < hi && units[v].source_len > 0 && units[v].source_at == end && end < to &&
               is_free(placement, v, level))
            end += units[v++].source_len;
        if (v == u || end != to)
            continue;
        node->lo = u;
        node->hi = v;
        node->score = (float)(v - u);
        return true;
    }
    return false;
}

/* The best free stretch within [lo, hi) for a stretch of the source; false when there is no
 * evidence for any. */
static bool best_stretch(const struct placement *placement, size_t from, size_t to, size_t lo,
                         size_t hi, size_t level, struct node *node)
{
    size_t first, last, start = lo;
    float sum = 0, best = 0;
    bool is_found = false;
    if (repeated_stretch(placement, from, to, lo, hi, level, node))
        return true;
    tokens_in(placement, from, to, &first, &last);
    for (size_t u = lo; u < hi; u++) {
        if (!is_free(placement, u, level)) {
            sum = 0;
            start = u + 1;
            continue;
        }
        if (sum <= 0) {
            sum = 0;
            start = u;
        }
        sum += gain(placement, u, first, last);
        if (sum > best) {
            best = sum;
            node->lo = start;
            node->hi = u + 1;
            node->score = sum;
            is_found = true;
        }
    }
    return is_found;
}

/* The free word with the largest share of the source stretch. */
static bool best_word(const struct placement *placement, size_t from, size_t to, size_t lo,
                      size_t hi, size_t level, struct node *node)
{
    size_t first, last;
    float best = 0;
    tokens_in(placement, from, to, &first, &last);
    for (size_t u = lo; u < hi; u++) {
        float part = affinity(placement, u, first, last);
        if (!is_free(placement, u, level) || !placement->units[u].is_word || part <= best)
            continue;
        best = part;
        node->lo = u;
        node->hi = u + 1;
        node->score = part - 0.5f;
    }
    return best > 0;
}

/* Finds the boundary for a point that is between two words of [from, to) in the source: the one
 * whose neighbours on both sides match these words best. It is never inside a sibling. */
static void best_boundary(struct placement *placement, size_t at, size_t lo, size_t hi,
                          size_t level, struct node *node)
{
    size_t first, middle, last;
    if (placement->boundary.is_set && placement->boundary.at == at &&
        placement->boundary.lo == lo && placement->boundary.hi == hi &&
        placement->boundary.level == level && placement->boundary.n_claims == placement->n_claims) {
        node->lo = node->hi = placement->boundary.found;
        return;
    }
    float best = -1e9f;
    tokens_in(placement, placement->part->at, at, &first, &middle);
    last = placement->n_source;
    size_t before = middle > first ? middle - 1 : middle,
           after = middle < last ? middle + 1 : middle;
    float crossed = 0; /* the sum of shares on the wrong side of the boundary */
    for (size_t u = lo; u < hi; u++)
        crossed += affinity(placement, u, first, middle);
    for (size_t k = lo; k <= hi; k++) {
        float score = -0.2f * crossed;
        bool is_inside = k > lo && k < hi && !is_free(placement, k - 1, level) &&
                         !is_free(placement, k, level) &&
                         placement->units[k - 1].owner == placement->units[k].owner;
        if (k > lo)
            score += affinity(placement, k - 1, before, middle);
        if (k < hi)
            score += affinity(placement, k, middle, after);
        const struct dg_text_unit *behind = &placement->units[k];
        if (k > lo && k < hi && behind->source_len > 0 && behind->source_at == at &&
            behind[-1].source_len > 0)
            score += 1e6f; /* the same place of the same word */
        if (!is_inside && score > best) {
            best = score;
            node->lo = node->hi = k;
        }
        if (k < hi)
            crossed += affinity(placement, k, middle, last) - affinity(placement, k, first, middle);
    }
    placement->boundary.at = at;
    placement->boundary.lo = lo;
    placement->boundary.hi = hi;
    placement->boundary.level = level;
    placement->boundary.n_claims = placement->n_claims;
    placement->boundary.found = node->lo;
    placement->boundary.is_set = true;
}

static void claim(struct placement *placement, const struct node *node, size_t level)
{
    placement->n_claims++;
    for (size_t u = node->lo; u < node->hi; u++) {
        placement->units[u].level = level;
        placement->units[u].owner = node->item;
    }
}

/* Finds a frozen element's own text in the translation, where a unit begins and one ends; of
 * several places, the likeliest. */
static bool find_frozen(const struct placement *placement, const struct dg_doc_item *item,
                        size_t lo, size_t hi, size_t level, struct node *node)
{
    struct dg_span want = dg_span_sub(placement->plain, item->plain_at, item->plain_len);
    size_t first, last;
    float best = -1;
    tokens_in(placement, item->plain_at, item->plain_at + item->plain_len, &first, &last);
    for (size_t u = lo; u < hi; u++) {
        size_t at = placement->units[u].at, v = u;
        float part = 0;
        if (!dg_span_eq(dg_span_sub(placement->text, at, want.len), want))
            continue;
        while (v < hi && placement->units[v].at < at + want.len && is_free(placement, v, level))
            part += affinity(placement, v++, first, last);
        if (v == u || placement->units[v - 1].at + placement->units[v - 1].len != at + want.len ||
            part <= best)
            continue;
        best = part;
        node->lo = u;
        node->hi = v;
    }
    return best >= 0;
}

/* Punctuation marks at the edges of a stretch belong to it only if they did in the source. */
static void trim(const struct placement *placement, size_t from, size_t to, struct node *node)
{
    while (node->hi - node->lo > 1 && !placement->units[node->lo].is_word &&
           begins_with_word(placement, from))
        node->lo++;
    bool ends_with_word = to > from && is_letter_or_digit(placement->plain.ptr[to - 1]);
    while (node->hi - node->lo > 1 && !placement->units[node->hi - 1].is_word && ends_with_word)
        node->hi--;
}

/* True for the unit of a number that has lost the letters at `from` in the source. */
static bool is_bare_number(const struct dg_text_unit *units, size_t u, size_t n, size_t from)
{
    return units[u].source_len > 0 && units[u].source_at + units[u].source_len == from &&
           (u + 1 == n || units[u + 1].source_len == 0);
}

/* An element around letters that an ordinal lost is empty, and comes after its number. */
static bool find_bare_number(const struct placement *placement, size_t from, size_t lo, size_t hi,
                             struct node *node)
{
    for (size_t u = lo; u < hi; u++) {
        if (!is_bare_number(placement->units, u, placement->n_units, from) ||
            !is_letter_or_digit(placement->plain.ptr[from]))
            continue;
        node->lo = node->hi = u + 1;
        return true;
    }
    return false;
}

static void place(struct placement *placement, struct node *node, size_t lo, size_t hi,
                  size_t level)
{
    const struct dg_doc_item *item = &placement->items[node->item];
    size_t from = item->plain_at;
    size_t to = item->kind == DG_DOC_OPEN ? placement->items[item->partner].plain_at
                                          : from + item->plain_len;
    if (item->kind == DG_DOC_FROZEN && find_frozen(placement, item, lo, hi, level, node)) {
        claim(placement, node, level);
    } else if (to > from && find_bare_number(placement, from, lo, hi, node)) {
        placement->n_claims++; /* it takes no unit */
    } else if (to > from && (best_stretch(placement, from, to, lo, hi, level, node) ||
                             (item->kind == DG_DOC_OPEN &&
                              best_word(placement, from, to, lo, hi, level, node)))) {
        trim(placement, from, to, node);
        claim(placement, node, level);
    } else {
        best_boundary(placement, from, lo, hi, level, node);
    }
}

/* ---- Levels ---------------------------------------------------------------------------------- */

static bool is_whole(const struct placement *placement, size_t i)
{
    return placement->items[i].partner >= placement->part->inner &&
           placement->items[i].partner < placement->part->end;
}

/* Lists the nodes that are directly among items [from, to). */
static size_t list_nodes(struct placement *placement, size_t from, size_t to)
{
    size_t first = placement->n_nodes;
    for (size_t i = from; i < to;) {
        const struct dg_doc_item *item = &placement->items[i];
        size_t end = item->kind == DG_DOC_OPEN ? item->partner + 1 : i + 1;
        if (item->kind >= DG_DOC_OPEN)
            placement->nodes[placement->n_nodes++] = (struct node){.item = i, .end = end};
        i = end;
    }
    return first;
}

static int by_place(const void *a, const void *b)
{
    const struct node *x = a, *y = b;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    if (x->hi != y->hi)
        return x->hi < y->hi ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static int kind_order(const struct placement *placement, const struct node *node)
{
    uint8_t kind = placement->items[node->item].kind;
    return kind == DG_DOC_FROZEN ? 0 : kind == DG_DOC_OPEN ? 1 : 2;
}

/* Places frozen text first, because it can be found in the translation; then elements, the most
 * certain first; then points between them. */
static void place_all(struct placement *placement, size_t first, size_t lo, size_t hi, size_t level)
{
    size_t n = placement->n_nodes - first;
    struct node *nodes = placement->nodes + first;
    for (int order = 0; order < 3; order++) {
        size_t left = 0;
        for (size_t i = 0; i < n; i++)
            left += kind_order(placement, &nodes[i]) == order;
        bool is_ranked = order == 1 && left > 1 && n <= RANKED_MAX;
        for (size_t i = 0; i < n && !is_ranked; i++)
            if (kind_order(placement, &nodes[i]) == order)
                place(placement, &nodes[i], lo, hi, level);
        bool is_placed[RANKED_MAX] = {false};
        for (; is_ranked && left > 0; left--) {
            struct node *best = NULL;
            for (size_t i = 0; i < n; i++) {
                struct node *node = &nodes[i];
                if (kind_order(placement, node) != order || is_placed[i])
                    continue;
                const struct dg_doc_item *item = &placement->items[node->item];
                if (!best_stretch(placement, item->plain_at,
                                  placement->items[item->partner].plain_at, lo, hi, level, node))
                    node->score = -1;
                best = !best || node->score > best->score ? node : best;
            }
            is_placed[best - nodes] = true;
            place(placement, best, lo, hi, level);
        }
    }
    qsort(nodes, n, sizeof *nodes, by_place);
}

static void emit(struct placement *placement, struct dg_span bytes)
{
    if (!placement->err)
        placement->err = dg_buf_append_span(placement->out, bytes);
}

static void emit_items(struct placement *placement, size_t from, size_t to)
{
    size_t at = placement->items[from].at,
           end = placement->items[to - 1].at + placement->items[to - 1].len;
    emit(placement, dg_span_sub(placement->original, at, end - at));
}

/* Writes only the markup among items [from, to), because its words have no counterpart. */
static void emit_markup(struct placement *placement, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (placement->items[i].kind >= DG_DOC_OPEN)
            emit_items(placement, i, i + 1);
}

static void emit_text(struct placement *placement, size_t from, size_t to)
{
    if (placement->line.is_set && placement->line.from >= from && placement->line.to <= to) {
        placement->line.is_set = false;
        emit_text(placement, from, placement->line.from);
        emit(placement, placement->doc->line);
        from = placement->line.to;
    }
    if (!placement->err && to > from)
        placement->err = dg_doc_escape(
            placement->doc, dg_span_sub(placement->text, from, to - from), placement->out);
}

/* A point with a space on either side. */
static bool stands_apart(const struct placement *placement, const struct dg_doc_item *item)
{
    return item->kind == DG_DOC_POINT && item->plain_len == 0 &&
           item->plain_at > placement->part->at &&
           placement->plain.ptr[item->plain_at - 1] == ' ' &&
           item->plain_at < placement->plain.len && placement->plain.ptr[item->plain_at] == ' ';
}

/* A point that a space divides from the word before it, at the end of a sentence or before a
 * punctuation mark: "as Smith says \cite{smith}.". The model sees "says .", and writes no space. */
static bool hangs_apart(const struct placement *placement, const struct dg_doc_item *item)
{
    return item->kind == DG_DOC_POINT && item->plain_len == 0 &&
           item->plain_at > placement->part->at &&
           placement->plain.ptr[item->plain_at - 1] == ' ' &&
           (item->plain_at == placement->plain.len ||
            strchr(".,;:!?)]\n", placement->plain.ptr[item->plain_at]));
}

/* The place in the text for markup before unit `k`: next to the same word as in the source. */
static size_t byte_of(const struct placement *placement, const struct node *node, size_t from,
                      size_t lo, size_t hi)
{
    const struct dg_doc_item *item = &placement->items[node->item];
    size_t k = node->lo;
    const char mark = placement->original.ptr[item->at];
    if (placement->doc->format == DG_DOC_PO && item->len == 1 && (mark == '&' || mark == '_')) {
        /* an accelerator goes before a letter */
        while (k < hi && !placement->units[k].is_word)
            k++;
        while (k > lo && (k == hi || !placement->units[k].is_word))
            k--;
        return k < hi ? placement->units[k].at : from;
    }
    if (k > lo && is_bare_number(placement->units, k - 1, placement->n_units, item->plain_at))
        return placement->units[k - 1].at + placement->units[k - 1].len;
    bool is_behind =
        item->plain_at > 0 && placement->plain.ptr[item->plain_at - 1] != ' ' &&
        !(item->plain_at < placement->plain.len && placement->plain.ptr[item->plain_at] != ' ');
    if (k > lo && (is_behind || k == hi))
        return placement->units[k - 1].at + placement->units[k - 1].len;
    return k < hi ? placement->units[k].at : from;
}

/* The items [first, last) and the units [lo, hi), which are text[from, to). */
static void weave_level(struct placement *placement, size_t first, size_t last, size_t lo,
                        size_t hi, size_t from, size_t to, size_t level)
{
    size_t start = list_nodes(placement, first, last), end = placement->n_nodes;
    place_all(placement, start, lo, hi, level);
    for (size_t i = start; i < end && !placement->err; i++) {
        const struct node node = placement->nodes[i];
        const struct dg_doc_item *item = &placement->items[node.item];
        bool is_stretch = node.hi > node.lo;
        size_t at =
            is_stretch ? placement->units[node.lo].at : byte_of(placement, &node, from, lo, hi);
        size_t behind =
            is_stretch ? placement->units[node.hi - 1].at + placement->units[node.hi - 1].len : at;
        at = at < from ? from : at;
        emit_text(placement, from, at);
        if (!is_stretch || item->kind != DG_DOC_OPEN) {
            if (!is_stretch && at > 0 && hangs_apart(placement, item) &&
                placement->text.ptr[at - 1] != ' ')
                emit(placement, DG_SPAN(" "));
            emit_markup(placement, node.item, node.end);
            if (!is_stretch && at < to && stands_apart(placement, item) &&
                placement->text.ptr[at] != ' ')
                emit(placement, DG_SPAN(" "));
            if (!is_stretch && placement->original.ptr[item->at] == '\n')
                while (behind < to && placement->text.ptr[behind] == ' ')
                    behind++;
        } else {
            emit_items(placement, node.item, node.item + 1);
            weave_level(placement, node.item + 1, node.end - 1, node.lo, node.hi, at, behind,
                        level + 1);
            emit_items(placement, node.end - 1, node.end);
        }
        from = behind > from ? behind : from;
    }
    emit_text(placement, from, to);
}

/* Where a tag without a partner in this sentence divides the units [lo, hi): units from source
 * words before it go before it, the others after it. */
static size_t divide(const struct placement *placement, size_t from, size_t at, size_t lo,
                     size_t hi)
{
    size_t first, last, best_at = lo;
    float sum = 0, best = 0;
    tokens_in(placement, from, at, &first, &last);
    for (size_t u = lo; u < hi; u++) {
        sum += gain(placement, u, first, last);
        if (sum > best) {
            best = sum;
            best_at = u + 1;
        }
    }
    return best_at;
}

/* A stretch of items and its translation: units, and bytes of the text. */
struct stretch {
    size_t first, last, lo, hi, from, to;
    size_t source; /* where it begins in the plain text */
};

static void weave_stretch(struct placement *placement, const struct stretch *stretch)
{
    size_t first = stretch->first, lo = stretch->lo, from = stretch->from, source = stretch->source;
    for (size_t i = first; i < stretch->last && !placement->err; i++) {
        const struct dg_doc_item *item = &placement->items[i];
        if ((item->kind != DG_DOC_OPEN && item->kind != DG_DOC_CLOSE) || is_whole(placement, i))
            continue;
        size_t k = divide(placement, source, item->plain_at, lo, stretch->hi);
        size_t behind = k > lo ? placement->units[k - 1].at + placement->units[k - 1].len : from;
        size_t at = item->kind == DG_DOC_OPEN && k < stretch->hi ? placement->units[k].at : behind;
        weave_level(placement, first, i, lo, k, from, at, 1);
        emit_items(placement, i, i + 1);
        first = i + 1;
        lo = k;
        from = at;
        source = item->plain_at;
    }
    weave_level(placement, first, stretch->last, lo, stretch->hi, from, stretch->to, 1);
}

/* ---- Subtitles ------------------------------------------------------------------------------- */

/* What has been written of a cue already: the characters of its last line, and how many lines have
 * ended. The cue is found by the bytes before it, which hold its times. */
static void look_back(const struct placement *placement, const struct dg_doc_cue *cue,
                      size_t *column, size_t *n_lines)
{
    enum { HEAD = 48, BACK = 4096 };
    const struct dg_span out = dg_buf_span(placement->out);
    const size_t from = out.len > BACK ? out.len - BACK : 0;
    const size_t head_len = cue->at < HEAD ? cue->at : HEAD;
    const struct dg_span head = dg_span_sub(placement->original, cue->at - head_len, head_len);
    size_t at = out.len;
    *column = *n_lines = 0;
    while (at > from && !dg_span_ends(dg_span_sub(out, 0, at), head))
        at--;
    if (at <= from)
        return;
    const struct dg_span line = placement->doc->line;
    size_t begin = at;
    for (; at < out.len; at++) {
        if (!dg_span_starts(dg_span_sub(out, at, out.len), line))
            continue;
        ++*n_lines;
        begin = at + line.len;
        at += line.len - 1;
    }
    for (at = begin; at < out.len;) {
        const char *close = out.ptr[at] == '<'   ? memchr(out.ptr + at, '>', out.len - at)
                            : out.ptr[at] == '{' ? memchr(out.ptr + at, '}', out.len - at)
                                                 : NULL;
        const size_t behind = close ? (size_t)(close - out.ptr) + 1 : at + 1;
        *column += !close && ((unsigned char)out.ptr[at] & 0xC0) != 0x80;
        at = behind;
    }
}

/* What follows the sentence in its last cue: characters of its line, and lines. */
static void look_ahead(const struct placement *placement, const struct dg_doc_cue *cue,
                       size_t *column, size_t *n_lines)
{
    enum { BEHIND_MAX = 200 };
    size_t n, i = placement->part->end;
    const struct dg_span line = placement->doc->line;
    const size_t behind = placement->part->at + placement->part->len;
    dg_doc_items(placement->doc, &n);
    *column = *n_lines = 0;
    if (i > placement->part->inner) /* it may be cut off at the beginning */
        i--;
    for (; i < n && placement->items[i].at < cue->end && *n_lines == 0 && *column < BEHIND_MAX;
         i++) {
        const struct dg_doc_item *item = &placement->items[i];
        const size_t end = item->plain_at + item->plain_len;
        if (end <= behind)
            continue;
        const struct dg_span bytes = dg_span_sub(placement->original, item->at, item->len);
        bool is_line = item->kind == DG_DOC_LINE && item->plain_at == behind;
        for (size_t k = 0; item->kind == DG_DOC_BORDER && k < bytes.len && !is_line; k++)
            is_line = dg_span_starts(dg_span_sub(bytes, k, bytes.len), line);
        *n_lines += is_line;
        if (!is_line)
            *column += dg_subtitle_width(
                dg_span_sub(placement->plain, item->plain_at > behind ? item->plain_at : behind,
                            end - (item->plain_at > behind ? item->plain_at : behind)));
    }
}

/* The room in the cue that holds the item. */
static struct dg_subtitle_room room_of(const struct placement *placement, size_t i, bool is_first,
                                       bool is_last)
{
    const struct dg_doc_cue *cue = i < placement->part->end
                                       ? dg_subtitle_cue_at(placement->doc, placement->items[i].at)
                                       : NULL;
    struct dg_subtitle_room room = {.lines = 2};
    size_t lines_before = 0, lines_behind = 0;
    if (!cue)
        return room;
    room.ms = cue->to_ms > cue->from_ms ? cue->to_ms - cue->from_ms : 0;
    if (is_first)
        look_back(placement, cue, &room.before, &lines_before);
    if (is_last)
        look_ahead(placement, cue, &room.behind, &lines_behind);
    room.lines = lines_before + lines_behind > 0 ? 1 : 2;
    return room;
}

/* Writes the part of one cue. Markup at its edges stays there, and an element around all of it
 * stays around all of it. */
static void weave_cue(struct placement *placement, struct stretch stretch)
{
    const struct dg_doc_item *items = placement->items;
    size_t end = stretch.last, n_closing = 0;
    for (size_t u = stretch.lo; u < stretch.hi; u++) /* it may have been in another cue, too */
        placement->units[u].level = placement->units[u].owner = 0;
    placement->boundary.is_set = false;
    while (stretch.first < end &&
           (items[stretch.first].kind == DG_DOC_POINT ||
            (items[stretch.first].kind == DG_DOC_OPEN && items[stretch.first].partner == end - 1) ||
            items[end - 1].kind == DG_DOC_POINT)) {
        if (items[stretch.first].kind == DG_DOC_POINT) {
            emit_items(placement, stretch.first, stretch.first + 1);
            stretch.first++;
        } else if (items[end - 1].kind == DG_DOC_POINT) {
            end--;
            n_closing++;
        } else {
            emit_items(placement, stretch.first, stretch.first + 1);
            stretch.first++;
            end--;
            n_closing++;
        }
    }
    stretch.last = end;
    weave_stretch(placement, &stretch);
    if (n_closing)
        emit_items(placement, end, end + n_closing);
}

static size_t cue_end(const struct placement *placement, size_t i)
{
    while (i < placement->part->end && placement->items[i].kind != DG_DOC_CUE)
        i++;
    return i;
}

/* How much of each unit is from a cue's words, which are plain[from, to). */
static void sum_affinity(const struct placement *placement, size_t from, size_t to, float *sums)
{
    size_t first, last;
    tokens_in(placement, from, to, &first, &last);
    sums[0] = 0;
    for (size_t u = 0; u < placement->n_units; u++)
        sums[u + 1] = sums[u] + affinity(placement, u, first, last);
}

static void weave_cues(struct placement *placement, size_t m)
{
    const struct dg_doc_item *items = placement->items;
    const size_t n = placement->n_units;
    const struct dg_subtitle_said said = {placement->text, placement->units, n};
    struct dg_subtitle_room *rooms = dg_try_calloc(m, sizeof *rooms);
    size_t *cuts = dg_try_calloc(m + 1, sizeof *cuts);
    float *sums = dg_try_calloc(m * (n + 1), sizeof *sums);
    float *costs = dg_try_calloc(dg_subtitle_costs(n, m), sizeof *costs);
    if (!rooms || !cuts || !sums || !costs) {
        placement->err = DG_ERR_NOMEM;
        goto out;
    }
    size_t source = placement->part->at;
    for (size_t c = 0, i = placement->part->inner; c < m; c++) {
        const size_t end = cue_end(placement, i);
        const size_t to =
            c + 1 < m ? items[end].plain_at : placement->part->at + placement->part->len;
        rooms[c] = room_of(placement, i, c == 0, c + 1 == m);
        sum_affinity(placement, source, to, sums + c * (n + 1));
        rooms[c].affinity = sums + c * (n + 1);
        source = to;
        i = end + 1;
    }
    dg_subtitle_cut(&said, rooms, m, costs, cuts);
    source = placement->part->at;
    for (size_t c = 0, i = placement->part->inner; c < m && !placement->err; c++) {
        const size_t end = cue_end(placement, i);
        size_t lo = cuts[c], hi = cuts[c + 1];
        if (hi == lo) { /* a cue without words of its own shows those of its neighbour */
            while (lo > 0 && (c == 0 || cuts[c] == lo))
                lo--;
            for (hi = lo + 1;
                 hi < n && placement->units[hi].at ==
                               placement->units[hi - 1].at + placement->units[hi - 1].len;)
                hi++;
            while (lo > 0 && placement->units[lo].at ==
                                 placement->units[lo - 1].at + placement->units[lo - 1].len)
                lo--;
        }
        const size_t k = dg_subtitle_break(&said, lo, hi, &rooms[c]);
        const struct stretch stretch = {.first = i,
                                        .last = end,
                                        .lo = lo,
                                        .hi = hi,
                                        .from = lo == 0 && c == 0 ? 0 : placement->units[lo].at,
                                        .to = hi == n && c + 1 == m
                                                  ? placement->text.len
                                                  : placement->units[hi - 1].at +
                                                        placement->units[hi - 1].len,
                                        .source = source};
        placement->line.is_set = k < hi;
        if (k < hi) {
            placement->line.from = placement->units[k - 1].at + placement->units[k - 1].len;
            placement->line.to = placement->units[k].at;
        }
        weave_cue(placement, stretch);
        placement->line.is_set = false;
        if (c + 1 < m) {
            emit_items(placement, end, end + 1);
            source = items[end].plain_at + items[end].plain_len;
        }
        i = end + 1;
    }
out:
    dg_free(rooms);
    dg_free(cuts);
    dg_free(sums);
    dg_free(costs);
}

static void weave_all(struct placement *placement)
{
    const struct dg_doc_part *part = placement->part;
    const struct stretch all = {.first = part->inner,
                                .last = part->end,
                                .hi = placement->n_units,
                                .to = placement->text.len,
                                .source = part->at};
    size_t m = 1;
    if (!placement->doc->is_subtitle) {
        weave_stretch(placement, &all);
        return;
    }
    for (size_t i = part->inner; i < part->end; i++)
        m += placement->items[i].kind == DG_DOC_CUE;
    if (placement->n_units > 0)
        weave_cues(placement, m);
    else /* the translation is empty: every cue keeps its text */
        placement->err = dg_doc_copy(
            placement->doc,
            &(struct dg_doc_part){
                .at = part->at, .len = part->len, .first = part->inner, .end = part->end},
            false, placement->out);
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* Without attention, cuts the source into words, which take the place of its tokens. */
static void cut_source(struct placement *placement)
{
    size_t at = placement->part->at, end = at + placement->part->len;
    while (at < end) {
        while (at < end && placement->plain.ptr[at] == ' ')
            at++;
        size_t from = at;
        while (at < end && placement->plain.ptr[at] != ' ' && at - from < WORD_MAX)
            at++;
        if (at > from && placement->n_source < WORDS_MAX) {
            placement->begins[placement->n_source] = from;
            placement->ends[placement->n_source++] = at;
        }
    }
}

static void take_source(struct placement *placement, const struct dg_tag_placement_source *source)
{
    placement->n_source = source->n;
    for (size_t s = 0; s < source->n; s++) {
        placement->begins[s] = source->tokens[s].begin;
        placement->ends[s] = source->tokens[s].end;
        while (placement->begins[s] < placement->ends[s] &&
               placement->plain.ptr[placement->begins[s]] == ' ')
            placement->begins[s]++;
    }
}

static bool allocate(struct placement *placement, const struct dg_tag_placement_source *source,
                     bool has_attention)
{
    size_t n_max = has_attention ? source->n : WORDS_MAX;
    placement->units = dg_try_calloc(placement->text.len + 1, sizeof *placement->units);
    placement->begins = dg_try_calloc(n_max + 1, sizeof *placement->begins);
    placement->ends = dg_try_calloc(n_max + 1, sizeof *placement->ends);
    placement->nodes =
        dg_try_calloc(placement->part->end - placement->part->inner + 1, sizeof *placement->nodes);
    if (!placement->units || !placement->begins || !placement->ends || !placement->nodes)
        return false;
    cut_units(placement);
    if (!placement->doc->is_subtitle)
        divide_units(placement);
    if (has_attention)
        take_source(placement, source);
    else
        cut_source(placement);
    placement->shares = dg_try_calloc(placement->n_units + 1,
                                      (placement->n_source + 1) * sizeof *placement->shares);
    return placement->shares != NULL;
}

enum dg_err dg_tag_placement(const struct dg_doc *doc, const struct dg_doc_part *part,
                             const struct dg_tag_placement_source *source,
                             const struct dg_tag_placement_target *said, struct dg_buf *out)
{
    size_t n_items;
    struct placement placement = {.doc = doc,
                                  .items = dg_doc_items(doc, &n_items),
                                  .part = part,
                                  .plain = dg_doc_plain(doc),
                                  .text = said->text,
                                  .out = out,
                                  .original = dg_doc_original(doc)};
    enum dg_err err = dg_doc_copy(doc, part, true, out);
    if (err)
        return err;
    if (!part->has_markup)
        return dg_doc_escape(doc, said->text, out);
    if (!allocate(&placement, source, said->alignment != NULL)) {
        placement.err = DG_ERR_NOMEM;
    } else {
        if (said->alignment)
            share_attention(&placement, said);
        else
            share_by_place(&placement);
        share_same_words(&placement);
        sum_up(&placement);
        weave_all(&placement);
    }
    dg_free(placement.units);
    dg_free(placement.begins);
    dg_free(placement.ends);
    dg_free(placement.shares);
    dg_free(placement.nodes);
    return placement.err;
}
