/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* WordPiece: takes the longest beginning of a word that is in the vocabulary, then the longest
 * beginning of the rest that is there with the prefix ("##"), and so on. A word that cannot be
 * split to its end in this way, or that is too long, becomes the unknown token. The vocabulary is a
 * sorted list that is narrowed down byte by byte; for the rest of a word, the search starts from
 * the list that is already narrowed to the prefix. */
#include "base/memory/utf8.h"
#include "tokenize/hf/subword_int.h"

/* The longest piece at the beginning of [at, end): its id and its end, or -1. Pieces consist of
 * whole characters, so the end is between characters. */
static int32_t longest(const struct dg_subword *subword, struct dg_span text, size_t at, size_t end,
                       bool is_inside, size_t *piece_end)
{
    struct dg_prefixes_walk walk = is_inside ? subword->inner : dg_prefixes_start(&subword->list);
    uint32_t which;
    int32_t found = -1;
    while (at < end && dg_prefixes_step(&subword->list, &walk, (uint8_t)text.ptr[at++])) {
        if (!dg_prefixes_here(&subword->list, &walk, &which))
            continue;
        found = (int32_t)which;
        *piece_end = at;
    }
    return found;
}

enum dg_err dg_wordpiece_put(const struct dg_subword *subword, struct dg_subword_work *work,
                             size_t begin, size_t end)
{
    const struct dg_subword_stretch *now = &work->now;
    const struct dg_span text = dg_buf_span(&now->text);
    const size_t n_before = work->out.n;
    const bool is_long = dg_utf8_count(dg_span_sub(text, begin, end - begin)) > subword->word_max;
    enum dg_err err = DG_OK;
    for (size_t at = begin, next = at; at < end && !err; at = next) {
        const int32_t id = is_long ? -1 : longest(subword, text, at, end, at > begin, &next);
        if (id >= 0) {
            err = dg_subword_put(work, id, now->from[at], now->to[next - 1]);
            continue;
        }
        work->out.n = n_before;
        return dg_subword_put(work, subword->unk, now->from[begin], now->to[end - 1]);
    }
    return err;
}
