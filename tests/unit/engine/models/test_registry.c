/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Many models and little memory, with the embedded model under many names: requested models are
 * loaded, idle ones are unloaded, and no accepted request is lost. */
#include "base/memory/buf.h"
#include "base/thread/cpu.h"
#include "engine/engine.h"
#include "engine/models/registry.h"
#include "files.h"
#include "two_nodes.h"
#include "unit.h"

#include <dirent.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static sem_t woken;
static struct dg_engine *engine;
static struct dg_clock clock_;
static size_t n_threads = 1;
static const char *nodes_root;

static void wake(void *arg)
{
    (void)arg;
    sem_post(&woken);
}

struct outcome {
    char text[256], error[DG_ERROR_CAP], model[64];
    enum dg_err err;
    int n_done;
    uint64_t queue_ns;
};

static void on_done(void *ctx, const struct dg_engine_result *result)
{
    struct outcome *outcome = ctx;
    outcome->n_done++;
    outcome->err = result->err;
    outcome->queue_ns = result->queue_ns;
    snprintf(outcome->text, sizeof outcome->text, "%.*s", (int)result->text.len, result->text.ptr);
    snprintf(outcome->error, sizeof outcome->error, "%s", result->error ? result->error : "");
    snprintf(outcome->model, sizeof outcome->model, "%s", result->model);
}

static const struct dg_engine_events events = {.on_done = on_done};

static void set_up_with(struct dg_clock clock, size_t models_bytes, uint64_t idle_ns)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_engine_opts opts = {.n_threads = n_threads,
                                  .nodes_root = nodes_root,
                                  .slots = 4,
                                  .source_max = 64,
                                  .target_max = 64,
                                  .kv_tokens = 1,
                                  .models_bytes = models_bytes,
                                  .model_idle_ns = idle_ns,
                                  .clock = &clock_,
                                  .wake = wake};
    sem_init(&woken, 0, 0);
    clock_ = clock;
    ck_assert_msg(dg_engine_new(&opts, &error, &engine) == DG_OK, "%s", error.text);
}

static void set_up(size_t models_bytes)
{
    set_up_with((struct dg_clock)DG_CLOCK_REAL, models_bytes, 0);
}

static void tear_down(void)
{
    dg_engine_free(engine);
    sem_destroy(&woken);
}

static void offer_pair(const char *name, const char *path, const char *source, const char *target)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_served_model *served;
    const struct dg_engine_model model = {
        .name = name, .path = path, .source = source, .target = target};
    enum dg_err err = dg_engine_offer(engine, &model, &error, &served);
    ck_assert_msg(err == DG_OK, "%s", error.text);
    ck_assert_int_eq(dg_engine_publish(engine, served, &error), DG_OK);
}

static void offer_from(const char *name, const char *path)
{
    offer_pair(name, path, "fr", "en");
}

static void offer(const char *name)
{
    char path[DG_TEST_PATH];
    offer_from(name, dg_test_source(path, "models/fr-en"));
}

static uint64_t ask(const char *model, const char *text, struct outcome *outcome)
{
    struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    uint64_t id = 0;
    *outcome = (struct outcome){.n_done = 0};
    request.text = dg_span_cstr(text);
    request.model = model;
    enum dg_err err = dg_engine_submit(engine, &request, &events, outcome, &error, NULL, &id);
    ck_assert_msg(err == DG_OK, "%s", error.text);
    return id;
}

/* Polls the engine, at every call and a few times a second, as the daemon does. */
static void poll_once(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    dg_engine_poll(engine);
    sem_timedwait(&woken, &until);
}

static void wait_for(const struct outcome *outcomes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        while (!outcomes[i].n_done)
            poll_once();
}

static enum dg_engine_model_state state_of(const char *name)
{
    size_t i = 0;
    while (strcmp(dg_engine_model_info(engine, i).name, name) != 0)
        i++;
    return dg_engine_model_info(engine, i).state;
}

static size_t bytes_of_one(void)
{
    set_up(0);
    offer("one");
    size_t bytes = dg_engine_model_info(engine, 0).bytes;
    tear_down();
    return bytes;
}

START_TEST(a_model_is_loaded_by_its_first_request)
{
    struct dg_engine_memory memory;
    struct outcome outcomes[3], other;
    set_up(0);
    offer("one");
    offer("two");
    dg_engine_read_memory(engine, &memory);
    ck_assert_uint_eq(memory.models, 0);
    ck_assert_int_eq(state_of("one"), DG_ENGINE_MODEL_KNOWN);
    for (int i = 0; i < 3; i++)
        ask("one", "Bonjour.", &outcomes[i]);
    dg_engine_read_memory(engine, &memory);
    ck_assert_uint_eq(memory.n_waiting, 3);
    wait_for(outcomes, 3);
    ck_assert_int_eq(outcomes[0].err, DG_OK);
    ck_assert_str_eq(outcomes[0].model, "one");
    ck_assert_str_eq(outcomes[2].text, outcomes[0].text);
    ck_assert_uint_gt(outcomes[0].queue_ns, 0);
    ck_assert_int_eq(state_of("one"), DG_ENGINE_MODEL_READY);
    ck_assert_int_eq(state_of("two"), DG_ENGINE_MODEL_KNOWN);
    dg_engine_read_memory(engine, &memory);
    ck_assert_uint_eq(memory.models, dg_engine_model_info(engine, 0).bytes);
    ck_assert_uint_eq(memory.n_waiting, 0);
    ask("one", "Bonjour.", &other);
    wait_for(&other, 1);
    ck_assert_str_eq(other.text, outcomes[0].text);
    tear_down();
}
END_TEST

START_TEST(more_models_than_memory_all_answer)
{
    enum { MODELS = 6, EACH = 2 };
    static struct outcome outcomes[MODELS * EACH];
    struct dg_engine_memory memory;
    char name[16];
    size_t one = bytes_of_one(), max = one * 2 + one / 2;
    set_up(max);
    for (int i = 0; i < MODELS; i++) {
        snprintf(name, sizeof name, "m%d", i);
        offer(name);
    }
    for (int i = 0; i < MODELS * EACH; i++) {
        snprintf(name, sizeof name, "m%d", i % MODELS);
        ask(name, "Merci beaucoup.", &outcomes[i]);
    }
    for (int i = 0; i < MODELS * EACH; i++) {
        while (!outcomes[i].n_done) {
            poll_once();
            dg_engine_read_memory(engine, &memory);
            ck_assert_uint_le(memory.models, max);
        }
    }
    for (int i = 0; i < MODELS * EACH; i++) {
        snprintf(name, sizeof name, "m%d", i % MODELS);
        ck_assert_int_eq(outcomes[i].err, DG_OK);
        ck_assert_str_eq(outcomes[i].model, name);
        ck_assert_str_eq(outcomes[i].text, outcomes[0].text);
    }
    tear_down();
}
END_TEST

START_TEST(a_model_without_requests_leaves_and_comes_back)
{
    struct dg_engine_memory memory;
    struct outcome outcome;
    char path[DG_TEST_PATH];
    set_up_with((struct dg_clock)DG_CLOCK_VIRTUAL(1), 0, DG_CLOCK_S);
    ck_assert_int_eq(
        dg_engine_load(engine, "one", dg_test_source(path, "models/fr-en"), "fr", "en", NULL),
        DG_OK);
    for (int i = 0; i < 3; i++) {
        ask("one", "Bonjour.", &outcome);
        wait_for(&outcome, 1);
        ck_assert_int_eq(outcome.err, DG_OK);
        dg_clock_advance(&clock_, DG_CLOCK_S / 2);
        dg_engine_poll(engine);
        ck_assert_int_eq(state_of("one"), DG_ENGINE_MODEL_READY);
        dg_clock_advance(&clock_, DG_CLOCK_S);
        dg_engine_poll(engine);
        ck_assert_int_eq(state_of("one"), DG_ENGINE_MODEL_KNOWN);
        do {
            poll_once();
            dg_engine_read_memory(engine, &memory);
        } while (memory.models);
    }
    tear_down();
}
END_TEST

/* Makes a directory of links to the model's files. */
static void link_model(const char *to)
{
    char from[DG_TEST_PATH], one[2 * DG_TEST_PATH], two[2 * DG_TEST_PATH];
    dg_test_source(from, "models/fr-en");
    if (from[0] != '/') {
        char here[DG_TEST_PATH];
        ck_assert_ptr_nonnull(realpath(from, here));
        snprintf(from, sizeof from, "%s", here);
    }
    ck_assert_int_eq(mkdir(to, 0700), 0);
    DIR *dir = opendir(from);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *found; (found = readdir(dir));) {
        snprintf(one, sizeof one, "%s/%s", from, found->d_name);
        snprintf(two, sizeof two, "%s/%s", to, found->d_name);
        if (found->d_name[0] != '.')
            ck_assert_int_eq(symlink(one, two), 0);
    }
    closedir(dir);
}

START_TEST(a_model_that_breaks_is_told_of_and_tried_again)
{
    char root[DG_TMPDIR_CAP], path[DG_TMPDIR_CAP + 32], spm[DG_TMPDIR_CAP + 64],
        away[DG_TMPDIR_CAP + 32];
    struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    struct outcome outcomes[2];
    dg_tmpdir_make(root);
    snprintf(path, sizeof path, "%s/model", root);
    snprintf(spm, sizeof spm, "%s/source.spm", path);
    snprintf(away, sizeof away, "%s/away", root);
    link_model(path);
    set_up_with((struct dg_clock)DG_CLOCK_VIRTUAL(1), 0, 0);
    offer_from("one", path);
    ck_assert_int_eq(rename(spm, away), 0);
    ask("one", "Bonjour.", &outcomes[0]);
    ask("one", "Merci.", &outcomes[1]);
    wait_for(outcomes, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(outcomes[i].err, DG_ERR_MODEL);
        ck_assert_ptr_nonnull(strstr(outcomes[i].error, "model one could not be loaded"));
    }
    ck_assert_int_eq(state_of("one"), DG_ENGINE_MODEL_FAILED);
    ck_assert_uint_eq(dg_engine_n_usable(engine), 0);
    request.text = DG_SPAN("Bonjour.");
    ck_assert_int_eq(dg_engine_submit(engine, &request, &events, NULL, &error, NULL, NULL),
                     DG_ERR_MODEL);
    ck_assert_int_eq(rename(away, spm), 0);
    dg_clock_advance(&clock_, 10 * DG_CLOCK_S);
    ask("one", "Bonjour.", &outcomes[0]);
    wait_for(outcomes, 1);
    ck_assert_msg(outcomes[0].err == DG_OK, "%s", outcomes[0].error);
    tear_down();
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(who_waits_for_a_model_may_leave_or_run_out_of_time)
{
    struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    struct outcome late = {.n_done = 0}, left, stays;
    set_up_with((struct dg_clock)DG_CLOCK_VIRTUAL(1), 0, 0);
    offer("one");
    uint64_t id = ask("one", "Bonjour.", &left);
    request.text = DG_SPAN("Bonjour.");
    request.timeout_ms = 100;
    ck_assert_int_eq(dg_engine_submit(engine, &request, &events, &late, &error, NULL, NULL), DG_OK);
    ask("one", "Bonjour.", &stays);
    ck_assert(dg_engine_cancel(engine, id));
    dg_clock_advance(&clock_, DG_CLOCK_S);
    wait_for(&left, 1);
    ck_assert_int_eq(left.err, DG_ERR_CANCELLED);
    ck_assert(!dg_engine_cancel(engine, id));
    wait_for(&late, 1);
    ck_assert_int_eq(late.err, DG_ERR_TIMEOUT);
    wait_for(&stays, 1);
    ck_assert_int_eq(stays.err, DG_OK);
    request.text = DG_SPAN("abc\xFF");
    ck_assert_int_eq(dg_engine_submit(engine, &request, &events, &late, &error, NULL, NULL),
                     DG_ERR_UTF8);
    tear_down();
}
END_TEST

START_TEST(a_way_through_two_models_waits_for_both)
{
    enum { N = 12 };
    static struct outcome outcomes[N];
    struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    char path[DG_TEST_PATH];
    size_t one = bytes_of_one();
    dg_test_source(path, "models/fr-en");
    for (int tight = 0; tight < 2; tight++) {
        set_up(tight ? one * 3 / 2 : one * 5 / 2);
        offer_pair("a", path, "fr", "en");
        offer_pair("b", path, "en", "de");
        offer_pair("c", path, "it", "en");
        request.text = DG_SPAN("Bonjour.");
        request.target = "de";
        for (int i = 0; i < N; i++) {
            outcomes[i] = (struct outcome){.n_done = 0};
            request.source = i % 2 ? "fr" : "it";
            enum dg_err err =
                dg_engine_submit(engine, &request, &events, &outcomes[i], &error, NULL, NULL);
            ck_assert_msg(err == (tight ? DG_ERR_MODEL : DG_OK), "%s", error.text);
        }
        if (tight)
            ck_assert_ptr_nonnull(strstr(error.text, "together"));
        else
            wait_for(outcomes, N);
        for (int i = 0; i < N && !tight; i++) {
            ck_assert_msg(outcomes[i].err == DG_OK, "%s", outcomes[i].error);
            ck_assert_str_eq(outcomes[i].model, i % 2 ? "a+b" : "c+b");
        }
        tear_down();
    }
}
END_TEST

START_TEST(who_waits_is_remembered_whole)
{
    struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    struct outcome outcome = {.n_done = 0};
    char text[] = "<p>Bonjour.</p><x>Bonjour.</x>", tag[] = "x", model[] = "one", prefix[] = "Well";
    set_up(0);
    offer("one");
    request.text = dg_span_cstr(text);
    request.format = DG_DOC_XML;
    request.doc.ignore_tags = dg_span_cstr(tag);
    request.prefix = dg_span_cstr(prefix);
    request.model = model;
    ck_assert_msg(dg_engine_submit(engine, &request, &events, &outcome, &error, NULL, NULL) ==
                      DG_OK,
                  "%s", error.text);
    memset(text, '?', sizeof text - 1);
    memset(tag, '?', sizeof tag - 1);
    memset(model, '?', sizeof model - 1);
    memset(prefix, '?', sizeof prefix - 1);
    wait_for(&outcome, 1);
    ck_assert_msg(outcome.err == DG_OK, "%s", outcome.error);
    ck_assert_ptr_nonnull(strstr(outcome.text, "<p>Well"));
    ck_assert_ptr_nonnull(strstr(outcome.text, "<x>Bonjour.</x>"));
    tear_down();
}
END_TEST

START_TEST(an_engine_ends_while_models_are_coming)
{
    static struct outcome outcomes[4];
    set_up(0);
    offer("one");
    offer("two");
    for (int i = 0; i < 4; i++)
        ask(i % 2 ? "one" : "two", "Bonjour.", &outcomes[i]);
    poll_once();
    tear_down();
    ck_assert_int_le(outcomes[3].n_done, 1);
}
END_TEST

START_TEST(sizes_shrink_to_fit_and_what_cannot_fit_is_refused)
{
    char path[DG_TEST_PATH];
    struct dg_error error = DG_ERROR_NONE;
    struct dg_served_model *served;
    size_t one = bytes_of_one(), slots = 0;
    for (size_t eighths = 12; eighths > 0; eighths--) {
        set_up(one * eighths / 8);
        const struct dg_engine_model model = {.name = "one",
                                              .path = dg_test_source(path, "models/fr-en")};
        enum dg_err err = dg_engine_offer(engine, &model, &error, &served);
        if (!err)
            err = dg_engine_publish(engine, served, &error);
        if (err) {
            ck_assert_int_eq(err, DG_ERR_LIMIT);
            ck_assert_ptr_nonnull(strstr(error.text, "memory-limit"));
            tear_down();
            break;
        }
        struct dg_engine_model_info info = dg_engine_model_info(engine, 0);
        ck_assert_uint_le(info.bytes, one * eighths / 8);
        ck_assert_uint_le(info.slots, slots ? slots : 4);
        slots = info.slots;
        struct outcome outcome;
        ask("one", "Il fait beau. Merci. Bonjour.", &outcome);
        wait_for(&outcome, 1);
        ck_assert_int_eq(outcome.err, DG_OK);
        tear_down();
    }
    ck_assert_uint_lt(slots, 4);
}
END_TEST

/* Serves one model with this limit, and returns what it takes. Many requests at once keep all
 * workers busy; in the end the model leaves. */
static size_t serve_with(size_t models_bytes, char answer[256])
{
    static const char text[] = "Il fait beau. Merci beaucoup. Bonjour, comment allez-vous ?";
    struct dg_engine_memory memory;
    struct outcome outcomes[8];
    set_up_with((struct dg_clock)DG_CLOCK_VIRTUAL(1), models_bytes, DG_CLOCK_S);
    offer("one");
    for (size_t i = 0; i < 8; i++)
        ask("one", text, &outcomes[i]);
    wait_for(outcomes, 8);
    for (size_t i = 0; i < 8; i++) {
        ck_assert_int_eq(outcomes[i].err, DG_OK);
        if (!*answer)
            memcpy(answer, outcomes[i].text, 256);
        ck_assert_str_eq(outcomes[i].text, answer);
    }
    const size_t bytes = dg_engine_model_info(engine, 0).bytes;
    dg_engine_read_memory(engine, &memory);
    ck_assert_uint_eq(memory.models, bytes);
    dg_clock_advance(&clock_, 2 * DG_CLOCK_S);
    do {
        poll_once();
        dg_engine_read_memory(engine, &memory);
    } while (memory.models);
    tear_down();
    return bytes;
}

/* A model's share is half of the memory: with less than that, there is one copy. */
START_TEST(each_memory_node_has_a_copy_of_the_weights_if_there_is_room)
{
    char machine[DG_TMPDIR_CAP], answer[256] = "";
    two_nodes_make(machine);
    n_threads = 2;
    const size_t one = serve_with(0, answer);
    ck_assert_uint_eq(serve_with(2 * one, answer), one);
    nodes_root = machine;
    const size_t two = serve_with(0, answer);
    if (dg_cpu_may_pin())
        ck_assert_uint_gt(two, one + (8 << 20)); /* the model's file has 11 MB */
    ck_assert_uint_eq(serve_with(2 * two, answer), two);
    ck_assert_uint_eq(serve_with(2 * one, answer), one);
    ck_assert_uint_eq(serve_with(two + one, answer), one);
    dg_tmpdir_remove(machine);
    n_threads = 1;
    nodes_root = NULL;
}
END_TEST

DG_UNIT_SLOW(a_model_is_loaded_by_its_first_request, more_models_than_memory_all_answer,
             a_model_without_requests_leaves_and_comes_back,
             a_model_that_breaks_is_told_of_and_tried_again,
             who_waits_for_a_model_may_leave_or_run_out_of_time,
             a_way_through_two_models_waits_for_both, who_waits_is_remembered_whole,
             an_engine_ends_while_models_are_coming,
             sizes_shrink_to_fit_and_what_cannot_fit_is_refused,
             each_memory_node_has_a_copy_of_the_weights_if_there_is_room)
