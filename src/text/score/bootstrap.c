/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A sample is n sentences drawn with replacement, the same ones for both systems. The p-value is
 * the share of samples whose difference is farther from the mean difference than the real
 * difference is from zero (with one added to both counts): if the systems were equal, the
 * differences would lie around zero as they now lie around their mean. */
#include "text/score/bootstrap.h"
#include "base/memory/mem.h"

#include <math.h>
#include <stdlib.h>

/* SplitMix64. */
static uint64_t next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double mean_of(const double *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

/* Sorts the samples. */
static void summarise(double *samples, size_t n, struct dg_bootstrap_score *score)
{
    qsort(samples, n, sizeof *samples, by_value);
    const size_t cut = n / 40;
    score->mean = mean_of(samples, n);
    score->half = 0.5 * (samples[n - cut - 1] - samples[cut]);
}

static double p_value(const double *a, const double *b, size_t n, double real)
{
    double mean = 0.0;
    size_t further = 0;
    if (real == 0.0)
        return 1.0; /* where sacreBLEU would give 1 / (n + 1) for a system and itself */
    for (size_t i = 0; i < n; i++)
        mean += (a[i] - b[i]) / (double)n;
    for (size_t i = 0; i < n; i++)
        further += fabs(a[i] - b[i] - mean) > fabs(real);
    return ((double)further + 1.0) / ((double)n + 1.0);
}

static void score_all(const struct dg_bootstrap_system *system, const uint32_t *drawn, size_t n,
                      const struct dg_bootstrap_opts *opts, double *bleu, double *chrf)
{
    struct dg_bleu_stats bleu_sum = {.hyp_len = 0};
    struct dg_chrf_stats chrf_sum = {.hyp = {0}};
    for (size_t i = 0; i < n; i++) {
        const size_t at = drawn ? drawn[i] : i;
        dg_bleu_add(&bleu_sum, &system->bleu[at]);
        dg_chrf_add(&chrf_sum, &system->chrf[at]);
    }
    *bleu = dg_bleu_score(&bleu_sum, &opts->bleu, false).score;
    *chrf = dg_chrf_score(&chrf_sum, opts->chrf_words);
}

enum dg_err dg_bootstrap_run(const struct dg_bootstrap_system *systems, size_t n_systems, size_t n,
                             const struct dg_bootstrap_opts *opts,
                             struct dg_bootstrap_result *result)
{
    struct dg_bootstrap_result made = {.p_bleu = 1.0, .p_chrf = 1.0};
    const size_t N = opts->n_samples;
    uint32_t *drawn = n <= UINT32_MAX ? dg_try_calloc(n, sizeof *drawn) : NULL;
    double *samples = dg_try_calloc(N, 2 * DG_BOOTSTRAP_SYSTEMS * sizeof *samples);
    double *bleu[2], *chrf[2];
    uint64_t state = opts->seed;
    enum dg_err err = drawn && samples ? DG_OK : DG_ERR_NOMEM;
    if (err)
        goto out;
    for (size_t s = 0; s < DG_BOOTSTRAP_SYSTEMS; s++) {
        bleu[s] = samples + 2 * s * N;
        chrf[s] = bleu[s] + N;
    }
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < n; j++)
            drawn[j] = (uint32_t)(((next(&state) >> 32) * (uint64_t)n) >> 32);
        for (size_t s = 0; s < n_systems; s++)
            score_all(&systems[s], drawn, n, opts, &bleu[s][i], &chrf[s][i]);
    }
    for (size_t s = 0; s < n_systems; s++)
        score_all(&systems[s], NULL, n, opts, &made.bleu[s].score, &made.chrf[s].score);
    if (n_systems == 2) {
        made.p_bleu = p_value(bleu[0], bleu[1], N, made.bleu[0].score - made.bleu[1].score);
        made.p_chrf = p_value(chrf[0], chrf[1], N, made.chrf[0].score - made.chrf[1].score);
    }
    for (size_t s = 0; s < n_systems; s++) {
        summarise(bleu[s], N, &made.bleu[s]);
        summarise(chrf[s], N, &made.chrf[s]);
    }
    *result = made;
out:
    dg_free(drawn);
    dg_free(samples);
    return err;
}
