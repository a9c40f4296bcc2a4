/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* WordPiece: of a word the longest beginning that the vocabulary has, then of the rest the longest
 * that it has with the prefix ("##") before, and so on. A word that cannot be said to its end, or
 * that is too long, is the unknown token as a whole. The vocabulary is a sorted list which is
 * narrowed down byte by byte; that the rest of a word needs the prefix is said by beginning where
 * the list has been narrowed to it already. */
#include "base/memory/utf8.h"
#include "tokenize/hf/subword_int.h"

/* The longest piece of [at, end) of the text: its id and its end, or -1. Pieces are whole
 * characters, so it ends at one. */
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
