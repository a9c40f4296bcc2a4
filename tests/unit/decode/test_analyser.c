/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Readers of random networks, through the decoder: the text that came first is read first, other
 * texts change no bit of a result, and a cancelled text leaves nothing in the decoder. */
#include "decode/decoder.h"
#include "network/net_random.h"
#include "unit.h"

enum { D = 16, V = 50, LABELS = 3, LEN = 12 };

static struct dg_blueprint shape(enum dg_head head)
{
    return (struct dg_blueprint){
        .family = DG_FAMILY_ENC,
        .D = D,
        .encoder = {2, 2, 24, V},
        .decoder = {0, 2, 24,
                    head == DG_HEAD_WORDS  ? V
                    : head == DG_HEAD_NONE ? 1
                                           : LABELS},
        .enc = {.head = head, .n_types = 2, .separators = 1, .head_activation = DG_ACT_GELU_ERF},
        .activation = DG_ACT_GELU_ERF,
        .norm_epsilon = 1e-12f,
        .embedding_norm = true,
        .positions = DG_POS_INTERLEAVED, /* as in the paper */
        .embedding_scale = 1.0f,
        .tie_output = head == DG_HEAD_WORDS,
        .output_bias = head == DG_HEAD_WORDS,
        .pad_id = 0,
        .eos_id = DG_ID_NONE,
        .bos_id = DG_ID_NONE,
        .unk_id = DG_ID_NONE,
        .start = DG_START_ZERO,
        .start_id = DG_ID_NONE,
        .forced_bos_id = DG_ID_NONE,
        .forced_eos_id = DG_ID_NONE,
        .source_len_max = 64,
        .target_len_max = 2,
        .n_beams = 1,
        .length_penalty = 1.0f,
    };
}

struct told {
    enum dg_err err;
    size_t number; /* place in the order of ends, from 1; 0: not ended yet */
};

static size_t n_told;

static void on_read(void *ctx, enum dg_err err)
{
    *(struct told *)ctx = (struct told){err, ++n_told};
}

static const struct dg_decode_events events = {.on_read = on_read};
static const int32_t ids[LEN] = {2, 7, 9, 3, 41, 5, 5, 8, 30, 12, 49, 3};
static const uint32_t places[] = {1, 3};

struct fixture {
    struct dg_net *net;
    struct dg_decoder *decoder;
};

static bool make_in_turns(struct fixture *f, enum dg_head head, size_t slots, uint64_t step_work)
{
    const struct dg_blueprint bp = shape(head);
    const struct dg_decoder_limits limits = {.sentences = slots,
                                             .rows = slots,
                                             .source_max = LEN,
                                             .target_max = 1,
                                             .batch_tokens = 4 * LEN,
                                             .step_work = step_work};
    *f = (struct fixture){.net = NULL};
    n_told = 0;
    ck_assert_int_eq(dg_blueprint_check(&bp, NULL), DG_OK);
    return dg_net_random(&f->net, &bp, NULL, 7, NULL) == DG_OK &&
           dg_decoder_new(&f->decoder, f->net, &limits, NULL) == DG_OK;
}

static bool make(struct fixture *f, enum dg_head head, size_t slots)
{
    return make_in_turns(f, head, slots, 0);
}

static void unmake(struct fixture *f)
{
    dg_decoder_free(f->decoder);
    dg_net_free(f->net);
}

static struct dg_decode_job job_of(size_t first, size_t n, const struct dg_analysis *read,
                                   struct told *told)
{
    *told = (struct told){.err = DG_OK};
    return (struct dg_decode_job){
        .src = ids + first, .n_src = n, .events = &events, .ctx = told, .read = read};
}

static void check_company(enum dg_head head, enum dg_analysis_kind kind)
{
    struct fixture f;
    float values[3][LEN * V];
    int32_t words[3][LEN * V];
    struct told told[3];
    if (make(&f, head, 4)) {
        struct dg_analysis reads[3];
        struct dg_decode_job jobs[3];
        for (size_t i = 0; i < 3; i++) {
            reads[i] = (struct dg_analysis){.kind = kind,
                                            .second = 2,
                                            .at = places,
                                            .n_at = 2,
                                            .n_best = 4,
                                            .values = values[i],
                                            .ids = words[i]};
            jobs[i] = job_of(i == 1 ? 4 : 0, i == 1 ? 5 : 8, &reads[i], &told[i]);
        }
        const size_t n = dg_analysis_size(dg_net_blueprint(f.net), &reads[0], 8);
        ck_assert_int_eq(dg_decoder_add(f.decoder, jobs, 1, NULL, NULL), DG_OK);
        ck_assert_uint_eq(dg_decoder_step(f.decoder), 1);
        ck_assert_uint_eq(dg_decoder_step(f.decoder), 0);
        ck_assert_int_eq(dg_decoder_add(f.decoder, jobs + 1, 2, NULL, NULL), DG_OK);
        ck_assert_uint_eq(dg_decoder_n_sentences(f.decoder), 2);
        while (dg_decoder_step(f.decoder) > 0)
            continue;
        for (size_t i = 0; i < 3; i++) {
            ck_assert_int_eq(told[i].err, DG_OK);
            ck_assert_uint_eq(told[i].number, i + 1);
        }
        ck_assert_mem_eq(values[0], values[2], n * sizeof(float));
        if (kind == DG_ANALYSIS_WORDS)
            ck_assert_mem_eq(words[0], words[2], n * sizeof(int32_t));
    }
    unmake(&f);
}

START_TEST(company_changes_no_bit)
{
    check_company(DG_HEAD_POOLED, DG_ANALYSIS_LABELS);
    check_company(DG_HEAD_TOKENS, DG_ANALYSIS_LABELS);
    check_company(DG_HEAD_WORDS, DG_ANALYSIS_WORDS);
    check_company(DG_HEAD_NONE, DG_ANALYSIS_STATE);
}
END_TEST

/* Three texts in one step, then in as many steps as possible, while one of them leaves and another
 * takes its place. */
static void check_turns(enum dg_head head, enum dg_analysis_kind kind)
{
    struct fixture whole, parts;
    static float values[7][LEN * V];
    static float alone[LEN * V];
    static int32_t words[7][LEN * V];
    struct told told[7];
    struct dg_analysis reads[7];
    struct dg_decode_job jobs[7];
    uint32_t handles[3];
    const bool is_made = make(&whole, head, 4),
               are_both = make_in_turns(&parts, head, 3, 1) && is_made;
    for (size_t i = 0; i < 7; i++) {
        reads[i] = (struct dg_analysis){.kind = kind,
                                        .second = 2,
                                        .at = places,
                                        .n_at = 2,
                                        .n_best = 4,
                                        .values = values[i],
                                        .ids = words[i]};
        jobs[i] = job_of(i % 4 * 2, 8 - i % 4, &reads[i], &told[i]); /* 4 is 0 again, 5 is 1, 6 is
                                                                        2; 3 comes later */
    }
    if (are_both) {
        size_t n_steps = 0;
        ck_assert_int_eq(dg_decoder_add(whole.decoder, jobs, 4, NULL, NULL), DG_OK);
        ck_assert_uint_eq(dg_decoder_step(whole.decoder), 4);
        ck_assert_uint_eq(dg_decoder_step(whole.decoder), 0);
        memcpy(alone, values[3], sizeof alone);
        memset(values[3], 0, sizeof values[3]);
        ck_assert_int_eq(dg_decoder_add(parts.decoder, jobs + 4, 3, handles, NULL), DG_OK);
        for (; dg_decoder_step(parts.decoder) > 0; n_steps++) {
            if (n_steps != 1)
                continue;
            ck_assert(dg_decoder_cancel(parts.decoder, handles[1]));
            ck_assert_int_eq(dg_decoder_add(parts.decoder, jobs + 3, 1, NULL, NULL), DG_OK);
        }
        ck_assert_uint_gt(n_steps, 4);
        ck_assert_int_eq(told[5].err, DG_ERR_CANCELLED);
        ck_assert(!told[3].err && !told[4].err && !told[6].err);
        const size_t n = dg_analysis_size(dg_net_blueprint(whole.net), &reads[2], 6);
        ck_assert_mem_eq(values[0], values[4], n * sizeof(float));
        ck_assert_mem_eq(values[2], values[6], n * sizeof(float));
        ck_assert_mem_eq(values[3], alone,
                         dg_analysis_size(dg_net_blueprint(whole.net), &reads[3], 5) *
                             sizeof(float));
        ck_assert(kind != DG_ANALYSIS_WORDS ||
                  memcmp(words[2], words[6], n * sizeof(int32_t)) == 0);

        /* All texts leave half-way, and nothing of them remains. */
        ck_assert_int_eq(dg_decoder_add(parts.decoder, jobs, 1, handles, NULL), DG_OK);
        ck_assert_uint_eq(dg_decoder_step(parts.decoder), 1);
        ck_assert(dg_decoder_cancel(parts.decoder, handles[0]));
        ck_assert_uint_eq(dg_decoder_step(parts.decoder), 0);
    }
    unmake(&whole);
    unmake(&parts);
}

START_TEST(turns_change_no_bit)
{
    check_turns(DG_HEAD_POOLED, DG_ANALYSIS_LABELS);
    check_turns(DG_HEAD_TOKENS, DG_ANALYSIS_LABELS);
    check_turns(DG_HEAD_WORDS, DG_ANALYSIS_WORDS);
    check_turns(DG_HEAD_NONE, DG_ANALYSIS_STATE);
}
END_TEST

START_TEST(what_is_cancelled_is_told_and_leaves_room)
{
    struct fixture f;
    struct told told[3];
    float values[3][LABELS];
    uint32_t handles[3];
    if (make(&f, DG_HEAD_POOLED, 2)) {
        struct dg_analysis reads[3];
        struct dg_decode_job jobs[3];
        for (size_t i = 0; i < 3; i++) {
            reads[i] = (struct dg_analysis){
                .kind = DG_ANALYSIS_LABELS, .probabilities = true, .values = values[i]};
            jobs[i] = job_of(i, 4, &reads[i], &told[i]);
        }
        ck_assert_uint_eq(dg_decoder_n_fitting(f.decoder, jobs, 3), 2);
        ck_assert_int_eq(dg_decoder_add(f.decoder, jobs, 3, handles, NULL), DG_ERR_BUSY);
        ck_assert_int_eq(dg_decoder_add(f.decoder, jobs, 2, handles, NULL), DG_OK);
        ck_assert(dg_decoder_cancel(f.decoder, handles[0]));
        ck_assert(!dg_decoder_cancel(f.decoder, handles[0]));
        ck_assert_int_eq(told[0].err, DG_ERR_CANCELLED);
        ck_assert_int_eq(dg_decoder_add(f.decoder, jobs + 2, 1, handles, NULL), DG_OK);
        ck_assert_uint_eq(dg_decoder_step(f.decoder), 2);
        ck_assert_uint_lt(told[1].number, told[2].number); /* the text that came first */
        const float sum = values[1][0] + values[1][1] + values[1][2];
        ck_assert(sum > 0.999f && sum < 1.001f);
    }
    unmake(&f);
}
END_TEST

START_TEST(refuses_what_the_network_has_no_head_for)
{
    struct fixture f;
    struct told told;
    float values[V];
    const uint32_t beyond[] = {4};
    if (make(&f, DG_HEAD_WORDS, 2)) {
        struct dg_analysis read = {.kind = DG_ANALYSIS_LABELS, .values = values};
        struct dg_decode_job job = job_of(0, 4, &read, &told);
        ck_assert_int_eq(dg_decoder_check(f.decoder, &job, NULL), DG_ERR_UNSUPPORTED);
        read = (struct dg_analysis){
            .kind = DG_ANALYSIS_WORDS, .at = beyond, .n_at = 1, .n_best = 1, .values = values};
        ck_assert_int_eq(dg_decoder_check(f.decoder, &job, NULL), DG_ERR_RANGE);
        read.at = places;
        ck_assert_int_eq(dg_decoder_check(f.decoder, &job, NULL), DG_OK);
        read.n_best = DG_ANALYSIS_BEST_MAX + 1;
        ck_assert_int_eq(dg_decoder_check(f.decoder, &job, NULL), DG_ERR_RANGE);
        job.n_src = LEN + 1;
        ck_assert_int_eq(dg_decoder_check(f.decoder, &job, NULL), DG_ERR_RANGE);
        job = job_of(0, 4, NULL, &told);
        ck_assert_int_eq(dg_decoder_add(f.decoder, &job, 1, NULL, NULL), DG_ERR_INVALID);
    }
    unmake(&f);
}
END_TEST

DG_UNIT(company_changes_no_bit, turns_change_no_bit, what_is_cancelled_is_told_and_leaves_room,
        refuses_what_the_network_has_no_head_for)
