/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The bootstrap: it is seeded; its interval is that of the normal distribution where it must be;
 * its p-value is small for systems that differ, large for two that do not, and follows its
 * definition. */
#include "base/memory/mem.h"
#include "text/score/bootstrap.h"
#include "unit.h"

#include <math.h>

enum { N = 400 };

/* Sentences of ten words of which `right` in ten are in the reference at every order, with a little
 * noise. */
static void fill(struct dg_bleu_stats *bleu, struct dg_chrf_stats *chrf, unsigned right,
                 unsigned noise)
{
    for (unsigned i = 0; i < N; i++) {
        const unsigned good = right + (i * 7919 % 5 < noise);
        bleu[i] = (struct dg_bleu_stats){.hyp_len = 10, .ref_len = 10};
        chrf[i] = (struct dg_chrf_stats){.hyp = {0}};
        for (unsigned k = 0; k < DG_BLEU_ORDER; k++) {
            bleu[i].total[k] = 10 - k;
            bleu[i].correct[k] = good > k ? good - k : 0;
        }
        for (unsigned k = 0; k < DG_CHRF_CHARS; k++) {
            chrf[i].hyp[k] = chrf[i].ref[k] = 50 - k;
            chrf[i].match[k] = 5 * good - k;
        }
    }
}

static struct dg_bleu_stats bleu[3][N];
static struct dg_chrf_stats chrf[3][N];

START_TEST(different_systems_differ_and_equal_ones_do_not)
{
    const struct dg_bootstrap_opts opts = DG_BOOTSTRAP_OPTS_DEFAULT;
    struct dg_bootstrap_result better, same;
    fill(bleu[0], chrf[0], 5, 2);
    fill(bleu[1], chrf[1], 6, 3);
    fill(bleu[2], chrf[2], 5, 2);
    const struct dg_bootstrap_system pairs[2][2] = {{{bleu[0], chrf[0]}, {bleu[1], chrf[1]}},
                                                    {{bleu[0], chrf[0]}, {bleu[2], chrf[2]}}};
    ck_assert_int_eq(dg_bootstrap_run(pairs[0], 2, N, &opts, &better), DG_OK);
    ck_assert_int_eq(dg_bootstrap_run(pairs[1], 2, N, &opts, &same), DG_OK);
    ck_assert_double_eq_tol(better.p_bleu, 1.0 / 1001.0, 1e-12);
    ck_assert_double_eq_tol(better.p_chrf, 1.0 / 1001.0, 1e-12);
    ck_assert_double_gt(better.bleu[1].score, better.bleu[0].score);
    ck_assert_double_eq(same.bleu[0].score, same.bleu[1].score);
    ck_assert_double_eq(same.p_bleu, 1.0);
    ck_assert_double_eq_tol(better.bleu[0].mean, better.bleu[0].score, 0.2);
    ck_assert_double_gt(better.bleu[0].half, 0.0);
}
END_TEST

START_TEST(chance_is_called_chance)
{
    const struct dg_bootstrap_opts opts = DG_BOOTSTRAP_OPTS_DEFAULT;
    struct dg_bootstrap_result result;
    fill(bleu[0], chrf[0], 5, 2);
    fill(bleu[1], chrf[1], 5, 2);
    /* The second system is better in some sentences, worse in as many, and better in one more. */
    for (unsigned i = 0; i < N; i++)
        bleu[1][i].correct[0] += i == 0 ? 1 : i % 4 == 1 ? 1 : 0;
    for (unsigned i = 0; i < N; i++)
        bleu[1][i].correct[0] -= i % 4 == 2;
    const struct dg_bootstrap_system systems[2] = {{bleu[0], chrf[0]}, {bleu[1], chrf[1]}};
    ck_assert_int_eq(dg_bootstrap_run(systems, 2, N, &opts, &result), DG_OK);
    ck_assert_double_ne(result.bleu[0].score, result.bleu[1].score);
    ck_assert_double_gt(result.p_bleu, 0.5);
}
END_TEST

START_TEST(the_interval_is_that_of_a_mean)
{
    /* chrF with one order of matches is nearly linear in the counts: its samples are means of N
     * draws. */
    struct dg_bootstrap_opts opts = DG_BOOTSTRAP_OPTS_DEFAULT;
    struct dg_bootstrap_result result, again, other;
    opts.n_samples = 4000;
    fill(bleu[0], chrf[0], 5, 2);
    const struct dg_bootstrap_system system = {bleu[0], chrf[0]};
    ck_assert_int_eq(dg_bootstrap_run(&system, 1, N, &opts, &result), DG_OK);
    /* Two in five sentences have 5 more of about 50 matches: the deviation is 5 sqrt(0.24), that of
     * the mean of 400 a twentieth of it. */
    const double expected = 1.96 * 100.0 * 5.0 * sqrt(0.24) / 20.0 / 47.5;
    ck_assert_double_eq_tol(result.chrf[0].half, expected, 0.1 * expected);
    ck_assert_double_eq(result.p_bleu, 1.0);
    ck_assert_int_eq(dg_bootstrap_run(&system, 1, N, &opts, &again), DG_OK);
    ck_assert_double_eq(result.bleu[0].half, again.bleu[0].half);
    opts.seed++;
    ck_assert_int_eq(dg_bootstrap_run(&system, 1, N, &opts, &other), DG_OK);
    ck_assert_double_ne(result.bleu[0].mean, other.bleu[0].mean);
}
END_TEST

DG_UNIT(different_systems_differ_and_equal_ones_do_not, chance_is_called_chance,
        the_interval_is_that_of_a_mean)
