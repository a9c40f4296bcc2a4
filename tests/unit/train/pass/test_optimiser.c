/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Adam compared with its formula in doubles, schedules, clipping, steps that are skipped; the
 * number of threads changes nothing when one member has all of the gradient. */
#include "base/memory/mem.h"
#include "train/pass/optimiser.h"
#include "train/run/setup.h"
#include "unit.h"

#include <math.h>

static void small_params(struct dg_params *params)
{
    struct dg_blueprint bp;
    dg_setup_blueprint(&bp);
    bp.D = 8;
    bp.encoder = (struct dg_stack){1, 2, 8, 11};
    bp.decoder = (struct dg_stack){1, 2, 8, 11};
    bp.eos_id = 0;
    bp.unk_id = 1;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(dg_params_init(params, &bp, &error) == DG_OK, "%s", error.text);
    dg_params_randomise(params, 3);
}

START_TEST(the_papers_schedule_rises_and_falls)
{
    struct dg_optimiser_opts opts = DG_OPTIMISER_OPTS_DEFAULT;
    for (uint64_t step = 1; step < 20000; step += 777) {
        const double paper =
            pow(512.0, -0.5) * fmin(pow((double)step, -0.5), (double)step * pow(4000.0, -1.5));
        ck_assert_double_eq_tol(dg_optimiser_rate(&opts, 512, step), paper, 1e-12);
    }
}
END_TEST

START_TEST(cosine_and_line_end_where_they_should)
{
    struct dg_optimiser_opts opts = DG_OPTIMISER_OPTS_DEFAULT;
    opts.rate = 1.0;
    opts.rate_min = 0.1;
    opts.warmup = 100;
    opts.steps = 1100;
    opts.schedule = DG_SCHEDULE_COSINE;
    ck_assert_double_eq_tol(dg_optimiser_rate(&opts, 8, 50), 0.5, 1e-12);
    ck_assert_double_eq_tol(dg_optimiser_rate(&opts, 8, 600), 0.55, 1e-12);
    ck_assert_double_eq_tol(dg_optimiser_rate(&opts, 8, 1100), 0.1, 1e-12);
    ck_assert_double_eq_tol(dg_optimiser_rate(&opts, 8, 9999), 0.1, 1e-12);
    opts.schedule = DG_SCHEDULE_LINEAR;
    ck_assert_double_eq_tol(dg_optimiser_rate(&opts, 8, 850), 0.325, 1e-12);
    opts.schedule = DG_SCHEDULE_CONSTANT;
    ck_assert_double_eq_tol(dg_optimiser_rate(&opts, 8, 5000), 1.0, 1e-12);
    opts.cooldown = 200;
    ck_assert_double_eq_tol(dg_optimiser_rate(&opts, 8, 900), 1.0, 1e-12);
    ck_assert_double_eq_tol(dg_optimiser_rate(&opts, 8, 1000), 0.55, 1e-12);
    ck_assert_double_eq_tol(dg_optimiser_rate(&opts, 8, 1100), 0.1, 1e-12);
    ck_assert_double_eq_tol(dg_optimiser_rate(&opts, 8, 5000), 0.1, 1e-12);
}
END_TEST

/* A gradient that depends on the position and the step. */
static float gradient_at(size_t i, int step)
{
    return 0.3f * sinf((float)(i * 7 + (size_t)step * 13));
}

/* A few steps with `threads` members, all of the gradient given to the last; *w is the weights at
 * the end. */
static enum dg_err run_steps(size_t threads, const struct dg_optimiser_opts *opts,
                             struct dg_params *params)
{
    struct dg_team *team = NULL;
    struct dg_optimiser *optimiser = NULL;
    struct dg_optimiser_report report;
    enum dg_err err = dg_team_new(&team, threads, NULL);
    if (!err)
        err = dg_optimiser_new(&optimiser, params, opts, team, NULL);
    for (int step = 0; step < 5 && !err; step++) {
        float *gradient = dg_optimiser_gradient(optimiser, threads - 1);
        for (size_t i = 0; i < params->n; i++)
            gradient[i] += gradient_at(i, step);
        dg_optimiser_step(optimiser, &report);
    }
    dg_optimiser_free(optimiser);
    dg_team_free(team);
    return err;
}

START_TEST(adam_is_its_formula)
{
    struct dg_params params, start;
    struct dg_optimiser_opts opts = DG_OPTIMISER_OPTS_DEFAULT;
    opts.rate = 0.01;
    opts.warmup = 1;
    opts.schedule = DG_SCHEDULE_CONSTANT;
    opts.clip = 0.0;
    small_params(&params);
    small_params(&start);
    ck_assert_int_eq(run_steps(1, &opts, &params), DG_OK);
    for (size_t i = 0; i < params.n; i += 5) {
        double w = (double)start.w[i], m = 0.0, v = 0.0;
        for (int step = 0; step < 5; step++) {
            const double g = (double)gradient_at(i, step);
            m = 0.9 * m + 0.1 * g;
            v = 0.98 * v + 0.02 * g * g;
            w -= 0.01 * (m / (1.0 - pow(0.9, step + 1))) /
                 (sqrt(v / (1.0 - pow(0.98, step + 1))) + 1e-9);
        }
        ck_assert_double_eq_tol((double)params.w[i], w, 2e-6);
    }
    dg_params_deinit(&params);
    dg_params_deinit(&start);
}
END_TEST

START_TEST(members_only_share_the_work)
{
    struct dg_params one, three;
    const struct dg_optimiser_opts opts = DG_OPTIMISER_OPTS_DEFAULT;
    small_params(&one);
    small_params(&three);
    ck_assert_int_eq(run_steps(1, &opts, &one), DG_OK);
    ck_assert_int_eq(run_steps(3, &opts, &three), DG_OK);
    ck_assert_mem_eq(one.w, three.w, one.n * sizeof *one.w);
    dg_params_deinit(&one);
    dg_params_deinit(&three);
}
END_TEST

START_TEST(a_gradient_that_is_not_finite_changes_nothing)
{
    struct dg_params params, start;
    struct dg_optimiser_opts opts = DG_OPTIMISER_OPTS_DEFAULT;
    struct dg_team *team;
    struct dg_optimiser *optimiser;
    struct dg_optimiser_report report;
    small_params(&params);
    small_params(&start);
    ck_assert_int_eq(dg_team_new(&team, 2, NULL), DG_OK);
    ck_assert_int_eq(dg_optimiser_new(&optimiser, &params, &opts, team, NULL), DG_OK);
    dg_optimiser_gradient(optimiser, 1)[5] = INFINITY;
    dg_optimiser_step(optimiser, &report);
    ck_assert(report.is_skipped);
    ck_assert_mem_eq(params.w, start.w, params.n * sizeof *params.w);
    ck_assert_mem_eq(dg_optimiser_best(optimiser), start.w, params.n * sizeof *params.w);
    /* the infinite value is gone; this gradient is clipped */
    dg_optimiser_gradient(optimiser, 0)[5] = 4.0f;
    dg_optimiser_step(optimiser, &report);
    ck_assert(!report.is_skipped);
    ck_assert_double_eq_tol(report.norm, 4.0, 1e-6);
    ck_assert_float_ne(params.w[5], start.w[5]);
    ck_assert_float_eq(params.w[6], start.w[6]);
    dg_optimiser_free(optimiser);
    dg_team_free(team);
    dg_params_deinit(&params);
    dg_params_deinit(&start);
}
END_TEST

START_TEST(an_encoders_head_is_never_frozen_with_embeddings)
{
    const unsigned all = DG_FREEZE_EMBEDDINGS | DG_FREEZE_ENCODER;
    ck_assert(!dg_optimiser_is_frozen(all, &(struct dg_param){.name = "head.dense.weight"}));
    ck_assert(!dg_optimiser_is_frozen(all, &(struct dg_param){.name = "head.out.bias"}));
    ck_assert(dg_optimiser_is_frozen(
        all, &(struct dg_param){.name = "model.encoder.embed_types.weight"}));
    ck_assert(dg_optimiser_is_frozen(
        all, &(struct dg_param){.name = "model.encoder.layers.0.fc1.weight"}));
}
END_TEST

START_TEST(what_is_frozen_stays_to_the_bit)
{
    struct dg_params params;
    struct dg_team *team;
    struct dg_optimiser *optimiser;
    struct dg_optimiser_report report;
    struct dg_optimiser_opts opts = DG_OPTIMISER_OPTS_DEFAULT;
    opts.weight_decay = 0.1;
    opts.freeze = DG_FREEZE_ENCODER | DG_FREEZE_CROSS;
    opts.rate = 0.01;
    opts.warmup = 0;
    small_params(&params);
    float *before = dg_try_malloc(params.n * sizeof *before);
    ck_assert_ptr_nonnull(before);
    memcpy(before, params.w, params.n * sizeof *before);
    ck_assert_int_eq(dg_team_new(&team, 1, NULL), DG_OK);
    ck_assert_int_eq(dg_optimiser_new(&optimiser, &params, &opts, team, NULL), DG_OK);
    for (int step = 1; step <= 3; step++) {
        for (size_t i = 0; i < params.n; i++)
            dg_optimiser_gradient(optimiser, 0)[i] = gradient_at(i, step);
        dg_optimiser_step(optimiser, &report);
    }
    size_t n_frozen = 0;
    for (size_t i = 0; i < params.n_list; i++) {
        const struct dg_param *param = &params.list[i];
        const bool is_frozen =
            strstr(param->name, "encoder.layers") || strstr(param->name, "encoder_attn");
        if (strstr(param->name, "encoder_attn_layer_norm"))
            continue;
        ck_assert_msg(is_frozen == (memcmp(before + param->at, params.w + param->at,
                                           param->len * sizeof *before) == 0),
                      "%s", param->name);
        n_frozen += is_frozen;
    }
    ck_assert_uint_gt(n_frozen, 10);
    dg_optimiser_free(optimiser);
    dg_team_free(team);
    dg_params_deinit(&params);
    dg_free(before);
}
END_TEST

DG_UNIT(an_encoders_head_is_never_frozen_with_embeddings, what_is_frozen_stays_to_the_bit,
        the_papers_schedule_rises_and_falls, cosine_and_line_end_where_they_should,
        adam_is_its_formula, members_only_share_the_work,
        a_gradient_that_is_not_finite_changes_nothing)
