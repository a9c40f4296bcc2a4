/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Chooses candidates from a row of logits: the k likeliest with their log-probabilities, or one
 * random draw.
 *
 * Ties go to the lower column, NaN is never chosen, and a row without a finite number yields no
 * candidate. The caller provides all scratch memory (struct dg_sampling), so nothing is allocated
 * per token. */
#ifndef DG_DECODE_SAMPLING_H
#define DG_DECODE_SAMPLING_H

#include "base/memory/error.h"
#include "base/memory/rng.h"
#include "tensor/forward/kernels.h"

#include <stddef.h>
#include <stdint.h>

/* A candidate: column of the row and its log-probability. */
struct dg_candidate {
    int32_t column;
    float logprob;
};

/* Scratch for rows of up to `n_columns_max`, over the given kernels. One thread. */
struct dg_sampling;

/* NULL: no memory. */
struct dg_sampling *dg_sampling_new(const struct dg_kernels *kernels, size_t n_columns_max);
void dg_sampling_free(struct dg_sampling *pick);

/* Writes, in one pass over the row, the `k` largest (0 to DG_TOP_K_MAX) to `out`, best first, and
 * the logarithm of the sum of exponentials to *lse. Returns how many it wrote: fewer than k when
 * fewer are finite, 0 when the row is unusable (then *lse is not finite). */
size_t dg_sampling_top(struct dg_sampling *pick, const float *logits, size_t n, size_t k,
                       struct dg_candidate *out, float *lse);

/* The same for a row whose columns come in parts, from left to right: begin, take each part, end.
 * Every bit of the results is that of dg_sampling_top. `k` is at most DG_SAMPLING_PARTS_MAX and the
 * same in all three calls. */
enum { DG_SAMPLING_PARTS_MAX = 32 };
struct dg_sampling_parts {
    struct dg_log_sum_exp so_far;
    struct dg_top top[DG_SAMPLING_PARTS_MAX];
};
void dg_sampling_begin(struct dg_sampling_parts *parts);
void dg_sampling_take(const struct dg_sampling *pick, struct dg_sampling_parts *parts, size_t k,
                      const float *logits, size_t first, size_t n);
size_t dg_sampling_end(const struct dg_sampling_parts *parts, struct dg_candidate *out, float *lse);

/* Draws one column under temperature, top-k and top-p. `out->logprob` is the model's own
 * log-probability, at temperature 1. Returns 0 when the row is unusable, else 1. */
size_t dg_sampling_draw(struct dg_sampling *pick, const float *logits, size_t n, float temperature,
                        int top_k, float top_p, struct dg_rng *rng, struct dg_candidate *out);

#endif
