/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the tests of all passes do: they scatter a network's values, compare the gradient of every
 * parameter with finite differences of the loss in a slow implementation, the twin (doubles;
 * tests/support/ref_*.c), and cut a batch into parts. */
#ifndef DG_TESTS_PASS_CHECK_H
#define DG_TESTS_PASS_CHECK_H

#include "base/memory/mem.h"
#include "train/pass/pass.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>

/* Smoothed cross entropy of n logits, which are `stride` apart. */
static inline double pass_token_loss(const double *logits, size_t n, size_t stride, size_t truth,
                                     double smoothing)
{
    double sum = 0.0, all = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += exp(logits[i * stride]);
        all += logits[i * stride];
    }
    return log(sum) - (1.0 - smoothing) * logits[truth * stride] - smoothing / (double)n * all;
}

/* Values for which no gradient is zero by chance: gains and biases are changed as well. */
static inline void pass_scatter(struct dg_params *params)
{
    dg_params_randomise(params, 7);
    for (size_t i = 0; i < params->n; i++)
        params->w[i] += 0.2f * sinf((float)(i * 37 % 1009));
}

/* Moves every stride-th value of each parameter up and down by `step`; `loss` is the function whose
 * gradient is compared. */
static inline void pass_compare(const struct dg_params *params, const float *gradient, float step,
                                size_t stride,
                                double (*loss)(const struct dg_params *params, const void *ctx),
                                const void *ctx)
{
    double worst = 0.0;
#ifdef DG_TORTURE_LSAN
    stride *= 4; /* a sanitizer looks at the code, not at the numbers, and makes the twin slow */
#endif
    for (size_t i = 0; i < params->n_list; i++) {
        const struct dg_param *param = &params->list[i];
        for (size_t j = i % stride % param->len; j < param->len; j += stride) {
            float *w = params->w + param->at + j;
            const float kept = *w, above = kept + step, below = kept - step;
            *w = above;
            const double plus = loss(params, ctx);
            *w = below;
            const double minus = loss(params, ctx);
            *w = kept;
            const double expected = (plus - minus) / ((double)above - (double)below);
            const double found = (double)gradient[param->at + j], gap = fabs(found - expected);
            worst = fmax(worst, gap / (1e-2 + fabs(expected)));
            ck_assert_msg(gap <= 2e-5 + 2e-4 * fabs(expected),
                          "%s[%zu]: gradient %.9g, difference %.9g", param->name, j, found,
                          expected);
        }
    }
    printf("largest gap %.2g\n", worst);
}

/* Computes the batch in two parts; *loss is the sum of both. */
static inline float *pass_in_parts(const struct dg_params *params, struct dg_pass *pass,
                                   const struct dg_pass_batch *batch, size_t n_first, double *loss)
{
    float *gradient = dg_try_calloc(params->n, sizeof *gradient);
    ck_assert_ptr_nonnull(gradient);
    struct dg_pass_sums sums = {0};
    struct dg_pass_batch part = *batch;
    part.n = n_first;
    dg_pass_run(pass, &part, gradient, &sums);
    for (size_t i = 0; i < n_first; i++) {
        part.source_row += batch->examples[i].n_source;
        part.target_row += batch->examples[i].n_target;
    }
    part.first += n_first;
    part.examples += n_first;
    part.n = batch->n - n_first;
    dg_pass_run(pass, &part, gradient, &sums);
    *loss = sums.loss;
    return gradient;
}

/* A second run gives the same bits. However the batch is cut, dropout and masks draw the same
 * values, and sums differ only by rounding: by `relative` of a value, and a little more. */
static inline void pass_check_cuts(const struct dg_params *params,
                                   const struct dg_pass_limits *limits,
                                   const struct dg_pass_batch *batch, float relative)
{
    struct dg_pass *pass;
    double loss, other_loss;
    ck_assert_int_eq(dg_pass_new(&pass, params, limits, NULL), DG_OK);
    float *whole = pass_in_parts(params, pass, batch, batch->n, &loss);
    float *again = pass_in_parts(params, pass, batch, batch->n, &other_loss);
    ck_assert_mem_eq(whole, again, params->n * sizeof *whole);
    ck_assert_double_eq(loss, other_loss);
    dg_free(again);
    for (size_t n_first = 1; n_first < batch->n; n_first++) {
        float *cut = pass_in_parts(params, pass, batch, n_first, &other_loss);
        ck_assert_double_eq_tol(loss, other_loss, 1e-5 * fmax(1.0, loss));
        for (size_t i = 0; i < params->n; i++)
            ck_assert_float_eq_tol(whole[i], cut[i], 1e-5f + relative * fabsf(whole[i]));
        dg_free(cut);
    }
    dg_free(whole);
    dg_pass_free(pass);
}

#endif
