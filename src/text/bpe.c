/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Encoding: added tokens are found in the text as it is written, what stands between them is changed (prepended, replaced,
 * normalised), added tokens that want that are found in it, the rest is cut into words, and every word is merged.
 *
 * Merging: the pair of the lowest rank first, of several the leftmost, until none is left. A heap of (rank, place) holds
 * all pairs; an entry whose pair has changed meanwhile is passed over. n log n, whatever the word is. */
#include "text/bpe.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "text/bpe_int.h"
#include "text/utf8_char.h"

#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>

enum { NONE = UINT32_MAX };

struct symbol {
    int32_t id;
    uint32_t begin, end; /* bytes of the stretch */
    uint32_t left, right;
};

/* A stretch of text between added tokens, changed; `from` and `to` say for each byte where it comes from. */
struct stretch {
    struct dg_buf text;
    uint32_t *from, *to; /* owned; [cap] */
    size_t cap;
};

struct dg_bpe_work {
    struct dg_bpe_token *tokens; /* owned */
    size_t n, cap;
    struct symbol *symbols; /* owned */
    size_t n_symbols, symbols_cap;
    uint64_t *heap; /* owned; rank << 32 | place */
    size_t n_heap, heap_cap;
    struct stretch now, next;
};

enum { STRETCH_MAX = 1 << 30 };

/* ---- Questions ----------------------------------------------------------------------------------- */

uint32_t dg_bpe_size(const struct dg_bpe *bpe)
{
    return bpe->size;
}

int32_t dg_bpe_unk(const struct dg_bpe *bpe)
{
    return bpe->unk;
}

size_t dg_bpe_memory(const struct dg_bpe *bpe)
{
    return sizeof *bpe + bpe->arena.used + bpe->n_places * sizeof *bpe->merges + bpe->n_added * sizeof *bpe->added +
           (size_t)bpe->size * (sizeof *bpe->pieces + 1) + bpe->ids.n_slots * 32;
}

struct dg_span dg_bpe_piece(const struct dg_bpe *bpe, int32_t id)
{
    return id >= 0 && (uint32_t)id < bpe->size ? bpe->pieces[id] : (struct dg_span){0};
}

int32_t dg_bpe_find(const struct dg_bpe *bpe, struct dg_span piece)
{
    uint64_t id;
    return dg_map_get(&bpe->ids, piece, &id) ? (int32_t)id : -1;
}

bool dg_bpe_is_special(const struct dg_bpe *bpe, int32_t id)
{
    return id >= 0 && (uint32_t)id < bpe->size && bpe->kinds[id] == DG_BPE_SPECIAL_KIND;
}

uint32_t dg_bpe_letter(uint8_t byte)
{
    if ((byte > 32 && byte < 127) || (byte > 160 && byte != 173))
        return byte;
    return 256u + (byte <= 32 ? byte : byte == 173 ? 67u : byte - 127u + 33u);
}

int dg_bpe_byte_of(uint32_t letter)
{
    if (letter < 256)
        return dg_bpe_letter((uint8_t)letter) == letter ? (int)letter : -1;
    if (letter < 256 + 33)
        return (int)letter - 256;
    if (letter < 256 + 67)
        return (int)letter - 256 - 33 + 127;
    return letter == 256 + 67 ? 173 : -1;
}

const struct dg_bpe_merge *dg_bpe_merge_of(const struct dg_bpe *bpe, int32_t left, int32_t right)
{
    const uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    uint64_t hash = pair * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
    for (size_t at = hash & (bpe->n_places - 1);; at = (at + 1) & (bpe->n_places - 1)) {
        if (bpe->merges[at].pair == pair)
            return &bpe->merges[at];
        if (bpe->merges[at].pair == UINT64_MAX)
            return NULL;
    }
}

/* ---- Working memory ------------------------------------------------------------------------------ */

static void stretch_init(struct stretch *s)
{
    *s = (struct stretch){.cap = 0};
    dg_buf_init(&s->text, STRETCH_MAX);
}

static void stretch_deinit(struct stretch *s)
{
    dg_buf_deinit(&s->text);
    dg_free(s->from);
    dg_free(s->to);
}

struct dg_bpe_work *dg_bpe_work_new(void)
{
    struct dg_bpe_work *work = dg_xcalloc(1, sizeof *work);
    stretch_init(&work->now);
    stretch_init(&work->next);
    return work;
}

void dg_bpe_work_free(struct dg_bpe_work *work)
{
    if (!work)
        return;
    stretch_deinit(&work->now);
    stretch_deinit(&work->next);
    dg_free(work->tokens);
    dg_free(work->symbols);
    dg_free(work->heap);
    dg_free(work);
}

/* Room for `n` items of `size`. */
static enum dg_err grow(void **items, size_t *cap, size_t n, size_t size)
{
    if (n <= *cap)
        return DG_OK;
    size_t wanted = *cap ? *cap * 2 : 64, bytes;
    wanted = wanted < n ? n : wanted;
    if (!dg_mul(wanted, size, &bytes))
        return DG_ERR_LIMIT;
    void *grown = dg_try_realloc(*items, bytes);
    if (!grown)
        return DG_ERR_NOMEM;
    *items = grown;
    *cap = wanted;
    return DG_OK;
}

static enum dg_err put_token(struct dg_bpe_work *work, int32_t id, size_t begin, size_t end)
{
    void *tokens = work->tokens;
    enum dg_err err = grow(&tokens, &work->cap, work->n + 1, sizeof *work->tokens);
    work->tokens = tokens;
    if (!err)
        work->tokens[work->n++] = (struct dg_bpe_token){id, (uint32_t)begin, (uint32_t)end};
    return err;
}

/* Appends bytes that all come from [from, to) of the text. */
static enum dg_err put_bytes(struct stretch *s, const char *bytes, size_t len, size_t from, size_t to)
{
    const size_t at = s->text.len;
    void *list = s->from;
    size_t cap = s->cap;
    enum dg_err err = grow(&list, &cap, at + len, sizeof *s->from);
    s->from = list;
    list = s->to;
    if (!err)
        err = grow(&list, &s->cap, at + len, sizeof *s->to);
    s->to = list;
    if (!err)
        err = dg_buf_append(&s->text, bytes, len);
    for (size_t i = at; !err && i < at + len; i++) {
        s->from[i] = (uint32_t)from;
        s->to[i] = (uint32_t)to;
    }
    return err;
}

static enum dg_err put_part(struct stretch *to, const struct stretch *from, size_t begin, size_t end)
{
    enum dg_err err = DG_OK;
    for (size_t i = begin; i < end && !err; i++)
        err = put_bytes(to, from->text.ptr + i, 1, from->from[i], from->to[i]);
    return err;
}

/* ---- Changes ------------------------------------------------------------------------------------- */

static enum dg_err prepend(struct dg_bpe_work *work, struct dg_span what)
{
    const size_t at = work->now.from[0];
    enum dg_err err = put_bytes(&work->next, what.ptr, what.len, at, at);
    return err ? err : put_part(&work->next, &work->now, 0, work->now.text.len);
}

static enum dg_err replace(struct dg_bpe_work *work, struct dg_span from, struct dg_span to)
{
    const struct dg_span text = dg_buf_span(&work->now.text);
    enum dg_err err = DG_OK;
    for (size_t at = 0; at < text.len && !err;) {
        if (!dg_span_eq(dg_span_sub(text, at, from.len), from)) {
            err = put_part(&work->next, &work->now, at, at + 1);
            at++;
            continue;
        }
        err = put_bytes(&work->next, to.ptr, to.len, work->now.from[at], work->now.to[at + from.len - 1]);
        at += from.len;
    }
    return err;
}

static const UNormalizer2 *normaliser_of(enum dg_bpe_change kind, UErrorCode *status)
{
    switch (kind) {
    case DG_BPE_NFC:
        return unorm2_getNFCInstance(status);
    case DG_BPE_NFD:
        return unorm2_getNFDInstance(status);
    case DG_BPE_NFKC:
        return unorm2_getNFKCInstance(status);
    default:
        return unorm2_getNFKDInstance(status);
    }
}

enum { UNIT_MAX = 256 }; /* UTF-16 units of characters that are normalised together */

/* Normalises [begin, end), characters that may influence each other. Where there are too many (marks without end) they
 * go through in parts. */
static enum dg_err normalise_part(struct dg_bpe_work *work, const UNormalizer2 *normaliser, size_t begin, size_t end)
{
    const struct dg_span text = dg_buf_span(&work->now.text);
    UChar units[UNIT_MAX], made[UNIT_MAX * 18]; /* no character becomes more than 18 */
    enum dg_err err = DG_OK;
    while (begin < end && !err) {
        int32_t n = 0;
        size_t at = begin;
        for (size_t len; at < end && n + 2 <= UNIT_MAX; at += len) {
            uint32_t cp = 0;
            len = dg_utf8_decode(text, at, &cp);
            if (cp >= 0x10000)
                units[n++] = (UChar)(0xD7C0 + (cp >> 10));
            units[n++] = (UChar)(cp >= 0x10000 ? 0xDC00 | (cp & 0x3FF) : cp);
        }
        UErrorCode status = U_ZERO_ERROR;
        const int32_t n_made = unorm2_normalize(normaliser, units, n, made, UNIT_MAX * 18, &status);
        if (U_FAILURE(status))
            return DG_ERR_INTERNAL;
        for (int32_t i = 0; i < n_made && !err;) {
            uint32_t cp = made[i++];
            if ((cp & 0xFC00) == 0xD800 && i < n_made)
                cp = (cp << 10) + made[i++] - 0x35FDC00u;
            char bytes[DG_UTF8_MAX_LEN];
            const size_t len = dg_utf8_encode(cp, bytes);
            err = put_bytes(&work->next, bytes, len, work->now.from[begin], work->now.to[at - 1]);
        }
        begin = at;
    }
    return err;
}

static enum dg_err normalise(struct dg_bpe_work *work, enum dg_bpe_change kind)
{
    UErrorCode status = U_ZERO_ERROR;
    const UNormalizer2 *normaliser = normaliser_of(kind, &status);
    const struct dg_span text = dg_buf_span(&work->now.text);
    enum dg_err err = U_FAILURE(status) ? DG_ERR_INTERNAL : DG_OK;
    for (size_t begin = 0, end; begin < text.len && !err; begin = end) {
        uint32_t cp;
        end = begin + dg_utf8_decode(text, begin, &cp);
        while (end < text.len && dg_utf8_decode(text, end, &cp) && !unorm2_hasBoundaryBefore(normaliser, (UChar32)cp))
            end += dg_utf8_decode(text, end, &cp);
        err = end == begin + 1 ? put_part(&work->next, &work->now, begin, end)
                               : normalise_part(work, normaliser, begin, end);
    }
    return err;
}

static enum dg_err change(struct dg_bpe_work *work, const struct dg_bpe_changing *how, bool is_first)
{
    const struct dg_span text = dg_buf_span(&work->now.text);
    const bool begins_so = dg_span_starts(text, how->from);
    enum dg_err err = DG_OK;
    dg_buf_clear(&work->next.text);
    switch (how->kind) {
    case DG_BPE_PREPEND:
        err = prepend(work, how->from);
        break;
    case DG_BPE_PREPEND_FIRST:
    case DG_BPE_PREPEND_NEW:
        if (begins_so || (how->kind == DG_BPE_PREPEND_FIRST && !is_first))
            return DG_OK;
        err = prepend(work, how->from);
        break;
    case DG_BPE_REPLACE:
        err = replace(work, how->from, how->to);
        break;
    case DG_BPE_NFC:
    case DG_BPE_NFD:
    case DG_BPE_NFKC:
    case DG_BPE_NFKD:
        err = normalise(work, how->kind);
        break;
    }
    const struct stretch before = work->now;
    work->now = work->next;
    work->next = before;
    return err;
}

/* ---- Merging -------------------------------------------------------------------------------------- */

static enum dg_err push(struct dg_bpe_work *work, uint32_t rank, uint32_t place)
{
    void *heap = work->heap;
    enum dg_err err = grow(&heap, &work->heap_cap, work->n_heap + 1, sizeof *work->heap);
    work->heap = heap;
    if (err)
        return err;
    size_t at = work->n_heap++;
    const uint64_t entry = (uint64_t)rank << 32 | place;
    for (; at > 0 && work->heap[(at - 1) / 2] > entry; at = (at - 1) / 2)
        work->heap[at] = work->heap[(at - 1) / 2];
    work->heap[at] = entry;
    return DG_OK;
}

static uint64_t pop(struct dg_bpe_work *work)
{
    const uint64_t top = work->heap[0], entry = work->heap[--work->n_heap];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < work->n_heap; at = child) {
        if (child + 1 < work->n_heap && work->heap[child + 1] < work->heap[child])
            child++;
        if (work->heap[child] >= entry)
            break;
        work->heap[at] = work->heap[child];
    }
    work->heap[at] = entry;
    return top;
}

static const struct dg_bpe_merge *merge_at(const struct dg_bpe *bpe, const struct dg_bpe_work *work, uint32_t place)
{
    const struct symbol *left = &work->symbols[place];
    return left->right == NONE ? NULL : dg_bpe_merge_of(bpe, left->id, work->symbols[left->right].id);
}

static enum dg_err push_pair(const struct dg_bpe *bpe, struct dg_bpe_work *work, uint32_t place)
{
    const struct dg_bpe_merge *merge = place == NONE ? NULL : merge_at(bpe, work, place);
    return merge ? push(work, merge->rank, place) : DG_OK;
}

static enum dg_err merge_all(const struct dg_bpe *bpe, struct dg_bpe_work *work)
{
    enum dg_err err = DG_OK;
    work->n_heap = 0;
    for (uint32_t i = 0; i + 1 < work->n_symbols && !err; i++)
        err = push_pair(bpe, work, i);
    while (work->n_heap && !err) {
        const uint64_t entry = pop(work);
        const uint32_t place = (uint32_t)entry;
        struct symbol *left = &work->symbols[place];
        const struct dg_bpe_merge *merge = left->id < 0 ? NULL : merge_at(bpe, work, place);
        if (!merge || merge->rank != entry >> 32)
            continue;
        struct symbol *right = &work->symbols[left->right];
        left->id = (int32_t)merge->id;
        left->end = right->end;
        left->right = right->right;
        right->id = -1; /* it is part of the left one now */
        if (left->right != NONE)
            work->symbols[left->right].left = place;
        err = push_pair(bpe, work, left->left);
        if (!err)
            err = push_pair(bpe, work, place);
    }
    return err;
}

static enum dg_err put_symbol(struct dg_bpe_work *work, int32_t id, size_t begin, size_t end)
{
    void *symbols = work->symbols;
    enum dg_err err = grow(&symbols, &work->symbols_cap, work->n_symbols + 1, sizeof *work->symbols);
    work->symbols = symbols;
    if (err)
        return err;
    const uint32_t at = (uint32_t)work->n_symbols++;
    work->symbols[at] = (struct symbol){id, (uint32_t)begin, (uint32_t)end, at ? at - 1 : NONE, NONE};
    if (at)
        work->symbols[at - 1].right = at;
    return DG_OK;
}

/* A character of a tokenizer of characters: its token, or its bytes', or the unknown one, of which several in a row may be
 * one. Without any of these it is lost, as it is elsewhere. */
static enum dg_err put_character(const struct dg_bpe *bpe, struct dg_bpe_work *work, struct dg_span text, size_t at,
                                 size_t len, bool *was_unknown)
{
    const int32_t id = dg_bpe_find(bpe, dg_span_sub(text, at, len));
    const bool was = *was_unknown;
    bool has_bytes = bpe->falls_apart;
    enum dg_err err = DG_OK;
    *was_unknown = false;
    if (id >= 0)
        return put_symbol(work, id, at, at + len);
    for (size_t i = at; i < at + len; i++)
        has_bytes = has_bytes && bpe->byte_ids[(uint8_t)text.ptr[i]] >= 0;
    for (size_t i = at; has_bytes && i < at + len && !err; i++)
        err = put_symbol(work, bpe->byte_ids[(uint8_t)text.ptr[i]], i, i + 1);
    if (has_bytes || bpe->unk < 0)
        return err;
    *was_unknown = true;
    if (was && bpe->fuses_unk && work->n_symbols) {
        work->symbols[work->n_symbols - 1].end = (uint32_t)(at + len);
        return DG_OK;
    }
    return put_symbol(work, bpe->unk, at, at + len);
}

static enum dg_err put_symbols(const struct dg_bpe *bpe, struct dg_bpe_work *work, struct dg_span text, size_t begin,
                               size_t end)
{
    enum dg_err err = DG_OK;
    bool was_unknown = false;
    work->n_symbols = 0;
    for (size_t at = begin, len; at < end && !err; at += len) {
        uint32_t cp;
        len = bpe->is_byte_level ? 1 : dg_utf8_decode(text, at, &cp);
        err = bpe->is_byte_level ? put_symbol(work, bpe->byte_ids[(uint8_t)text.ptr[at]], at, at + 1)
                                 : put_character(bpe, work, text, at, len, &was_unknown);
    }
    return err;
}

/* The token that is the whole word, or -1. */
static int32_t find_whole(const struct dg_bpe *bpe, struct dg_span word)
{
    char letters[DG_BPE_PIECE_MAX + 2];
    size_t len = 0;
    if (!bpe->is_byte_level)
        return dg_bpe_find(bpe, word);
    for (size_t i = 0; i < word.len; i++) {
        if (len > DG_BPE_PIECE_MAX - 2)
            return -1;
        char bytes[DG_UTF8_MAX_LEN];
        const size_t n = dg_utf8_encode(dg_bpe_letter((uint8_t)word.ptr[i]), bytes);
        memcpy(letters + len, bytes, n);
        len += n;
    }
    return dg_bpe_find(bpe, dg_span_make(letters, len));
}

/* Tokens' places are those of the original. */
static enum dg_err put_word(const struct dg_bpe *bpe, struct dg_bpe_work *work, size_t begin, size_t end)
{
    const struct dg_span text = dg_buf_span(&work->now.text);
    const struct stretch *now = &work->now;
    if (bpe->takes_whole) {
        const int32_t id = find_whole(bpe, dg_span_sub(text, begin, end - begin));
        if (id >= 0)
            return put_token(work, id, now->from[begin], now->to[end - 1]);
    }
    enum dg_err err = put_symbols(bpe, work, text, begin, end);
    if (!err)
        err = merge_all(bpe, work);
    for (uint32_t i = 0; i < work->n_symbols && !err; i++)
        if (work->symbols[i].id >= 0)
            err = put_token(work, work->symbols[i].id, now->from[work->symbols[i].begin],
                            now->to[work->symbols[i].end - 1]);
    return err;
}

/* ---- Cutting -------------------------------------------------------------------------------------- */

/* Cuts [begin, end) of the stretch by step `step` and those behind it. */
static enum dg_err cut(const struct dg_bpe *bpe, struct dg_bpe_work *work, size_t step, size_t begin, size_t end)
{
    enum dg_err err = DG_OK;
    if (step == bpe->n_cuts)
        return put_word(bpe, work, begin, end);
    while (begin < end && !err) {
        const struct dg_span rest = dg_span_sub(dg_buf_span(&work->now.text), begin, end - begin);
        const size_t len = dg_bpe_cut(&bpe->cuts[step], rest, 0);
        err = cut(bpe, work, step + 1, begin, begin + len);
        begin += len;
    }
    return err;
}

/* ---- Added tokens --------------------------------------------------------------------------------- */

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

/* The added token at `at`, the longest; NULL: none. */
static const struct dg_bpe_added *added_at(const struct dg_bpe *bpe, struct dg_span text, size_t at, bool normalised,
                                           unsigned how)
{
    if (!bpe->begins_added[normalised][(uint8_t)text.ptr[at]])
        return NULL;
    for (size_t i = 0; i < bpe->n_added; i++) {
        const struct dg_bpe_added *added = &bpe->added[i];
        if (added->is_normalized == normalised && (!added->is_special || (how & DG_BPE_SPECIAL)) &&
            dg_span_eq(dg_span_sub(text, at, added->text.len), added->text))
            return !added->is_word || stands_alone(text, at, at + added->text.len) ? added : NULL;
    }
    return NULL;
}

static bool is_space_at(struct dg_span text, size_t at, size_t *len)
{
    uint32_t cp;
    *len = dg_utf8_decode(text, at, &cp);
    return *len && u_isUWhiteSpace((UChar32)cp);
}

/* The next added token of [at, ...): where it and the spaces that it takes begin and end. */
static const struct dg_bpe_added *next_added(const struct dg_bpe *bpe, struct dg_span text, size_t at, bool normalised,
                                             unsigned how, size_t *begin, size_t *end)
{
    const struct dg_bpe_added *added = NULL;
    size_t first = at, len;
    for (; at < text.len; at++)
        if ((added = added_at(bpe, text, at, normalised, how)))
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

/* The changed stretch: added tokens that are looked for there, and words. */
static enum dg_err put_stretch(const struct dg_bpe *bpe, struct dg_bpe_work *work, unsigned how)
{
    enum dg_err err = DG_OK;
    for (size_t at = 0; at < work->now.text.len && !err;) {
        const struct dg_span text = dg_buf_span(&work->now.text);
        size_t begin = text.len, end = text.len;
        const struct dg_bpe_added *added = next_added(bpe, text, at, true, how, &begin, &end);
        if (begin > at)
            err = cut(bpe, work, 0, at, begin);
        if (added && !err)
            err = put_token(work, added->id, work->now.from[begin], work->now.to[end - 1]);
        at = end;
    }
    return err;
}

static enum dg_err put_text(const struct dg_bpe *bpe, struct dg_bpe_work *work, struct dg_span text, size_t begin,
                            size_t end, unsigned how)
{
    enum dg_err err = DG_OK;
    dg_buf_clear(&work->now.text);
    for (size_t at = begin, len; at < end && !err; at += len) { /* every byte comes from its character */
        uint32_t cp;
        len = dg_utf8_decode(text, at, &cp);
        err = put_bytes(&work->now, text.ptr + at, len, at, at + len);
    }
    for (size_t i = 0; i < bpe->n_changes && !err && work->now.text.len; i++)
        err = change(work, &bpe->changes[i], begin == 0);
    return err ? err : put_stretch(bpe, work, how);
}

/* ---- All --------------------------------------------------------------------------------------------- */

static enum dg_err encode(const struct dg_bpe *bpe, struct dg_bpe_work *work, struct dg_span text, unsigned how)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < bpe->n_before && (how & DG_BPE_TEMPLATE) && !err; i++)
        err = put_token(work, bpe->before[i], 0, 0);
    for (size_t at = 0; at < text.len && !err;) {
        size_t begin = text.len, end = text.len;
        const struct dg_bpe_added *added = next_added(bpe, text, at, false, how, &begin, &end);
        if (begin > at)
            err = put_text(bpe, work, text, at, begin, how);
        if (added && !err)
            err = put_token(work, added->id, begin, end);
        at = end;
    }
    for (size_t i = 0; i < bpe->n_behind && (how & DG_BPE_TEMPLATE) && !err; i++)
        err = put_token(work, bpe->behind[i], text.len, text.len);
    return err;
}

enum dg_err dg_bpe_encode(const struct dg_bpe *bpe, struct dg_bpe_work *work, struct dg_span text, unsigned how,
                          struct dg_why *why, const struct dg_bpe_token **tokens, size_t *n)
{
    size_t bad_at;
    work->n = 0;
    if (!dg_utf8_valid(text, &bad_at))
        return dg_why_set(why, DG_ERR_UTF8, "the text is not valid UTF-8 at byte %zu", bad_at);
    enum dg_err err = text.len < STRETCH_MAX ? encode(bpe, work, text, how) : DG_ERR_LIMIT;
    if (err)
        return dg_why_set(why, err, "a text of %zu bytes cannot be encoded: %s", text.len, dg_err_sentence(err));
    *tokens = work->tokens;
    *n = work->n;
    return DG_OK;
}
