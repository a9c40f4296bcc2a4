/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Whole small networks of every kind: the loss agrees with the slow twin in doubles
 * (tests/support/ref_net.c), the gradient of every parameter with finite differences of that twin.
 */
#include "pass_check.h"
#include "ref_net.h"

enum { V = 13, N_PAIRS = 3 };

static const int32_t s0[] = {3, 4, 5, 6, 0}, t0[] = {7, 8, 0};
static const int32_t s1[] = {9, 0}, t1[] = {2, 3, 4, 5, 12, 0};
static const int32_t s2[] = {10, 10, 11, 0}, t2[] = {0};
static const struct dg_example pairs[N_PAIRS] = {{s0, t0, 5, 3}, {s1, t1, 2, 6}, {s2, t2, 4, 1}};
enum { N_TOKENS = 10 };
static const float smoothing = 0.1f;

static struct dg_blueprint small(void)
{
    return (struct dg_blueprint){
        .D = 8,
        .encoder = {2, 2, 12, V},
        .decoder = {2, 4, 10, V},
        .norm_epsilon = 1e-5f,
        .positions = DG_POS_HALVES,
        .embedding_scale = 2.5f,
        .tie_source_target = true,
        .tie_output = true,
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

static const struct dg_pass_batch batch = {
    .examples = pairs, .n = N_PAIRS, .scale = 1.0f / N_TOKENS, .smoothing = 0.1f};

/* The twin's cross entropy of one example, summed over its tokens. */
static double twin_example(const struct dg_params *params, const struct dg_example *example,
                           double smooth)
{
    const struct ref ref = {&params->bp, &params->weights.transformer};
    int32_t inputs[8] = {params->bp.start == DG_START_TOKEN ? params->bp.start_id : -1};
    double loss = 0.0;
    memcpy(inputs + 1, example->target, (example->n_target - 1) * sizeof *inputs);
    double *encoded = ref_encode(&ref, example->source, example->n_source);
    double *logits = ref_decode(&ref, encoded, example->n_source, inputs, example->n_target);
    for (size_t t = 0; t < example->n_target; t++)
        loss += pass_token_loss(logits + t * V, V, 1, (size_t)example->target[t], smooth);
    free(encoded);
    free(logits);
    return loss;
}

/* The expected cost of a group's answers. */
static double twin_risk(const struct dg_params *params, const struct dg_example *group,
                        double sharpness)
{
    double sum = 0.0, risk = 0.0;
    for (size_t i = 0; i < group->n_candidates; i++) {
        const double belief = exp(-sharpness * twin_example(params, &group[i], 0.0));
        sum += belief;
        risk += belief * (double)group[i].cost;
    }
    return risk / sum;
}

/* The twin's loss of a batch: that of the pairs for each target token, and what candidates add to
 * it. */
static double twin_loss(const struct dg_params *params, const void *ctx)
{
    const struct dg_pass_batch *of = ctx;
    double loss = 0.0;
    for (size_t i = 0; i < of->n; i++) {
        const struct dg_example *example = &of->examples[i];
        if (!example->n_candidates)
            loss += (double)of->scale * twin_example(params, example, (double)smoothing);
        else if (example->candidate == 0)
            loss += (double)of->risk * twin_risk(params, example, (double)of->sharpness);
    }
    return loss;
}

static void check_batch(const struct dg_blueprint *bp, const struct dg_pass_batch *of,
                        const struct dg_grad_kernels *kernels)
{
    struct dg_params params;
    struct dg_pass *pass = NULL;
    struct dg_pass_sums sums = {0};
    const struct dg_pass_limits limits = {
        .source_rows = 32, .target_rows = 32, .scores = 250, .kernels = kernels};
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(dg_params_init(&params, bp, &error) == DG_OK, "%s", error.text);
    pass_scatter(&params);
    float *gradient = dg_try_calloc(params.n, sizeof *gradient);
    enum dg_err err = gradient ? dg_pass_new(&pass, &params, &limits, &error) : DG_ERR_NOMEM;
    if (!err) {
        ck_assert_uint_eq(dg_pass_n_fitting(pass, of->examples, of->n), of->n);
        dg_pass_run(pass, of, gradient, &sums);
        ck_assert_uint_eq(sums.n_tokens, N_TOKENS);
        ck_assert_double_eq_tol(sums.loss / N_TOKENS, twin_loss(&params, of), 1e-5);
        const size_t stride = getenv("DRAGOMAN_SLOW") ? 41 : params.bp.D > 32 ? 97 : 3;
        pass_compare(&params, gradient, 0x1p-13f, stride, twin_loss, of);
    }
    dg_pass_free(pass);
    dg_free(gradient);
    dg_params_deinit(&params);
    ck_assert_int_eq(err, DG_OK);
}

static void check_network_with(const struct dg_blueprint *bp, const struct dg_grad_kernels *kernels)
{
    check_batch(bp, &batch, kernels);
}

static void check_network(const struct dg_blueprint *bp)
{
    check_network_with(bp, NULL);
}

START_TEST(post_norm_with_everything_tied)
{
    const struct dg_blueprint bp = small();
    check_network(&bp);
}
END_TEST

START_TEST(every_table_of_kernels_agrees)
{
    const struct dg_grad_kernels *all[DG_GRAD_KERNELS_MAX];
    struct dg_blueprint bp = small();
    bp.D = 64; /* heads wide enough for every strip of attention */
    bp.encoder = bp.decoder = (struct dg_stack){1, 1, 16, V};
    const size_t n = dg_grad_kernels_all(all);
    for (size_t i = 0; i < n && !getenv("DRAGOMAN_SLOW"); i++)
        check_network_with(&bp, all[i]);
}
END_TEST

/* Loss and gradient, computed with one kind of products. */
static double learned(float *gradient, struct dg_params *params, const struct dg_products *products)
{
    struct dg_pass *pass = NULL;
    struct dg_pass_sums sums = {0};
    struct dg_error error = DG_ERROR_NONE;
    const struct dg_pass_limits limits = {
        .source_rows = 32, .target_rows = 32, .scores = 250, .products = products};
    ck_assert_msg(dg_pass_new(&pass, params, &limits, &error) == DG_OK, "%s", error.text);
    dg_pass_run(pass, &batch, gradient, &sums);
    dg_pass_free(pass);
    return sums.loss / N_TOKENS;
}

START_TEST(products_of_bf16_agree_within_their_eight_bits)
{
    const struct dg_products *const kinds[] = {&dg_products_bf16_ref,
                                               dg_products_find(DG_PRODUCTS_BF16)};
    const struct dg_blueprint bp = small();
    struct dg_params params;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(dg_params_init(&params, &bp, &error) == DG_OK, "%s", error.text);
    pass_scatter(&params);
    float *exact = dg_xcalloc(params.n, sizeof *exact);
    const double loss = learned(exact, &params, NULL);
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        float *rounded = dg_xcalloc(params.n, sizeof *rounded);
        double off = 0.0, size = 0.0;
        ck_assert_double_eq_tol(learned(rounded, &params, kinds[kind]), loss, 0.01 * loss);
        for (size_t i = 0; i < params.n; i++) {
            off += pow((double)rounded[i] - (double)exact[i], 2);
            size += pow((double)exact[i], 2);
        }
        ck_assert_double_lt(sqrt(off / size), 0.03);
        dg_free(rounded);
    }
    dg_free(exact);
    dg_params_deinit(&params);
}
END_TEST

START_TEST(pre_norm_with_final_norms_and_learned_positions)
{
    struct dg_blueprint bp = small();
    bp.norm_place = DG_NORM_PRE;
    bp.final_norm = true;
    bp.embedding_norm = true;
    bp.positions = DG_POS_LEARNED;
    bp.n_positions = 5;
    bp.position_offset = 1;
    bp.activation = DG_ACT_GELU_TANH;
    check_network(&bp);
}
END_TEST

START_TEST(untied_matrices_and_a_start_token)
{
    struct dg_blueprint bp = small();
    bp.tie_source_target = bp.tie_output = false;
    bp.output_bias = false;
    bp.start = DG_START_TOKEN;
    bp.start_id = 12;
    bp.positions = DG_POS_INTERLEAVED;
    bp.activation = DG_ACT_SILU;
    check_network(&bp);
}
END_TEST

START_TEST(rms_norms_and_other_activations)
{
    struct dg_blueprint bp = small();
    bp.norm_kind = DG_NORM_RMS;
    bp.norm_place = DG_NORM_PRE;
    bp.activation = DG_ACT_GELU_ERF;
    bp.positions = DG_POS_HALVES_CLOSED;
    check_network(&bp);
    bp.activation = DG_ACT_GELU_QUICK;
    bp.norm_place = DG_NORM_POST;
    bp.embedding_norm = true;
    bp.positions = DG_POS_NONE;
    check_network(&bp);
}
END_TEST

START_TEST(cells_in_place_of_self_attention)
{
    static const enum dg_activation activations[] = {DG_ACT_RELU, DG_ACT_SILU};
    struct dg_blueprint bp = small();
    for (int place = 0; place < 2; place++) {
        bp.norm_place = place ? DG_NORM_PRE : DG_NORM_POST;
        bp.final_norm = place;
        bp.activation = activations[place];
        bp.decoder_kind = DG_DECODER_SSRU;
        bp.aan_depth = bp.aan_F = 0;
        bp.aan_gate = false;
        check_network(&bp);
        bp.decoder_kind = DG_DECODER_AAN;
        for (bp.aan_depth = 1; bp.aan_depth < 4; bp.aan_depth++) {
            bp.aan_F = 14;
            bp.aan_gate = bp.aan_depth != 2;
            check_network(&bp);
        }
    }
}
END_TEST

START_TEST(vectors_for_distances)
{
    struct dg_blueprint bp = small();
    bp.positions = DG_POS_NONE;
    bp.activation = DG_ACT_SILU; /* with RELU a difference crossed its corner */
    for (bp.relative_reach = 1; bp.relative_reach < 8; bp.relative_reach += 2)
        check_network(&bp);
    bp.relative_reach = 2;
    bp.norm_place = DG_NORM_PRE;
    bp.final_norm = true;
    check_network(&bp);
}
END_TEST

/* The guide's part of the loss depends only on attention, which the pass itself computes. It is
 * compared with finite differences of that, in floats, with steps to match. */
START_TEST(links_guide_one_head)
{
    static const struct dg_link l0[] = {{1, 0}, {0, 1}, {2, 1}}, l1[] = {{0, 0}, {0, 3}, {1, 4}};
    struct dg_example linked[N_PAIRS] = {pairs[0], pairs[1], pairs[2]};
    const struct dg_pass_limits limits = {.source_rows = 16, .target_rows = 16, .scores = 100};
    const struct dg_blueprint bp = small();
    struct dg_params params;
    struct dg_pass *pass;
    linked[0].links = l0;
    linked[0].n_links = 3;
    linked[1].links = l1;
    linked[1].n_links = 3;
    struct dg_pass_batch with = batch, without = batch;
    with.examples = without.examples = linked;
    with.guide = 0.5f;
    with.guide_head = without.guide_head = 3;
    ck_assert_int_eq(dg_params_init(&params, &bp, NULL), DG_OK);
    pass_scatter(&params);
    ck_assert_int_eq(dg_pass_new(&pass, &params, &limits, NULL), DG_OK);
    float *guided = dg_try_calloc(params.n, sizeof *guided),
          *plain = dg_try_calloc(params.n, sizeof *plain);
    ck_assert(guided && plain);
    struct dg_pass_sums sums = {0}, ignored = {0};
    dg_pass_run(pass, &with, guided, &sums);
    dg_pass_run(pass, &without, plain, &ignored);
    ck_assert_uint_eq(sums.n_linked, 5);
    ck_assert_uint_le(sums.n_agreed, 5);
    ck_assert_double_eq(sums.guided, ignored.guided);
    size_t n_moved = 0;
    const size_t stride = getenv("DRAGOMAN_SLOW") ? 61 : 5;
    for (size_t i = 0; i < params.n; i += stride) {
        const float kept = params.w[i], step = 0x1p-12f;
        struct dg_pass_sums above = {0}, below = {0};
        params.w[i] = kept + step;
        dg_pass_measure(pass, &with, &above);
        params.w[i] = kept - step;
        dg_pass_measure(pass, &with, &below);
        params.w[i] = kept;
        const double expected =
            0.5 * (above.guided - below.guided) / (2.0 * (double)step) / N_TOKENS;
        ck_assert_double_eq_tol((double)guided[i] - (double)plain[i], expected,
                                2e-4 + 5e-3 * fabs(expected));
        n_moved += fabs(expected) > 1e-3;
    }
    ck_assert_uint_gt(n_moved, params.n / stride / 20);
    dg_free(guided);
    dg_free(plain);
    dg_pass_free(pass);
    dg_params_deinit(&params);
}
END_TEST

/* Three answers to one source and two to another, after the pairs: the gradient is that of the
 * expected cost, whether the network's probabilities count as they are, less or more. */
static const int32_t a0[] = {7, 8, 0}, a1[] = {7, 9, 9, 0}, a2[] = {0}, b0[] = {2, 3, 0},
                     b1[] = {2, 12, 4, 0};
static const struct dg_example contest[] = {
    {s0, t0, 5, 3},
    {s1, t1, 2, 6},
    {s2, t2, 4, 1},
    {.source = s0,
     .target = a0,
     .n_source = 5,
     .n_target = 3,
     .n_candidates = 3,
     .candidate = 0,
     .cost = 0.1f},
    {.source = s0,
     .target = a1,
     .n_source = 5,
     .n_target = 4,
     .n_candidates = 3,
     .candidate = 1,
     .cost = 0.5f},
    {.source = s0,
     .target = a2,
     .n_source = 5,
     .n_target = 1,
     .n_candidates = 3,
     .candidate = 2,
     .cost = 1.0f},
    {.source = s1,
     .target = b0,
     .n_source = 2,
     .n_target = 3,
     .n_candidates = 2,
     .candidate = 0,
     .cost = 0.8f},
    {.source = s1,
     .target = b1,
     .n_source = 2,
     .n_target = 4,
     .n_candidates = 2,
     .candidate = 1,
     .cost = 0.0f},
};
enum { N_CONTEST = sizeof contest / sizeof *contest };
static const struct dg_pass_batch contests = {.examples = contest,
                                              .n = N_CONTEST,
                                              .scale = 1.0f / N_TOKENS,
                                              .smoothing = 0.1f,
                                              .risk = 0.75f,
                                              .sharpness = 1.0f};

START_TEST(rivals_are_believed_in_by_their_cost)
{
    struct dg_blueprint bp = small();
    struct dg_pass_batch of = contests;
    check_batch(&bp, &of, NULL);
    of.sharpness = 0.25f;
    of.risk = 2.0f;
    bp.norm_place = DG_NORM_PRE;
    bp.final_norm = true;
    check_batch(&bp, &of, NULL);
}
END_TEST

START_TEST(rivals_are_never_parted)
{
    const struct dg_blueprint bp = small();
    const struct dg_pass_limits limits = {.source_rows = 32, .target_rows = 24, .scores = 250};
    struct dg_params params;
    struct dg_pass *pass;
    double whole_loss, loss;
    struct dg_pass_batch of = contests;
    of.dropout = 0.3f;
    ck_assert_int_eq(dg_params_init(&params, &bp, NULL), DG_OK);
    pass_scatter(&params);
    ck_assert_int_eq(dg_pass_new(&pass, &params, &limits, NULL), DG_OK);
    /* room for one of the last two */
    ck_assert_uint_eq(dg_pass_n_fitting(pass, contest, N_CONTEST), 6);
    ck_assert_uint_eq(dg_pass_n_fitting(pass, contest + 3, 5), 5);
    dg_pass_free(pass);
    const struct dg_pass_limits larger = {.source_rows = 64, .target_rows = 64, .scores = 1000};
    ck_assert_int_eq(dg_pass_new(&pass, &params, &larger, NULL), DG_OK);
    float *whole = pass_in_parts(&params, pass, &of, N_CONTEST, &whole_loss);
    static const size_t cuts[] = {3, 6};
    for (size_t i = 0; i < 2; i++) {
        float *cut = pass_in_parts(&params, pass, &of, cuts[i], &loss);
        ck_assert_double_eq_tol(loss, whole_loss, 1e-5);
        for (size_t j = 0; j < params.n; j++)
            ck_assert_float_eq_tol(cut[j], whole[j], 2e-5f);
        dg_free(cut);
    }
    dg_free(whole);
    dg_pass_free(pass);
    dg_params_deinit(&params);
}
END_TEST

START_TEST(the_cut_of_a_batch_and_a_second_run_change_nothing)
{
    const struct dg_blueprint bp = small();
    const struct dg_pass_limits limits = {.source_rows = 16, .target_rows = 16, .scores = 100};
    struct dg_pass_batch dropping = batch;
    dropping.dropout = 0.3f;
    dropping.dropout_ffn = 0.2f;
    dropping.key = 99;
    struct dg_params params;
    ck_assert_int_eq(dg_params_init(&params, &bp, NULL), DG_OK);
    pass_scatter(&params);
    pass_check_cuts(&params, &limits, &dropping, 0.0f);
    dg_params_deinit(&params);
}
END_TEST

START_TEST(measuring_gives_the_loss_without_dropout)
{
    const struct dg_blueprint bp = small();
    const struct dg_pass_limits limits = {.source_rows = 16, .target_rows = 16, .scores = 100};
    struct dg_params params;
    struct dg_pass *pass;
    struct dg_pass_sums sums = {0};
    struct dg_pass_batch with = batch;
    with.dropout = 0.5f;
    ck_assert_int_eq(dg_params_init(&params, &bp, NULL), DG_OK);
    pass_scatter(&params);
    ck_assert_int_eq(dg_pass_new(&pass, &params, &limits, NULL), DG_OK);
    dg_pass_measure(pass, &with, &sums);
    ck_assert_double_eq_tol(sums.loss / N_TOKENS, twin_loss(&params, &batch), 1e-5);
    dg_pass_free(pass);
    dg_params_deinit(&params);
}
END_TEST

START_TEST(what_does_not_fit_is_counted)
{
    const struct dg_blueprint bp = small();
    const struct dg_pass_limits limits = {.source_rows = 8, .target_rows = 16, .scores = 61};
    struct dg_params params;
    struct dg_pass *pass;
    ck_assert_int_eq(dg_params_init(&params, &bp, NULL), DG_OK);
    ck_assert_int_eq(dg_pass_new(&pass, &params, &limits, NULL), DG_OK);
    ck_assert_uint_eq(dg_pass_n_fitting(pass, pairs, N_PAIRS), 2); /* tokens of the sources */
    ck_assert_uint_eq(dg_pass_n_fitting(pass, pairs + 1, 1), 1);
    dg_pass_free(pass);
    dg_params_deinit(&params);
}
END_TEST

DG_UNIT_SLOW(links_guide_one_head, rivals_are_believed_in_by_their_cost, rivals_are_never_parted,
             post_norm_with_everything_tied, every_table_of_kernels_agrees,
             products_of_bf16_agree_within_their_eight_bits,
             pre_norm_with_final_norms_and_learned_positions, untied_matrices_and_a_start_token,
             rms_norms_and_other_activations, cells_in_place_of_self_attention,
             vectors_for_distances, the_cut_of_a_batch_and_a_second_run_change_nothing,
             measuring_gives_the_loss_without_dropout, what_does_not_fit_is_counted)
