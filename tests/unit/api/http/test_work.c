/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "api/http/api_int.h"
#include "api/http/work.h"
#include "base/memory/mem.h"
#include "net/loop/offload.h"
#include "unit.h"

#include <string.h>

enum { LARGE = 300 * 1024 };

/* What the route under test does, and what happened to its works. */
struct bench {
    struct dg_api *api;
    struct dg_http_shared shared;
    struct dg_http *http;
    uv_loop_t loop;
    struct dg_offload *readers;
    const struct dg_work_ops *ops;
    bool attaches;        /* the work is under way at once */
    enum dg_err read_err; /* the result of reading */
    enum dg_err start_err;
    enum dg_err write_err;
    bool streams, checks, says_why;
    struct greeting *under_way; /* as `start` left it */
    int n_read, n_started, n_left, n_freed;
    bool read_elsewhere, wrote_elsewhere;
    uv_thread_t self;
};

struct greeting {
    struct dg_work work;
    struct bench *bench;
    struct dg_buf name;
};

static struct greeting *greeting_of(struct dg_work *work)
{
    return (struct greeting *)work;
}

static bool is_elsewhere(const struct bench *bench)
{
    const uv_thread_t self = uv_thread_self();
    return !uv_thread_equal(&self, &bench->self);
}

static enum dg_err failing(const struct bench *bench, enum dg_err err, struct dg_failure *failure)
{
    if (err && bench->says_why)
        *failure = (struct dg_failure){.status = 418, .code = "teapot", .message = "No."};
    return err;
}

static enum dg_err read_name(struct dg_work *work, const struct dg_api *api, struct dg_span body,
                             struct dg_failure *failure)
{
    struct greeting *greeting = greeting_of(work);
    struct bench *bench = greeting->bench;
    ck_assert_ptr_eq(api, bench->api);
    bench->n_read++;
    bench->read_elsewhere = is_elsewhere(bench);
    if (bench->read_err)
        return failing(bench, bench->read_err, failure);
    return dg_buf_append_span(&greeting->name, body);
}

static enum dg_err start(struct dg_work *work, struct dg_failure *failure)
{
    struct greeting *greeting = greeting_of(work);
    struct bench *bench = greeting->bench;
    bench->n_started++;
    bench->under_way = greeting;
    if (!bench->start_err && bench->streams)
        dg_work_begin_stream(work);
    return failing(bench, bench->start_err, failure);
}

static void leave(struct dg_work *work)
{
    struct bench *bench = greeting_of(work)->bench;
    ck_assert_ptr_null(work->call);
    bench->n_left++;
    ck_assert_ptr_null(dg_work_end(work));
}

static enum dg_err write_greeting(struct dg_work *work, struct dg_buf *json,
                                  struct dg_failure *failure)
{
    struct greeting *greeting = greeting_of(work);
    struct bench *bench = greeting->bench;
    bench->wrote_elsewhere = is_elsewhere(bench);
    if (bench->write_err)
        return failing(bench, bench->write_err, failure);
    const size_t n = greeting->name.len < 20 ? greeting->name.len : 20;
    return dg_buf_printf(json, "{\"hello\":\"%.*s\"}", (int)n, greeting->name.ptr);
}

static void free_greeting(struct dg_work *work)
{
    struct greeting *greeting = greeting_of(work);
    greeting->bench->n_freed++;
    greeting->bench->under_way = NULL;
    dg_buf_deinit(&greeting->name);
    dg_free(greeting);
}

static void check(struct dg_work *work)
{
    const struct dg_failure failure = {.status = 422, .code = "no_name", .message = "No name."};
    if (greeting_of(work)->name.len > 0)
        dg_work_pass(work);
    else
        dg_work_fail(work, failure);
}

static const struct dg_work_ops plain_ops = {.read = read_name,
                                             .start = start,
                                             .leave = leave,
                                             .write = write_greeting,
                                             .free = free_greeting};
static const struct dg_work_ops checking_ops = {.read = read_name,
                                                .on_read = check,
                                                .start = start,
                                                .write = write_greeting,
                                                .free = free_greeting};

static void on_head(void *user, struct dg_http_req *req)
{
    struct bench *bench = user;
    dg_api_handler()->on_head(bench->api, req);
}

/* Replaces the route's function. */
static void on_request(void *user, struct dg_http_req *req)
{
    struct bench *bench = user;
    struct greeting *greeting = dg_xcalloc(1, sizeof *greeting);
    greeting->bench = bench;
    dg_buf_init(&greeting->name, 1 << 20);
    if (bench->attaches) {
        bench->under_way = greeting;
        dg_work_attach(req->owner, &greeting->work, bench->ops);
    } else {
        dg_work_run(req->owner, &greeting->work, bench->ops);
    }
}

static void open_bench(struct bench *bench)
{
    static const struct dg_http_events events = {.on_head = on_head, .on_request = on_request};
    const struct dg_pool_opts pool = {.n_threads = 1, .max_jobs = 8, .name = "test"};
    struct dg_api_opts opts = DG_API_OPTS_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    *bench = (struct bench){
        .shared = {.limits = DG_HTTP_LIMITS_DEFAULT}, .ops = &plain_ops, .self = uv_thread_self()};
    ck_assert_int_eq(uv_loop_init(&bench->loop), 0);
    ck_assert_int_eq(dg_offload_open(&bench->loop, NULL, &pool, &error, &bench->readers), DG_OK);
    ck_assert_int_eq(dg_api_new(&opts, NULL, &error, &bench->api), DG_OK);
    dg_api_set_readers(bench->api, bench->readers);
    bench->http = dg_http_new(&bench->shared, &events, bench);
    ck_assert_ptr_nonnull(bench->http);
}

/* The client leaves. */
static void hang_up(struct bench *bench)
{
    dg_http_free(bench->http);
    bench->http = NULL;
}

/* Ends the work that the threads have. */
static void finish_threads(struct bench *bench)
{
    dg_offload_close(bench->readers);
    bench->readers = NULL;
    dg_api_set_readers(bench->api, NULL);
}

static void close_bench(struct bench *bench)
{
    dg_http_free(bench->http);
    dg_offload_close(bench->readers);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&bench->loop), 0);
    dg_api_free(bench->api);
}

static void post(struct bench *bench, size_t n)
{
    char head[128], *body = dg_xmalloc(n + 1);
    const int len =
        snprintf(head, sizeof head,
                 "POST /v1/translate HTTP/1.1\r\nHost: here\r\nContent-Length: %zu\r\n\r\n", n);
    memset(body, 'x', n);
    dg_http_feed(bench->http, head, (size_t)len);
    dg_http_feed(bench->http, body, n);
    dg_free(body);
}

static bool says(struct bench *bench, const char *text)
{
    struct dg_span out = dg_http_output(bench->http);
    for (size_t i = 0; i + strlen(text) <= out.len; i++)
        if (memcmp(out.ptr + i, text, strlen(text)) == 0)
            return true;
    return false;
}

/* The work that waits for its end; the test fails when there is none. */
static struct dg_work *under_way(const struct bench *bench)
{
    ck_assert_ptr_nonnull(bench->under_way);
    return &bench->under_way->work;
}

static void finish(struct bench *bench, size_t size)
{
    dg_work_finish(under_way(bench), size, DG_JSON_OFFLOAD_WRITTEN);
}

START_TEST(a_work_is_read_started_written_and_freed)
{
    struct bench bench;
    open_bench(&bench);
    post(&bench, 3);
    ck_assert_int_eq(bench.n_started, 1);
    ck_assert_int_eq(bench.n_freed, 0);
    ck_assert(!bench.read_elsewhere);
    finish(&bench, 20);
    ck_assert(says(&bench, "HTTP/1.1 200 OK"));
    ck_assert(says(&bench, "{\"hello\":\"xxx\"}"));
    ck_assert(!bench.wrote_elsewhere);
    ck_assert_int_eq(bench.n_freed, 1);
    hang_up(&bench);
    ck_assert_int_eq(bench.n_left, 0);
    close_bench(&bench);
}
END_TEST

START_TEST(much_is_read_and_written_elsewhere)
{
    struct bench bench;
    open_bench(&bench);
    post(&bench, LARGE);
    ck_assert_int_eq(bench.n_started, 0);
    finish_threads(&bench);
    ck_assert_int_eq(bench.n_started, 1);
    ck_assert(bench.read_elsewhere);
    finish(&bench, LARGE); /* there are no threads left, so the work runs here */
    ck_assert(!bench.wrote_elsewhere);
    ck_assert(says(&bench, "{\"hello\":\"xxxxxxxxxxxxxxxxxxxx\"}"));
    close_bench(&bench);

    open_bench(&bench);
    post(&bench, 3);
    finish(&bench, LARGE);
    ck_assert_int_eq(bench.n_freed, 0);
    finish_threads(&bench);
    ck_assert(bench.wrote_elsewhere);
    ck_assert(says(&bench, "{\"hello\":\"xxx\"}"));
    ck_assert_int_eq(bench.n_freed, 1);
    close_bench(&bench);
}
END_TEST

START_TEST(who_leaves_while_a_thread_works_is_forgotten_then)
{
    for (int writes = 0; writes < 2; writes++) {
        struct bench bench;
        open_bench(&bench);
        post(&bench, writes ? 3 : LARGE);
        if (writes)
            finish(&bench, LARGE);
        hang_up(&bench);
        ck_assert_int_eq(bench.n_freed, 0);
        finish_threads(&bench);
        ck_assert_int_eq(bench.n_freed, 1);
        ck_assert_int_eq(bench.n_left, 0);
        ck_assert_int_eq(bench.n_started, writes);
        close_bench(&bench);
    }
}
END_TEST

START_TEST(who_leaves_while_it_is_under_way_stops_it)
{
    for (int attaches = 0; attaches < 2; attaches++) {
        struct bench bench;
        open_bench(&bench);
        bench.attaches = attaches;
        post(&bench, 3);
        ck_assert_int_eq(bench.n_read, !attaches);
        hang_up(&bench);
        ck_assert_int_eq(bench.n_left, 1);
        ck_assert_int_eq(bench.n_freed, 1);
        close_bench(&bench);
    }
}
END_TEST

START_TEST(what_cannot_be_stopped_goes_on_to_its_end)
{
    struct bench bench;
    open_bench(&bench);
    bench.ops = &checking_ops; /* these have no `leave` */
    post(&bench, 3);
    hang_up(&bench);
    ck_assert_int_eq(bench.n_freed, 0);
    finish(&bench, 20);
    ck_assert_int_eq(bench.n_freed, 1);
    close_bench(&bench);
}
END_TEST

START_TEST(what_is_held_is_freed_by_who_holds_it)
{
    struct bench bench;
    open_bench(&bench);
    bench.attaches = true;
    post(&bench, 3);
    dg_work_hold(under_way(&bench));
    ck_assert(!atomic_load(&under_way(&bench)->is_unwanted));
    hang_up(&bench);
    ck_assert_int_eq(bench.n_left + bench.n_freed, 0);
    ck_assert_ptr_null(under_way(&bench)->call);
    ck_assert(atomic_load(&under_way(&bench)->is_unwanted));
    ck_assert_ptr_null(dg_work_end(under_way(&bench)));
    ck_assert_int_eq(bench.n_freed, 1);
    close_bench(&bench);
}
END_TEST

START_TEST(a_detached_work_leaves_an_answered_call_alone)
{
    struct bench bench;
    open_bench(&bench);
    bench.attaches = true;
    post(&bench, 3);
    struct dg_work *first = under_way(&bench);
    dg_call_text(dg_work_detach(first), 200, DG_SPAN("first"));
    ck_assert(says(&bench, "\r\n\r\nfirst"));
    post(&bench, 3); /* its call has the first one's address */
    dg_work_end(first);
    hang_up(&bench);
    ck_assert_int_eq(bench.n_left, 1);
    ck_assert_int_eq(bench.n_freed, 2);
    close_bench(&bench);
}
END_TEST

START_TEST(failures_are_answered_and_the_work_freed)
{
    for (int at = 0; at < 6; at++) {
        struct bench bench;
        open_bench(&bench);
        bench.says_why = at % 2;
        enum dg_err *const errs[] = {&bench.read_err, &bench.start_err, &bench.write_err};
        *errs[at / 2] = DG_ERR_NOMEM;
        post(&bench, 3);
        if (at / 2 == 2)
            finish(&bench, 20);
        ck_assert_int_eq(bench.n_freed, 1);
        ck_assert_int_eq(bench.n_started, at / 2 > 0);
        ck_assert(says(&bench, at % 2 ? "HTTP/1.1 418" : "HTTP/1.1 503"));
        ck_assert(says(&bench, at % 2 ? "\"teapot\"" : "\"overloaded\""));
        ck_assert_int_eq(bench.n_left, 0);
        close_bench(&bench);
    }
}
END_TEST

/* Whichever allocation fails while an error is answered: any answer that is sent has the complete
 * shape of an error. */
START_TEST(an_error_without_memory_names_its_request)
{
    int n_answers = 0;
    bool is_over = false;
    for (uint64_t nth = 1; !is_over; nth++) {
        struct bench bench;
        open_bench(&bench);
        bench.attaches = true;
        post(&bench, 3);
        struct dg_work *work = under_way(&bench);
        struct dg_call *call = dg_work_detach(work);
        dg_mem_fail_after(nth);
        dg_call_no_memory(call);
        is_over = !dg_mem_failed();
        dg_mem_fail_after(0);
        if (says(&bench, "\r\n\r\n{")) { /* otherwise the connection is cut */
            ck_assert(says(&bench, "{\"error\":{\"code\":\"overloaded\""));
            ck_assert(says(&bench, "\"request_id\":\""));
            n_answers++;
        }
        dg_work_end(work);
        close_bench(&bench);
    }
    ck_assert_int_gt(n_answers, 1);
}
END_TEST

START_TEST(what_was_read_may_be_refused_before_the_gate)
{
    struct bench bench;
    open_bench(&bench);
    bench.ops = &checking_ops;
    post(&bench, 0);
    ck_assert(says(&bench, "HTTP/1.1 422"));
    ck_assert_int_eq(bench.n_started, 0);
    ck_assert_int_eq(bench.n_freed, 1);
    close_bench(&bench);
}
END_TEST

START_TEST(a_stream_ends_with_an_event)
{
    for (int fails = 0; fails < 2; fails++) {
        struct bench bench;
        open_bench(&bench);
        bench.streams = true;
        bench.write_err = fails ? DG_ERR_NOMEM : DG_OK;
        post(&bench, 3);
        ck_assert(says(&bench, "text/event-stream"));
        finish(&bench, 20);
        ck_assert(says(&bench, fails ? "event: error\ndata: {\"error\":"
                                     : "event: done\ndata: {\"hello\":\"xxx\"}\n\n"));
        ck_assert(says(&bench, "\r\n0\r\n\r\n"));
        ck_assert_int_eq(bench.n_freed, 1);
        close_bench(&bench);
    }
}
END_TEST

/* The number of comments between the events, each in its own chunk. */
static int n_comments(struct bench *bench)
{
    static const char comment[] = "\r\n3\r\n:\n\n\r\n";
    struct dg_span out = dg_http_output(bench->http);
    int n = 0;
    for (size_t i = 0; i + strlen(comment) <= out.len; i++)
        n += memcmp(out.ptr + i, comment, strlen(comment)) == 0;
    return n;
}

static void pass_seconds(struct bench *bench, int n)
{
    while (n-- > 0)
        dg_call_keep_streams(bench->api);
}

START_TEST(a_quiet_stream_gets_comments)
{
    struct bench bench;
    open_bench(&bench);
    bench.streams = true;
    post(&bench, 3);
    dg_call_event(under_way(&bench)->call, "token", NULL, DG_SPAN("{}"));
    pass_seconds(&bench, DG_CALL_QUIET_S); /* something arrived in the first second */
    ck_assert_int_eq(n_comments(&bench), 0);
    pass_seconds(&bench, 1);
    ck_assert_int_eq(n_comments(&bench), 1);
    pass_seconds(&bench, DG_CALL_QUIET_S - 1);
    dg_call_event(under_way(&bench)->call, "token", NULL, DG_SPAN("{}"));
    pass_seconds(&bench, DG_CALL_QUIET_S);
    ck_assert_int_eq(n_comments(&bench), 1);
    pass_seconds(&bench, 1 + DG_CALL_QUIET_S);
    ck_assert_int_eq(n_comments(&bench), 3);
    finish(&bench, 20);
    const size_t len = dg_http_output(bench.http).len;
    pass_seconds(&bench, 2 * DG_CALL_QUIET_S);
    ck_assert_uint_eq(dg_http_output(bench.http).len, len);
    ck_assert(dg_list_is_empty(&bench.api->event_streams));
    close_bench(&bench);

    open_bench(&bench); /* neither a stream that is complete at the end, nor one whose client has
                           left */
    post(&bench, 3);
    pass_seconds(&bench, 2 * DG_CALL_QUIET_S);
    ck_assert_int_eq(n_comments(&bench), 0);
    hang_up(&bench);
    close_bench(&bench);
    open_bench(&bench);
    bench.streams = true;
    post(&bench, 3);
    hang_up(&bench);
    pass_seconds(&bench, 2 * DG_CALL_QUIET_S);
    close_bench(&bench);
}
END_TEST

START_TEST(what_has_its_answer_gives_it)
{
    for (int streams = 0; streams < 2; streams++) {
        struct bench bench;
        struct dg_buf json;
        open_bench(&bench);
        bench.streams = streams;
        post(&bench, 3);
        struct dg_work *work = under_way(&bench);
        dg_buf_init(&json, 100);
        ck_assert_int_eq(dg_buf_append_cstr(&json, "{\"a\":1}"), DG_OK);
        dg_work_give(work, &json);
        dg_buf_deinit(&json);
        ck_assert(says(&bench, streams ? "event: done\ndata: {\"a\":1}\n\n" : "\r\n\r\n{\"a\":1}"));
        ck_assert_int_eq(bench.n_freed, 1);
        close_bench(&bench);
    }
}
END_TEST

START_TEST(events_allocate_nothing_once_there_is_memory)
{
    struct bench bench;
    struct dg_event_ids ids;
    uint64_t before = 0;
    open_bench(&bench);
    bench.streams = true;
    post(&bench, 3);
    struct dg_call *call = under_way(&bench)->call;
    ck_assert_int_eq(dg_event_ids_init(&ids, call->req->arena, 1), DG_OK);
    for (int i = 0; i < 100; i++) {
        struct dg_span text = DG_SPAN("word ");
        struct dg_json_out out;
        dg_http_written(bench.http, dg_http_output(bench.http).len);
        ck_assert_int_eq(dg_event_ids_token(&ids, 0, &text), DG_OK);
        dg_call_event_open(call, "token", &ids, &out);
        dg_json_out_open(&out, '{');
        dg_json_out_put_string(&out, "text", text);
        dg_json_out_close(&out, '}');
        dg_call_event_send(call, &out);
        if (i > 0)
            continue;
        ck_assert(says(&bench, "38\r\nid: 0,0.5.abb826e7\nevent: token\ndata: {\"text\":\"word "
                               "\"}\n\n\r\n"));
        before = dg_mem_count();
    }
    ck_assert(says(&bench, "id: 0,0.500."));
    ck_assert_uint_eq(dg_mem_count(), before);
    close_bench(&bench);
}
END_TEST

DG_UNIT(a_work_is_read_started_written_and_freed, much_is_read_and_written_elsewhere,
        who_leaves_while_a_thread_works_is_forgotten_then,
        who_leaves_while_it_is_under_way_stops_it, what_cannot_be_stopped_goes_on_to_its_end,
        what_is_held_is_freed_by_who_holds_it, a_detached_work_leaves_an_answered_call_alone,
        failures_are_answered_and_the_work_freed, an_error_without_memory_names_its_request,
        what_was_read_may_be_refused_before_the_gate, a_stream_ends_with_an_event,
        a_quiet_stream_gets_comments, what_has_its_answer_gives_it,
        events_allocate_nothing_once_there_is_memory)
