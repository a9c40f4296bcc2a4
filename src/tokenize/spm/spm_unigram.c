/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Unigram segmentation: the split of the text whose pieces have the highest sum of scores
 * (Viterbi).
 *
 * scores[i] and backs[i] hold the best segmentation of the first i bytes. Every piece that begins
 * at a character leads to the position at its end; a character that is not itself a piece leads
 * there by the unknown piece. One pass forward, one walk back: the time is linear in the length.
 *
 * Ids must equal the original's to the last tie, so its arithmetic is kept:
 *  - a sum is stored as float, but a new sum is compared as double before it is rounded;
 *  - only a strictly greater sum replaces another, so that of equal sums the longest last piece
 *    stays;
 *  - a user-defined piece scores (bytes * max_score) - 0.1, where the product is float and the
 *    difference double.
 *
 * The same search written plainly, over an explicit lattice, is in
 * tests/unit/tokenize/spm/spm_lattice.c; a test holds the two together. */
#include "tokenize/spm/spm_int.h"
#include "base/memory/grow.h"
#include "tokenize/spm/utf8_char.h"

#include <math.h>

/* Marks a handle where an id is expected (ids and handles have 22 bits). */
static const uint32_t IS_HANDLE = 1u << 31;

/* Offers a segmentation that ends at `end`. A branch would be mispredicted half of the time, so
 * both arrays are always written. The better score is the same whether it is compared before or
 * after rounding, so the rounding is kept out of the chain from score to score; `backs` is chosen
 * by the comparison before rounding. */
static inline void offer(struct dg_spm_cells cells, uint32_t start, uint32_t end, uint32_t id,
                         double score)
{
    const float old = cells.scores[end], rounded = (float)score;
    const uint64_t back = (uint64_t)start << 32 | id;
    const uint64_t old_back = cells.backs[end];
    cells.scores[end] = rounded > old ? rounded : old;
    cells.backs[end] = score > (double)old ? back : old_back;
}

static inline double score_of(const struct dg_spm *spm, uint32_t id, uint32_t len, bool has_user)
{
    if (has_user && dg_pieces_type(&spm->pieces, id) == DG_PIECE_USER_DEFINED)
        return (double)((float)len * spm->max_score) - 0.1;
    return (double)spm->pieces.scores[id];
}

/* The piece whose beginning led to a leaf, if the text goes on like its rest; returns its length or
 * 0. Its id is left for the walk back. */
static uint32_t offer_tail(const struct dg_spm *spm, const uint8_t *from, uint32_t left,
                           uint32_t start, uint32_t depth, uint32_t node, struct dg_spm_cells cells,
                           double before, bool has_user)
{
    const uint8_t *at = dg_pieces_handle_at(&spm->pieces, node >> 10);
    const uint32_t len = (uint32_t)dg_pieces_len(at);
    if (len > left)
        return 0;
    for (uint32_t i = depth; i < len; i++)
        if (at[i] != from[i])
            return 0;
    double score = (double)dg_pieces_score_at(at, len);
    if (has_user && dg_pieces_type_at(&spm->pieces, at, len) == DG_PIECE_USER_DEFINED)
        score = (double)((float)len * spm->max_score) - 0.1;
    offer(cells, start, start + len, node >> 10 | IS_HANDLE, score + before);
    return len;
}

/* Offers all pieces that begin at `start`. The text ends with NULs, which lead nowhere in the trie.
 * Nodes at which no piece ends make an offer to a cell that nobody reads: a branch would cost more.
 */
static inline void offer_all(const struct dg_spm *spm, const uint8_t *text, uint32_t len,
                             uint32_t start, uint32_t char_len, struct dg_spm_cells cells,
                             bool has_user)
{
    const uint32_t *const nodes = spm->trie.nodes;
    const uint8_t *const from = text + start;
    const double before = (double)cells.scores[start];
    bool has_single = false;
    uint32_t node = nodes[0];
    for (uint32_t depth = 0; from[depth] != 0;) {
        const uint32_t byte = from[depth++];
        node = nodes[node >> 10 ^ byte];
        if ((node & 0xFF) != byte)
            break;
        if (node & DG_PIECE_TRIE_LEAF) {
            if (!(node & DG_PIECE_TRIE_END))
                depth =
                    offer_tail(spm, from, len - start, start, depth, node, cells, before, has_user);
            else
                offer(cells, start, start + depth, node >> 10,
                      score_of(spm, node >> 10, depth, has_user) + before);
            has_single |= depth == char_len;
            break;
        }
        const bool ends = (node & DG_PIECE_TRIE_END) != 0;
        const uint32_t value = nodes[node >> 10] >> 10;
        const uint32_t id = ends ? value : 0;
        offer(cells, start, ends ? start + depth : len + 1, id,
              score_of(spm, id, depth, has_user) + before);
        has_single |= ends & (depth == char_len);
    }
    if (!has_single)
        offer(cells, start, start + char_len, spm->unk,
              (double)(spm->min_score - 10.0f + (float)before));
}

static void forward(const struct dg_spm *spm, const uint8_t *text, uint32_t len,
                    struct dg_spm_cells cells, bool has_user)
{
    uint32_t char_len;
    for (uint32_t start = 0; start < len; start += char_len) {
        char_len = (uint32_t)dg_utf8_char_lead_len(text[start]);
        if (char_len > len - start)
            char_len = len - start;
        offer_all(spm, text, len, start, char_len, cells, has_user);
    }
}

static enum dg_err prepare(struct dg_spm_work *work, uint32_t len)
{
    enum dg_err err = DG_RESERVE(work->cells.scores, (size_t)len + 2, work->scores_cap, 64);
    if (!err)
        err = DG_RESERVE(work->cells.backs, (size_t)len + 2, work->backs_cap, 64);
    for (uint32_t i = 0; !err && i <= len + 1; i++)
        work->cells.scores[i] = -INFINITY;
    return err;
}

/* Lists the segments from the end to the start, then reverses them. */
static enum dg_err walk_back(const struct dg_spm *spm, struct dg_spm_work *work)
{
    enum dg_err err = DG_OK;
    for (uint32_t end = (uint32_t)work->normal.len; end > 0 && !err;) {
        const uint64_t back = work->cells.backs[end];
        uint32_t id = (uint32_t)back;
        if (id & IS_HANDLE)
            id = dg_pieces_handle_id(&spm->pieces, id & ~IS_HANDLE);
        err = dg_spm_work_segment(work, (uint32_t)(back >> 32), end, id);
        end = (uint32_t)(back >> 32);
    }
    dg_spm_work_reverse(work);
    return err;
}

enum dg_err dg_spm_unigram(const struct dg_spm *spm, struct dg_spm_work *work)
{
    const uint32_t len = (uint32_t)work->normal.len;
    enum dg_err err = prepare(work, len);
    if (err)
        return err;
    work->cells.scores[0] = 0;
    if (spm->user.nodes)
        forward(spm, work->normal.bytes, len, work->cells, true);
    else
        forward(spm, work->normal.bytes, len, work->cells, false);
    return walk_back(spm, work);
}
