/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A remote cache, played by a table in this process: hits, misses, late answers and wrong ones. */
#include "base/memory/buf.h"
#include "engine/cache/remote.h"
#include "engine/cache/remote_value.h"
#include "engine/engine.h"
#include "files.h"
#include "unit.h"

#include <semaphore.h>
#include <time.h>

static sem_t woken;

static void wake(void *arg)
{
    (void)arg;
    sem_post(&woken);
}

/* How the remote cache answers a question. */
enum mood { ANSWERS_AT_ONCE, ANSWERS_LATER, SAYS_NOTHING, REFUSES, LIES };

enum { ENTRIES = 16 };

struct table {
    struct dg_engine *engine;
    enum mood mood;
    struct {
        char key[DG_REMOTE_KEY_MAX];
        char value[4096];
        size_t len;
    } entries[ENTRIES];
    size_t n, n_gets;
    uint64_t asked[64]; /* not answered yet */
    struct dg_span found[64];
    size_t n_asked;
};

static struct dg_span look(const struct table *table, struct dg_span key)
{
    for (size_t i = 0; i < table->n; i++)
        if (dg_span_eq(key, dg_span_cstr(table->entries[i].key)))
            return dg_span_make(table->entries[i].value, table->entries[i].len);
    return dg_span_make(NULL, 0);
}

static bool get(void *arg, uint64_t id, struct dg_span key)
{
    struct table *table = arg;
    table->n_gets++;
    ck_assert_uint_lt(key.len, DG_REMOTE_KEY_MAX);
    switch (table->mood) {
    case ANSWERS_AT_ONCE:
        dg_engine_remote_answer(table->engine, id, look(table, key));
        return true;
    case LIES:
        dg_engine_remote_answer(table->engine, id,
                                DG_SPAN("DGA1 but not what was put here, by far"));
        return true;
    case ANSWERS_LATER:
        table->found[table->n_asked] = look(table, key);
        table->asked[table->n_asked++] = id;
        return true;
    case SAYS_NOTHING:
        return true;
    case REFUSES:
        break;
    }
    return false;
}

static void put(void *arg, struct dg_span key, struct dg_span value)
{
    struct table *table = arg;
    ck_assert_uint_lt(table->n, ENTRIES);
    ck_assert_uint_lt(value.len, sizeof table->entries[0].value);
    memcpy(table->entries[table->n].key, key.ptr, key.len);
    memcpy(table->entries[table->n].value, value.ptr, value.len);
    table->entries[table->n++].len = value.len;
}

static void answer_all(struct table *table)
{
    for (size_t i = 0; i < table->n_asked; i++)
        dg_engine_remote_answer(table->engine, table->asked[i], table->found[i]);
    table->n_asked = 0;
}

static struct table table;

/* An engine without its own cache, so that it asks for every sentence. */
static struct dg_engine *new_engine(enum mood mood, uint64_t wait_ms)
{
    char path[DG_TEST_PATH];
    struct dg_error error = DG_ERROR_NONE;
    struct dg_engine_opts opts = {.n_threads = 1, .slots = 8, .wake = wake};
    struct dg_engine *engine;
    const struct dg_remote remote = {.get = get, .put = put, .arg = &table, .wait_ms = wait_ms};
    ck_assert_msg(dg_engine_new(&opts, &error, &engine) == DG_OK, "%s", error.text);
    ck_assert_int_eq(dg_engine_set_remote(engine, &remote, &error), DG_OK);
    table.engine = engine;
    table.mood = mood;
    table.n_gets = table.n_asked = 0;
    dg_test_source(path, "models/fr-en");
    ck_assert_msg(dg_engine_load(engine, "fr-en", path, NULL, NULL, &error) == DG_OK, "%s",
                  error.text);
    return engine;
}

struct outcome {
    char text[256];
    size_t n_deltas, n_cached;
    enum dg_err err;
    bool is_done;
};

static void on_delta(void *ctx, struct dg_span text)
{
    struct outcome *outcome = ctx;
    outcome->n_deltas += text.len > 0;
}

static void on_done(void *ctx, const struct dg_engine_result *result)
{
    struct outcome *outcome = ctx;
    ck_assert(!outcome->is_done);
    outcome->is_done = true;
    outcome->err = result->err;
    outcome->n_cached = result->n_cached;
    snprintf(outcome->text, sizeof outcome->text, "%.*s", DG_SPAN_FMT(result->text));
}

static const struct dg_engine_events events = {.on_delta = on_delta, .on_done = on_done};

static uint64_t ask(struct dg_engine *engine, const char *text, struct outcome *outcome)
{
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    uint64_t id = 0;
    *outcome = (struct outcome){.is_done = false};
    how.text = dg_span_cstr(text);
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, outcome, NULL, NULL, &id), DG_OK);
    return id;
}

static void wait_for(struct dg_engine *engine, const struct outcome *outcome)
{
    while (dg_engine_poll(engine), !outcome->is_done) {
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 5000000; /* as a timer of the implementation would wake the loop */
        soon.tv_sec += soon.tv_nsec / 1000000000;
        soon.tv_nsec %= 1000000000;
        sem_timedwait(&woken, &soon);
    }
}

static const char text[] = "Le chat dort. Il pleut depuis ce matin.";

START_TEST(what_one_server_said_the_other_need_not_say_again)
{
    struct outcome first, second;
    struct dg_engine_remote_stats stats;
    struct dg_sched_stats sched;
    sem_init(&woken, 0, 0);
    struct dg_engine *engine = new_engine(ANSWERS_AT_ONCE, 60000);
    ask(engine, text, &first);
    wait_for(engine, &first);
    ck_assert_int_eq(first.err, DG_OK);
    ck_assert_uint_eq(first.n_cached, 0);
    dg_engine_read_remote_stats(engine, &stats);
    ck_assert_uint_eq(stats.n_misses, 2);
    ck_assert_uint_eq(stats.n_puts, 2);
    dg_engine_free(engine);
    engine = new_engine(ANSWERS_LATER, 60000);
    ask(engine, text, &second);
    dg_engine_poll(engine);
    ck_assert(!second.is_done);
    answer_all(&table);
    wait_for(engine, &second);
    ck_assert_str_eq(first.text, second.text);
    ck_assert_uint_eq(second.n_cached, 2);
    ck_assert_uint_gt(second.n_deltas, 0);
    dg_engine_read_remote_stats(engine, &stats);
    ck_assert_uint_eq(stats.n_hits, 2);
    ck_assert_uint_eq(stats.n_asking, 0);
    dg_engine_read_stats(engine, &sched);
    ck_assert_uint_eq(sched.n_accepted, 0);
    dg_engine_free(engine);
    sem_destroy(&woken);
}
END_TEST

START_TEST(a_cache_that_fails_costs_a_bounded_wait)
{
    static const enum mood moods[] = {SAYS_NOTHING, REFUSES, LIES};
    struct outcome plain, outcome;
    sem_init(&woken, 0, 0);
    table.n = 0;
    struct dg_engine *engine = new_engine(ANSWERS_AT_ONCE, 60000);
    ck_assert_int_eq(dg_engine_set_remote(engine, NULL, NULL), DG_OK);
    ask(engine, text, &plain);
    wait_for(engine, &plain);
    ck_assert_uint_eq(table.n_gets, 0);
    dg_engine_free(engine);
    for (size_t i = 0; i < 3; i++) {
        struct dg_engine_remote_stats stats;
        engine = new_engine(moods[i], 1);
        ask(engine, text, &outcome);
        wait_for(engine, &outcome);
        ck_assert_int_eq(outcome.err, DG_OK);
        ck_assert_str_eq(outcome.text, plain.text);
        dg_engine_read_remote_stats(engine, &stats);
        ck_assert_uint_eq(stats.n_late, moods[i] == LIES ? 0 : 2);
        ck_assert_uint_eq(stats.n_bad, moods[i] == LIES ? 2 : 0);
        dg_engine_free(engine);
    }
    sem_destroy(&woken);
}
END_TEST

START_TEST(a_cache_that_always_fails_is_left_alone)
{
    struct dg_engine_remote_stats stats;
    struct outcome outcome;
    sem_init(&woken, 0, 0);
    struct dg_engine *engine = new_engine(REFUSES, 60000);
    for (int i = 0; i < 10; i++) {
        ask(engine, "Merci.", &outcome);
        wait_for(engine, &outcome);
    }
    dg_engine_read_remote_stats(engine, &stats);
    ck_assert_uint_eq(table.n_gets, 8);
    ck_assert(stats.is_resting);
    dg_engine_free(engine);
    sem_destroy(&woken);
}
END_TEST

START_TEST(a_question_is_dropped_with_its_request)
{
    struct outcome outcome, other;
    sem_init(&woken, 0, 0);
    struct dg_engine *engine = new_engine(ANSWERS_LATER, 60000);
    uint64_t id = ask(engine, text, &outcome);
    ck_assert(dg_engine_cancel(engine, id));
    wait_for(engine, &outcome);
    ck_assert_int_eq(outcome.err, DG_ERR_CANCELLED);
    answer_all(&table);        /* nobody waits for these answers any more */
    ask(engine, text, &other); /* asked and never answered: the engine is freed first */
    dg_engine_poll(engine);
    dg_engine_free(engine);
    ck_assert(!other.is_done);
    sem_destroy(&woken);
}
END_TEST

/* ---- Values ---------------------------------------------------------------------------------- */

static struct dg_ticket *new_ticket(void)
{
    static const int32_t source[] = {1, 2};
    const struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    return dg_ticket_new(NULL, source, 2, &opts, 4);
}

START_TEST(a_value_is_believed_only_whole)
{
    char key[DG_REMOTE_KEY_MAX], other[DG_REMOTE_KEY_MAX];
    const unsigned char print[DG_FINGERPRINT_BYTES] = {1};
    int32_t ids[] = {7, 8, 0};
    float logprobs[] = {-0.5f, -0.25f, -1.0f};
    struct dg_ticket_answer answer = {.ids = ids,
                                      .logprobs = logprobs,
                                      .n_ids = 3,
                                      .logprob = -1.75,
                                      .score = -0.6,
                                      .finish = DG_FINISH_LOOP,
                                      .repaired = true};
    struct dg_ticket *from = new_ticket(), *to = new_ticket();
    struct dg_buf value;
    ck_assert(from && to);
    dg_buf_init(&value, DG_REMOTE_VALUE_MAX);
    static const struct dg_decoder_limits usual = {.target_max = 512},
                                          others[] = {
                                              {.target_max = 512, .kv = DG_NET_KV_I8},
                                              {.target_max = 512, .compute = DG_NET_BF16_FAST},
                                              {.target_max = 511},
                                          };
    dg_remote_key(print, &usual, DG_SPAN("a"), key);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        dg_remote_key(print, &others[i], DG_SPAN("a"), other);
        ck_assert_str_ne(key, other);
    }
    from->answers = &answer;
    from->n_answers = 1;
    ck_assert_int_eq(dg_remote_value_write(from, key, &value), DG_OK);
    struct dg_span whole = dg_buf_span(&value);
    ck_assert_int_eq(dg_remote_value_read(whole, other, 9, to), DG_ERR_INTEGRITY);
    ck_assert_int_eq(dg_remote_value_read(whole, key, 8, to), DG_ERR_INTEGRITY);
    for (size_t n = 0; n < whole.len; n++)
        ck_assert_int_eq(dg_remote_value_read(dg_span_sub(whole, 0, n), key, 9, to),
                         DG_ERR_INTEGRITY);
    for (size_t n = 0; n < whole.len; n++) {
        value.ptr[n] ^= 1;
        ck_assert_int_eq(dg_remote_value_read(whole, key, 9, to), DG_ERR_INTEGRITY);
        value.ptr[n] ^= 1;
    }
    ck_assert_uint_eq(dg_ticket_shown(to), 0);
    ck_assert_ptr_null(to->answers);
    ck_assert_int_eq(dg_remote_value_read(whole, key, 9, to), DG_OK);
    ck_assert_uint_eq(to->n_answers, 1);
    ck_assert_uint_eq(dg_ticket_shown(to), 3);
    ck_assert_mem_eq(to->shown_ids, ids, sizeof ids);
    ck_assert_mem_eq(to->answers[0].logprobs, logprobs, sizeof logprobs);
    ck_assert_int_eq(to->answers[0].finish, DG_FINISH_LOOP);
    ck_assert(to->answers[0].repaired && to->answers[0].score < -0.59);
    answer.finish = DG_FINISH_CANCELLED;
    ck_assert_int_eq(dg_remote_value_write(from, key, &value), DG_ERR_UNSUPPORTED);
    ck_assert_uint_eq(value.len, whole.len);
    from->answers = NULL;
    from->n_answers = 0;
    dg_ticket_free(from);
    dg_ticket_free(to);
    dg_buf_deinit(&value);
}
END_TEST

DG_UNIT_SLOW(what_one_server_said_the_other_need_not_say_again,
             a_cache_that_fails_costs_a_bounded_wait, a_cache_that_always_fails_is_left_alone,
             a_question_is_dropped_with_its_request, a_value_is_believed_only_whole)
