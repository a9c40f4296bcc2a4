/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Text to tokens of a SentencePiece model.
 *
 *     err = dg_spm_encode(spm, work, text);
 *     size_t n;
 *     const struct dg_spm_token *tokens = dg_spm_tokens(work, &n);
 *     for (size_t i = 0; i < n; i++)
 *         use(tokens[i].id, text.ptr + tokens[i].begin, tokens[i].end - tokens[i].begin);
 *
 * The workspace keeps its memory from text to text: in the steady state nothing is allocated. It
 * belongs to one thread at a time; tokens are borrowed until its next use. */
#ifndef DG_TOKENIZE_SPM_SPM_ENCODE_H
#define DG_TOKENIZE_SPM_SPM_ENCODE_H

#include "base/memory/error.h"
#include "base/memory/span.h"
#include "tokenize/spm/spm.h"

#include <stddef.h>
#include <stdint.h>

struct dg_spm_work;

struct dg_spm_token {
    uint32_t id;
    uint32_t begin, end; /* Bytes of the original text. If byte pieces form a character, only the
                            last of them has a range that is not empty. */
    uint32_t piece_begin, piece_end; /* bytes of the normalised text */
};

struct dg_spm_work *dg_spm_work_new(void);
void dg_spm_work_free(struct dg_spm_work *work); /* NULL is fine */

/* DG_ERR_LIMIT for texts of more than 1 GiB; DG_ERR_NOMEM. Any bytes are accepted as text. */
enum dg_err dg_spm_encode(const struct dg_spm *spm, struct dg_spm_work *work,
                          struct dg_span text) DG_MUST_CHECK;

const struct dg_spm_token *dg_spm_tokens(const struct dg_spm_work *work, size_t *n);

/* The token's piece as text: a byte piece's name, otherwise the normalised text (for an unknown
 * token maybe several characters). Borrowed from the model or the workspace. */
struct dg_span dg_spm_token_piece(const struct dg_spm *spm, const struct dg_spm_work *work,
                                  const struct dg_spm_token *token);

#endif
