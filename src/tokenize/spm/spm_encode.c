/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Encoding: normalise, segment, turn segments into tokens. */
#include "tokenize/spm/spm_encode.h"

#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "tokenize/spm/spm_int.h"

/* ---- Workspace ------------------------------------------------------------------------------- */

struct dg_spm_work *dg_spm_work_new(void)
{
    return dg_xcalloc(1, sizeof(struct dg_spm_work));
}

void dg_spm_work_free(struct dg_spm_work *work)
{
    if (!work)
        return;
    dg_normal_text_deinit(&work->normal);
    dg_free(work->segments);
    dg_free(work->tokens);
    dg_free(work->cells.scores);
    dg_free(work->cells.backs);
    dg_spm_bpe_free(work->bpe);
    dg_free(work);
}

void dg_spm_work_reverse(struct dg_spm_work *work)
{
    for (size_t i = 0, j = work->n_segments; i + 1 < j; i++) {
        struct dg_spm_segment first = work->segments[i];
        work->segments[i] = work->segments[--j];
        work->segments[j] = first;
    }
}

/* ---- Segments to tokens ---------------------------------------------------------------------- */

/* Encodes a character that is not a piece as byte pieces; the last one has the range of text. */
static void put_bytes(const struct dg_spm *spm, struct dg_spm_work *work,
                      const struct dg_spm_segment *s)
{
    const uint32_t *origin = work->normal.origin;
    for (uint32_t at = s->begin; at < s->end; at++) {
        bool is_last = at + 1 == s->end;
        work->tokens[work->n_tokens++] = (struct dg_spm_token){
            .id = spm->byte_ids[work->normal.bytes[at]],
            .begin = origin[s->begin],
            .end = is_last ? origin[s->end] : origin[s->begin],
            .piece_begin = at,
            .piece_end = at + 1,
        };
    }
}

enum dg_err dg_spm_populate(const struct dg_spm *spm, struct dg_spm_work *work)
{
    const uint32_t *origin = work->normal.origin;
    bool was_unk = false;
    work->n_tokens = 0;
    for (size_t i = 0; i < work->n_segments; i++) {
        const struct dg_spm_segment *s = &work->segments[i];
        bool is_unk = s->id == spm->unk;
        enum dg_err err = DG_RESERVE(
            work->tokens, work->n_tokens + (is_unk ? s->end - s->begin : 1), work->tokens_cap, 64);
        if (err)
            return err;
        if (is_unk && spm->byte_fallback) {
            put_bytes(spm, work, s);
        } else if (is_unk && was_unk) {
            work->tokens[work->n_tokens - 1].end = origin[s->end];
            work->tokens[work->n_tokens - 1].piece_end = s->end;
        } else {
            work->tokens[work->n_tokens++] =
                (struct dg_spm_token){s->id, origin[s->begin], origin[s->end], s->begin, s->end};
        }
        was_unk = is_unk;
    }
    return DG_OK;
}

/* ---- Encoding -------------------------------------------------------------------------------- */

static enum dg_err segment(const struct dg_spm *spm, struct dg_spm_work *work)
{
    switch (spm->kind) {
    case DG_SPM_UNIGRAM:
        return dg_spm_unigram(spm, work);
    case DG_SPM_BPE:
        return dg_spm_bpe(spm, work);
    case DG_SPM_WORD:
        return dg_spm_word(spm, work);
    case DG_SPM_CHAR:
        return dg_spm_char(spm, work);
    }
    return DG_ERR_INTERNAL;
}

enum dg_err dg_spm_encode(const struct dg_spm *spm, struct dg_spm_work *work, struct dg_span text)
{
    work->n_tokens = work->n_segments = 0;
    if (text.len == 0)
        return DG_OK;
    enum dg_err err = dg_normalise(&spm->normaliser, text, &work->normal);
    if (!err && work->normal.len)
        err = segment(spm, work);
    return err ? err : dg_spm_populate(spm, work);
}

const struct dg_spm_token *dg_spm_tokens(const struct dg_spm_work *work, size_t *n)
{
    *n = work->n_tokens;
    return work->tokens;
}

struct dg_span dg_spm_token_piece(const struct dg_spm *spm, const struct dg_spm_work *work,
                                  const struct dg_spm_token *token)
{
    if (dg_pieces_type(&spm->pieces, token->id) == DG_PIECE_BYTE)
        return dg_pieces_text(&spm->pieces, token->id);
    return dg_span_make((const char *)work->normal.bytes + token->piece_begin,
                        token->piece_end - token->piece_begin);
}
