/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside `dragoman translate`: answers as JSON, the same with and without --ids.
 *
 *     "answers":[{"text":"...","finish":"eos","repaired":false,"logprob":-1.5,"score":-0.3,
 *                 "ids":[5,0],"token_logprobs":[-1,-0.5],"alignment":[[2,0],[3,1]]}, ...]
 * `text` is missing with --ids; `alignment`, pairs of source and target positions, is there on
 * request. */
#ifndef DG_TOOLS_TRANSLATE_TRANSLATE_JSON_H
#define DG_TOOLS_TRANSLATE_TRANSLATE_JSON_H

#include "base/json/json_out.h"
#include "engine/engine.h"

/* Writes the key and the array. Texts with ptr NULL are left out. */
void translate_json_answers(struct dg_json_out *out, const struct dg_engine_answer *answers,
                            size_t n, size_t n_source);

/* Writes {"line":7,"error":"..."} in place of a line that could not be translated. */
enum dg_err translate_json_error(struct dg_buf *out, size_t line,
                                 const char *sentence) DG_MUST_CHECK;

/* Returns the source position to which target token `t` pays the most attention; `alignment` is
 * [.., n_source]. */
size_t translate_aligned(const float *alignment, size_t t, size_t n_source);

/* Appends the weights [n_ids, n_source] as Marian writes soft alignments: commas separate the
 * weights of a token, spaces separate the tokens. Appends nothing when `alignment` is NULL. */
enum dg_err translate_soft_alignment(struct dg_buf *out, const float *alignment, size_t n_ids,
                                     size_t n_source) DG_MUST_CHECK;

#endif
