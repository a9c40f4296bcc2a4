/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Merging: the pair of the lowest rank first, and of equal ranks the leftmost pair, until no pair
 * is left. A heap of (rank, place) holds all pairs; an entry whose pair has changed in the meantime
 * is skipped. Takes n log n steps for any word. */
#include "base/memory/utf8.h"
#include "base/memory/grow.h"
#include "tokenize/hf/subword_int.h"

#include <string.h>

enum { NONE = UINT32_MAX };

/* The merge of a pair, or NULL. */
static const struct dg_subword_merge *merge_of(const struct dg_subword *subword, int32_t left,
                                               int32_t right)
{
    const uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    uint64_t hash = pair * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
    for (size_t at = hash & (subword->n_places - 1);; at = (at + 1) & (subword->n_places - 1)) {
        if (subword->merges[at].pair == pair)
            return &subword->merges[at];
        if (subword->merges[at].pair == UINT64_MAX)
            return NULL;
    }
}

static enum dg_err push(struct dg_subword_work *work, uint32_t rank, uint32_t place)
{
    enum dg_err err = DG_GROW(work->heap, work->n_heap, work->heap_cap, 64);
    if (err)
        return err;
    size_t at = work->n_heap++;
    const uint64_t entry = (uint64_t)rank << 32 | place;
    for (; at > 0 && work->heap[(at - 1) / 2] > entry; at = (at - 1) / 2)
        work->heap[at] = work->heap[(at - 1) / 2];
    work->heap[at] = entry;
    return DG_OK;
}

static uint64_t pop(struct dg_subword_work *work)
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

static const struct dg_subword_merge *merge_at(const struct dg_subword *subword,
                                               const struct dg_subword_work *work, uint32_t place)
{
    const struct dg_subword_symbol *left = &work->symbols[place];
    return left->right == NONE ? NULL : merge_of(subword, left->id, work->symbols[left->right].id);
}

static enum dg_err push_pair(const struct dg_subword *subword, struct dg_subword_work *work,
                             uint32_t place)
{
    const struct dg_subword_merge *merge = place == NONE ? NULL : merge_at(subword, work, place);
    return merge ? push(work, merge->rank, place) : DG_OK;
}

static enum dg_err merge_all(const struct dg_subword *subword, struct dg_subword_work *work)
{
    enum dg_err err = DG_OK;
    work->n_heap = 0;
    for (uint32_t i = 0; i + 1 < work->n_symbols && !err; i++)
        err = push_pair(subword, work, i);
    while (work->n_heap && !err) {
        const uint64_t entry = pop(work);
        const uint32_t place = (uint32_t)entry;
        struct dg_subword_symbol *left = &work->symbols[place];
        const struct dg_subword_merge *merge = left->id < 0 ? NULL : merge_at(subword, work, place);
        if (!merge || merge->rank != entry >> 32)
            continue;
        struct dg_subword_symbol *right = &work->symbols[left->right];
        left->id = (int32_t)merge->id;
        left->end = right->end;
        left->right = right->right;
        right->id = -1; /* its symbol is now part of the one on the left */
        if (left->right != NONE)
            work->symbols[left->right].left = place;
        err = push_pair(subword, work, left->left);
        if (!err)
            err = push_pair(subword, work, place);
    }
    return err;
}

static enum dg_err put_symbol(struct dg_subword_work *work, int32_t id, size_t begin, size_t end)
{
    enum dg_err err = DG_GROW(work->symbols, work->n_symbols, work->symbols_cap, 64);
    if (err)
        return err;
    const uint32_t at = (uint32_t)work->n_symbols++;
    work->symbols[at] =
        (struct dg_subword_symbol){id, (uint32_t)begin, (uint32_t)end, at ? at - 1 : NONE, NONE};
    if (at)
        work->symbols[at - 1].right = at;
    return DG_OK;
}

/* Puts the symbols of a character where merging starts from characters: its token, or the tokens of
 * its bytes, or the unknown token, of which several in a row may become one. Without any of these
 * the character is dropped, as other implementations do. */
static enum dg_err put_character(const struct dg_subword *subword, struct dg_subword_work *work,
                                 struct dg_span text, size_t at, size_t len, bool *was_unknown)
{
    const int32_t id = dg_subword_find(subword, dg_span_sub(text, at, len));
    const bool was = *was_unknown;
    bool has_bytes = subword->falls_apart;
    enum dg_err err = DG_OK;
    *was_unknown = false;
    if (id >= 0)
        return put_symbol(work, id, at, at + len);
    for (size_t i = at; i < at + len; i++)
        has_bytes = has_bytes && subword->byte_ids[(uint8_t)text.ptr[i]] >= 0;
    for (size_t i = at; has_bytes && i < at + len && !err; i++)
        err = put_symbol(work, subword->byte_ids[(uint8_t)text.ptr[i]], i, i + 1);
    if (has_bytes || subword->unk < 0)
        return err;
    *was_unknown = true;
    if (was && subword->fuses_unk && work->n_symbols) {
        work->symbols[work->n_symbols - 1].end = (uint32_t)(at + len);
        return DG_OK;
    }
    return put_symbol(work, subword->unk, at, at + len);
}

static enum dg_err put_symbols(const struct dg_subword *subword, struct dg_subword_work *work,
                               struct dg_span text, size_t begin, size_t end)
{
    enum dg_err err = DG_OK;
    bool was_unknown = false;
    work->n_symbols = 0;
    for (size_t at = begin, len; at < end && !err; at += len) {
        uint32_t cp;
        len = subword->is_byte_level ? 1 : dg_utf8_decode(text, at, &cp);
        err = subword->is_byte_level
                  ? put_symbol(work, subword->byte_ids[(uint8_t)text.ptr[at]], at, at + 1)
                  : put_character(subword, work, text, at, len, &was_unknown);
    }
    return err;
}

/* The token that is the whole word, or -1. */
static int32_t find_whole(const struct dg_subword *subword, struct dg_span word)
{
    char letters[DG_SUBWORD_PIECE_MAX + 2];
    size_t len = 0;
    if (!subword->is_byte_level)
        return dg_subword_find(subword, word);
    for (size_t i = 0; i < word.len; i++) {
        if (len > DG_SUBWORD_PIECE_MAX - 2)
            return -1;
        char bytes[DG_UTF8_MAX_LEN];
        const size_t n = dg_utf8_encode(dg_subword_letter((uint8_t)word.ptr[i]), bytes);
        memcpy(letters + len, bytes, n);
        len += n;
    }
    return dg_subword_find(subword, dg_span_make(letters, len));
}

enum dg_err dg_subword_merge_word(const struct dg_subword *subword, struct dg_subword_work *work,
                                  size_t begin, size_t end)
{
    const struct dg_span text = dg_buf_span(&work->now.text);
    const struct dg_subword_stretch *now = &work->now;
    if (subword->takes_whole) {
        const int32_t id = find_whole(subword, dg_span_sub(text, begin, end - begin));
        if (id >= 0)
            return dg_subword_put(work, id, now->from[begin], now->to[end - 1]);
    }
    enum dg_err err = put_symbols(subword, work, text, begin, end);
    if (!err)
        err = merge_all(subword, work);
    for (uint32_t i = 0; i < work->n_symbols && !err; i++)
        if (work->symbols[i].id >= 0)
            err = dg_subword_put(work, work->symbols[i].id, now->from[work->symbols[i].begin],
                                 now->to[work->symbols[i].end - 1]);
    return err;
}
