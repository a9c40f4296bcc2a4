/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Loss and gradients of small networks compared with PyTorch's (tests/golden/gradients.tsv, made by
 * gradients.py in the same folder): post-norm with ReLU and everything tied; pre-norm with SiLU,
 * final norms and nothing tied; language models of GPT-2's shape and of Llama's, with shared keys,
 * and prompts before their texts; an encoder that gives any number of labels. */
#include "base/file/text_in.h"
#include "base/memory/mem.h"
#include "files.h"
#include "train/pass/pass.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { V = 13, N_PAIRS = 3, N_TOKENS = 10 };
static const int32_t s0[] = {3, 4, 5, 6, 0}, t0[] = {7, 8, 0};
static const int32_t s1[] = {9, 0}, t1[] = {2, 3, 4, 5, 12, 0};
static const int32_t s2[] = {10, 10, 11, 0}, t2[] = {0};
static const struct dg_example pairs[N_PAIRS] = {
    {.source = s0, .target = t0, .n_source = 5, .n_target = 3},
    {.source = s1, .target = t1, .n_source = 2, .n_target = 6},
    {.source = s2, .target = t2, .n_source = 4, .n_target = 1}};

static struct dg_blueprint blueprint(bool pre)
{
    return (struct dg_blueprint){
        .D = 8,
        .encoder = {2, 2, 12, V},
        .decoder = {1, 2, 12, V},
        .norm_epsilon = 1e-5f,
        .norm_place = pre ? DG_NORM_PRE : DG_NORM_POST,
        .final_norm = pre,
        .activation = pre ? DG_ACT_SILU : DG_ACT_RELU,
        .positions = DG_POS_HALVES,
        .embedding_scale = sqrtf(8.0f),
        .tie_source_target = !pre,
        .tie_output = !pre,
        .output_bias = true,
        .pad_id = DG_ID_NONE,
        .bos_id = DG_ID_NONE,
        .unk_id = 1,
        .start = DG_START_ZERO,
        .start_id = DG_ID_NONE,
        .forced_bos_id = DG_ID_NONE,
        .forced_eos_id = DG_ID_NONE,
        .source_len_max = 32,
        .target_len_max = 32,
        .n_beams = 1,
        .length_penalty = 1.0f,
    };
}

enum { N_TEXT_TOKENS = 11 };
static const int32_t b0[] = {0}, e0[] = {7, 8, 3, 0};
static const int32_t b1[] = {0, 9, 4, 4}, e1[] = {2, 3, 4, 5, 12, 0};
static const int32_t b2[] = {10, 10, 11}, e2[] = {0};
static const struct dg_example texts[N_PAIRS] = {
    {.source = b0, .target = e0, .n_source = 1, .n_target = 4},
    {.source = b1, .target = e1, .n_source = 4, .n_target = 6},
    {.source = b2, .target = e2, .n_source = 3, .n_target = 1}};

static struct dg_blueprint language_model(bool llama)
{
    struct dg_blueprint bp = blueprint(true);
    bp.family = DG_FAMILY_LM;
    bp.decoder = (struct dg_stack){2, llama ? 4 : 2, 12, V};
    bp.encoder = bp.decoder;
    bp.encoder.n_layers = 0;
    bp.lm = (struct dg_lm){.head = 4,
                           .kv_heads = 2,
                           .context = 16,
                           .gated = llama,
                           .qkv_bias = !llama,
                           .o_bias = !llama,
                           .ffn_bias = !llama,
                           .rope = {.theta = 30.0}};
    bp.norm_kind = llama ? DG_NORM_RMS : DG_NORM_LAYER;
    bp.activation = llama ? DG_ACT_SILU : DG_ACT_GELU_TANH;
    bp.positions = llama ? DG_POS_ROTARY : DG_POS_LEARNED;
    bp.n_positions = llama ? 0 : 16;
    bp.embedding_scale = 1.0f;
    bp.tie_output = !llama;
    bp.output_bias = false;
    bp.bos_id = 0;
    bp.start = DG_START_PROMPT;
    bp.source_len_max = bp.target_len_max = 16;
    return bp;
}

enum { LABELS = 5 };
static const int32_t r0[] = {2, 7, 8, 9, 3}, l0[] = {0, 0, 3};
static const int32_t r1[] = {2, 10, 11, 3, 12, 5, 6, 3}, l1[] = {4}; /* a pair, with no label */
static const int32_t r2[] = {2, 4, 3}, l2[] = {0, 4};
static const struct dg_example labelled[N_PAIRS] = {
    {.source = r0, .target = l0, .n_source = 5, .n_target = 3},
    {.source = r1, .target = l1, .n_source = 8, .n_target = 1},
    {.source = r2, .target = l2, .n_source = 3, .n_target = 2}};

static struct dg_blueprint encoder_alone(void)
{
    struct dg_blueprint bp = blueprint(false);
    bp.family = DG_FAMILY_ENC;
    bp.decoder = (struct dg_stack){0, 2, 12, LABELS};
    bp.enc = (struct dg_enc){
        .head = DG_HEAD_POOLED, .rule = DG_LABELS_EACH, .n_types = 2, .separators = 1};
    bp.activation = DG_ACT_GELU_ERF;
    bp.positions = DG_POS_LEARNED;
    bp.n_positions = 16;
    bp.embedding_norm = true;
    bp.embedding_scale = 1.0f;
    bp.tie_source_target = bp.tie_output = bp.output_bias = false;
    bp.eos_id = DG_ID_NONE;
    bp.source_len_max = 16;
    bp.target_len_max = 2;
    return bp;
}

static const struct dg_param *find(const struct dg_params *params, struct dg_span name)
{
    for (size_t i = 0; i < params->n_list; i++)
        if (dg_span_eq(dg_span_cstr(params->list[i].name), name))
            return &params->list[i];
    return NULL;
}

static struct dg_span next_field(struct dg_span *line, char end)
{
    const char *at = line->len ? memchr(line->ptr, end, line->len) : NULL;
    const size_t len = at ? (size_t)(at - line->ptr) : line->len;
    const struct dg_span field = dg_span_sub(*line, 0, len);
    *line = dg_span_sub(*line, len + 1, line->len);
    return field;
}

static double number(struct dg_span text)
{
    char room[64];
    snprintf(room, sizeof room, "%.*s", DG_SPAN_FMT(text));
    return strtod(room, NULL);
}

/* Calls `fn` for each parameter of the case; returns its loss. */
static double each(const char *name, const struct dg_params *params,
                   void (*fn)(const struct dg_param *param, unsigned ordinal, struct dg_span values,
                              void *ctx),
                   void *ctx)
{
    char path[DG_TEST_PATH];
    struct dg_text_in in;
    struct dg_span line;
    double loss = NAN;
    size_t n = 0;
    ck_assert_int_eq(dg_text_in_open(&in, dg_test_source(path, "tests/golden/gradients.tsv"), NULL),
                     DG_OK);
    while (dg_text_in_line(&in, &line)) {
        if (!dg_span_eq(next_field(&line, '\t'), dg_span_cstr(name)))
            continue;
        const struct dg_span what = next_field(&line, '\t');
        if (dg_span_eq(what, DG_SPAN("loss"))) {
            loss = number(line);
            continue;
        }
        const struct dg_param *param = find(params, what);
        ck_assert_msg(param != NULL, "%.*s", DG_SPAN_FMT(what));
        const unsigned ordinal = (unsigned)number(next_field(&line, '\t'));
        fn(param, ordinal, line, ctx);
        n++;
    }
    dg_text_in_close(&in);
    ck_assert_uint_eq(n, params->n_list);
    return loss;
}

static void set_weights(const struct dg_param *param, unsigned ordinal, struct dg_span values,
                        void *ctx)
{
    float *w = ctx;
    (void)values;
    for (size_t j = 0; j < param->len; j++)
        w[param->at + j] = (float)(0.25 * sin(1.7 * (double)j + 0.61 * ordinal + 1.0) +
                                   (strstr(param->name, "norm.weight") ? 1.0 : 0.0));
}

static void compare(const struct dg_param *param, unsigned ordinal, struct dg_span values,
                    void *ctx)
{
    const float *gradient = ctx;
    (void)ordinal;
    for (size_t j = 0; j < param->len; j++) {
        const double expected = number(next_field(&values, ' ')),
                     found = (double)gradient[param->at + j];
        ck_assert_msg(fabs(found - expected) <= 2e-6 + 2e-5 * fabs(expected),
                      "%s[%zu] is %.9g, PyTorch has %.9g", param->name, j, found, expected);
    }
    ck_assert_uint_eq(values.len, 0);
}

static void check_case(const char *name, const struct dg_blueprint *bp,
                       const struct dg_example *examples, int n_tokens)
{
    const struct dg_pass_limits limits = {.source_rows = 20, .target_rows = 20, .scores = 120};
    const struct dg_pass_batch batch = {
        .examples = examples, .n = N_PAIRS, .scale = 1.0f / (float)n_tokens, .smoothing = 0.1f};
    struct dg_params params;
    struct dg_pass *pass;
    struct dg_pass_sums sums = {0};
    ck_assert_int_eq(dg_params_init(&params, bp, NULL), DG_OK);
    each(name, &params, set_weights, params.w);
    float *gradient = dg_try_calloc(params.n, sizeof *gradient);
    ck_assert_ptr_nonnull(gradient);
    ck_assert_int_eq(dg_pass_new(&pass, &params, &limits, NULL), DG_OK);
    dg_pass_run(pass, &batch, gradient, &sums);
    const double loss = each(name, &params, compare, gradient);
    ck_assert_double_eq_tol(sums.loss / n_tokens, loss, 1e-6);
    dg_pass_free(pass);
    dg_free(gradient);
    dg_params_deinit(&params);
}

START_TEST(post_norm_agrees_with_pytorch)
{
    const struct dg_blueprint bp = blueprint(false);
    check_case("post", &bp, pairs, N_TOKENS);
}
END_TEST

START_TEST(pre_norm_agrees_with_pytorch)
{
    const struct dg_blueprint bp = blueprint(true);
    check_case("pre", &bp, pairs, N_TOKENS);
}
END_TEST

START_TEST(language_models_agree_with_pytorch)
{
    const struct dg_blueprint gpt = language_model(false), llama = language_model(true);
    check_case("gpt", &gpt, texts, N_TEXT_TOKENS);
    check_case("llama", &llama, texts, N_TEXT_TOKENS);
}
END_TEST

START_TEST(several_labels_agree_with_pytorch)
{
    const struct dg_blueprint bp = encoder_alone();
    check_case("labels", &bp, labelled, N_PAIRS);
}
END_TEST

DG_UNIT(post_norm_agrees_with_pytorch, pre_norm_agrees_with_pytorch,
        language_models_agree_with_pytorch, several_labels_agree_with_pytorch)
