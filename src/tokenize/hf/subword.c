/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Encoding: added tokens are found in the original text, and the text between them is normalised
 * (subword_change.c). Further added tokens are found in the normalised text, and the rest is cut
 * into words (subword_cut.c). Each word becomes tokens by merging (subword_bpe.c) or splitting
 * (wordpiece.c, unigram.c). Two texts are read one by one; joining them cuts them to the available
 * room and adds the template's tokens. */
#include "tokenize/hf/subword.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "tokenize/hf/subword_int.h"
#include "tokenize/spm/utf8_char.h"

#include <unicode/uchar.h>

/* ---- Questions ------------------------------------------------------------------------------- */

uint32_t dg_subword_size(const struct dg_subword *subword)
{
    return subword->size;
}

int32_t dg_subword_unk(const struct dg_subword *subword)
{
    return subword->unk;
}

size_t dg_subword_memory(const struct dg_subword *subword)
{
    return sizeof *subword + subword->arena.used + subword->n_places * sizeof *subword->merges +
           subword->n_added *
               (sizeof *subword->added + sizeof *subword->added_texts + sizeof(uint32_t)) +
           (size_t)subword->size * (sizeof *subword->pieces + 1) +
           subword->list.n * sizeof(uint32_t) + subword->n_scores * sizeof *subword->scores +
           subword->ids.n_slots * 32;
}

struct dg_span dg_subword_piece(const struct dg_subword *subword, int32_t id)
{
    return id >= 0 && (uint32_t)id < subword->size ? subword->pieces[id] : (struct dg_span){0};
}

int32_t dg_subword_find(const struct dg_subword *subword, struct dg_span piece)
{
    uint64_t id;
    return dg_map_get(&subword->ids, piece, &id) ? (int32_t)id : -1;
}

bool dg_subword_is_special(const struct dg_subword *subword, int32_t id)
{
    return id >= 0 && (uint32_t)id < subword->size && subword->kinds[id] == DG_SUBWORD_SPECIAL_KIND;
}

int32_t dg_subword_sign(const struct dg_subword *subword, enum dg_subword_sign which)
{
    return subword->signs[which];
}

uint32_t dg_subword_letter(uint8_t byte)
{
    if ((byte > 32 && byte < 127) || (byte > 160 && byte != 173))
        return byte;
    return 256u + (byte <= 32 ? byte : byte == 173 ? 67u : byte - 127u + 33u);
}

int dg_subword_byte_of(uint32_t letter)
{
    if (letter < 256)
        return dg_subword_letter((uint8_t)letter) == letter ? (int)letter : -1;
    if (letter < 256 + 33)
        return (int)letter - 256;
    if (letter < 256 + 67)
        return (int)letter - 256 - 33 + 127;
    return letter == 256 + 67 ? 173 : -1;
}

/* ---- Working memory -------------------------------------------------------------------------- */

struct dg_subword_work *dg_subword_work_new(void)
{
    struct dg_subword_work *work = dg_xcalloc(1, sizeof *work);
    dg_subword_stretch_init(&work->now);
    dg_subword_stretch_init(&work->next);
    dg_subword_stretch_init(&work->normal);
    return work;
}

void dg_subword_work_free(struct dg_subword_work *work)
{
    if (!work)
        return;
    dg_subword_stretch_deinit(&work->now);
    dg_subword_stretch_deinit(&work->next);
    dg_subword_stretch_deinit(&work->normal);
    dg_free(work->out.list);
    dg_free(work->texts[0].list);
    dg_free(work->texts[1].list);
    dg_free(work->symbols);
    dg_free(work->heap);
    dg_free(work->cells);
    dg_free(work);
}

static enum dg_err append(struct dg_subword_tokens *tokens, struct dg_subword_token token)
{
    enum dg_err err = DG_GROW(tokens->list, tokens->n, tokens->cap, 64);
    if (!err)
        tokens->list[tokens->n++] = token;
    return err;
}

enum dg_err dg_subword_put(struct dg_subword_work *work, int32_t id, size_t begin, size_t end)
{
    return append(&work->out, (struct dg_subword_token){.id = id,
                                                        .begin = (uint32_t)begin,
                                                        .end = (uint32_t)end,
                                                        .word = work->word});
}

/* ---- Cutting --------------------------------------------------------------------------------- */

static enum dg_err put_word(const struct dg_subword *subword, struct dg_subword_work *work,
                            size_t begin, size_t end)
{
    enum dg_err err = subword->is_wordpiece ? dg_wordpiece_put(subword, work, begin, end)
                      : subword->is_unigram ? dg_unigram_put(subword, work, begin, end)
                                            : dg_subword_merge_word(subword, work, begin, end);
    work->word++;
    return err;
}

/* Cuts [begin, end) of the stretch by step `step` and the steps after it. */
static enum dg_err cut(const struct dg_subword *subword, struct dg_subword_work *work, size_t step,
                       size_t begin, size_t end)
{
    enum dg_err err = DG_OK;
    if (step == subword->n_cuts)
        return put_word(subword, work, begin, end);
    while (begin < end && !err) {
        const struct dg_span rest = dg_span_sub(dg_buf_span(&work->now.text), begin, end - begin);
        bool is_dropped = false;
        const size_t len = dg_subword_cut(&subword->cuts[step], rest, 0, &is_dropped);
        if (!is_dropped)
            err = cut(subword, work, step + 1, begin, begin + len);
        begin += len;
    }
    return err;
}

/* ---- Added tokens ---------------------------------------------------------------------------- */

static bool is_wordy(uint32_t cp)
{
    return u_hasBinaryProperty((UChar32)cp, UCHAR_ALPHABETIC) || cp == '_' ||
           (U_GET_GC_MASK((UChar32)cp) & (U_GC_N_MASK | U_GC_M_MASK)) != 0;
}

/* The start of the character that ends at `at`. */
static size_t step_back(struct dg_span text, size_t at)
{
    do
        at--;
    while (at > 0 && dg_utf8_char_is_trail((uint8_t)text.ptr[at]));
    return at;
}

static bool stands_alone(struct dg_span text, size_t begin, size_t end)
{
    uint32_t cp;
    if (begin > 0 && dg_utf8_decode(text, step_back(text, begin), &cp) && is_wordy(cp))
        return false;
    return end == text.len || !dg_utf8_decode(text, end, &cp) || !is_wordy(cp);
}

static bool is_looked_for(const struct dg_subword *subword, const struct dg_subword_added *added,
                          bool normalised, unsigned how)
{
    return added->is_normalized == normalised &&
           (!added->is_special || (how & DG_SUBWORD_SPECIAL) ||
            ((how & DG_SUBWORD_MASKS) && added->id == subword->signs[DG_SUBWORD_MASK]));
}

/* The longest added token at `at`; NULL: none. */
static const struct dg_subword_added *added_at(const struct dg_subword *subword,
                                               struct dg_span text, size_t at, bool normalised,
                                               unsigned how)
{
    const struct dg_prefixes *list = &subword->added_list;
    const struct dg_subword_added *found = NULL;
    if (!subword->begins_added[normalised][(uint8_t)text.ptr[at]])
        return NULL;
    struct dg_prefixes_walk walk = dg_prefixes_start(list);
    for (size_t end = at; end < text.len && dg_prefixes_step(list, &walk, (uint8_t)text.ptr[end]);
         end++) {
        uint32_t which;
        if (dg_prefixes_here(list, &walk, &which) &&
            is_looked_for(subword, &subword->added[which], normalised, how))
            found = &subword->added[which];
    }
    return found && found->is_word && !stands_alone(text, at, at + found->text.len) ? NULL : found;
}

static bool is_space_at(struct dg_span text, size_t at, size_t *len)
{
    uint32_t cp;
    *len = dg_utf8_decode(text, at, &cp);
    return *len && u_isUWhiteSpace((UChar32)cp);
}

/* Finds the next added token at or after `at`: where it begins and ends, with the spaces that it
 * takes. */
static const struct dg_subword_added *next_added(const struct dg_subword *subword,
                                                 struct dg_span text, size_t at, bool normalised,
                                                 unsigned how, size_t *begin, size_t *end)
{
    const struct dg_subword_added *added = NULL;
    size_t first = at, len;
    for (; at < text.len; at++)
        if ((added = added_at(subword, text, at, normalised, how)))
            break;
    if (!added)
        return NULL;
    *begin = at;
    *end = at + added->text.len;
    while (added->takes_left && *begin > first && is_space_at(text, step_back(text, *begin), &len))
        *begin = step_back(text, *begin);
    while (added->takes_right && *end < text.len && is_space_at(text, *end, &len))
        *end += len;
    return added;
}

static enum dg_err put_added(struct dg_subword_work *work, const struct dg_subword_added *added,
                             size_t begin, size_t end)
{
    enum dg_err err = dg_subword_put(work, added->id, begin, end);
    work->word++;
    return err;
}

/* Encodes a part of the normalised stretch that has no added tokens. */
static enum dg_err put_part(const struct dg_subword *subword, struct dg_subword_work *work,
                            size_t begin, size_t end, bool is_first)
{
    enum dg_err err = dg_subword_change_part(subword, work, begin, end, is_first);
    return err ? err : cut(subword, work, 0, 0, work->now.text.len);
}

/* Encodes the normalised stretch: finds added tokens in it and encodes the text between them. */
static enum dg_err put_stretch(const struct dg_subword *subword, struct dg_subword_work *work,
                               unsigned how, bool is_first)
{
    enum dg_err err = DG_OK;
    const struct dg_subword_stretch normal = work->now;
    work->now = work->normal;
    work->normal = normal;
    for (size_t at = 0; at < work->normal.text.len && !err;) {
        const struct dg_span text = dg_buf_span(&work->normal.text);
        size_t begin = text.len, end = text.len;
        const struct dg_subword_added *added =
            next_added(subword, text, at, true, how, &begin, &end);
        if (begin > at)
            err = put_part(subword, work, at, begin, is_first && at == 0);
        if (added && !err)
            err = put_added(work, added, work->normal.from[begin], work->normal.to[end - 1]);
        at = end;
    }
    return err;
}

static enum dg_err put_text(const struct dg_subword *subword, struct dg_subword_work *work,
                            struct dg_span text, size_t begin, size_t end, unsigned how)
{
    enum dg_err err = dg_subword_change_all(subword, work, text, begin, end);
    return err ? err : put_stretch(subword, work, how, begin == 0);
}

/* ---- One text -------------------------------------------------------------------------------- */

static enum dg_err encode(const struct dg_subword *subword, struct dg_subword_work *work,
                          struct dg_span text, unsigned how)
{
    enum dg_err err = DG_OK;
    for (size_t at = 0; at < text.len && !err;) {
        size_t begin = text.len, end = text.len;
        const struct dg_subword_added *added =
            next_added(subword, text, at, false, how, &begin, &end);
        if (begin > at)
            err = put_text(subword, work, text, at, begin, how);
        if (added && !err)
            err = put_added(work, added, begin, end);
        at = end;
    }
    return err;
}

static enum dg_err put_sign(struct dg_subword_work *work, const struct dg_subword_part *part,
                            size_t at)
{
    return append(&work->out, (struct dg_subword_token){.id = part->id,
                                                        .begin = (uint32_t)at,
                                                        .end = (uint32_t)at,
                                                        .word = DG_SUBWORD_NO_WORD,
                                                        .text = DG_SUBWORD_FRAME,
                                                        .type = part->type});
}

/* Encodes the text, with the template for one text around it if `how` says so. */
static enum dg_err encode_framed(const struct dg_subword *subword, struct dg_subword_work *work,
                                 struct dg_span text, unsigned how)
{
    const struct dg_subword_template *template = &subword->single;
    enum dg_err err = DG_OK;
    size_t at = 0;
    for (size_t i = 0; i < template->n && !err; i++) {
        const struct dg_subword_part *part = &template->parts[i];
        if (part->id >= 0) {
            err = how & DG_SUBWORD_TEMPLATE ? put_sign(work, part, at) : DG_OK;
            continue;
        }
        const size_t n = work->out.n;
        err = encode(subword, work, text, how);
        for (size_t k = n; k < work->out.n; k++)
            work->out.list[k].type = part->type;
        at = text.len;
    }
    return err;
}

static enum dg_err start(struct dg_subword_work *work, struct dg_span text, struct dg_error *error)
{
    size_t bad_at;
    work->out.n = 0;
    work->word = 0;
    if (!dg_utf8_valid(text, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8, "the text is not valid UTF-8 at byte %zu", bad_at);
    if (text.len >= DG_SUBWORD_TEXT_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "the text has %zu bytes, expected less than %d",
                            text.len, DG_SUBWORD_TEXT_MAX);
    return DG_OK;
}

static enum dg_err failed(enum dg_err err, struct dg_span text, struct dg_error *error)
{
    return dg_error_set(error, err, "a text of %zu bytes cannot be encoded: %s", text.len,
                        dg_err_sentence(err));
}

enum dg_err dg_subword_encode(const struct dg_subword *subword, struct dg_subword_work *work,
                              struct dg_span text, unsigned how, struct dg_error *error,
                              const struct dg_subword_token **tokens, size_t *n)
{
    enum dg_err err = start(work, text, error);
    if (err)
        return err;
    err = encode_framed(subword, work, text, how);
    if (err)
        return failed(err, text, error);
    *tokens = work->out.list;
    *n = work->out.n;
    return DG_OK;
}

/* ---- Two texts ------------------------------------------------------------------------------- */

/* Removes the white space at both ends from a token's range. */
static void trim(struct dg_span text, struct dg_subword_token *token)
{
    size_t len;
    while (token->begin < token->end && is_space_at(text, token->begin, &len))
        token->begin += (uint32_t)len;
    while (token->begin < token->end && is_space_at(text, step_back(text, token->end), &len))
        token->end -= (uint32_t)len;
}

enum dg_err dg_subword_read(const struct dg_subword *subword, struct dg_subword_work *work,
                            unsigned which, struct dg_span text, unsigned how,
                            struct dg_error *error)
{
    enum dg_err err = start(work, text, error);
    if (err)
        return err;
    err = encode(subword, work, text, how);
    if (err)
        return failed(err, text, error);
    for (size_t i = 0; i < work->out.n; i++) {
        trim(text, &work->out.list[i]);
        work->out.list[i].text = (uint8_t)which;
    }
    const struct dg_subword_tokens read = work->out;
    work->out = work->texts[which];
    work->texts[which] = read;
    work->out.n = 0;
    return DG_OK;
}

/* Computes how many of the n[0] and n[1] tokens of two texts fit; the second counts only if
 * `is_pair`. */
static void share_room(enum dg_subword_give give, bool is_pair, size_t room, size_t n[2])
{
    const size_t first = n[0], second = is_pair ? n[1] : 0;
    if (first + second <= room)
        return;
    if (!is_pair) {
        n[0] = room;
    } else if (give == DG_SUBWORD_GIVE_FIRST) {
        n[0] = second < room ? room - second : 0;
        n[1] = second < room ? second : room;
    } else if (give == DG_SUBWORD_GIVE_SECOND) {
        n[1] = first < room ? room - first : 0;
        n[0] = first < room ? first : room;
    } else { /* a text longer than half is cut; if both are, the first loses one token more */
        const size_t half = room / 2, other = room - half;
        n[0] = first <= half     ? first
               : second <= half  ? room - second
               : first <= second ? half
                                 : other;
        n[1] = room - n[0];
    }
}

enum dg_err dg_subword_join(const struct dg_subword *subword, struct dg_subword_work *work,
                            const struct dg_subword_join *join, struct dg_error *error,
                            struct dg_subword_joined *joined)
{
    const struct dg_subword_template *template = join->is_pair ? &subword->pair : &subword->single;
    const unsigned last = join->is_pair ? 1 : 0;
    const size_t skip = join->skip < work->texts[last].n ? join->skip : work->texts[last].n;
    size_t n[2] = {work->texts[0].n, work->texts[1].n}, n_signs = 0;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < template->n; i++)
        n_signs += template->parts[i].id >= 0;
    if (join->max <= n_signs)
        return dg_error_set(
            error, DG_ERR_RANGE,
            "%zu tokens leave no room for the %zu tokens of the template and a text", join->max,
            n_signs);
    n[last] -= skip;
    share_room(join->give, join->is_pair, join->max - n_signs, n);
    work->out.n = 0;
    uint32_t at = 0;
    for (size_t i = 0; i < template->n && !err; i++) {
        const struct dg_subword_part *part = &template->parts[i];
        if (part->id >= 0) {
            err = put_sign(work, part, at);
            continue;
        }
        const size_t from = part->text == last ? skip : 0;
        for (size_t k = from; k < from + n[part->text] && !err; k++) {
            struct dg_subword_token token = work->texts[part->text].list[k];
            token.type = part->type;
            at = token.end;
            err = append(&work->out, token);
        }
    }
    if (err)
        return dg_error_set(error, err, "no memory for %zu tokens", n[0] + n[1]);
    *joined = (struct dg_subword_joined){.tokens = work->out.list,
                                         .n = work->out.n,
                                         .n_last = n[last],
                                         .n_left = work->texts[last].n - skip - n[last],
                                         .n_lost = join->is_pair ? work->texts[0].n - n[0] : 0};
    return DG_OK;
}
