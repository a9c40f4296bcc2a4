/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Unigram: finds the segmentation of a word whose pieces have the highest sum of scores (Viterbi).
 * cells[i] holds the best segmentation of the first i bytes. Every piece that begins at a character
 * leads to the cell at its end; a character that is not itself a piece leads there as unknown, with
 * the lowest score less 10. There is one pass forward and one back, so the time is linear in the
 * word's length.
 *
 * Ids equal those of Hugging Face's library, even in ties: sums are doubles, and only a greater sum
 * replaces another, so that of equal segmentations the one with the longest last piece stays.
 * Unknown characters in a row are joined; together they may be a known token, or become bytes if
 * the file has tokens for all of them. (spm_unigram.c is for SentencePiece's own models, whose sums
 * are floats.)
 *
 * If the pre-tokenizer does not cut before the space mark (U+2581), a piece that begins with the
 * mark still begins a new word, for callers that ask which tokens form a word.
 *
 * There is one difference from that library: special tokens of the model ("<s>", "</s>") never come
 * out of a text. There, a text that becomes such a string by normalisation (from wide letters)
 * becomes the special token, even if the text is not trusted. */
#include "tokenize/hf/subword_int.h"
#include "base/memory/grow.h"
#include "tokenize/spm/utf8_char.h"

enum { NOWHERE = UINT32_MAX };

static void offer(struct dg_subword_cell *cell, size_t from, int32_t id, double score)
{
    if (cell->from == NOWHERE || score > cell->score)
        *cell = (struct dg_subword_cell){.score = score, .from = (uint32_t)from, .id = id};
}

/* Offers all pieces that begin at the character at `at`. */
static void offer_all(const struct dg_subword *subword, struct dg_subword_cell *cells,
                      struct dg_span word, size_t at, size_t char_len)
{
    struct dg_prefixes_walk walk = dg_prefixes_start(&subword->list);
    const double before = cells[at].score;
    bool is_known = false;
    for (size_t end = at;
         end < word.len && dg_prefixes_step(&subword->list, &walk, (uint8_t)word.ptr[end]);) {
        uint32_t id;
        end++;
        if (!dg_prefixes_here(&subword->list, &walk, &id))
            continue;
        offer(&cells[end], at, (int32_t)id, subword->scores[id] + before);
        is_known |= end == at + char_len;
    }
    if (!is_known)
        offer(&cells[at + char_len], at, subword->unk, subword->unk_score + before);
}

/* Puts a run of unknown characters. */
static enum dg_err put_unknown(const struct dg_subword *subword, struct dg_subword_work *work,
                               struct dg_span text, size_t begin, size_t end)
{
    const size_t from = work->now.from[begin], to = work->now.to[end - 1];
    const int32_t whole = dg_subword_find(subword, dg_span_sub(text, begin, end - begin));
    bool has_bytes = subword->falls_apart;
    enum dg_err err = DG_OK;
    if (dg_unigram_is_piece(subword, whole))
        return dg_subword_put(work, whole, from, to);
    for (size_t i = begin; i < end && has_bytes; i++)
        has_bytes = subword->byte_ids[(uint8_t)text.ptr[i]] >= 0;
    if (!has_bytes)
        return dg_subword_put(work, subword->unk, from, to);
    for (size_t i = begin; i < end && !err; i++)
        err = dg_subword_put(work, subword->byte_ids[(uint8_t)text.ptr[i]], from, to);
    return err;
}

/* Follows the best segmentation back from the last cell and stores it forward in `next`. */
static void turn_around(struct dg_subword_cell *cells, size_t len)
{
    for (size_t end = len; end > 0; end = cells[end].from)
        cells[cells[end].from].next = (uint32_t)end;
}

bool dg_unigram_is_piece(const struct dg_subword *subword, int32_t id)
{
    return id >= 0 && (uint32_t)id < subword->n_scores &&
           subword->kinds[id] != DG_SUBWORD_SPECIAL_KIND;
}

enum dg_err dg_unigram_put(const struct dg_subword *subword, struct dg_subword_work *work,
                           size_t begin, size_t end)
{
    const struct dg_span text = dg_buf_span(&work->now.text),
                         word = dg_span_sub(text, begin, end - begin);
    enum dg_err err = DG_RESERVE(work->cells, word.len + 1, work->cells_cap, 64);
    if (err)
        return err;
    struct dg_subword_cell *cells = work->cells;
    for (size_t i = 1; i <= word.len; i++)
        cells[i].from = NOWHERE;
    cells[0].score = 0;
    for (size_t at = 0, len; at < word.len; at += len) {
        len = dg_utf8_char_lead_len((uint8_t)word.ptr[at]);
        offer_all(subword, cells, word, at, len);
    }
    turn_around(cells, word.len);
    for (size_t at = 0, next; at < word.len && !err; at = next) {
        next = cells[at].next;
        const int32_t id = cells[next].id;
        if (at > 0 && dg_span_starts(dg_span_sub(word, at, next - at), DG_SPAN(DG_UTF8_CHAR_SPACE)))
            work->word++;
        while (id == subword->unk && next < word.len && cells[cells[next].next].id == id)
            next = cells[next].next;
        err = id == subword->unk ? put_unknown(subword, work, text, begin + at, begin + next)
                                 : dg_subword_put(work, id, work->now.from[begin + at],
                                                  work->now.to[begin + next - 1]);
    }
    return err;
}
