/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* From a row of logits to candidates: the k likeliest with their log-probabilities, or one drawn.
 *
 * Ties go to the lower column, NaN is never chosen, and a row in which nothing is finite yields no
 * candidate. All scratch memory is the caller's (struct dg_pick), so nothing is allocated per
 * token. */
#ifndef DG_DECODE_PICK_H
#define DG_DECODE_PICK_H

#include "base/memory/err.h"
#include "base/memory/rng.h"
#include "tensor/forward/kernels.h"

#include <stddef.h>
#include <stdint.h>

/* A candidate: column of the row and its log-probability. */
struct dg_choice {
    int32_t column;
    float logprob;
};

/* Scratch for rows of up to `n_columns_max`, over the given kernels. One thread. */
struct dg_pick;
struct dg_pick *dg_pick_new(const struct dg_kernels *kernels, size_t n_columns_max); /* NULL: no
                                                                                        memory */
void dg_pick_free(struct dg_pick *pick);

/* One pass over the row: the `k` largest (at most DG_TOP_K_MAX, may be 0), best first, into `out`,
 * and in *lse the logarithm of the sum of exponentials. Returns how many there are: fewer than k
 * when fewer are finite, 0 when the row is unusable (then *lse is not finite). */
size_t dg_pick_top(struct dg_pick *pick, const float *logits, size_t n, size_t k,
                   struct dg_choice *out, float *lse);

/* Draws one column after temperature, top-k and top-p. `out->logprob` is the model's own, at
 * temperature 1. Returns 0 when the row is unusable, else 1. */
size_t dg_pick_draw(struct dg_pick *pick, const float *logits, size_t n, float temperature,
                    int top_k, float top_p, struct dg_rng *rng, struct dg_choice *out);

#endif
