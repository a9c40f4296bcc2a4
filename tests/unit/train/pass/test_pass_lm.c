/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Small language models of every shape: the loss agrees with the slow twin in doubles
 * (tests/support/ref_lm.c), the gradient of every parameter with finite differences of that twin;
 * dividing a batch differently, or adding other examples, changes nothing. */
#include "pass_check.h"
#include "ref_lm.h"

enum { V = 13, N_TEXTS = 3, N_TOKENS = 11 };

/* One text that begins with its first token, one with a prompt, one whose answer is only the
 * end. */
static const int32_t s0[] = {0}, t0[] = {7, 8, 3, 0};
static const int32_t s1[] = {0, 9, 4, 4}, t1[] = {2, 3, 4, 5, 12, 0};
static const int32_t s2[] = {10, 10, 11}, t2[] = {0};
static const struct dg_example texts[N_TEXTS] = {
    {.source = s0, .target = t0, .n_source = 1, .n_target = 4},
    {.source = s1, .target = t1, .n_source = 4, .n_target = 6},
    {.source = s2, .target = t2, .n_source = 3, .n_target = 1}};
static const float smoothing = 0.1f;
static const struct dg_pass_batch batch = {
    .examples = texts, .n = N_TEXTS, .scale = 1.0f / N_TOKENS, .smoothing = 0.1f};
static const struct dg_pass_limits limits = {.source_rows = 20, .target_rows = 20, .scores = 110};

static struct dg_blueprint small(void)
{
    return (struct dg_blueprint){
        .family = DG_FAMILY_LM,
        .D = 8,
        .encoder = {0, 2, 12, V},
        .decoder = {2, 2, 12, V},
        .lm = {.head = 4,
               .kv_heads = 2,
               .context = 16,
               .qkv_bias = true,
               .o_bias = true,
               .ffn_bias = true},
        .norm_place = DG_NORM_PRE,
        .final_norm = true,
        .norm_epsilon = 1e-5f,
        .positions = DG_POS_LEARNED,
        .n_positions = 16,
        .activation = DG_ACT_GELU_TANH,
        .embedding_scale = 1.0f,
        .tie_output = true,
        .pad_id = DG_ID_NONE,
        .bos_id = 0,
        .unk_id = 1,
        .start = DG_START_PROMPT,
        .start_id = DG_ID_NONE,
        .forced_bos_id = DG_ID_NONE,
        .forced_eos_id = DG_ID_NONE,
        .source_len_max = 16,
        .target_len_max = 16,
        .n_beams = 1,
        .length_penalty = 1.0f,
    };
}

static struct dg_blueprint llama(void)
{
    struct dg_blueprint bp = small();
    bp.positions = DG_POS_ROTARY;
    bp.n_positions = 0;
    bp.norm_kind = DG_NORM_RMS;
    bp.activation = DG_ACT_SILU;
    bp.decoder.H = bp.encoder.H = 4;
    bp.lm = (struct dg_lm){
        .head = 4, .kv_heads = 2, .context = 16, .gated = true, .rope = {.theta = 30.0}};
    return bp;
}

static double text_loss(const struct dg_params *params, const struct dg_example *text)
{
    int32_t ids[16];
    const size_t n = (size_t)text->n_source + text->n_target - 1;
    memcpy(ids, text->source, text->n_source * sizeof *ids);
    memcpy(ids + text->n_source, text->target, (text->n_target - 1) * sizeof *ids);
    double *logits = ref_lm(&params->bp, &params->weights.lm, ids, n), loss = 0.0;
    for (size_t t = 0; t < text->n_target; t++)
        loss += pass_token_loss(logits + (text->n_source - 1 + t) * V, V, 1,
                                (size_t)text->target[t], (double)smoothing);
    free(logits);
    return loss;
}

static double twin_loss(const struct dg_params *params, const void *ctx)
{
    (void)ctx;
    double loss = 0.0;
    for (size_t i = 0; i < N_TEXTS; i++)
        loss += text_loss(params, &texts[i]);
    return loss / N_TOKENS;
}

static void check_with(const struct dg_blueprint *bp, const struct dg_grad_kernels *kernels)
{
    struct dg_params params;
    struct dg_pass *pass = NULL;
    struct dg_pass_sums sums = {0};
    struct dg_pass_limits own = limits;
    struct dg_error error = DG_ERROR_NONE;
    own.kernels = kernels;
    ck_assert_msg(dg_params_init(&params, bp, &error) == DG_OK, "%s", error.text);
    pass_scatter(&params);
    float *gradient = dg_try_calloc(params.n, sizeof *gradient);
    enum dg_err err = gradient ? dg_pass_new(&pass, &params, &own, &error) : DG_ERR_NOMEM;
    if (!err) {
        ck_assert_uint_eq(dg_pass_n_fitting(pass, texts, N_TEXTS), N_TEXTS);
        dg_pass_run(pass, &batch, gradient, &sums);
        ck_assert_uint_eq(sums.n_tokens, N_TOKENS);
        ck_assert_uint_eq(sums.n_source_tokens, 8);
        ck_assert_double_eq_tol(sums.loss / N_TOKENS, twin_loss(&params, NULL), 1e-5);
        pass_compare(&params, gradient, 0x1p-13f, getenv("DRAGOMAN_SLOW") ? 41 : 1, twin_loss,
                     NULL);
        struct dg_pass_sums measured = {0};
        dg_pass_measure(pass, &batch, &measured);
        ck_assert_double_eq_tol(measured.loss, sums.loss, 1e-4);
    }
    dg_pass_free(pass);
    dg_free(gradient);
    dg_params_deinit(&params);
    ck_assert_int_eq(err, DG_OK);
}

START_TEST(learned_positions_layer_norms_and_gelu)
{
    struct dg_blueprint bp = small();
    check_with(&bp, NULL);
    bp.tie_output = false;
    bp.activation = DG_ACT_GELU_ERF;
    bp.position_offset = 2;
    bp.n_positions = 18;
    check_with(&bp, NULL);
}
END_TEST

START_TEST(rotary_positions_rms_norms_gates_and_shared_keys)
{
    struct dg_blueprint bp = llama();
    check_with(&bp, NULL);
    bp.lm.kv_heads = 1;
    bp.tie_output = false;
    check_with(&bp, NULL);
    bp.lm.kv_heads = 4;
    bp.lm.qkv_bias = bp.lm.o_bias = bp.lm.ffn_bias = true;
    check_with(&bp, NULL);
}
END_TEST

START_TEST(stretched_angles_and_mixed_shapes)
{
    struct dg_blueprint bp = llama();
    bp.lm.rope = (struct dg_rope){.theta = 30.0,
                                  .scaling = DG_ROPE_LLAMA3,
                                  .factor = 4.0,
                                  .low = 0.25,
                                  .high = 1.0,
                                  .original = 8};
    bp.lm.head = 6;
    check_with(&bp, NULL);
    bp.lm.rope.scaling = DG_ROPE_LINEAR;
    bp.lm.gated = false;
    bp.activation = DG_ACT_GELU_QUICK;
    check_with(&bp, NULL);
    bp.positions = DG_POS_NONE;
    bp.norm_kind = DG_NORM_LAYER;
    check_with(&bp, NULL);
}
END_TEST

START_TEST(every_table_of_kernels_agrees)
{
    const struct dg_grad_kernels *all[DG_GRAD_KERNELS_MAX];
    const size_t n = dg_grad_kernels_all(all);
    struct dg_blueprint bp = llama();
    bp.decoder.n_layers = 1;
    for (size_t i = 0; i < n && !getenv("DRAGOMAN_SLOW"); i++)
        check_with(&bp, all[i]);
}
END_TEST

START_TEST(the_cut_of_a_batch_and_a_second_run_change_nothing)
{
    const struct dg_blueprint bp = llama();
    struct dg_pass_batch dropping = batch;
    dropping.dropout = 0.3f;
    dropping.dropout_ffn = 0.2f;
    dropping.key = 99;
    struct dg_params params;
    ck_assert_int_eq(dg_params_init(&params, &bp, NULL), DG_OK);
    pass_scatter(&params);
    pass_check_cuts(&params, &limits, &dropping, 1e-4f);
    dg_params_deinit(&params);
}
END_TEST

START_TEST(what_does_not_fit_is_counted_with_prompts)
{
    const struct dg_blueprint bp = small();
    const struct dg_pass_limits few = {.source_rows = 1, .target_rows = 13, .scores = 97};
    struct dg_params params;
    struct dg_pass *pass;
    ck_assert_int_eq(dg_params_init(&params, &bp, NULL), DG_OK);
    ck_assert_int_eq(dg_pass_new(&pass, &params, &few, NULL), DG_OK);
    /* 4 and 9 rows, 16 and 81 scores */
    ck_assert_uint_eq(dg_pass_n_fitting(pass, texts, N_TEXTS), 2);
    ck_assert_uint_eq(dg_pass_n_fitting(pass, texts + 1, 2), 2);
    dg_pass_free(pass);
    dg_params_deinit(&params);
}
END_TEST

DG_UNIT(learned_positions_layer_norms_and_gelu, rotary_positions_rms_norms_gates_and_shared_keys,
        stretched_angles_and_mixed_shapes, every_table_of_kernels_agrees,
        the_cut_of_a_batch_and_a_second_run_change_nothing,
        what_does_not_fit_is_counted_with_prompts)
