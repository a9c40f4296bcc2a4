/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Jobs with an engine that takes one sentence at a time and whose worker can be held, so that the
 * test decides when the engine is busy. */
#include "api/v1/job.h"
#include "files.h"
#include "unit.h"

#include <semaphore.h>
#include <stdatomic.h>

enum { TEXTS = 3, TIMEOUT_MS = 1000, AGAIN_MS = 20 };

static sem_t woken, gate;
static atomic_bool is_shut;
static struct dg_engine *engine;
static struct dg_clock now = DG_CLOCK_VIRTUAL(0);
static struct dg_jobs jobs;
static int n_others; /* texts that are not the job's */

static void wake(void *arg)
{
    (void)arg;
    sem_post(&woken);
}

/* The worker stands still while the gate is shut. */
static bool on_turn(void *arg, size_t index)
{
    (void)arg;
    (void)index;
    if (atomic_load(&is_shut))
        sem_wait(&gate);
    return true;
}

static void open_gate(void)
{
    if (atomic_exchange(&is_shut, false))
        sem_post(&gate);
}

static void set_up(void)
{
    char path[DG_TEST_PATH];
    struct dg_error error = DG_ERROR_NONE;
    const struct dg_engine_opts opts = {.n_threads = 1,
                                        .max_sentences = 1,
                                        .slots = 2,
                                        .source_max = 32,
                                        .target_max = 64,
                                        .wake = wake,
                                        .on_turn = on_turn};
    sem_init(&woken, 0, 0);
    sem_init(&gate, 0, 0);
    atomic_store(&is_shut, false);
    n_others = 0;
    dg_jobs_init(&jobs, &now);
    ck_assert_msg(dg_engine_new(&opts, &error, &engine) == DG_OK, "%s", error.text);
    dg_test_source(path, "tests/models/transformer");
    ck_assert_msg(dg_engine_load(engine, "toy", path, "xx", "yy", &error) == DG_OK, "%s",
                  error.text);
}

static void tear_down(void)
{
    open_gate();
    dg_engine_free(engine);
    dg_jobs_deinit(&jobs);
    sem_destroy(&woken);
    sem_destroy(&gate);
}

/* ---- Somebody else --------------------------------------------------------------------------- */

static void on_other_done(void *ctx, const struct dg_engine_result *result)
{
    (void)ctx;
    (void)result;
    n_others--;
}

/* Takes the one place there is and keeps it until the gate is opened. */
static void be_busy(void)
{
    static const struct dg_engine_events events = {.on_done = on_other_done};
    struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    request.text = DG_SPAN("a b c");
    atomic_store(&is_shut, true);
    enum dg_err err = dg_engine_submit(engine, &request, &events, NULL, &error, NULL, NULL);
    ck_assert_msg(err == DG_OK, "%s", error.text);
    n_others++;
}

/* ---- A job ----------------------------------------------------------------------------------- */

struct owner {
    int n_begun, n_items, n_over;
    bool lets_others_in; /* as soon as its first text is done */
    enum dg_err err;
    uint64_t queue_ns;
};

static void on_begin(void *ctx, struct dg_job_item *item, struct dg_engine_request *request)
{
    struct owner *owner = ctx;
    ck_assert_uint_eq(item->index, (size_t)owner->n_begun);
    ck_assert(dg_span_eq(request->text, item->job->options.texts[item->index]));
    owner->n_begun++;
}

static enum dg_err on_item(void *ctx, struct dg_job_item *item,
                           const struct dg_engine_result *result)
{
    struct owner *owner = ctx;
    (void)item;
    (void)result;
    if (++owner->n_items == 1 && owner->lets_others_in)
        be_busy();
    return DG_OK;
}

static void on_over(void *ctx, struct dg_job *job)
{
    struct owner *owner = ctx;
    owner->n_over++;
    owner->err = job->err;
    owner->queue_ns = job->queue_ns;
    dg_job_drop(job);
}

static const struct dg_job_listener listener = {
    .on_begin = on_begin, .on_item = on_item, .on_over = on_over};

/* NULL when there was no memory. */
static struct dg_job *new_job(void)
{
    static struct dg_span texts[TEXTS];
    struct dg_job *job;
    for (size_t i = 0; i < TEXTS; i++)
        texts[i] = DG_SPAN("a b a");
    if (dg_job_new(engine, &jobs, 1 << 20, &job) != DG_OK)
        return NULL;
    job->options.request = (struct dg_engine_request)DG_ENGINE_REQUEST_DEFAULT;
    job->options.request.timeout_ms = TIMEOUT_MS * 1000; /* of the machine's time: not reached */
    job->options.texts = texts;
    job->options.n_texts = TEXTS;
    return job;
}

static bool is_in_line(void)
{
    return !dg_list_is_empty(&jobs.waiting);
}

/* One in which the line is looked at. */
static void turn(void)
{
    dg_clock_advance(&now, AGAIN_MS * DG_CLOCK_MS);
    dg_jobs_turn(&jobs);
}

/* Until the job is over or, if that is asked for, waits in line behind others. */
static void serve(const struct owner *owner, bool stops)
{
    for (;;) {
        dg_engine_poll(engine);
        if (owner->n_over || (stops && n_others > 0 && is_in_line()))
            return;
        turn();
        if (owner->n_over)
            return;
        sem_wait(&woken);
    }
}

static enum dg_err begin(struct dg_job *job, struct owner *owner)
{
    struct dg_error error = DG_ERROR_NONE;
    uint64_t retry_ms = 0;
    return dg_job_start(job, &listener, owner, &error, &retry_ms);
}

START_TEST(a_job_that_has_begun_does_not_fail_because_others_are_busy)
{
    struct owner owner = {.lets_others_in = true};
    set_up();
    struct dg_job *job = new_job();
    if (job && begin(job, &owner) == DG_OK) {
        serve(&owner, true);
        if (!owner.n_over) { /* refused with nothing of its own under way, and then again */
            ck_assert_uint_eq(job->n_open, 0);
            turn();
            ck_assert(is_in_line());
            dg_clock_advance(&now, 7 * DG_CLOCK_MS);
            open_gate();
            serve(&owner, false);
        }
        ck_assert_int_eq(owner.err, DG_OK);
        ck_assert_int_eq(owner.n_items, TEXTS);
        ck_assert_int_eq(owner.n_begun, TEXTS); /* each was asked for once */
        ck_assert_uint_ge(owner.queue_ns, 7 * DG_CLOCK_MS);
    } else {
        dg_job_drop(job);
    }
    tear_down();
}
END_TEST

START_TEST(it_waits_no_longer_than_its_own_time)
{
    struct owner owner = {.lets_others_in = true};
    set_up();
    struct dg_job *job = new_job();
    if (job && begin(job, &owner) == DG_OK) {
        serve(&owner, true);
        if (!owner.n_over) {
            dg_clock_advance(&now, job->next_ns + TIMEOUT_MS * 1000 * DG_CLOCK_MS -
                                       dg_clock_now(&now) - 1);
            dg_jobs_turn(&jobs);
            ck_assert(is_in_line());
            dg_clock_advance(&now, 1);
            dg_jobs_turn(&jobs);
        }
        ck_assert_int_eq(owner.n_over, 1);
        ck_assert_int_eq(owner.err, DG_ERR_TIMEOUT);
        ck_assert(!is_in_line());
    } else {
        dg_job_drop(job);
    }
    tear_down();
}
END_TEST

START_TEST(one_that_is_dropped_in_line_leaves_it)
{
    struct owner owner = {.lets_others_in = true};
    set_up();
    struct dg_job *job = new_job();
    if (job && begin(job, &owner) == DG_OK) {
        serve(&owner, true);
        if (!owner.n_over)
            dg_job_drop(job);
        ck_assert(!is_in_line());
        ck_assert(dg_list_is_empty(&jobs.all));
        ck_assert_int_eq(owner.n_over, 0);
    } else {
        dg_job_drop(job);
    }
    tear_down();
}
END_TEST

/* With nobody to drop it, as a document. */
START_TEST(at_the_end_of_the_process_what_is_under_way_is_cancelled)
{
    struct owner owner = {.n_over = 0}, in_line = {.n_over = 0};
    set_up();
    struct dg_job *job = new_job(), *other = new_job();
    atomic_store(&is_shut, true); /* it would take as long as it takes */
    if (job && other && begin(job, &owner) == DG_OK) {
        other->may_wait = true;
        if (begin(other, &in_line) == DG_OK) {
            dg_jobs_stop(&jobs);
            ck_assert(!is_in_line());
            open_gate();
            serve(&owner, false);
            ck_assert_int_eq(owner.err, DG_ERR_CANCELLED);
            ck_assert_int_eq(owner.n_items, 0);
            ck_assert_int_eq(in_line.n_items, 0);
            ck_assert_uint_eq(dg_engine_poll(engine), 0);
        }
    } else {
        dg_job_drop(job);
        dg_job_drop(other);
    }
    tear_down();
}
END_TEST

START_TEST(a_start_without_room_is_refused_unless_it_may_wait)
{
    struct owner refused = {.n_over = 0}, waiting = {.n_over = 0};
    set_up();
    be_busy();
    struct dg_job *first = new_job(), *second = new_job();
    if (first && second) {
        enum dg_err err = begin(first, &refused);
        ck_assert(err == DG_ERR_BUSY || err == DG_ERR_NOMEM);
        ck_assert(!is_in_line());
        second->may_wait = true;
        if (begin(second, &waiting) == DG_OK) {
            ck_assert(is_in_line());
            open_gate();
            serve(&waiting, false);
            ck_assert_int_eq(waiting.err, DG_OK);
            ck_assert_int_eq(waiting.n_items, TEXTS);
            second = NULL;
        }
    }
    dg_job_drop(first);
    dg_job_drop(second);
    tear_down();
}
END_TEST

DG_UNIT_SLOW(a_job_that_has_begun_does_not_fail_because_others_are_busy,
             it_waits_no_longer_than_its_own_time, one_that_is_dropped_in_line_leaves_it,
             at_the_end_of_the_process_what_is_under_way_is_cancelled,
             a_start_without_room_is_refused_unless_it_may_wait)
