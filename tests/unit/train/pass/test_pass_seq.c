/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Plain recurrent networks of every kind: the loss agrees with the slow twin in doubles
 * (tests/support/ref_seq.c), the gradient of every parameter with finite differences of that twin;
 * with the target as input and with their own output. */
#include "pass_check.h"
#include "ref_seq.h"

enum { V = 13, LABELS = 3, N_PAIRS = 4, T_MAX = 8 };

static const int32_t s0[] = {3, 4, 5, 6, 0}, t0[] = {7, 8, 0};
static const int32_t s1[] = {9, 0}, t1[] = {2, 3, 4, 5, 12, 0};
static const int32_t s2[] = {10, 10, 11, 0}, t2[] = {0};
static const int32_t s3[] = {4, 7, 0}, t3[] = {6, 0};
static const struct dg_example pairs[N_PAIRS] = {
    {s0, t0, 5, 3}, {s1, t1, 2, 6}, {s2, t2, 4, 1}, {s3, t3, 3, 2}};
static const int32_t labels[N_PAIRS] = {2, 0, 1, 1};

static struct dg_blueprint small(enum dg_decoder_kind cell, enum dg_seq_attention attention)
{
    return (struct dg_blueprint){
        .family = DG_FAMILY_SEQ,
        .decoder_kind = cell,
        .D = 8,
        .encoder = {1, 1, 1, V},
        .decoder = {1, 1, 1, V},
        .seq = {.attention = attention, .places = attention == DG_SEQ_LOCATION ? 4 : 0},
        .norm_epsilon = 1e-5f,
        .embedding_scale = 1.0f,
        .output_bias = true,
        .pad_id = DG_ID_NONE,
        .bos_id = DG_ID_NONE,
        .unk_id = 1,
        .start = DG_START_TOKEN,
        .forced_bos_id = DG_ID_NONE,
        .forced_eos_id = DG_ID_NONE,
        .source_len_max = 32,
        .target_len_max = 32,
        .n_beams = 1,
        .length_penalty = 1.0f,
    };
}

/* What each sentence reads, and how many of its steps count. */
struct way {
    int32_t inputs[T_MAX];
    size_t n;
};

struct task {
    const struct dg_params *params;
    struct dg_example examples[N_PAIRS];
    struct way ways[N_PAIRS];
    struct dg_pass_batch batch;
    double divisor; /* of the sum of losses that is differentiated */
};

static size_t best_of(const double *logits, size_t n)
{
    size_t best = 0;
    for (size_t v = 1; v < n; v++)
        if (logits[v] > logits[best])
            best = v;
    return best;
}

/* The target, or the twin's own output until it ends. */
static void find_way(struct task *task, size_t i)
{
    const struct dg_blueprint *bp = &task->params->bp;
    const struct dg_example *example = &task->examples[i];
    struct way *way = &task->ways[i];
    way->inputs[0] = bp->start == DG_START_TOKEN ? bp->start_id : -1;
    way->n = example->n_target;
    if (bp->seq.is_classifier)
        return;
    for (size_t t = 0; t < way->n; t++) {
        double *logits = ref_seq(bp, &task->params->weights.seq, example->source, example->n_source,
                                 way->inputs, t + 1);
        const size_t best = best_of(logits + t * V, V);
        free(logits);
        if (task->batch.teacher == 0.0f && (int32_t)best == bp->eos_id)
            way->n = t + 1;
        way->inputs[t + 1] = task->batch.teacher == 0.0f ? (int32_t)best : example->target[t];
    }
}

/* The sum of the sentences' losses, each divided by `divisors` (NULL: 1). */
static double twin_loss(const struct task *task, const double *divisors)
{
    const struct dg_blueprint *bp = &task->params->bp;
    double loss = 0.0;
    for (size_t i = 0; i < N_PAIRS; i++) {
        const struct dg_example *example = &task->examples[i];
        const struct way *way = &task->ways[i];
        double *logits = ref_seq(bp, &task->params->weights.seq, example->source, example->n_source,
                                 way->inputs, way->n),
               one = 0.0;
        for (size_t t = 0; t < way->n; t++)
            one += pass_token_loss(logits + t * bp->decoder.V, bp->decoder.V, 1,
                                   (size_t)example->target[t], (double)task->batch.smoothing);
        loss += divisors ? one / divisors[i] : one;
        free(logits);
    }
    return loss;
}

static double differentiated(const struct dg_params *params, const void *ctx)
{
    const struct task *task = ctx;
    (void)params; /* the task knows them */
    return twin_loss(task, NULL) / task->divisor;
}

static void prepare(struct task *task, const struct dg_params *params, float teacher,
                    enum dg_pass_loss loss)
{
    size_t n_tokens = 0;
    *task = (struct task){.params = params};
    for (size_t i = 0; i < N_PAIRS; i++) {
        task->examples[i] = pairs[i];
        if (params->bp.seq.is_classifier) {
            task->examples[i].target = &labels[i];
            task->examples[i].n_target = 1;
        }
        n_tokens += task->examples[i].n_target;
    }
    task->divisor = loss == DG_PASS_LOSS_SENTENCE ? N_PAIRS : (double)n_tokens;
    task->batch = (struct dg_pass_batch){.examples = task->examples,
                                         .n = N_PAIRS,
                                         .scale = 1.0f / (float)task->divisor,
                                         .teacher = teacher,
                                         .loss = loss,
                                         .smoothing = teacher == 0.0f ? 0.0f : 0.1f};
    for (size_t i = 0; i < N_PAIRS; i++)
        find_way(task, i);
}

static double reported(const struct task *task, const struct dg_pass_sums *sums)
{
    double divisors[N_PAIRS], said = 0.0;
    for (size_t i = 0; i < N_PAIRS; i++) {
        divisors[i] = task->examples[i].n_target;
        said += (double)task->ways[i].n;
    }
    const bool by_sentence = task->batch.loss == DG_PASS_LOSS_SENTENCE;
    ck_assert_double_eq(sums->n_losses, (by_sentence ? (double)N_PAIRS : said));
    return by_sentence ? twin_loss(task, divisors) / N_PAIRS : twin_loss(task, NULL) / said;
}

static void check_with(const struct dg_blueprint *bp, float teacher, enum dg_pass_loss loss,
                       const struct dg_grad_kernels *kernels)
{
    struct dg_params params;
    struct dg_pass *pass = NULL;
    struct dg_pass_sums sums = {0};
    struct task task;
    const struct dg_pass_limits limits = {
        .source_rows = 20, .target_rows = 20, .scores = 100, .kernels = kernels};
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(dg_params_init(&params, bp, &error) == DG_OK, "%s", error.text);
    dg_params_randomise(&params, 7);
    float *gradient = dg_try_calloc(params.n, sizeof *gradient);
    enum dg_err err = gradient ? dg_pass_new(&pass, &params, &limits, &error) : DG_ERR_NOMEM;
    if (!err) {
        prepare(&task, &params, teacher, loss);
        ck_assert_uint_eq(dg_pass_n_fitting(pass, task.examples, N_PAIRS), N_PAIRS);
        dg_pass_run(pass, &task.batch, gradient, &sums);
        ck_assert_double_eq_tol(sums.loss / sums.n_losses, reported(&task, &sums), 1e-5);
        pass_compare(&params, gradient, 0x1p-18f, getenv("DRAGOMAN_SLOW") ? 101 : 11,
                     differentiated, &task);
    }
    dg_pass_free(pass);
    dg_free(gradient);
    dg_params_deinit(&params);
    ck_assert_int_eq(err, DG_OK);
}

static void check(const struct dg_blueprint *bp)
{
    check_with(bp, 1.0f, DG_PASS_LOSS_TOKEN, NULL);
}

static const enum dg_seq_attention kinds[] = {DG_SEQ_NONE, DG_SEQ_LOCATION, DG_SEQ_DOT,
                                              DG_SEQ_GENERAL, DG_SEQ_ADDITIVE};
static const enum dg_decoder_kind cells[] = {DG_DECODER_TANH, DG_DECODER_GRU, DG_DECODER_LSTM};

START_TEST(every_cell_with_every_attention)
{
    for (size_t i = 0; i < 15; i++) {
        const struct dg_blueprint bp = small(cells[i % 3], kinds[i / 3]);
        check(&bp);
    }
}
END_TEST

START_TEST(layers_and_both_directions)
{
    for (size_t i = 0; i < 5; i++) {
        struct dg_blueprint bp = small(cells[i % 3], kinds[i]);
        bp.seq.is_bidirectional = true;
        bp.encoder.n_layers = 1 + i % 3;
        bp.decoder.n_layers = 3 - i % 3;
        bp.tie_source_target = i % 2;
        bp.tie_output = i % 3 == 1;
        bp.output_bias = i != 2;
        bp.start = i % 2 ? DG_START_ZERO : DG_START_TOKEN;
        check(&bp);
    }
}
END_TEST

START_TEST(sentences_on_their_own_way)
{
    for (size_t i = 0; i < 5; i++) {
        const struct dg_blueprint bp = small(cells[(i + 1) % 3], kinds[i]);
        check_with(&bp, 0.0f, DG_PASS_LOSS_SENTENCE, NULL);
    }
    const struct dg_blueprint bp = small(DG_DECODER_GRU, DG_SEQ_LOCATION);
    check_with(&bp, 1.0f, DG_PASS_LOSS_SENTENCE, NULL);
    check_with(&bp, 0.0f, DG_PASS_LOSS_TOKEN, NULL);
}
END_TEST

START_TEST(classifiers)
{
    for (size_t i = 0; i < 3; i++) {
        struct dg_blueprint bp = small(cells[i], DG_SEQ_NONE);
        bp.seq.is_classifier = true;
        bp.seq.is_bidirectional = i % 2;
        bp.encoder.n_layers = 1 + i;
        bp.decoder.V = LABELS;
        bp.start = DG_START_ZERO;
        check(&bp);
    }
}
END_TEST

START_TEST(every_table_of_kernels_agrees)
{
    const struct dg_grad_kernels *all[DG_GRAD_KERNELS_MAX];
    const size_t n = dg_grad_kernels_all(all);
    for (size_t i = 0; i < n * 3 && !getenv("DRAGOMAN_SLOW"); i++) {
        const struct dg_blueprint bp = small(cells[i % 3], DG_SEQ_ADDITIVE);
        check_with(&bp, 1.0f, DG_PASS_LOSS_TOKEN, all[i / 3]);
    }
}
END_TEST

START_TEST(the_cut_of_a_batch_and_a_second_run_change_nothing)
{
    struct dg_blueprint bp = small(DG_DECODER_LSTM, DG_SEQ_GENERAL);
    const struct dg_pass_limits limits = {.source_rows = 20, .target_rows = 20, .scores = 100};
    const struct dg_pass_batch dropping = {.examples = pairs,
                                           .n = N_PAIRS,
                                           .scale = 0.1f,
                                           .dropout = 0.3f,
                                           .teacher = 0.5f,
                                           .key = 99};
    struct dg_params params;
    bp.seq.is_bidirectional = true;
    bp.encoder.n_layers = bp.decoder.n_layers = 2;
    ck_assert_int_eq(dg_params_init(&params, &bp, NULL), DG_OK);
    dg_params_randomise(&params, 3);
    pass_check_cuts(&params, &limits, &dropping, 0.0f);
    dg_params_deinit(&params);
}
END_TEST

/* One pair a step without clipping: the gradient goes into the weights while the pass runs
 * (trainer.c). */
START_TEST(a_gradient_may_go_into_the_weights_themselves)
{
    const struct dg_pass_limits limits = {.source_rows = 20, .target_rows = 20, .scores = 100};
    for (size_t i = 0; i < 10; i++) {
        struct dg_blueprint bp = small(cells[i % 3], kinds[i % 5]);
        struct dg_params params;
        struct dg_pass *pass;
        struct dg_pass_sums sums = {0};
        struct dg_pass_batch batch = {
            .examples = &pairs[i % 2], .n = 1, .scale = 1.0f, .teacher = i < 5 ? 1.0f : 0.0f};
        bp.seq.is_bidirectional = i % 2;
        bp.encoder.n_layers = bp.decoder.n_layers = 1 + i % 2;
        bp.tie_output = i % 2;
        ck_assert_int_eq(dg_params_init(&params, &bp, NULL), DG_OK);
        dg_params_randomise(&params, i);
        ck_assert_int_eq(dg_pass_new(&pass, &params, &limits, NULL), DG_OK);
        float *gradient = dg_try_calloc(params.n, sizeof *gradient);
        ck_assert_ptr_nonnull(gradient);
        dg_pass_run(pass, &batch, gradient, &sums);
        for (size_t j = 0; j < params.n; j++)
            gradient[j] = params.w[j] - 0.01f * gradient[j];
        batch.scale = -0.01f;
        dg_pass_run(pass, &batch, params.w, &sums);
        for (size_t j = 0; j < params.n; j++)
            ck_assert_float_eq_tol(gradient[j], params.w[j], 1e-6f);
        dg_free(gradient);
        dg_pass_free(pass);
        dg_params_deinit(&params);
    }
}
END_TEST

DG_UNIT(every_cell_with_every_attention, layers_and_both_directions, sentences_on_their_own_way,
        classifiers, every_table_of_kernels_agrees,
        the_cut_of_a_batch_and_a_second_run_change_nothing,
        a_gradient_may_go_into_the_weights_themselves)
