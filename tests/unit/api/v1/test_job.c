/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Jobs with an engine that takes one sentence at a time and whose worker can be held, so that the
 * test decides when the engine is busy. */
#include "api/v1/job.h"
#include "files.h"
#include "unit.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

enum { TEXTS = 3, TIMEOUT_MS = 1000, AGAIN_MS = 20 };

static sem_t woken, gate;
static atomic_bool is_shut;
static struct dg_engine *engine;
static struct dg_clock now = DG_CLOCK_VIRTUAL(0);
static struct dg_clock noon = DG_CLOCK_VIRTUAL(1); /* stands still, so that every turn has time */
static struct dg_turn turns;
static struct dg_jobs jobs;
static int n_others; /* texts that do not belong to the job */

static void wake(void *arg)
{
    (void)arg;
    sem_post(&woken);
}

/* The worker stops while the gate is shut. */
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

static void set_up_for(size_t max_sentences)
{
    char path[DG_TEST_PATH];
    struct dg_error error = DG_ERROR_NONE;
    const struct dg_engine_opts opts = {.n_threads = 1,
                                        .max_sentences = max_sentences,
                                        .slots = 2,
                                        .source_max = 32,
                                        .target_max = 64,
                                        .turn = &turns,
                                        .wake = wake,
                                        .on_turn = on_turn};
    sem_init(&woken, 0, 0);
    sem_init(&gate, 0, 0);
    atomic_store(&is_shut, false);
    n_others = 0;
    dg_turn_init(&turns, &noon);
    dg_jobs_init(&jobs, &now);
    ck_assert_msg(dg_engine_new(&opts, &error, &engine) == DG_OK, "%s", error.text);
    dg_test_source(path, "tests/models/transformer");
    ck_assert_msg(dg_engine_load(engine, "toy", path, "xx", "yy", &error) == DG_OK, "%s",
                  error.text);
}

static void set_up(void)
{
    set_up_for(1);
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

/* Takes the only place and keeps it until the gate is opened. */
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

static char order[64]; /* the owners' names in the order in which their texts were done */

struct owner {
    char name;
    int n_begun, n_items, n_over;
    bool lets_others_in; /* once its first text is done */
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
    if (strlen(order) + 1 < sizeof order)
        order[strlen(order)] = owner->name;
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
    job->options.request.timeout_ms = TIMEOUT_MS * 1000; /* in real time: never reached */
    job->options.texts = texts;
    job->options.n_texts = TEXTS;
    return job;
}

static bool is_in_line(void)
{
    return !dg_list_is_empty(&jobs.waiting);
}

/* What the loop does after each poll. */
static void run(void)
{
    dg_jobs_turn(&jobs);
    dg_turn_run(&turns);
}

/* One turn of the loop, in which the queue is checked. */
static void turn(void)
{
    dg_clock_advance(&now, AGAIN_MS * DG_CLOCK_MS);
    run();
}

/* Runs until the job is over or, with `stops`, waits in the queue after others. */
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
        /* refused although none of its own texts is under way, and then once more */
        if (!owner.n_over) {
            ck_assert_uint_eq(job->n_open, 0);
            turn();
            ck_assert(is_in_line());
            dg_clock_advance(&now, 7 * DG_CLOCK_MS);
            open_gate();
            serve(&owner, false);
        }
        ck_assert_int_eq(owner.err, DG_OK);
        ck_assert_int_eq(owner.n_items, TEXTS);
        ck_assert_int_eq(owner.n_begun, TEXTS); /* each owner had its turn once */
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
            run();
            ck_assert(is_in_line());
            dg_clock_advance(&now, 1);
            run();
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

/* The job has no client that could leave, like a document's job. */
START_TEST(at_the_end_of_the_process_what_is_under_way_is_cancelled)
{
    struct owner owner = {.n_over = 0}, in_line = {.n_over = 0};
    set_up();
    struct dg_job *job = new_job(), *other = new_job();
    atomic_store(&is_shut, true); /* there is no time limit */
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

/* ---- A client with much ---------------------------------------------------------------------- */

enum { CLIENT = 8, OTHER_CLIENT = 12, MANY = 12 };

/* No result is delivered until the gate is opened. */
static void set_up_with_room(uint64_t client_max)
{
    set_up_for(64);
    memset(order, 0, sizeof order);
    jobs.client_max = client_max;
    atomic_store(&is_shut, true);
}

static struct dg_job *new_job_of(uint64_t client, int beam, size_t n_texts)
{
    static struct dg_span texts[MANY];
    struct dg_job *job = new_job();
    for (size_t i = 0; i < MANY; i++)
        texts[i] = DG_SPAN("a b a");
    if (!job)
        return NULL;
    job->options.texts = texts;
    job->options.n_texts = n_texts;
    job->options.request.client = client;
    job->options.request.search.beam = beam;
    job->options.request.no_cache = true;
    job->options.has_beam = true;
    return job;
}

/* Runs until all jobs are over. */
static void serve_all(const struct owner *owners, size_t n)
{
    size_t n_over = 0;
    while (n_over < n) {
        dg_engine_poll(engine);
        run();
        n_over = 0;
        for (size_t i = 0; i < n; i++)
            n_over += owners[i].n_over > 0;
        if (n_over < n)
            sem_wait(&woken);
    }
}

START_TEST(a_client_with_enough_under_way_begins_one_text_of_each_job_in_turn)
{
    struct owner owners[] = {{.name = 'A'}, {.name = 'B'}, {.name = 'C'}, {.name = 'o'}};
    struct dg_job *made[4] = {NULL};
    size_t n = 0;
    bool is_whole = true;
    set_up_with_room(1);
    for (; n < 4; n++) {
        made[n] = new_job_of(n < 3 ? CLIENT : OTHER_CLIENT, 1, n < 3 ? 3 : 1);
        if (!made[n] || begin(made[n], &owners[n]) != DG_OK) {
            dg_job_drop(made[n]);
            break;
        }
        ck_assert_uint_eq(made[n]->n_begun, n == 0 || n == 3 ? 1 : 0);
        ck_assert_int_eq(made[n]->is_held, n < 3);
    }
    open_gate();
    serve_all(owners, n);
    for (size_t i = 0; i < n; i++)
        is_whole = is_whole && owners[i].err == DG_OK;
    if (n == 4 && is_whole) {
        char *other = strchr(order, 'o');
        ck_assert_ptr_nonnull(other);
        memmove(other, other + 1, strlen(other)); /* it waits for no other client */
        ck_assert_str_eq(order, "AABCABCBC");
    }
    ck_assert_uint_eq(jobs.clients.len, 0);
    ck_assert(dg_list_is_empty(&turns.queue));
    tear_down();
}
END_TEST

/* Five bytes are about two tokens, which are read once and written once for each hypothesis. */
START_TEST(its_work_is_estimated_from_length_and_hypotheses)
{
    static const struct {
        int beam;
        int min_len;
        size_t n_begun;
    } cases[] = {{1, 0, 8}, {4, 0, 3}, {4, 10, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct owner owner = {.name = 'A'};
        set_up_with_room(30);
        struct dg_job *job = new_job_of(CLIENT, cases[i].beam, MANY);
        if (job) {
            job->options.request.search.min_len = cases[i].min_len;
            if (begin(job, &owner) == DG_OK)
                ck_assert_uint_eq(job->n_begun, cases[i].n_begun);
            dg_job_drop(job);
        }
        tear_down();
    }
}
END_TEST

START_TEST(other_priorities_and_other_clients_are_not_held_back)
{
    struct owner owner = {.name = 'A'}, bulk = {.name = 'B'}, nobody = {.name = 'C'};
    set_up_with_room(1);
    struct dg_job *job = new_job_of(CLIENT, 1, 1), *bulk_job = new_job_of(CLIENT, 1, 1),
                  *nobodys_job = new_job_of(0, 1, 2);
    if (job && bulk_job && nobodys_job && begin(job, &owner) == DG_OK) {
        bulk_job->options.request.priority = DG_PRIORITY_BULK;
        if (begin(bulk_job, &bulk) == DG_OK)
            ck_assert(!bulk_job->is_held);
        if (begin(nobodys_job, &nobody) == DG_OK)
            ck_assert(!nobodys_job->is_held);
    }
    dg_job_drop(job);
    dg_job_drop(bulk_job);
    dg_job_drop(nobodys_job);
    tear_down();
}
END_TEST

START_TEST(what_is_held_back_ends_with_its_time_and_leaves_when_it_is_dropped)
{
    struct owner owners[] = {{.name = 'A'}, {.name = 'B'}, {.name = 'C'}};
    struct dg_job *made[3] = {NULL};
    size_t n = 0;
    set_up_with_room(1);
    for (; n < 3; n++) {
        made[n] = new_job_of(CLIENT, 1, 1);
        if (!made[n] || begin(made[n], &owners[n]) != DG_OK) {
            dg_job_drop(made[n]);
            break;
        }
    }
    if (n == 3) {
        ck_assert_uint_eq(made[0]->client->n_held_bytes, 2 * strlen("a b a"));
        dg_clock_advance(&now, (uint64_t)TIMEOUT_MS * 1000 * DG_CLOCK_MS - 1);
        run();
        ck_assert(made[1]->is_held && made[2]->is_held);
        dg_job_drop(made[2]);
        ck_assert_uint_eq(made[0]->client->n_held_bytes, strlen("a b a"));
        dg_clock_advance(&now, 1);
        run();
        ck_assert_int_eq(owners[1].n_over, 1);
        ck_assert_int_eq(owners[1].err, DG_ERR_TIMEOUT);
        ck_assert_uint_eq(made[0]->client->n_held_bytes, 0);
        ck_assert_int_eq(owners[0].n_over + owners[2].n_over, 0);
    }
    open_gate();
    serve_all(owners, n > 1 && n < 3 ? n : n > 0);
    tear_down();
}
END_TEST

DG_UNIT_SLOW(a_job_that_has_begun_does_not_fail_because_others_are_busy,
             it_waits_no_longer_than_its_own_time, one_that_is_dropped_in_line_leaves_it,
             at_the_end_of_the_process_what_is_under_way_is_cancelled,
             a_start_without_room_is_refused_unless_it_may_wait,
             a_client_with_enough_under_way_begins_one_text_of_each_job_in_turn,
             its_work_is_estimated_from_length_and_hypotheses,
             other_priorities_and_other_clients_are_not_held_back,
             what_is_held_back_ends_with_its_time_and_leaves_when_it_is_dropped)
