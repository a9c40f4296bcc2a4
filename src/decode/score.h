/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Computes how likely a given target is: one teacher-forced pass under the causal mask, without a
 * search.
 *
 *     struct dg_scorer *scorer;
 *     err = dg_scorer_new(&scorer, net, 512, 512, &error);
 *     float logprobs[n_tgt];
 *     err = dg_scorer_run(scorer, src, n_src,
 *                         &(struct dg_scorer_target){.ids = tgt, .n = n_tgt},
 *                         logprobs, NULL, &error);
 *     dg_scorer_free(scorer);
 *
 * The values equal, to the bit, those that a search would sum up for the same words. */
#ifndef DG_DECODE_SCORE_H
#define DG_DECODE_SCORE_H

#include "base/memory/error.h"
#include "network/net.h"

#include <stddef.h>
#include <stdint.h>

struct dg_scorer; /* one thread at a time */

/* `net` is borrowed and must outlive the scorer. */
enum dg_err dg_scorer_new(struct dg_scorer **scorer, const struct dg_net *net, size_t source_max,
                          size_t target_max, struct dg_error *error) DG_MUST_CHECK;
void dg_scorer_free(struct dg_scorer *scorer); /* NULL is fine */

/* Requests the attention of each target token. */
struct dg_scorer_attention {
    size_t layer;   /* the decoder layer, from 0 */
    int32_t head;   /* the head, or -1: the mean of all heads */
    float *weights; /* [n_tgt, n_src] is written; each row sums to 1 */
};

struct dg_scorer_target {
    const int32_t *ids; /* [n] */
    size_t n;
    /* [n_lead] tokens read before the target, as in dg_search_opts; not scored */
    const int32_t *lead;
    size_t n_lead;
};

/* Writes the log-probability of each target token (of the end token too, if the target has it)
 * given the source and the tokens before it. Words that the model never generates (padding) are
 * left out of the distribution; their own value is -infinity. `attention` may be NULL. */
enum dg_err dg_scorer_run(struct dg_scorer *scorer, const int32_t *src, size_t n_src,
                          const struct dg_scorer_target *target, float *logprobs,
                          const struct dg_scorer_attention *attention,
                          struct dg_error *error) DG_MUST_CHECK;

#endif
