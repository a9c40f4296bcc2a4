/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Other ways to encode a text than the best one, for training: the n best, or a random one
 * (subword regularisation, Kudo 2018; BPE dropout, Provilkov et al. 2020).
 *
 *     dg_rng_init(&rng, 42, 0);                    the same seed, the same samples, everywhere
 *     err = dg_spm_sample(spm, work, text, &(struct dg_spm_sampling){.alpha = 0.1}, &rng);
 *     tokens = dg_spm_tokens(work, &n);
 *
 *     size_t n_ways;
 *     err = dg_spm_nbest(spm, work, text, 10, &n_ways);
 *     for (size_t i = 0; i < n_ways; i++) {
 *         err = dg_spm_nbest_take(spm, work, i, &score);   best first
 *         tokens = dg_spm_tokens(work, &n);
 *     }
 *
 * These are not the fast path: a lattice of all pieces is made for each text. */
#ifndef DG_TEXT_SPM_SAMPLE_H
#define DG_TEXT_SPM_SAMPLE_H

#include "base/err.h"
#include "base/rng.h"
#include "base/span.h"
#include "text/spm_encode.h"

#include <stddef.h>

enum { DG_SPM_NBEST_MAX = 1024, DG_SPM_SAMPLING_NBEST_MAX = 512 };

struct dg_spm_sampling {
    double alpha; /* unigram: how sharp the distribution is (0: all ways alike); BPE: the
                     probability that a merge is passed over */
    int nbest; /* unigram only. 0: among all ways; 2 to DG_SPM_SAMPLING_NBEST_MAX: among the best */
};

/* Encodes at random. Word and character models have one way only, and give it. */
enum dg_err dg_spm_sample(const struct dg_spm *spm, struct dg_spm_work *work, struct dg_span text,
                          const struct dg_spm_sampling *sampling,
                          struct dg_rng *rng) DG_MUST_CHECK;

/* Finds the `n` best ways (clipped to DG_SPM_NBEST_MAX), or fewer if there are fewer.
 * DG_ERR_UNSUPPORTED for models that are not unigram. */
enum dg_err dg_spm_nbest(const struct dg_spm *spm, struct dg_spm_work *work, struct dg_span text,
                         size_t n, size_t *n_ways) DG_MUST_CHECK;

/* Makes way `i` of the last dg_spm_nbest the workspace's tokens. */
enum dg_err dg_spm_nbest_take(const struct dg_spm *spm, struct dg_spm_work *work, size_t i,
                              float *score) DG_MUST_CHECK;

#endif
