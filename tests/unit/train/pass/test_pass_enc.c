/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Encoders alone with every head: the loss agrees with the slow twin in doubles
 * (tests/support/ref_net.c), the gradient of every parameter with finite differences of that twin.
 * The twin gets the masked words from the pass. */
#include "pass_check.h"
#include "ref_net.h"
#include "model/labels.h"

enum { V = 17, N = 3, LABELS = 5, MASK = 4 };

static const int32_t s0[] = {2, 7, 8, 9, 3}, s1[] = {2, 10, 11, 3, 12, 13, 14, 3},
                     s2[] = {2, 15, 3};
static const float smoothing = 0.1f;

struct task {
    enum dg_head head;
    bool is_number, is_each;
    enum dg_pooler pooler;
    size_t types, separators;
    enum dg_norm_place place;
};

static struct dg_blueprint small(const struct task *task)
{
    const size_t outputs = task->head == DG_HEAD_WORDS   ? V
                           : task->head == DG_HEAD_SPANS ? 2
                           : task->is_number             ? 1
                                                         : LABELS;
    return (struct dg_blueprint){
        .family = DG_FAMILY_ENC,
        .D = 8,
        .encoder = {2, 2, 12, V},
        .decoder = {0, 2, 12, outputs},
        .enc = {.head = task->head,
                .head_activation = DG_ACT_GELU_ERF,
                .pooler = task->pooler,
                .rule = task->is_number ? DG_LABELS_NUMBER
                        : task->is_each ? DG_LABELS_EACH
                                        : DG_LABELS_ONE,
                .n_types = task->types,
                .separators = task->separators},
        .norm_epsilon = 1e-5f,
        .norm_place = task->place,
        .final_norm = task->place == DG_NORM_PRE,
        .embedding_norm = true,
        .activation = DG_ACT_GELU_ERF,
        .positions = DG_POS_LEARNED,
        .n_positions = 18,
        .position_offset = 2,
        .embedding_scale = 1.0f,
        .tie_output = task->head == DG_HEAD_WORDS,
        .output_bias = task->head == DG_HEAD_WORDS,
        .pad_id = 0,
        .bos_id = DG_ID_NONE,
        .eos_id = DG_ID_NONE,
        .unk_id = 1,
        .start = DG_START_ZERO,
        .start_id = DG_ID_NONE,
        .forced_bos_id = DG_ID_NONE,
        .forced_eos_id = DG_ID_NONE,
        .source_len_max = 16,
        .target_len_max = 2,
        .n_beams = 1,
        .length_penalty = 1.0f,
    };
}

static int32_t bits_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Three texts, the second one a pair, and the expected outputs for each task. */
static void fill(const struct task *task, struct dg_example examples[N], int32_t targets[N][16])
{
    static const int32_t *const sources[N] = {s0, s1, s2};
    static const uint32_t lens[N] = {5, 8, 3}, seconds[N] = {0, 4, 0};
    for (size_t i = 0; i < N; i++) {
        /* Answers are in second texts, so every example has one. */
        const bool is_span = task->head == DG_HEAD_SPANS;
        int32_t *t = targets[i];
        uint32_t n = 1;
        t[0] = (int32_t)(is_span ? (i == 1 ? 4 : 2) : seconds[i]);
        for (size_t k = 0; task->is_each && k < i; k++) /* none, one, two */
            t[n++] = (int32_t)(2 * k + i - 1);
        if (task->head == DG_HEAD_POOLED && !task->is_each)
            t[n++] = task->is_number ? bits_of(0.25f * (float)i) : (int32_t)(2 * i);
        for (size_t k = 0; task->head == DG_HEAD_TOKENS && k < lens[i]; k++)
            t[n++] =
                k == 0 || k + 1 == lens[i] || k == 4 ? DG_EXAMPLE_UNSAID : (int32_t)(k % LABELS);
        for (size_t k = 0; is_span && k < 2; k++)
            t[n++] = i == 1 ? (int32_t)(5 + k) : i == 0 ? 3 : 0;
        examples[i] = (struct dg_example){
            .source = sources[i], .target = t, .n_source = lens[i], .n_target = n};
    }
}

static double cross_entropy(const double *logits, size_t n, size_t stride, size_t truth)
{
    return pass_token_loss(logits, n, stride, truth, (double)smoothing);
}

/* The inputs and expected outputs of the twin: ids with their masks and, for WORDS, the
 * positions. */
struct reading {
    int32_t ids[N][8], truth[N][8]; /* -1: no output is needed */
};

static double text_loss(const struct dg_blueprint *bp, const struct dg_enc_weights *w,
                        const struct dg_example *example, const int32_t *ids, const int32_t *truth)
{
    const size_t L = bp->decoder.V, S = example->n_source;
    double *out = ref_read(bp, w, ids, (size_t)example->target[0], S), loss = 0.0;
    if (bp->enc.head == DG_HEAD_POOLED && bp->enc.rule == DG_LABELS_NUMBER) {
        float wanted;
        memcpy(&wanted, &example->target[1], sizeof wanted);
        loss = pow(out[0] - (double)wanted, 2.0);
    } else if (bp->enc.head == DG_HEAD_POOLED && bp->enc.rule == DG_LABELS_EACH) {
        for (size_t l = 0; l < L; l++) {
            double wanted = 0.5 * (double)smoothing;
            for (size_t k = 1; k < example->n_target; k++)
                wanted += example->target[k] == (int32_t)l ? 1.0 - (double)smoothing : 0.0;
            const double p = 1.0 / (1.0 + exp(-out[l]));
            loss -= (wanted * log(p) + (1.0 - wanted) * log(1.0 - p)) / (double)L;
        }
    } else if (bp->enc.head == DG_HEAD_POOLED) {
        loss = cross_entropy(out, L, 1, (size_t)example->target[1]);
    } else if (bp->enc.head == DG_HEAD_SPANS) {
        const size_t at = (size_t)example->target[0] + bp->enc.separators - 1, n = S - 1 - at + 1;
        double some[2 * 16];
        for (size_t c = 0; c < 2; c++)
            some[c] = out[c];
        memcpy(some + 2, out + 2 * at, 2 * (n - 1) * sizeof *some);
        for (size_t c = 0; c < 2; c++) {
            const size_t t = (size_t)example->target[1 + c];
            loss += 0.5 * cross_entropy(some + c, n, 2, t ? t - at + 1 : 0);
        }
    } else {
        for (size_t t = 0; t < S; t++)
            if (truth[t] >= 0)
                loss += cross_entropy(out + t * L, L, 1, (size_t)truth[t]);
    }
    free(out);
    return loss;
}

/* What the twin's loss is computed from. */
struct told {
    const struct dg_example *examples;
    const struct reading *reading;
    double scale;
};

static double twin_loss(const struct dg_params *params, const void *ctx)
{
    const struct told *told = ctx;
    double loss = 0.0;
    for (size_t i = 0; i < N; i++)
        loss += text_loss(&params->bp, &params->weights.enc, &told->examples[i],
                          told->reading->ids[i], told->reading->truth[i]);
    return told->scale * loss;
}

/* Gives the twin what the pass drew. Returns how many outputs are needed. */
static size_t read_as_drawn(const struct dg_blueprint *bp, const struct dg_pass_batch *batch,
                            const struct dg_example *examples, struct reading *r)
{
    size_t n = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t t = 0; t < examples[i].n_source; t++) {
            r->ids[i][t] = examples[i].source[t];
            r->truth[i][t] = bp->enc.head == DG_HEAD_TOKENS ? examples[i].target[1 + t] : -1;
        }
    uint64_t row = 0;
    for (size_t i = 0; i < N; row += examples[i++].n_source)
        for (size_t t = 0; t < examples[i].n_source && bp->enc.head == DG_HEAD_WORDS; t++)
            if (dg_pass_draw_mask(bp, batch, &examples[i], t, row, &r->ids[i][t]))
                r->truth[i][t] = examples[i].source[t];
    row = 0;
    for (size_t i = 0; i < N; row += examples[i++].n_source)
        n += dg_pass_n_asked(bp, batch, &examples[i], row);
    return n;
}

static void check_task(const struct task *task)
{
    const struct dg_blueprint bp = small(task);
    struct dg_example examples[N];
    int32_t targets[N][16];
    struct dg_params params;
    struct dg_pass *pass = NULL;
    struct dg_pass_sums sums = {0};
    struct reading r;
    const struct dg_pass_limits limits = {.source_rows = 16, .target_rows = 16, .scores = 98};
    struct dg_error error = DG_ERROR_NONE;
    fill(task, examples, targets);
    struct dg_pass_batch batch = {.examples = examples,
                                  .n = N,
                                  .scale = 0.25f,
                                  .smoothing = smoothing,
                                  .mask = {0.7f, MASK},
                                  .key = 5};
    ck_assert_msg(dg_params_init(&params, &bp, &error) == DG_OK, "%s", error.text);
    pass_scatter(&params);
    float *gradient = dg_try_calloc(params.n, sizeof *gradient);
    enum dg_err err = gradient ? dg_pass_new(&pass, &params, &limits, &error) : DG_ERR_NOMEM;
    if (!err) {
        ck_assert_uint_eq(dg_pass_n_fitting(pass, examples, N), N);
        const size_t n = read_as_drawn(&bp, &batch, examples, &r);
        dg_pass_run(pass, &batch, gradient, &sums);
        ck_assert_double_eq(sums.n_losses, (double)n);
        ck_assert_double_eq_tol(sums.loss, twin_loss(&params, &(struct told){examples, &r, 1.0}),
                                1e-4);
        pass_compare(&params, gradient, 0x1p-13f, getenv("DRAGOMAN_SLOW") ? 41 : 3, twin_loss,
                     &(struct told){examples, &r, 0.25});
        struct dg_pass_sums measured = {0};
        dg_pass_measure(pass, &batch, &measured);
        ck_assert_double_eq_tol(measured.loss, sums.loss, 1e-5);
        ck_assert_uint_eq(measured.n_right, sums.n_right);
    }
    dg_pass_free(pass);
    dg_free(gradient);
    dg_params_deinit(&params);
    ck_assert_int_eq(err, DG_OK);
}

START_TEST(labels_of_texts_and_pairs)
{
    check_task(&(struct task){.head = DG_HEAD_POOLED, .types = 2, .separators = 1});
    check_task(&(struct task){
        .head = DG_HEAD_POOLED, .types = 0, .separators = 1, .pooler = DG_POOLER_RELU});
    check_task(&(struct task){
        .head = DG_HEAD_POOLED, .types = 2, .separators = 1, .pooler = DG_POOLER_GELU});
}
END_TEST

START_TEST(a_number)
{
    check_task(
        &(struct task){.head = DG_HEAD_POOLED, .is_number = true, .types = 1, .separators = 1});
}
END_TEST

START_TEST(several_labels_of_a_text)
{
    check_task(
        &(struct task){.head = DG_HEAD_POOLED, .is_each = true, .types = 2, .separators = 1});
    check_task(&(struct task){.head = DG_HEAD_POOLED,
                              .is_each = true,
                              .types = 1,
                              .separators = 2,
                              .place = DG_NORM_PRE});
}
END_TEST

START_TEST(labels_of_tokens)
{
    check_task(
        &(struct task){.head = DG_HEAD_TOKENS, .types = 2, .separators = 1, .place = DG_NORM_PRE});
}
END_TEST

START_TEST(answers)
{
    check_task(&(struct task){.head = DG_HEAD_SPANS, .types = 2, .separators = 1});
}
END_TEST

START_TEST(masked_words)
{
    check_task(&(struct task){.head = DG_HEAD_WORDS, .types = 2, .separators = 1});
    check_task(
        &(struct task){.head = DG_HEAD_WORDS, .types = 1, .separators = 2, .place = DG_NORM_PRE});
}
END_TEST

/* In a large number of words 15 in 100 are drawn: 80 in 100 of these are masked, 10 are replaced by
 * another word, 10 are kept; the tokens around the text are never drawn. */
START_TEST(words_are_masked_by_the_rule)
{
    const struct dg_blueprint bp =
        small(&(struct task){.head = DG_HEAD_WORDS, .types = 2, .separators = 1});
    static const int32_t none[] = {0};
    int32_t ids[2000] = {2};
    for (size_t i = 1; i < 1999; i++)
        ids[i] = 16;
    ids[1999] = 3;
    const struct dg_example example = {
        .source = ids, .target = none, .n_source = 2000, .n_target = 1};
    size_t n = 0, n_mask = 0, n_same = 0, n_other = 0;
    for (uint64_t key = 0; key < 20; key++) {
        const struct dg_pass_batch batch = {.mask = {0.15f, MASK}, .key = key};
        size_t n_here = 0;
        for (size_t t = 0; t < 2000; t++) {
            int32_t id;
            if (!dg_pass_draw_mask(&bp, &batch, &example, t, 0, &id)) {
                ck_assert_int_eq(id, ids[t]);
                continue;
            }
            ck_assert(t > 0 && t < 1999);
            n_here++;
            n_mask += id == MASK;
            n_same += id == 16;
            n_other += id != MASK && id != 16;
        }
        ck_assert_uint_eq(n_here, dg_pass_n_asked(&bp, &batch, &example, 0));
        n += n_here;
    }
    ck_assert_double_eq_tol((double)n / 40000.0, 0.15, 0.01);
    ck_assert_double_eq_tol((double)n_mask / (double)n, 0.8, 0.02);
    /* and a 17th of the other words */
    ck_assert_double_eq_tol((double)n_same / (double)n, 0.1, 0.02);
    ck_assert_double_eq_tol((double)n_other / (double)n, 0.09, 0.02);
}
END_TEST

START_TEST(the_cut_of_a_batch_changes_nothing)
{
    static const enum dg_head heads[] = {DG_HEAD_WORDS, DG_HEAD_POOLED, DG_HEAD_TOKENS,
                                         DG_HEAD_SPANS, DG_HEAD_POOLED};
    for (size_t h = 0; h < 5; h++) {
        const struct task task = {.head = heads[h], .is_each = h == 4, .types = 2, .separators = 1};
        const struct dg_blueprint bp = small(&task);
        const struct dg_pass_limits limits = {.source_rows = 16, .target_rows = 16, .scores = 98};
        struct dg_example examples[N];
        int32_t targets[N][16];
        const struct dg_pass_batch dropping = {.examples = examples,
                                               .n = N,
                                               .scale = 0.1f,
                                               .dropout = 0.3f,
                                               .dropout_ffn = 0.2f,
                                               .mask = {0.5f, MASK},
                                               .key = 99};
        fill(&task, examples, targets);
        struct dg_params params;
        ck_assert_int_eq(dg_params_init(&params, &bp, NULL), DG_OK);
        pass_scatter(&params);
        pass_check_cuts(&params, &limits, &dropping, 0.0f);
        dg_params_deinit(&params);
    }
}
END_TEST

START_TEST(a_head_without_a_loss_is_refused)
{
    struct dg_blueprint bp =
        small(&(struct task){.head = DG_HEAD_POOLED, .types = 2, .separators = 1});
    struct dg_params params;
    struct dg_error error = DG_ERROR_NONE;
    bp.enc.head = DG_HEAD_NONE;
    bp.decoder.V = 1;
    ck_assert_int_eq(dg_params_init(&params, &bp, &error), DG_ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "expected a head"));
}
END_TEST

/* The limit is the number of labels that are counted one by one. */
START_TEST(more_labels_than_there_may_be_are_refused)
{
    struct dg_blueprint bp =
        small(&(struct task){.head = DG_HEAD_POOLED, .types = 2, .separators = 1, .is_each = true});
    struct dg_params params;
    struct dg_error error = DG_ERROR_NONE;
    bp.decoder.V = DG_LABELS_MAX + 1;
    ck_assert_int_eq(dg_params_init(&params, &bp, &error), DG_ERR_LIMIT);
    ck_assert_ptr_nonnull(strstr(error.text, "1001 labels"));
}
END_TEST

DG_UNIT(labels_of_texts_and_pairs, a_number, several_labels_of_a_text, labels_of_tokens, answers,
        masked_words, words_are_masked_by_the_rule, the_cut_of_a_batch_changes_nothing,
        a_head_without_a_loss_is_refused, more_labels_than_there_may_be_are_refused)
