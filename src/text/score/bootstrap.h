/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Tells how reliable a score is and whether one system is better than another: bootstrap resampling
 * (Koehn, 2004), paired if two systems translated the same sentences, with the interval and the
 * p-value that sacreBLEU computes (Riezler and Maxwell, 2005).
 *
 *     const struct dg_bootstrap_system systems[2] = {{bleu_a, chrf_a}, {bleu_b, chrf_b}};
 *     struct dg_bootstrap_opts opts = DG_BOOTSTRAP_OPTS_DEFAULT;
 *     err = dg_bootstrap_run(systems, 2, n_sentences, &opts, &result);
 *     ... result.bleu[0].mean, result.bleu[0].half, result.p_bleu ...
 *
 * The same seed draws the same samples on every machine. SacreBLEU draws others, with numpy's
 * generator, so its figures differ from ours as much as the figures of one program differ between
 * two seeds. Pure; any thread. */
#ifndef DG_TEXT_SCORE_BOOTSTRAP_H
#define DG_TEXT_SCORE_BOOTSTRAP_H

#include "base/memory/error.h"
#include "text/score/metric.h"

#include <stddef.h>
#include <stdint.h>

enum { DG_BOOTSTRAP_SYSTEMS = 2 };

struct dg_bootstrap_opts {
    size_t n_samples;
    uint64_t seed;
    struct dg_bleu_opts bleu;
    int chrf_words;
};

#define DG_BOOTSTRAP_OPTS_DEFAULT                                                                  \
    {                                                                                              \
        .n_samples = 1000, .seed = 12345, .bleu = DG_BLEU_OPTS_DEFAULT                             \
    }

/* A system's counts of each sentence; borrowed. */
struct dg_bootstrap_system {
    const struct dg_bleu_stats *bleu;
    const struct dg_chrf_stats *chrf;
};

struct dg_bootstrap_score {
    double score; /* the score of all sentences, each once */
    double mean;  /* the mean over the samples */
    double half;  /* half the width of the interval that contains 95 of 100 samples */
};

struct dg_bootstrap_result {
    struct dg_bootstrap_score bleu[DG_BOOTSTRAP_SYSTEMS], chrf[DG_BOOTSTRAP_SYSTEMS];
    double p_bleu, p_chrf; /* the probability that chance alone explains the difference; 1 for a
                              single system */
};

/* One or two systems over the same `n` sentences, n and n_samples from 1. DG_ERR_NOMEM. */
enum dg_err dg_bootstrap_run(const struct dg_bootstrap_system *systems, size_t n_systems, size_t n,
                             const struct dg_bootstrap_opts *opts,
                             struct dg_bootstrap_result *result) DG_MUST_CHECK;

#endif
