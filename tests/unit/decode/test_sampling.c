/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "decode/sampling.h"
#include "unit.h"

#include <math.h>

enum { N = 1000 };

static struct dg_sampling *new_pick(size_t n)
{
    const struct dg_kernels *kernels;
    ck_assert_int_eq(dg_kernels_default(&kernels, NULL), DG_OK);
    struct dg_sampling *pick = dg_sampling_new(kernels, n);
    ck_assert_ptr_nonnull(pick);
    return pick;
}

START_TEST(the_likeliest_come_first_and_ties_go_to_the_lower_column)
{
    float logits[N];
    for (int i = 0; i < N; i++)
        logits[i] = (float)(i * 7919 % N);
    logits[3] = logits[900] = 5000;
    logits[2] = -INFINITY;
    struct dg_candidate out[8];
    float lse;
    struct dg_sampling *pick = new_pick(N);
    ck_assert_uint_eq(dg_sampling_top(pick, logits, N, 8, out, &lse), 8);
    ck_assert_int_eq(out[0].column, 3);
    ck_assert_int_eq(out[1].column, 900);
    ck_assert_float_eq_tol(lse, 5000.6931f, 1e-3f);
    ck_assert_float_eq(out[0].logprob, 5000 - lse);
    for (int i = 2; i < 8; i++)
        ck_assert(out[i].logprob < out[i - 1].logprob || i == 1);
    float unusable[3] = {1, NAN, 2}, nothing[2] = {-INFINITY, -INFINITY};
    ck_assert_uint_eq(dg_sampling_top(pick, unusable, 3, 8, out, &lse), 0);
    ck_assert_uint_eq(dg_sampling_top(pick, nothing, 2, 8, out, &lse), 0);
    ck_assert(!isfinite(lse));
    dg_sampling_free(pick);
}
END_TEST

/* Draws many times and compares the shares with the probabilities. */
static void check_shares(const double *expected, float temperature, int top_k, float top_p)
{
    static const float logits[4] = {1.0f, 3.0f, 2.0f, 0.0f};
    enum { DRAWS = 40000 };
    struct dg_sampling *pick = new_pick(4);
    struct dg_rng rng;
    dg_rng_init(&rng, 1, 0);
    int n[4] = {0};
    float lse;
    dg_sampling_top(pick, logits, 4, 0, NULL, &lse);
    for (int i = 0; i < DRAWS; i++) {
        struct dg_candidate choice;
        ck_assert_uint_eq(
            dg_sampling_draw(pick, logits, 4, temperature, top_k, top_p, &rng, &choice), 1);
        ck_assert_float_eq_tol(choice.logprob, logits[choice.column] - lse, 1e-6f);
        n[choice.column]++;
    }
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq_tol((double)n[i] / DRAWS, expected[i], 0.012);
    dg_sampling_free(pick);
}

START_TEST(draws_follow_the_distribution_that_was_asked_for)
{
    check_shares((const double[]){0.0871, 0.6439, 0.2369, 0.0321}, 1.0f, 0, 1.0f);
    check_shares((const double[]){0, 0.7311, 0.2689, 0}, 1.0f, 2, 1.0f);
    check_shares((const double[]){0, 0.7311, 0.2689, 0}, 1.0f, 0, 0.8f);
    check_shares((const double[]){0.0900, 0.6652, 0.2447, 0}, 1.0f, 3, 1.0f);
    check_shares((const double[]){0.0158, 0.8650, 0.1171, 0.0021}, 0.5f, 0, 1.0f);
}
END_TEST

DG_UNIT(the_likeliest_come_first_and_ties_go_to_the_lower_column,
        draws_follow_the_distribution_that_was_asked_for)
