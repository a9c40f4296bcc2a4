/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Generation by a tiny random model (tests/data/lm), whose output is nonsense, but always the same.
 */
#include "engine/engine.h"
#include "engine/generate/generate.h"
#include "import/format/import.h"
#include "tokenize/hf/subword.h"
#include "tmpdir.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static char root[DG_TMPDIR_CAP];
static struct dg_engine *engine;

static void start(const char *const *names, size_t n)
{
    struct dg_error error = DG_ERROR_NONE;
    dg_tmpdir_make(root);
    engine = NULL;
    const struct dg_engine_opts opts = {.n_threads = 1, .slots = 4, .target_max = 48};
    enum dg_err err = dg_engine_new(&opts, &error, &engine);
    for (size_t i = 0; i < n && !err; i++) {
        char from[1024], to[DG_TMPDIR_CAP + 16];
        const char *srcdir = getenv("srcdir");
        const struct dg_import_opts how = DG_IMPORT_OPTS_DEFAULT;
        struct dg_import_summary summary;
        snprintf(from, sizeof from, "%s/tests/data/lm/%s", srcdir ? srcdir : ".", names[i]);
        snprintf(to, sizeof to, "%s/%s", root, names[i]);
        err = dg_import(from, to, &how, &summary, &error);
        if (!err)
            err = dg_engine_load(engine, names[i], to, NULL, NULL, &error);
    }
    ck_assert_msg(!err, "%s", error.text);
}

static void stop(void)
{
    dg_engine_free(engine);
    dg_tmpdir_remove(root);
}

/* ---- One generation -------------------------------------------------------------------------- */

struct heard {
    struct dg_buf deltas, text, others[4];
    size_t n_deltas, n_others;
    struct dg_generated result; /* its texts are freed */
    char error[DG_ERROR_CAP];
    bool is_done;
};

static void on_delta(void *ctx, struct dg_span text)
{
    struct heard *heard = ctx;
    heard->n_deltas++;
    (void)!dg_buf_append_span(&heard->deltas, text);
}

static void on_done(void *ctx, const struct dg_generated *result)
{
    struct heard *heard = ctx;
    (void)!dg_buf_append_span(&heard->text, result->text);
    for (size_t i = 0; i < result->n_others && i < 4; i++)
        (void)!dg_buf_append_span(&heard->others[i], result->others[i]);
    heard->n_others = result->n_others;
    heard->result = *result;
    snprintf(heard->error, sizeof heard->error, "%s", result->error ? result->error : "");
    heard->is_done = true;
}

static const struct dg_generate_events events = {.on_delta = on_delta, .on_done = on_done};

static void heard_init(struct heard *heard)
{
    *heard = (struct heard){.n_deltas = 0};
    dg_buf_init(&heard->deltas, 1 << 20);
    dg_buf_init(&heard->text, 1 << 20);
    for (size_t i = 0; i < 4; i++)
        dg_buf_init(&heard->others[i], 1 << 20);
}

static void heard_deinit(struct heard *heard)
{
    dg_buf_deinit(&heard->deltas);
    dg_buf_deinit(&heard->text);
    for (size_t i = 0; i < 4; i++)
        dg_buf_deinit(&heard->others[i]);
}

static void wait_for(const struct heard *heard)
{
    while (!heard->is_done) {
        dg_engine_poll(engine);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static struct dg_generate ask_of(const char *prompt, int n_tokens)
{
    struct dg_generate ask = DG_GENERATE_DEFAULT;
    ask.prompt = dg_span_cstr(prompt);
    ask.search.max_len = n_tokens;
    ask.search.loop_guard = false;
    return ask;
}

static enum dg_err run(const struct dg_generate *ask, struct heard *heard)
{
    heard_init(heard);
    enum dg_err err = dg_engine_generate(engine, ask, &events, heard, NULL, NULL, NULL);
    if (!err)
        wait_for(heard);
    return err ? err : heard->result.err;
}

static const char *const gpt2[] = {"gpt2"}, *const both[] = {"gpt2", "scaled"};

START_TEST(deltas_joined_are_the_text)
{
    struct heard heard = {.n_deltas = 0};
    start(both, 2);
    {
        for (size_t i = 0; i < 2; i++) {
            struct dg_generate ask = ask_of("The little house", 24);
            ask.model = both[i];
            const enum dg_err err = run(&ask, &heard);
            if (!err) {
                ck_assert(dg_span_eq(dg_buf_span(&heard.deltas), dg_buf_span(&heard.text)));
                ck_assert_uint_gt(heard.text.len, 0);
                ck_assert_uint_gt(heard.n_deltas, 0);
                ck_assert(heard.result.finish == DG_FINISH_LENGTH ||
                          heard.result.finish == DG_FINISH_EOS);
                ck_assert_str_eq(heard.result.model, both[i]);
                ck_assert_uint_gt(heard.result.n_tokens_in, 1);
                ck_assert_uint_le(heard.result.n_tokens_out, 24);
            }
            heard_deinit(&heard);
        }
    }
    stop();
}
END_TEST

/* Two generations at once give the same answers as each alone. */
START_TEST(company_changes_nothing)
{
    enum { N = 6 };
    static const char *const prompts[N] = {"a",          "The little house", "",
                                           "We have 12", "x y z x y z",      "Don't"};
    struct heard alone[N], together[N];
    uint64_t ids[N];
    start(gpt2, 1);
    {
        bool is_fine = true;
        for (size_t i = 0; i < N; i++) {
            const struct dg_generate ask = ask_of(prompts[i], 12);
            is_fine = run(&ask, &alone[i]) == DG_OK && is_fine;
        }
        for (size_t i = 0; i < N; i++) {
            const struct dg_generate ask = ask_of(prompts[i], 12);
            heard_init(&together[i]);
            together[i].is_done = dg_engine_generate(engine, &ask, &events, &together[i], NULL,
                                                     NULL, &ids[i]) != DG_OK;
            is_fine = is_fine && !together[i].is_done;
        }
        for (size_t i = 0; i < N; i++)
            wait_for(&together[i]);
        for (size_t i = 0; i < N; i++) {
            is_fine = is_fine && !together[i].result.err;
            ck_assert(!is_fine ||
                      dg_span_eq(dg_buf_span(&alone[i].text), dg_buf_span(&together[i].text)));
        }
        for (size_t i = 0; i < N; i++) {
            heard_deinit(&alone[i]);
            heard_deinit(&together[i]);
        }
    }
    stop();
}
END_TEST

START_TEST(a_stop_text_ends_it_and_is_not_shown)
{
    struct heard heard, cut;
    start(gpt2, 1);
    {
        struct dg_generate ask = ask_of("The little house", 24);
        if (run(&ask, &heard) == DG_OK && heard.text.len >= 8) {
            /* some bytes from the middle, where characters begin and end: they are ASCII or
             * complete */
            const struct dg_span text = dg_buf_span(&heard.text);
            size_t at = text.len / 2;
            while (at > 0 && ((unsigned char)text.ptr[at] & 0xC0) == 0x80)
                at--;
            const struct dg_span stops[] = {
                DG_SPAN("never said"),
                dg_span_sub(text, at, text.len - at < 5 ? text.len - at : 5)};
            ask.stops = stops;
            ask.n_stops = 2;
            if (run(&ask, &cut) == DG_OK) {
                ck_assert(cut.result.was_stopped);
                ck_assert_int_eq(cut.result.finish, DG_FINISH_EOS);
                ck_assert_uint_le(cut.text.len, at);
                ck_assert_mem_eq(cut.text.ptr ? cut.text.ptr : "", text.ptr, cut.text.len);
                ck_assert(dg_span_eq(dg_buf_span(&cut.deltas), dg_buf_span(&cut.text)));
            }
            heard_deinit(&cut);
        }
        heard_deinit(&heard);
    }
    stop();
}
END_TEST

START_TEST(draws_depend_on_their_seed_alone)
{
    struct heard first, again, other;
    start(gpt2, 1);
    {
        struct dg_generate ask = ask_of("The", 16);
        ask.search.sample = true;
        ask.search.seed = 7;
        ask.search.n_best = 3;
        const enum dg_err err = run(&ask, &first);
        const enum dg_err err2 = run(&ask, &again);
        ask.search.seed = 8;
        if (!run(&ask, &other) && !err && !err2) {
            ck_assert_uint_eq(first.n_others, 2);
            ck_assert(dg_span_eq(dg_buf_span(&first.text), dg_buf_span(&again.text)));
            ck_assert(dg_span_eq(dg_buf_span(&first.others[1]), dg_buf_span(&again.others[1])));
            ck_assert(!dg_span_eq(dg_buf_span(&first.text), dg_buf_span(&other.text)));
            ck_assert(!dg_span_eq(dg_buf_span(&first.text), dg_buf_span(&first.others[0])));
        }
        heard_deinit(&first);
        heard_deinit(&again);
        heard_deinit(&other);
    }
    stop();
}
END_TEST

START_TEST(refuses_with_a_reason)
{
    struct heard heard;
    struct dg_error error = DG_ERROR_NONE;
    heard_init(&heard);
    start(both, 2);
    {
        struct dg_generate ask = ask_of("a", 5);
        ck_assert_int_eq(dg_engine_generate(engine, &ask, &events, &heard, &error, NULL, NULL),
                         DG_ERR_INVALID);
        ck_assert_msg(strstr(error.text, "2 language models"), "%s", error.text);
        ask.model = "none";
        ck_assert_int_eq(dg_engine_generate(engine, &ask, &events, &heard, &error, NULL, NULL),
                         DG_ERR_NOT_FOUND);
        ask.model = "gpt2";
        const char *const only[] = {"scaled"};
        ask.only = only;
        ask.n_only = 1;
        ck_assert_int_eq(dg_engine_generate(engine, &ask, &events, &heard, &error, NULL, NULL),
                         DG_ERR_DENIED);
        ask.n_only = 0;
        char prompt[400];
        for (size_t i = 0; i + 1 < sizeof prompt; i++)
            prompt[i] = i % 2 ? 'Q' : '!';
        prompt[sizeof prompt - 1] = '\0';
        ask.prompt = dg_span_cstr(prompt);
        const enum dg_err err =
            dg_engine_generate(engine, &ask, &events, &heard, &error, NULL, NULL);
        ck_assert(err == DG_ERR_RANGE || err == DG_ERR_NOMEM);
        ck_assert_msg(err != DG_ERR_RANGE || strstr(error.text, "expected at most 64"), "%s",
                      error.text);
        ask.prompt = DG_SPAN("\xFF");
        ck_assert_int_eq(dg_engine_generate(engine, &ask, &events, &heard, &error, NULL, NULL),
                         DG_ERR_UTF8);

        struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
        request.text = DG_SPAN("a");
        request.model = "gpt2";
        ck_assert_int_eq(dg_engine_can(engine, &request, &error), DG_ERR_UNSUPPORTED);
        request.model = NULL;
        request.target = "en";
        ck_assert_int_eq(dg_engine_can(engine, &request, &error), DG_ERR_NOT_FOUND);
        ck_assert(!heard.is_done);
    }
    heard_deinit(&heard);
    stop();
}
END_TEST

START_TEST(one_that_is_cancelled_or_left_ends)
{
    struct heard heard, left;
    uint64_t id = 0;
    heard_init(&heard);
    heard_init(&left);
    start(gpt2, 1);
    {
        const struct dg_generate ask = ask_of("The little house", 40);
        if (dg_engine_generate(engine, &ask, &events, &heard, NULL, NULL, &id) == DG_OK) {
            ck_assert(dg_engine_cancel(engine, id));
            wait_for(&heard);
            ck_assert(heard.result.err == DG_ERR_CANCELLED || heard.result.err == DG_ERR_NOMEM);
            ck_assert(!dg_engine_cancel(engine, id));
        }
        /* ends with the engine, without a report */
        (void)!dg_engine_generate(engine, &ask, &events, &left, NULL, NULL, NULL);
    }
    stop();
    ck_assert(!left.is_done);
    heard_deinit(&heard);
    heard_deinit(&left);
}
END_TEST

/* Long prompts are read on another thread, which reports the reason for a refusal when it is
 * done. */
START_TEST(a_long_prompt_is_read_beside_and_refused_or_left)
{
    static char prompt[64 * 1024];
    struct heard heard, left;
    uint64_t id = 0;
    memset(prompt, 'a', sizeof prompt - 1);
    heard_init(&left);
    start(gpt2, 1);
    {
        const struct dg_generate ask = ask_of(prompt, 4);
        const enum dg_err err = run(&ask, &heard);
        ck_assert(err == DG_ERR_RANGE || err == DG_ERR_NOMEM);
        ck_assert(err == DG_ERR_NOMEM || strstr(heard.error, "tokens, expected at most"));
        /* not read to its end */
        ck_assert(err == DG_ERR_NOMEM || strstr(heard.error, "has more than"));
        heard_deinit(&heard);
        heard_init(&heard);
        if (dg_engine_generate(engine, &ask, &events, &heard, NULL, NULL, &id) == DG_OK) {
            ck_assert(dg_engine_cancel(engine, id));
            wait_for(&heard);
            ck_assert(heard.result.err == DG_ERR_CANCELLED || heard.result.err == DG_ERR_NOMEM);
        }
        heard_deinit(&heard);
        (void)!dg_engine_generate(engine, &ask, &events, &left, NULL, NULL, NULL);
    }
    stop();
    ck_assert(!left.is_done);
    heard_deinit(&left);
}
END_TEST

DG_UNIT_SLOW(a_long_prompt_is_read_beside_and_refused_or_left, deltas_joined_are_the_text,
             company_changes_nothing, a_stop_text_ends_it_and_is_not_shown,
             draws_depend_on_their_seed_alone, refuses_with_a_reason,
             one_that_is_cancelled_or_left_ends)
