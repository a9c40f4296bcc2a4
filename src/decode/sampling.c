/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Candidates from a row of logits.
 *
 * Drawing: with top_k, the pool is the k likeliest candidates, best first; without top_k, the draw
 * walks the whole row in column order, which needs no sorting. */
#include "decode/sampling.h"
#include "base/memory/mem.h"
#include "decode/search_opts.h"

#include <math.h>

struct dg_sampling {
    const struct dg_kernels *kernels;
    struct dg_top top[DG_TOP_K_MAX];
    struct dg_candidate pool[DG_TOP_K_MAX]; /* candidates of a draw with top_k */
    double *weight;                         /* [n_columns_max] */
};

/* ---- The likeliest --------------------------------------------------------------------------- */

struct dg_sampling *dg_sampling_new(const struct dg_kernels *kernels, size_t n_columns_max)
{
    struct dg_sampling *pick = dg_try_calloc(1, sizeof *pick);
    if (!pick)
        return NULL;
    pick->kernels = kernels;
    pick->weight = dg_try_calloc(n_columns_max > DG_TOP_K_MAX ? n_columns_max : DG_TOP_K_MAX,
                                 sizeof *pick->weight);
    if (!pick->weight) {
        dg_free(pick);
        return NULL;
    }
    return pick;
}

void dg_sampling_free(struct dg_sampling *pick)
{
    if (!pick)
        return;
    dg_free(pick->weight);
    dg_free(pick);
}

static size_t choices(const struct dg_top *top, size_t n_top, float lse, struct dg_candidate *out)
{
    if (!isfinite(lse))
        return 0;
    for (size_t i = 0; i < n_top; i++)
        out[i] = (struct dg_candidate){(int32_t)top[i].index, top[i].value - lse};
    return n_top;
}

size_t dg_sampling_top(struct dg_sampling *pick, const float *logits, size_t n, size_t k,
                       struct dg_candidate *out, float *lse)
{
    size_t n_top = 0;
    *lse = pick->kernels->log_sum_exp_top(logits, n, k, pick->top, &n_top);
    return choices(pick->top, n_top, *lse, out);
}

void dg_sampling_begin(struct dg_sampling_parts *parts)
{
    parts->so_far = dg_log_sum_exp_none;
}

void dg_sampling_take(const struct dg_sampling *pick, struct dg_sampling_parts *parts, size_t k,
                      const float *logits, size_t first, size_t n)
{
    pick->kernels->log_sum_exp_block(&parts->so_far, logits, first, n, k, parts->top);
}

size_t dg_sampling_end(const struct dg_sampling_parts *parts, struct dg_candidate *out, float *lse)
{
    *lse = dg_log_sum_exp_result(&parts->so_far);
    return choices(parts->top, parts->so_far.n_top, *lse, out);
}

/* ---- Drawing --------------------------------------------------------------------------------- */

/* Walks the weights in order until their sum reaches `at`; if rounding prevents that, takes the
 * last. */
static size_t walk(const double *weight, size_t n, double at)
{
    size_t last = 0;
    for (size_t i = 0; i < n; i++) {
        if (weight[i] <= 0)
            continue;
        last = i;
        at -= weight[i];
        if (at < 0)
            return i;
    }
    return last;
}

/* Returns the unnormalised weight of a logit: 1 for the largest of the row. */
static double weigh(float logit, float largest, float temperature)
{
    return logit > -INFINITY ? exp(((double)logit - (double)largest) / (double)temperature) : 0.0;
}

/* Fills pick->weight for the `top_k` likeliest, listed in pick->pool, and drops those beyond the
 * mass top_p. Returns how many are left. */
static size_t weigh_pool(struct dg_sampling *pick, const float *logits, size_t n, float temperature,
                         size_t top_k, float top_p)
{
    float lse;
    size_t n_pool = dg_sampling_top(pick, logits, n, top_k, pick->pool, &lse);
    double total = 0, mass = 0;
    for (size_t i = 0; i < n_pool; i++) {
        pick->weight[i] = weigh(pick->pool[i].logprob, pick->pool[0].logprob, temperature);
        total += pick->weight[i];
    }
    for (size_t i = 0; i < n_pool; i++) {
        mass += pick->weight[i];
        if (mass >= (double)top_p * total)
            return i + 1;
    }
    return n_pool;
}

/* Fills pick->weight for every column; those outside the mass top_p get 0. Bisection finds the
 * threshold, because sorting the whole vocabulary would cost more than the rest of the step. */
static void weigh_row(struct dg_sampling *pick, const float *logits, size_t n, float temperature,
                      float top_p)
{
    enum { HALVINGS = 52 };
    float largest = -INFINITY;
    for (size_t i = 0; i < n; i++)
        if (logits[i] > largest)
            largest = logits[i];
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += pick->weight[i] = weigh(logits[i], largest, temperature);
    if (top_p >= 1.0f)
        return;
    /* the threshold lies between the two: the weights of at least `low` hold enough mass, those of
     * at least `high` do not */
    double low = 0, high = 1;
    for (int halving = 0; halving < HALVINGS; halving++) {
        double mid = low + (high - low) / 2, mass = 0;
        for (size_t i = 0; i < n; i++)
            mass += pick->weight[i] >= mid ? pick->weight[i] : 0;
        if (mass >= (double)top_p * total)
            low = mid;
        else
            high = mid;
    }
    for (size_t i = 0; i < n; i++)
        if (pick->weight[i] < low)
            pick->weight[i] = 0;
}

size_t dg_sampling_draw(struct dg_sampling *pick, const float *logits, size_t n, float temperature,
                        int top_k, float top_p, struct dg_rng *rng, struct dg_candidate *out)
{
    float lse;
    dg_sampling_top(pick, logits, n, 0, NULL, &lse);
    if (!isfinite(lse))
        return 0;
    size_t n_pool = n;
    if (top_k > 0)
        n_pool = weigh_pool(pick, logits, n, temperature, (size_t)top_k, top_p);
    else
        weigh_row(pick, logits, n, temperature, top_p);
    double sum = 0;
    for (size_t i = 0; i < n_pool; i++)
        sum += pick->weight[i];
    size_t drawn = walk(pick->weight, n_pool, dg_rng_uniform(rng) * sum);
    size_t column = top_k > 0 ? (size_t)pick->pool[drawn].column : drawn;
    *out = (struct dg_candidate){(int32_t)column, logits[column] - lse};
    return 1;
}
