/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Losses and gradients of plain recurrent networks compared with PyTorch's
 * (tests/golden/recurrent.py, which has the same pairs, networks and formula for the weights). */
#include "../../../golden/recurrent.h"
#include "base/memory/mem.h"
#include "train/pass/pass.h"
#include "unit.h"

#include <math.h>

enum { D = 6, V = 11, N_PAIRS = 3 };

static const int32_t s0[] = {3, 4, 5, 6, 0}, t0[] = {7, 8, 0};
static const int32_t s1[] = {9, 0}, t1[] = {2, 3, 4, 5, 10, 0};
static const int32_t s2[] = {10, 10, 1, 0}, t2[] = {0};
static const struct dg_example pairs[N_PAIRS] = {
    {.source = s0, .target = t0, .n_source = 5, .n_target = 3},
    {.source = s1, .target = t1, .n_source = 2, .n_target = 6},
    {.source = s2, .target = t2, .n_source = 4, .n_target = 1}};
enum { N_TOKENS = 10 };

static const struct {
    enum dg_decoder_kind cell;
    enum dg_seq_attention attention;
    bool is_bidirectional;
    size_t n_encoder, n_decoder;
    const double *golden;
    size_t n_golden;
} networks[] = {
    {DG_DECODER_TANH, DG_SEQ_NONE, false, 1, 1, golden_0, sizeof golden_0},
    {DG_DECODER_GRU, DG_SEQ_LOCATION, false, 1, 1, golden_1, sizeof golden_1},
    {DG_DECODER_LSTM, DG_SEQ_DOT, true, 2, 2, golden_2, sizeof golden_2},
    {DG_DECODER_GRU, DG_SEQ_GENERAL, true, 1, 2, golden_3, sizeof golden_3},
    {DG_DECODER_TANH, DG_SEQ_ADDITIVE, false, 2, 1, golden_4, sizeof golden_4},
    {DG_DECODER_LSTM, DG_SEQ_ADDITIVE, true, 1, 1, golden_5, sizeof golden_5},
};

static struct dg_blueprint blueprint(size_t which)
{
    return (struct dg_blueprint){
        .family = DG_FAMILY_SEQ,
        .decoder_kind = networks[which].cell,
        .D = D,
        .encoder = {networks[which].n_encoder, 1, 1, V},
        .decoder = {networks[which].n_decoder, 1, 1, V},
        .seq = {.attention = networks[which].attention,
                .places = networks[which].attention == DG_SEQ_LOCATION ? 4 : 0,
                .is_bidirectional = networks[which].is_bidirectional},
        .norm_epsilon = 1e-5f,
        .embedding_scale = 1.0f,
        .output_bias = true,
        .pad_id = DG_ID_NONE,
        .bos_id = DG_ID_NONE,
        .unk_id = DG_ID_NONE,
        .start = DG_START_TOKEN,
        .forced_bos_id = DG_ID_NONE,
        .forced_eos_id = DG_ID_NONE,
        .source_len_max = 32,
        .target_len_max = 32,
        .n_beams = 1,
        .length_penalty = 1.0f,
    };
}

static void compare(const struct dg_params *params, const float *gradient, size_t which)
{
    const double *golden = networks[which].golden + 1;
    ck_assert_uint_eq(networks[which].n_golden, (1 + 2 * params->n_list) * sizeof *golden);
    for (size_t i = 0; i < params->n_list; i++, golden += 2) {
        const struct dg_param *param = &params->list[i];
        double sum = 0.0, weighted = 0.0, size = 0.0;
        for (size_t j = 0; j < param->len; j++) {
            const double g = (double)gradient[param->at + j];
            sum += g;
            weighted += g * ((double)(j % 7) - 3.0);
            size += fabs(g);
        }
        ck_assert_msg(fabs(sum - golden[0]) < 1e-6 + 1e-5 * size &&
                          fabs(weighted - golden[1]) < 1e-6 + 3e-5 * size,
                      "network %zu, %s: sums %.9g and %.9g, expected %.9g and %.9g", which,
                      param->name, sum, weighted, golden[0], golden[1]);
    }
}

static void check_network(size_t which)
{
    const struct dg_blueprint bp = blueprint(which);
    const struct dg_pass_limits limits = {.source_rows = 16, .target_rows = 16, .scores = 100};
    const struct dg_pass_batch batch = {.examples = pairs,
                                        .n = N_PAIRS,
                                        .scale = 1.0f / N_TOKENS,
                                        .smoothing = 0.1f,
                                        .teacher = 1.0f};
    struct dg_params params;
    struct dg_pass *pass = NULL;
    struct dg_pass_sums sums = {0};
    ck_assert_int_eq(dg_params_init(&params, &bp, NULL), DG_OK);
    for (size_t i = 0; i < params.n; i++)
        params.w[i] = (float)(0.6 * sin(0.7 * (double)i + 0.3));
    float *gradient = dg_try_calloc(params.n, sizeof *gradient);
    enum dg_err err = gradient ? dg_pass_new(&pass, &params, &limits, NULL) : DG_ERR_NOMEM;
    if (!err) {
        dg_pass_run(pass, &batch, gradient, &sums);
        ck_assert_double_eq_tol(sums.loss / N_TOKENS, networks[which].golden[0], 1e-5);
        compare(&params, gradient, which);
    }
    dg_pass_free(pass);
    dg_free(gradient);
    dg_params_deinit(&params);
    ck_assert_int_eq(err, DG_OK);
}

START_TEST(losses_and_gradients_are_those_of_pytorch)
{
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        check_network(i);
}
END_TEST

DG_UNIT(losses_and_gradients_are_those_of_pytorch)
