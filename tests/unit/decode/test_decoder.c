/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The decoder with a real model, compared with an independent implementation's answers, and with
 * itself when sentences run alone, in batches, shuffled, joined late, or together with cancelled
 * ones. */
#include "base/file/map_file.h"
#include "base/json/json.h"
#include "base/memory/mem.h"
#include "decode/decoder.h"
#include "files.h"
#include "model/model_dir.h"
#include "unit.h"

enum { N_MAX = 256, LEN_MAX = 128 };

struct sentence {
    int32_t src[LEN_MAX], greedy[LEN_MAX];
    size_t n_src, n_greedy;
    double beam_score, narrowing_score; /* the second is 0 if it is not reported */
};

struct outcome {
    int32_t ids[LEN_MAX], told[LEN_MAX];
    float logprobs[LEN_MAX];
    size_t n_ids, n_told, n_events;
    double score;
    enum dg_finish finish;
    int n_done;
};

static struct dg_model *model;
static struct dg_net *net;
static struct sentence sentences[N_MAX];
static size_t n_sentences;
static struct outcome outcomes[N_MAX];
static struct dg_decoder *running;
static bool expect_alignment;
static const struct dg_lexicon *lex;
static size_t step_rows;

static size_t read_ids(const struct dg_json *item, const char *name, int32_t *ids)
{
    const struct dg_json *array = dg_json_get(item, name);
    size_t n = dg_json_len(array);
    ck_assert_uint_le(n, LEN_MAX);
    for (size_t i = 0; i < n; i++) {
        int64_t id = 0;
        ck_assert_int_eq(dg_json_at_int(array, name, i, 0, 1 << 20, NULL, &id), DG_OK);
        ids[i] = (int32_t)id;
    }
    return n;
}

static void load_sentences(const char *path)
{
    struct dg_map_file file;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(dg_map_file_open(&file, path, 1 << 26, &error) == DG_OK, "%s", error.text);
    struct dg_json_limits limits = DG_JSON_LIMITS_DEFAULT;
    limits.max_bytes = file.len;
    limits.max_values = 1000000;
    struct dg_json *json = NULL;
    enum dg_err err =
        dg_json_parse(dg_span_make((const char *)file.bytes, file.len), &limits, &error, &json);
    ck_assert_msg(err == DG_OK, "%s", error.text);
    n_sentences = dg_json_len(json);
    ck_assert_uint_le(n_sentences, N_MAX);
    for (size_t i = 0; i < n_sentences; i++) {
        const struct dg_json *item = dg_json_at(json, i);
        struct sentence *sentence = &sentences[i];
        sentence->n_src = read_ids(item, "src_ids", sentence->src);
        sentence->n_greedy = read_ids(item, "greedy_ids", sentence->greedy);
        ck_assert_int_eq(dg_json_get_real(item, "beam4_norm", DG_JSON_REQUIRED, -100, 0, NULL,
                                          &sentence->beam_score),
                         DG_OK);
        sentence->narrowing_score = 0;
        ck_assert_int_eq(dg_json_get_real(item, "beam4_narrows", DG_JSON_OPTIONAL, -100, 0, NULL,
                                          &sentence->narrowing_score),
                         DG_OK);
    }
    dg_json_free(json);
    dg_map_file_close(&file);
}

/* The model and sentences from which the answers were made: the shared ones, or those of the
 * tree. */
static void set_up_as(enum dg_net_type type)
{
    char path[DG_TEST_PATH];
    struct dg_error error = DG_ERROR_NONE;
    const struct dg_net_opts opts = {.type = type};
    if (dg_test_shared(path, "golden/fr-en/golden.json")) {
        load_sentences(path);
        dg_test_shared(path, "models/fr-en");
    } else {
        load_sentences(dg_test_source(path, "tests/golden/fr-en-search.json"));
        dg_test_source(path, "models/fr-en");
    }
    ck_assert_msg(dg_model_open(&model, path, &error) == DG_OK, "%s", error.text);
    enum dg_err err =
        dg_net_new(&net, dg_model_blueprint(model), dg_model_weights(model), &opts, &error);
    ck_assert_msg(err == DG_OK, "%s", error.text);
}

static void set_up(void)
{
    set_up_as(DG_NET_AUTO);
}

static void tear_down(void)
{
    dg_net_free(net);
    dg_model_unref(model);
}

/* ---- Running --------------------------------------------------------------------------------- */

static void on_tokens(void *ctx, size_t at, const int32_t *ids, const float *logprobs, size_t n)
{
    struct outcome *outcome = ctx;
    ck_assert_uint_eq(at, outcome->n_told);
    ck_assert_int_eq(outcome->n_done, 0);
    memcpy(outcome->told + at, ids, n * sizeof *ids);
    (void)logprobs;
    outcome->n_told += n;
    outcome->n_events++;
}

static void on_done(void *ctx, const struct dg_search *search)
{
    struct outcome *outcome = ctx;
    struct dg_answer answer = dg_search_answer(search, 0);
    ck_assert_uint_le(answer.n_ids, LEN_MAX);
    memcpy(outcome->ids, answer.ids, answer.n_ids * sizeof *answer.ids);
    memcpy(outcome->logprobs, answer.logprobs, answer.n_ids * sizeof *answer.logprobs);
    outcome->n_ids = answer.n_ids;
    outcome->score = answer.score;
    outcome->finish = answer.finish;
    outcome->n_done++;
    size_t n_src = sentences[outcome - outcomes].n_src;
    for (size_t t = 0; t < answer.n_ids; t++) {
        const float *row = dg_decoder_alignment(running, search, 0, t);
        ck_assert_int_eq(row != NULL, expect_alignment);
        float sum = 0;
        for (size_t s = 0; row && s < n_src; s++)
            sum += row[s];
        ck_assert(!row || (sum > 0.999f && sum < 1.001f));
    }
}

static const struct dg_decode_events events = {on_tokens, on_done};

static struct dg_decode_job job_of(size_t i, const struct dg_search_opts *opts)
{
    return (struct dg_decode_job){sentences[i].src, sentences[i].n_src, opts,
                                  &events,          &outcomes[i],       false};
}

static struct dg_decoder *new_decoder(size_t n, int beam)
{
    struct dg_decoder_limits limits = {.sentences = n,
                                       .rows = n * (size_t)beam,
                                       .source_max = LEN_MAX,
                                       .target_max = LEN_MAX,
                                       .batch_tokens = n * LEN_MAX,
                                       .step_rows = step_rows,
                                       .lex = lex};
    struct dg_decoder *decoder = NULL;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(dg_decoder_new(&decoder, net, &limits, &error) == DG_OK, "%s", error.text);
    running = decoder;
    return decoder;
}

/* Translates all sentences in the given order, with `batch` of them under way at a time. */
static void translate_all(const struct dg_search_opts *opts, size_t batch, const size_t *order)
{
    memset(outcomes, 0, sizeof outcomes);
    struct dg_decoder *decoder = new_decoder(batch, dg_search_width(opts));
    size_t next = 0;
    while (next < n_sentences || dg_decoder_n_sentences(decoder) > 0) {
        struct dg_decode_job jobs[N_MAX];
        size_t n = 0;
        while (n < batch && next + n < n_sentences) {
            jobs[n] = job_of(order ? order[next + n] : next + n, opts);
            n++;
        }
        n = dg_decoder_n_fitting(decoder, jobs, n);
        struct dg_error error = DG_ERROR_NONE;
        ck_assert_msg(dg_decoder_add(decoder, jobs, n, NULL, &error) == DG_OK, "%s", error.text);
        next += n;
        dg_decoder_step(decoder);
    }
    dg_decoder_free(decoder);
}

static void expect_same(const struct outcome *a, const struct outcome *b)
{
    ck_assert_uint_eq(a->n_ids, b->n_ids);
    ck_assert_mem_eq(a->ids, b->ids, a->n_ids * sizeof *a->ids);
    ck_assert_mem_eq(a->logprobs, b->logprobs, a->n_ids * sizeof *a->logprobs);
    ck_assert_mem_eq(&a->score, &b->score, sizeof a->score);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(greedy_says_what_an_independent_implementation_says)
{
    set_up_as(DG_NET_F32);
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    translate_all(&opts, 16, NULL);
    for (size_t i = 0; i < n_sentences; i++) {
        const struct outcome *outcome = &outcomes[i];
        ck_assert_int_eq(outcome->n_done, 1);
        ck_assert_uint_eq(outcome->n_ids, sentences[i].n_greedy);
        ck_assert_mem_eq(outcome->ids, sentences[i].greedy, outcome->n_ids * sizeof(int32_t));
        ck_assert_uint_eq(outcome->n_told, outcome->n_ids);
        ck_assert_mem_eq(outcome->told, outcome->ids, outcome->n_ids * sizeof(int32_t));
        ck_assert_uint_ge(outcome->n_events * 10, outcome->n_ids * 8);
    }
    tear_down();
}
END_TEST

START_TEST(a_beam_scores_as_well_as_an_independent_one)
{
    set_up_as(DG_NET_F32);
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    opts.beam = 4;
    opts.beam_rule = DG_BEAM_REFILLS;
    translate_all(&opts, 16, NULL);
    size_t n_good = 0;
    for (size_t i = 0; i < n_sentences; i++)
        n_good += outcomes[i].score >= sentences[i].beam_score - 1e-4;
    ck_assert_uint_ge(n_good * 100, n_sentences * 99);

    opts.beam_rule = DG_BEAM_NARROWS;
    translate_all(&opts, 16, NULL);
    for (size_t i = 0; i < n_sentences; i++)
        if (sentences[i].narrowing_score < 0)
            ck_assert_double_eq_tol(outcomes[i].score, sentences[i].narrowing_score, 1e-4);
    tear_down();
}
END_TEST

START_TEST(company_changes_nothing)
{
    set_up();
    n_sentences = n_sentences < 40 ? n_sentences : 40;
    static struct outcome alone[N_MAX];
    static size_t shuffled[N_MAX];
    for (size_t i = 0; i < n_sentences; i++)
        shuffled[i] = (i * 77 + 13) % n_sentences; /* 77 and 40 have no common factor */
    for (int beam = 1; beam <= 3; beam += 2) {
        struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
        opts.beam = beam;
        translate_all(&opts, 1, NULL);
        memcpy(alone, outcomes, sizeof alone);
        static const size_t batches[] = {2, 7, 32, 32}, rows[] = {0, 0, 0, 7};
        for (size_t b = 0; b < 4; b++)
            for (int is_shuffled = 0; is_shuffled < 2; is_shuffled++) {
                step_rows = rows[b];
                translate_all(&opts, batches[b], is_shuffled ? shuffled : NULL);
                for (size_t i = 0; i < n_sentences; i++)
                    expect_same(&outcomes[i], &alone[i]);
            }
        step_rows = 0;
    }
    tear_down();
}
END_TEST

/* Steps until sentence `i` has reported its first token. */
static size_t n_steps_to_first(struct dg_decoder *decoder, size_t i)
{
    size_t n = 0;
    while (outcomes[i].n_told == 0 && outcomes[i].n_done == 0) {
        ck_assert_uint_gt(dg_decoder_step(decoder), 0);
        n++;
    }
    return n;
}

START_TEST(a_newcomer_says_its_first_word_before_the_others_say_their_next)
{
    enum { N = 12 };
    set_up();
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    opts.beam = 2;
    opts.min_len = 40;
    opts.max_ratio = 0;
    memset(outcomes, 0, sizeof outcomes);
    struct dg_decoder *decoder = new_decoder(1, 2);
    struct dg_decode_job newcomer = job_of(N, &opts), others[N];
    newcomer.is_urgent = true;
    ck_assert_int_eq(dg_decoder_add(decoder, &newcomer, 1, NULL, NULL), DG_OK);
    size_t n_alone = n_steps_to_first(decoder, N);
    dg_decoder_free(decoder);
    step_rows = 6;
    decoder = new_decoder(N + 1, 2);
    for (size_t i = 0; i < N; i++)
        others[i] = job_of(i, &opts);
    ck_assert_int_eq(dg_decoder_add(decoder, others, N, NULL, NULL), DG_OK);
    for (int i = 0; i < 20; i++)
        ck_assert_uint_le(dg_decoder_step(decoder), step_rows);
    outcomes[N] = (struct outcome){.n_told = 0};
    ck_assert_int_eq(dg_decoder_add(decoder, &newcomer, 1, NULL, NULL), DG_OK);
    ck_assert_uint_eq(n_steps_to_first(decoder, N), n_alone);
    while (dg_decoder_step(decoder) > 0)
        ;
    for (size_t i = 0; i <= N; i++)
        ck_assert_int_eq(outcomes[i].n_done, 1);
    dg_decoder_free(decoder);
    step_rows = 0;
    tear_down();
}
END_TEST

/* However many new sentences come, the others go on. */
START_TEST(newcomers_leave_a_quarter_of_each_step_to_the_others)
{
    set_up();
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    opts.min_len = 40;
    opts.max_ratio = 0;
    memset(outcomes, 0, sizeof outcomes);
    step_rows = 8;
    struct dg_decoder *decoder = new_decoder(32, 1);
    struct dg_decode_job old = job_of(0, &opts);
    ck_assert_int_eq(dg_decoder_add(decoder, &old, 1, NULL, NULL), DG_OK);
    for (size_t t = 0; t < 10; t++) {
        struct dg_decode_job jobs[3] = {job_of(1 + 3 * t, &opts), job_of(2 + 3 * t, &opts),
                                        job_of(3 + 3 * t, &opts)};
        for (size_t i = 0; i < 3; i++)
            jobs[i].is_urgent = true;
        ck_assert_int_eq(dg_decoder_add(decoder, jobs, 3, NULL, NULL), DG_OK);
        ck_assert_uint_le(dg_decoder_step(decoder), step_rows);
    }
    /* sentences that have delivered something take turns with it */
    ck_assert_uint_ge(outcomes[0].n_told, 3);
    dg_decoder_free(decoder);
    step_rows = 0;
    tear_down();
}
END_TEST

START_TEST(a_client_with_wide_searches_gets_no_more_rows_than_another)
{
    enum { N_WIDE = 4, WIDTH = 16 };
    set_up();
    struct dg_search_opts wide = DG_SEARCH_OPTS_DEFAULT, plain = DG_SEARCH_OPTS_DEFAULT;
    struct dg_decode_job jobs[N_WIDE];
    struct dg_error error = DG_ERROR_NONE;
    size_t longest = N_WIDE, n_rows = 0;
    wide.beam = WIDTH;
    wide.max_ratio = 0;
    wide.loop_guard = false;
    wide.min_len = wide.max_len = 60;
    for (size_t i = N_WIDE; i < n_sentences; i++)
        longest = sentences[i].n_greedy > sentences[longest].n_greedy ? i : longest;
    memset(outcomes, 0, sizeof outcomes);
    struct dg_decoder *decoder = new_decoder(2 * N_WIDE, WIDTH);
    for (size_t i = 0; i < N_WIDE; i++) {
        jobs[i] = job_of(i, &wide);
        jobs[i].client = 1;
    }
    ck_assert_msg(dg_decoder_add(decoder, jobs, N_WIDE, NULL, &error) == DG_OK, "%s", error.text);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_gt(dg_decoder_step(decoder), 0);
    jobs[0] = job_of(longest, &plain);
    jobs[0].client = 2;
    ck_assert_msg(dg_decoder_add(decoder, jobs, 1, NULL, &error) == DG_OK, "%s", error.text);
    while (!outcomes[longest].n_done)
        n_rows += dg_decoder_step(decoder);
    /* The client has one row for each token and for the end; the other client may have as many, and
     * may be ahead or behind by the permitted lead. */
    ck_assert_uint_ge(outcomes[longest].n_ids, 10);
    ck_assert_uint_le(n_rows, 2 * (outcomes[longest].n_ids + 1) + 3 * WIDTH);
    dg_decoder_free(decoder);
    tear_down();
}
END_TEST

/* With a beam of 4, the first token takes more rows than the lead that later tokens may have. */
START_TEST(a_first_token_with_a_beam_does_not_wait_for_narrow_clients)
{
    enum { N = 12 };
    set_up();
    struct dg_search_opts narrow = DG_SEARCH_OPTS_DEFAULT, wide = DG_SEARCH_OPTS_DEFAULT;
    struct dg_decode_job others[N], newcomer;
    size_t slowest = N, n_alone = 0;
    narrow.min_len = wide.min_len = 40;
    narrow.max_ratio = wide.max_ratio = 0;
    wide.beam = 4;
    memset(outcomes, 0, sizeof outcomes);
    struct dg_decoder *decoder = new_decoder(1, 4);
    for (size_t i = N; i < n_sentences; i++) {
        newcomer = job_of(i, &wide);
        ck_assert_int_eq(dg_decoder_add(decoder, &newcomer, 1, NULL, NULL), DG_OK);
        const size_t n_steps = n_steps_to_first(decoder, i);
        if (n_steps > n_alone && 3 * n_steps < 48) {
            slowest = i;
            n_alone = n_steps;
        }
        while (dg_decoder_step(decoder) > 0)
            ;
    }
    /* In each step it gets three rows more than a narrow client. */
    ck_assert_uint_gt(3 * n_alone, 16);
    dg_decoder_free(decoder);
    newcomer = job_of(slowest, &wide);
    newcomer.is_urgent = true;
    newcomer.client = N + 1;
    decoder = new_decoder(N + 1, 4);
    for (size_t i = 0; i < N; i++) {
        others[i] = job_of(i, &narrow);
        others[i].client = i + 1;
    }
    ck_assert_int_eq(dg_decoder_add(decoder, others, N, NULL, NULL), DG_OK);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_gt(dg_decoder_step(decoder), 0);
    outcomes[slowest] = (struct outcome){.n_told = 0};
    ck_assert_int_eq(dg_decoder_add(decoder, &newcomer, 1, NULL, NULL), DG_OK);
    ck_assert_uint_eq(n_steps_to_first(decoder, slowest), n_alone);
    while (dg_decoder_step(decoder) > 0)
        ;
    for (size_t i = 0; i < N; i++)
        ck_assert_int_eq(outcomes[i].n_done, 1);
    ck_assert_int_eq(outcomes[slowest].n_done, 1);
    dg_decoder_free(decoder);
    tear_down();
}
END_TEST

START_TEST(a_client_leaves_a_quarter_of_the_room_to_others)
{
    enum { N = 8 };
    set_up();
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    struct dg_decode_job jobs[N];
    struct dg_decoder *decoder = new_decoder(N, 1);
    memset(outcomes, 0, sizeof outcomes);
    for (size_t i = 0; i < N; i++)
        jobs[i] = job_of(i, &opts);
    /* belongs to no particular client */
    ck_assert_uint_eq(dg_decoder_n_fitting(decoder, jobs, N), N);
    for (size_t i = 0; i < N; i++)
        jobs[i].client = 1;
    ck_assert_uint_eq(dg_decoder_n_fitting(decoder, jobs, N), N - N / 4);
    ck_assert_int_eq(dg_decoder_add(decoder, jobs, N - N / 4, NULL, NULL), DG_OK);
    ck_assert_uint_eq(dg_decoder_n_fitting(decoder, jobs + N - 1, 1), 0);
    jobs[N - 1].client = 2;
    ck_assert_uint_eq(dg_decoder_n_fitting(decoder, jobs + N - 1, 1), 1);
    while (dg_decoder_n_sentences(decoder) > 0)
        dg_decoder_step(decoder);
    jobs[0].client = 1;
    ck_assert_uint_eq(dg_decoder_n_fitting(decoder, jobs, 1), 1);
    dg_decoder_free(decoder);
    tear_down();
}
END_TEST

START_TEST(a_cancelled_sentence_ends_at_once_and_alone)
{
    set_up();
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    opts.min_len = 20;
    opts.beam = 2;
    struct dg_decoder *decoder = new_decoder(4, 2);
    memset(outcomes, 0, sizeof outcomes);
    struct dg_decode_job jobs[3] = {job_of(0, &opts), job_of(1, &opts), job_of(2, &opts)};
    uint32_t handles[3];
    ck_assert_int_eq(dg_decoder_add(decoder, jobs, 3, handles, NULL), DG_OK);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_ge(dg_decoder_step(decoder), 3);
    ck_assert(dg_decoder_cancel(decoder, handles[1]));
    ck_assert(!dg_decoder_cancel(decoder, handles[1]));
    ck_assert_int_eq(outcomes[1].n_done, 1);
    ck_assert_int_eq(outcomes[1].finish, DG_FINISH_CANCELLED);
    ck_assert_uint_eq(outcomes[1].n_ids, 4);
    ck_assert_uint_eq(dg_decoder_n_sentences(decoder), 2);
    ck_assert_int_eq(dg_decoder_add(decoder, &jobs[1], 1, &handles[1], NULL), DG_OK);
    outcomes[1] = (struct outcome){.n_done = 0};
    while (dg_decoder_step(decoder) > 0)
        ;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(outcomes[i].n_done, 1);
    ck_assert_int_ne(outcomes[1].finish, DG_FINISH_CANCELLED);
    dg_decoder_free(decoder);
    tear_down();
}
END_TEST

START_TEST(nothing_is_allocated_per_token)
{
    set_up();
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    opts.min_len = 60;
    opts.max_ratio = 0;
    opts.loop_guard = false;
    for (int beam = 1; beam <= 4; beam += 3) {
        opts.beam = beam;
        struct dg_decoder *decoder = new_decoder(8, 4);
        memset(outcomes, 0, sizeof outcomes);
        struct dg_decode_job jobs[8];
        for (size_t i = 0; i < 8; i++)
            jobs[i] = job_of(i, &opts);
        ck_assert_int_eq(dg_decoder_add(decoder, jobs, 8, NULL, NULL), DG_OK);
        uint64_t before = dg_mem_count();
        for (int i = 0; i < 50; i++)
            ck_assert_uint_ge(dg_decoder_step(decoder), 8);
        ck_assert_uint_eq(dg_mem_count(), before);
        dg_decoder_free(decoder);
    }
    tear_down();
}
END_TEST

START_TEST(jobs_that_can_never_fit_are_refused_with_a_reason)
{
    set_up();
    struct dg_decoder *decoder = new_decoder(2, 2);
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    struct dg_decode_job job = job_of(0, &opts);
    struct dg_error error = DG_ERROR_NONE;
    job.n_src = 0;
    ck_assert_int_eq(dg_decoder_add(decoder, &job, 1, NULL, &error), DG_ERR_RANGE);
    int32_t bad[] = {5, 99999, 0};
    job = (struct dg_decode_job){bad, 3, &opts, &events, &outcomes[0], false};
    ck_assert_int_eq(dg_decoder_add(decoder, &job, 1, NULL, &error), DG_ERR_RANGE);
    char expected[80];
    snprintf(expected, sizeof expected, "source id 1 is 99999, expected 0 to %zu",
             dg_net_blueprint(net)->encoder.V - 1);
    ck_assert_str_eq(error.text, expected);
    job = job_of(0, &opts);
    opts.beam = 8;
    ck_assert_int_eq(dg_decoder_add(decoder, &job, 1, NULL, &error), DG_ERR_LIMIT);
    opts.beam = 1;
    struct dg_decode_job three[3] = {job, job, job};
    ck_assert_int_eq(dg_decoder_add(decoder, three, 3, NULL, &error), DG_ERR_BUSY);
    ck_assert_uint_eq(dg_decoder_n_sentences(decoder), 0);
    dg_decoder_free(decoder);
    tear_down();
}
END_TEST

START_TEST(alignment_is_kept_for_every_token)
{
    set_up();
    n_sentences = n_sentences < 20 ? n_sentences : 20;
    for (int beam = 1; beam <= 4; beam += 3) {
        struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
        opts.beam = beam;
        opts.want_alignment = expect_alignment = true;
        translate_all(&opts, 4, NULL);
        for (size_t i = 0; i < n_sentences; i++)
            ck_assert_int_eq(outcomes[i].n_done, 1);
    }
    tear_down();
}
END_TEST

/* ---- Shortlists ------------------------------------------------------------------------------ */

/* A shortlist by which each source word may become any word of the answers to the sources that
 * contain it: the tables of lex.bin, in memory. */
static void make_lex(struct dg_lexicon *made)
{
    const size_t V = dg_net_blueprint(net)->encoder.V;
    uint8_t *offsets = dg_xcalloc(V + 1, 8), *targets = dg_xcalloc(V * 600, 4);
    size_t n = 0;
    for (size_t id = 0; id < V; id++) {
        for (size_t b = 0; b < 8; b++)
            offsets[id * 8 + b] = (uint8_t)(n >> (8 * b));
        for (size_t i = 0; i < n_sentences; i++) {
            bool is_in = false;
            for (size_t k = 0; k < sentences[i].n_src; k++)
                is_in = is_in || sentences[i].src[k] == (int32_t)id;
            /* All sources contain the end token; if its list counted, every word would be
             * allowed. */
            for (size_t k = 0; is_in && id != 0 && k < sentences[i].n_greedy && n < V * 600;
                 k++, n++)
                for (size_t b = 0; b < 4; b++)
                    targets[n * 4 + b] = (uint8_t)(sentences[i].greedy[k] >> (8 * b));
        }
    }
    for (size_t b = 0; b < 8; b++)
        offsets[V * 8 + b] = (uint8_t)(n >> (8 * b));
    *made = (struct dg_lexicon){.n_frequent = 10,
                                .n_best = 1,
                                .n_words = V,
                                .n_targets = n,
                                .offsets = offsets,
                                .targets = targets};
}

static void free_lex(struct dg_lexicon *made)
{
    dg_free((void *)(uintptr_t)made->offsets);
    dg_free((void *)(uintptr_t)made->targets);
}

START_TEST(a_shortlist_that_has_the_best_words_changes_no_answer)
{
    set_up();
    struct dg_lexicon made;
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    make_lex(&made);
    lex = &made;
    translate_all(&opts, 16, NULL);
    for (size_t i = 0; i < n_sentences; i++)
        if (sentences[i].n_src > 1) {
            ck_assert_uint_eq(outcomes[i].n_ids, sentences[i].n_greedy);
            ck_assert_mem_eq(outcomes[i].ids, sentences[i].greedy,
                             outcomes[i].n_ids * sizeof(int32_t));
        }
    lex = NULL;
    free_lex(&made);
    tear_down();
}
END_TEST

/* A sentence alone computes the columns of its own list; with others it computes those of a union,
 * and with a sentence that has no list, the whole vocabulary. The results are the same to the
 * bit. */
START_TEST(shortlists_give_the_same_bits_alone_and_in_company)
{
    set_up();
    struct dg_lexicon made;
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    struct outcome *alone = dg_xcalloc(N_MAX, sizeof *alone);
    n_sentences = n_sentences < 40 ? n_sentences : 40;
    make_lex(&made);
    lex = &made;
    for (int beam = 1; beam <= 4; beam += 3) {
        opts.beam = beam;
        translate_all(&opts, 1, NULL);
        memcpy(alone, outcomes, N_MAX * sizeof *alone);
        translate_all(&opts, 13, NULL);
        for (size_t i = 0; i < n_sentences; i++)
            expect_same(&alone[i], &outcomes[i]);
    }
    lex = NULL;
    free_lex(&made);
    dg_free(alone);
    tear_down();
}
END_TEST

DG_UNIT_SLOW(greedy_says_what_an_independent_implementation_says,
             a_beam_scores_as_well_as_an_independent_one, company_changes_nothing,
             a_newcomer_says_its_first_word_before_the_others_say_their_next,
             newcomers_leave_a_quarter_of_each_step_to_the_others,
             a_client_with_wide_searches_gets_no_more_rows_than_another,
             a_first_token_with_a_beam_does_not_wait_for_narrow_clients,
             a_client_leaves_a_quarter_of_the_room_to_others,
             a_cancelled_sentence_ends_at_once_and_alone, nothing_is_allocated_per_token,
             jobs_that_can_never_fit_are_refused_with_a_reason, alignment_is_kept_for_every_token,
             a_shortlist_that_has_the_best_words_changes_no_answer,
             shortlists_give_the_same_bits_alone_and_in_company)
