/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Quality estimates by a tiny random estimator (tests/data/estimator) for a small trained model
 * (tests/models): the qualities are nonsense, but they equal those that the test computes from the
 * estimator's number and the curve. */
#include "base/file/file_out.h"
#include "base/memory/mem.h"
#include "engine/engine.h"
#include "engine/read/read.h"
#include "files.h"
#include "import/format/import.h"
#include "tmpdir.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

static char root[DG_TMPDIR_CAP], estimator[DG_TMPDIR_CAP + 16];
static struct dg_engine *engine;

#define CURVE                                                                                      \
    "{\"scale\": 1.5, \"bias\": 1, \"probability\": 0.25, \"judges\": [\"fr-en\", "                \
    "\"fr-en+en-de\"]}"

static enum dg_err load(const char *name, const char *path, const char *judges,
                        struct dg_error *error)
{
    const struct dg_engine_model model = {.name = name, .path = path, .judges = judges};
    struct dg_served_model *served;
    enum dg_err err = dg_engine_open(engine, &model, error, &served);
    return err ? err : dg_engine_publish(engine, served, error);
}

/* Makes the estimator's directory, with this quality.json; NULL: without one. */
static enum dg_err make_estimator(const char *curve, struct dg_error *error)
{
    char from[DG_TEST_PATH], path[sizeof estimator + 16];
    const struct dg_import_opts how = DG_IMPORT_OPTS_DEFAULT;
    struct dg_import_summary summary;
    snprintf(estimator, sizeof estimator, "%s/estimator", root);
    enum dg_err err =
        dg_import(dg_test_source(from, "tests/data/estimator"), estimator, &how, &summary, error);
    snprintf(path, sizeof path, "%s/quality.json", estimator);
    return err || !curve ? err : dg_file_out_save(path, 0644, curve, strlen(curve), error);
}

static enum dg_err try_start(const struct dg_engine_opts *opts, const char *curve,
                             struct dg_error *error)
{
    char path[DG_TEST_PATH];
    dg_tmpdir_make(root);
    engine = NULL;
    enum dg_err err = make_estimator(curve, error);
    if (!err)
        err = dg_engine_new(opts, error, &engine);
    if (!err)
        err = load("fr-en", dg_test_source(path, "tests/models/transformer"), NULL, error);
    if (!err)
        err = load("en-de", path, NULL, error);
    if (!err)
        err = load("estimator", estimator, NULL, error);
    return err;
}

static void start(const struct dg_engine_opts *opts, const char *curve)
{
    struct dg_error error = DG_ERROR_NONE;
    const enum dg_err err = try_start(opts, curve, &error);
    ck_assert_msg(!err, "%s", error.text);
}

static void stop(void)
{
    dg_engine_free(engine);
    dg_tmpdir_remove(root);
}

/* ---- What is heard --------------------------------------------------------------------------- */

enum { SENTENCES = 8, TEXT_CAP = 256 };

struct heard {
    char texts[SENTENCES][TEXT_CAP];
    size_t at[SENTENCES], len[SENTENCES];
    double mean_logprobs[SENTENCES];
    double qualities[SENTENCES], quality;
    size_t n;
    bool is_done, has_quality;
    enum dg_err err;
    char error[DG_ERROR_CAP];
};

static void on_sentence(void *ctx, const struct dg_engine_sentence *sentence)
{
    struct heard *heard = ctx;
    ck_assert_uint_lt(heard->n, SENTENCES);
    if (sentence->n_answers) {
        const struct dg_engine_answer *best = &sentence->answers[0];
        snprintf(heard->texts[heard->n], TEXT_CAP, "%.*s", DG_SPAN_FMT(best->text));
        heard->mean_logprobs[heard->n] = best->logprob / (double)best->n_ids;
    }
    heard->at[heard->n] = sentence->at;
    heard->len[heard->n++] = sentence->len;
}

static void on_done(void *ctx, const struct dg_engine_result *result)
{
    struct heard *heard = ctx;
    heard->is_done = true;
    heard->err = result->err;
    heard->has_quality = result->has_quality;
    heard->quality = result->quality;
    for (size_t i = 0; result->has_quality && i < result->n_sentences; i++)
        heard->qualities[i] = (double)result->qualities[i];
    snprintf(heard->error, sizeof heard->error, "%s", result->error ? result->error : "");
}

static enum dg_err submit(const char *text, const char *model, bool quality, struct heard *heard,
                          uint64_t *id)
{
    static const struct dg_engine_events events = {.on_sentence = on_sentence, .on_done = on_done};
    struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    memset(heard, 0, sizeof *heard);
    request.text = dg_span_cstr(text);
    request.model = model;
    request.quality = quality;
    const enum dg_err err = dg_engine_submit(engine, &request, &events, heard, &error, NULL, id);
    if (err)
        snprintf(heard->error, sizeof heard->error, "%s", error.text);
    return err;
}

static void wait_for(const struct heard *heard)
{
    while (dg_engine_poll(engine), !heard->is_done)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static void on_said(void *ctx, size_t item, const struct dg_reading_result *said)
{
    (void)item;
    *(double *)ctx = (double)said->labels[0].score;
}

static void on_read(void *ctx, const struct dg_engine_read_result *result)
{
    ck_assert_int_eq(result->err, DG_OK);
    ((double *)ctx)[1] = 1;
}

/* The estimator's number, requested directly. */
static double raw_of(struct dg_span source, const char *text)
{
    static const struct dg_engine_read_events events = {on_said, on_read};
    const struct dg_engine_item item = {
        .text = source, .pair = dg_span_cstr(text), .has_pair = true};
    const struct dg_engine_read ask = {.task = DG_TASK_CLASSIFY,
                                       .model = "estimator",
                                       .items = &item,
                                       .n_items = 1,
                                       .priority = DG_PRIORITY_NORMAL};
    double answer[2] = {0, 0};
    ck_assert_int_eq(dg_engine_read(engine, &ask, &events, answer, NULL, NULL, NULL), DG_OK);
    while (dg_engine_poll(engine), answer[1] == 0)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    return answer[0];
}

static double by_hand(double raw, double mean_logprob)
{
    return 1 / (1 + exp(-(1 + 1.5 * raw + 0.25 * exp(mean_logprob))));
}

static const char text[] = "lusa vogu kemi miru\nkemi sapo\nbato";

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(a_quality_is_what_the_number_and_the_curve_make_it)
{
    static struct heard heard;
    const struct dg_engine_opts opts = {.n_threads = 1, .slots = 4};
    double sum = 0, weights = 0;
    start(&opts, CURVE);
    ck_assert_int_eq(submit(text, "fr-en", true, &heard, NULL), DG_OK);
    wait_for(&heard);
    ck_assert_msg(!heard.err, "%s", heard.error);
    ck_assert_uint_eq(heard.n, 3);
    ck_assert(heard.has_quality);
    for (size_t i = 0; i < 3; i++) {
        const double raw = raw_of(dg_span_make(text + heard.at[i], heard.len[i]), heard.texts[i]);
        ck_assert_double_eq_tol(heard.qualities[i], by_hand(raw, heard.mean_logprobs[i]), 1e-6);
        sum += heard.qualities[i] * (double)heard.len[i];
        weights += (double)heard.len[i];
    }
    ck_assert(heard.qualities[0] != heard.qualities[1]);
    ck_assert_double_eq_tol(heard.quality, sum / weights, 1e-6);
    struct dg_engine_quality_stats stats;
    uint64_t n = 0;
    for (size_t i = 0; i < dg_engine_n_models(engine); i++)
        if (dg_engine_model_info(engine, i).judges) {
            dg_engine_read_quality_stats(engine, i, &stats);
            for (size_t b = 0; b < DG_QUALITY_BUCKETS; b++)
                n += stats.buckets[b];
            ck_assert_double_eq_tol(
                stats.sum, heard.qualities[0] + heard.qualities[1] + heard.qualities[2], 1e-6);
        }
    ck_assert_uint_eq(n, 3);
    stop();
}
END_TEST

/* The quality is the same with other texts, alone, and from the cache. */
START_TEST(a_quality_does_not_depend_on_company)
{
    enum { N = 12 };
    static const char *const lines[] = {"kemi vogu miru", "lusa vogu kemi miru\nbato miru", "bato",
                                        "dorin vogu bato\nkemi"};
    static struct heard together[N], alone;
    const struct dg_engine_opts opts = {.n_threads = 2, .slots = 4, .cache_bytes = 1 << 20};
    start(&opts, CURVE);
    for (size_t i = 0; i < N; i++)
        ck_assert_int_eq(submit(lines[i % 4], "fr-en", true, &together[i], NULL), DG_OK);
    for (size_t i = 0; i < N; i++)
        wait_for(&together[i]);
    for (size_t i = 0; i < N; i++) {
        ck_assert_int_eq(submit(lines[i % 4], "fr-en", true, &alone, NULL), DG_OK);
        wait_for(&alone);
        ck_assert(alone.has_quality && together[i].has_quality);
        ck_assert_uint_eq(alone.n, together[i].n);
        for (size_t s = 0; s < alone.n; s++)
            ck_assert_double_eq(alone.qualities[s], together[i].qualities[s]);
        ck_assert_double_eq(alone.quality, together[i].quality);
    }
    stop();
}
END_TEST

/* For a translation through a third language, the original source counts. */
START_TEST(two_models_in_a_row_are_judged_by_the_original)
{
    static struct heard heard;
    const struct dg_engine_opts opts = {.n_threads = 1, .slots = 4};
    start(&opts, "{\"scale\": 1.5, \"bias\": 1, \"judges\": [\"fr-en+en-de\"]}");
    ck_assert_int_eq(submit("lusa vogu kemi miru", "fr-en+en-de", true, &heard, NULL), DG_OK);
    wait_for(&heard);
    ck_assert_msg(!heard.err, "%s", heard.error);
    ck_assert(heard.has_quality);
    ck_assert_double_eq_tol(
        heard.quality, by_hand(raw_of(DG_SPAN("lusa vogu kemi miru"), heard.texts[0]), -INFINITY),
        1e-6);
    ck_assert_int_eq(submit("kemi", "en-de", true, &heard, NULL), DG_ERR_UNSUPPORTED);
    stop();
}
END_TEST

START_TEST(nothing_is_judged_that_is_not_asked_for)
{
    static struct heard heard;
    const struct dg_engine_opts opts = {.n_threads = 1, .slots = 4};
    struct dg_sched_stats stats;
    start(&opts, CURVE);
    ck_assert_int_eq(submit(text, "fr-en", false, &heard, NULL), DG_OK);
    wait_for(&heard);
    ck_assert(!heard.has_quality);
    for (size_t i = 0; i < dg_engine_n_models(engine); i++)
        if (dg_engine_model_info(engine, i).judges) {
            dg_engine_read_model_stats(engine, i, &stats);
            ck_assert_uint_eq(stats.n_accepted, 0);
        }
    /* without any sentence */
    ck_assert_int_eq(submit("\n \n", "fr-en", true, &heard, NULL), DG_OK);
    wait_for(&heard);
    ck_assert_int_eq(heard.err, DG_OK);
    ck_assert(!heard.has_quality);
    stop();
}
END_TEST

START_TEST(without_an_estimator_it_is_refused)
{
    static struct heard heard;
    const struct dg_engine_opts opts = {.n_threads = 1, .slots = 4};
    struct dg_error error = DG_ERROR_NONE;
    char path[DG_TEST_PATH];
    start(&opts, NULL);
    ck_assert_int_eq(submit(text, "fr-en", true, &heard, NULL), DG_ERR_UNSUPPORTED);
    ck_assert_msg(strstr(heard.error, "no quality estimator judges what fr-en translates") != NULL,
                  "%s", heard.error);
    const enum dg_err uncalibrated = load("estimator", estimator, "fr-en", &error);
    ck_assert_int_eq(uncalibrated, DG_ERR_INVALID);
    ck_assert_msg(strstr(error.text, "quality.json") != NULL, "%s", error.text);
    const enum dg_err none =
        load("other", dg_test_source(path, "tests/models/transformer"), "fr-en", &error);
    ck_assert_int_eq(none, DG_ERR_INVALID);
    ck_assert_msg(strstr(error.text, "judges is for quality estimators") != NULL, "%s", error.text);
    stop();
    start(&opts, "{\"scale\": 1, \"bias\": 0}"); /* it judges no model until it is configured to */
    ck_assert_int_eq(submit(text, "fr-en", true, &heard, NULL), DG_ERR_UNSUPPORTED);
    ck_assert_int_eq(load("estimator", estimator, "en-de, fr-en", NULL), DG_OK);
    ck_assert_int_eq(submit(text, "fr-en", true, &heard, NULL), DG_OK);
    wait_for(&heard);
    ck_assert(heard.has_quality);
    ck_assert_int_eq(dg_engine_unload(engine, "estimator", NULL), DG_OK);
    ck_assert_int_eq(submit(text, "fr-en", true, &heard, NULL), DG_ERR_UNSUPPORTED);
    stop();
}
END_TEST

/* A request can be cancelled at any moment, also by freeing the engine. */
START_TEST(it_can_end_at_any_time)
{
    static struct heard heard;
    const struct dg_engine_opts opts = {.n_threads = 1, .slots = 4};
    for (int polls = 0; polls < 12; polls++) {
        uint64_t id = 0;
        start(&opts, CURVE);
        if (submit(text, "fr-en", true, &heard, &id) == DG_OK) {
            for (int i = 0; i < polls; i++) {
                dg_engine_poll(engine);
                nanosleep(&(struct timespec){.tv_nsec = 400000}, NULL);
            }
            if (polls % 2 && dg_engine_cancel(engine, id)) {
                wait_for(&heard);
                ck_assert_int_eq(heard.err, DG_ERR_CANCELLED);
                ck_assert(!heard.has_quality);
            }
        }
        stop();
    }
}
END_TEST

/* While the scheduler has no room, finished translations wait for their quality. */
START_TEST(a_full_server_judges_later)
{
    enum { N = 10 };
    static struct heard heard[N];
    const struct dg_engine_opts opts = {.n_threads = 1, .slots = 2, .max_sentences = 2};
    size_t n_taken = 0, n_judged = 0;
    start(&opts, CURVE);
    for (size_t i = 0; i < N; i++) {
        enum dg_err err = submit("lusa vogu kemi miru\nbato miru", "fr-en", true, &heard[i], NULL);
        ck_assert(err == DG_OK || err == DG_ERR_BUSY);
        heard[i].is_done |= err != DG_OK;
        n_taken += err == DG_OK;
    }
    for (size_t i = 0; i < N; i++) {
        wait_for(&heard[i]);
        ck_assert_msg(!heard[i].err, "%s", heard[i].error);
        n_judged += heard[i].has_quality;
    }
    ck_assert_uint_gt(n_taken, 0);
    ck_assert_uint_eq(n_judged, n_taken);
    stop();
}
END_TEST

/* Memory runs out at any moment: the request is refused, or fails with an error, and nothing is
 * leaked. */
START_TEST(it_bears_a_lack_of_memory)
{
    static struct heard heard;
    const struct dg_engine_opts opts = {.n_threads = 1, .slots = 2};
    struct dg_error error = DG_ERROR_NONE;
    if (try_start(&opts, CURVE, &error) == DG_OK &&
        submit("kemi miru", "fr-en", true, &heard, NULL) == DG_OK) {
        wait_for(&heard);
        ck_assert(heard.err || heard.has_quality);
    }
    stop();
}
END_TEST

DG_UNIT_SLOW(a_quality_is_what_the_number_and_the_curve_make_it,
             a_quality_does_not_depend_on_company, two_models_in_a_row_are_judged_by_the_original,
             nothing_is_judged_that_is_not_asked_for, without_an_estimator_it_is_refused,
             it_can_end_at_any_time, a_full_server_judges_later, it_bears_a_lack_of_memory)
