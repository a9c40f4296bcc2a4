/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/mem.h"
#include "net/proto/http.h"
#include "net/proto/http_reply.h"
#include "unit.h"

#include <stdio.h>

/* A machine with a handler that answers "METHOD path|body" at once, or holds requests when told to.
 */
struct bench {
    struct dg_http_shared shared;
    struct dg_http *http;
    bool hold;
    bool answer_at_head;
    struct dg_http_req *held;
    int n_requests, n_done, n_gone, n_output;
    size_t room, asked; /* the memory that on_body allows, and the last request for memory */
    bool takes_pieces, refuses_pieces; /* by on_data */
    char pieces[64];
    size_t n_pieces; /* the number of pieces in which it arrived */
    char seen[4096];
};

static void on_done(void *owner)
{
    ((struct bench *)owner)->n_done++;
}

static void on_gone(void *owner)
{
    ((struct bench *)owner)->n_gone++;
}

static void answer(struct dg_http_req *req)
{
    char text[256];
    int len = snprintf(text, sizeof text, "%s %.*s|%.*s", dg_http_method_name(req->method),
                       DG_SPAN_FMT(req->path), DG_SPAN_FMT(req->body));
    dg_http_reply(req, 200, "text/plain", dg_span_make(text, (size_t)len));
}

static void on_data(void *owner, struct dg_span piece)
{
    struct bench *bench = owner;
    ck_assert_uint_le(bench->n_pieces + piece.len, sizeof bench->pieces);
    memcpy(bench->pieces + bench->n_pieces, piece.ptr, piece.len);
    bench->n_pieces += piece.len;
    if (bench->refuses_pieces)
        dg_http_reply(bench->held, 413, "text/plain", DG_SPAN("no more"));
}

static void on_head(void *user, struct dg_http_req *req)
{
    struct bench *bench = user;
    req->owner = bench;
    req->on_done = on_done;
    req->on_gone = on_gone;
    if (bench->takes_pieces) {
        bench->held = req;
        req->on_data = on_data;
    }
    if (bench->answer_at_head)
        dg_http_reply(req, 403, "text/plain", DG_SPAN("no"));
}

/* The request that waits for its answer; the test fails when there is none. */
static struct dg_http_req *held(const struct bench *bench)
{
    ck_assert_ptr_nonnull(bench->held);
    return bench->held;
}

static void on_request(void *user, struct dg_http_req *req)
{
    struct bench *bench = user;
    bench->n_requests++;
    bench->held = req;
    if (!bench->hold)
        answer(req);
}

static void on_output(void *user, struct dg_http *http)
{
    (void)http;
    ((struct bench *)user)->n_output++;
}

static bool on_body(void *user, struct dg_http_req *req, size_t bytes)
{
    struct bench *bench = user;
    ck_assert_ptr_eq(req->owner, bench);
    bench->asked = bytes;
    return bytes <= bench->room;
}

static const struct dg_http_events events = {
    .on_head = on_head, .on_body = on_body, .on_request = on_request, .on_output = on_output};

static struct bench *start(void)
{
    struct bench *bench = dg_xcalloc(1, sizeof *bench);
    bench->shared.limits = (struct dg_http_limits)DG_HTTP_LIMITS_DEFAULT;
    bench->shared.now_ms = 1000;
    bench->room = SIZE_MAX;
    bench->http = dg_http_new(&bench->shared, &events, bench);
    ck_assert_ptr_nonnull(bench->http);
    return bench;
}

static void stop(struct bench *bench)
{
    dg_http_free(bench->http);
    dg_free(bench);
}

/* Takes all output as a string. */
static const char *output(struct bench *bench)
{
    struct dg_span out = dg_http_output(bench->http);
    ck_assert_uint_lt(out.len, sizeof bench->seen);
    memcpy(bench->seen, out.ptr ? out.ptr : "", out.len);
    bench->seen[out.len] = '\0';
    dg_http_written(bench->http, out.len);
    return bench->seen;
}

static void feed(struct bench *bench, const char *text)
{
    dg_http_feed(bench->http, text, strlen(text));
}

static bool wants_close(struct bench *bench)
{
    bool at_once;
    return dg_http_wants_close(bench->http, &at_once);
}

START_TEST(answers_and_keeps_the_connection)
{
    struct bench *bench = start();
    for (int i = 0; i < 3; i++) {
        feed(bench, "POST /a%20b?x=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
        ck_assert_str_eq(output(bench), "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                                        "Content-Length: 15\r\n\r\nPOST /a b|hello");
        ck_assert(!wants_close(bench));
    }
    ck_assert_int_eq(bench->n_done, 3);
    stop(bench);
}
END_TEST

START_TEST(pipelined_requests_wait_for_the_answer_before_them)
{
    struct bench *bench = start();
    bench->hold = true;
    feed(bench, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_int_eq(bench->n_requests, 1);
    ck_assert_str_eq(output(bench), "");
    answer(held(bench));
    ck_assert_int_eq(bench->n_requests, 2);
    ck_assert_int_ge(bench->n_output, 1);
    ck_assert_ptr_nonnull(strstr(output(bench), "GET /1|"));
    answer(held(bench));
    ck_assert_ptr_nonnull(strstr(output(bench), "GET /2|"));
    stop(bench);
}
END_TEST

START_TEST(input_is_not_wanted_while_too_much_is_pipelined)
{
    struct bench *bench = start();
    bench->hold = true;
    bench->shared.limits.pipelined_bytes = 40;
    feed(bench, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert(dg_http_wants_input(bench->http));
    feed(bench, "GET /2 HTTP/1.1\r\nHost: h\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert(!dg_http_wants_input(bench->http));
    answer(held(bench));
    answer(held(bench));
    answer(held(bench));
    ck_assert(dg_http_wants_input(bench->http));
    ck_assert_int_eq(bench->n_done, 3);
    stop(bench);
}
END_TEST

START_TEST(continue_is_sent_when_the_body_is_wanted)
{
    struct bench *bench = start();
    feed(bench, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    ck_assert_str_eq(output(bench), "HTTP/1.1 100 Continue\r\n\r\n");
    feed(bench, "hi");
    ck_assert_ptr_nonnull(strstr(output(bench), "POST /|hi"));
    bench->answer_at_head = true;
    feed(bench, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    ck_assert_ptr_nonnull(strstr(output(bench), "HTTP/1.1 403 Forbidden\r\n"));
    ck_assert(wants_close(bench));
    stop(bench);
}
END_TEST

START_TEST(a_short_body_that_nobody_wants_is_dropped_and_the_connection_kept)
{
    struct bench *bench = start();
    bench->answer_at_head = true;
    feed(bench, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe");
    ck_assert_ptr_null(strstr(output(bench), "close"));
    bench->answer_at_head = false;
    feed(bench, "lloGET / HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_ptr_nonnull(strstr(output(bench), "GET /|"));
    ck_assert_int_eq(bench->n_done, 2);
    stop(bench);
}
END_TEST

START_TEST(a_streamed_answer_is_chunked_and_a_reader_that_stalls_is_given_up)
{
    struct bench *bench = start();
    bench->hold = true;
    bench->shared.limits.stream_bytes = 300;
    feed(bench, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    dg_http_reply_begin(held(bench), 200, "text/event-stream");
    ck_assert_int_eq(dg_http_reply_write(held(bench), DG_SPAN("hello")), DG_OK);
    ck_assert_str_eq(output(bench), "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                    "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    enum dg_err err = DG_OK;
    char large[400]; /* a part may be larger than the bound on unread data */
    memset(large, 'x', sizeof large);
    ck_assert_int_eq(dg_http_reply_write(held(bench), dg_span_make(large, sizeof large)), DG_OK);
    dg_http_written(bench->http, dg_http_output(bench->http).len);
    int n = 0;
    for (; n < 100 && !err; n++)
        err = dg_http_reply_write(held(bench), DG_SPAN("0123456789"));
    ck_assert_int_eq(err, DG_ERR_LIMIT);
    ck_assert_int_le(n, 31);
    bool at_once = false;
    ck_assert(dg_http_wants_close(bench->http, &at_once) && at_once);
    ck_assert_int_eq(bench->n_gone, 0);
    dg_http_free(bench->http);
    ck_assert_int_eq(bench->n_gone, 1);
    dg_free(bench);
}
END_TEST

static void on_room(void *owner)
{
    ++*(int *)owner;
}

START_TEST(a_stream_is_told_when_there_is_room_again)
{
    struct bench *bench = start();
    int n_room = 0;
    bench->hold = true;
    feed(bench, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    struct dg_http_req *req = held(bench);
    req->owner = &n_room;
    req->on_gone = req->on_done = NULL;
    req->on_room = on_room;
    req->stream_low = 8;
    dg_http_reply_begin(req, 200, "application/octet-stream");
    ck_assert_int_eq(dg_http_reply_write(req, DG_SPAN("0123456789")), DG_OK);
    size_t len = dg_http_output(bench->http).len;
    dg_http_written(bench->http, len - 9); /* more than stream_low is left */
    ck_assert_int_eq(n_room, 0);
    struct dg_buf taken;
    dg_buf_init(&taken, 1000);
    dg_http_take_output(bench->http, &taken);
    ck_assert_int_eq(n_room, 0);
    /* an answer is under way until its last byte is written */
    dg_http_written(bench->http, taken.len);
    ck_assert_int_eq(n_room, 1);
    dg_http_reply_end(req);
    dg_http_written(bench->http, dg_http_output(bench->http).len);
    ck_assert_int_eq(n_room, 1);
    dg_buf_deinit(&taken);
    stop(bench);
}
END_TEST

START_TEST(slow_heads_and_bodies_expire_and_working_ones_do_not)
{
    struct bench *bench = start();
    ck_assert_uint_eq(dg_http_deadline(bench->http), 1000 + bench->shared.limits.idle_ms);
    feed(bench, "POST / HT");
    uint64_t until = 1000 + bench->shared.limits.head_ms;
    bench->shared.now_ms = until - 1;
    feed(bench, "TP/1.1\r\nHost");
    ck_assert_uint_eq(dg_http_deadline(bench->http), until); /* a few bytes do not help */
    feed(bench, ": h\r\nContent-Length: 1000000\r\n\r\n");
    uint64_t body_until = dg_http_deadline(bench->http);
    char block[1024];
    memset(block, 'x', sizeof block);
    dg_http_feed(bench->http, block, sizeof block);
    /* one second for each KiB */
    ck_assert_uint_eq(dg_http_deadline(bench->http), body_until + 1000);
    bench->shared.now_ms = dg_http_deadline(bench->http);
    dg_http_expire(bench->http);
    ck_assert_ptr_nonnull(strstr(output(bench), "HTTP/1.1 408 "));
    ck_assert(wants_close(bench));
    stop(bench);
}
END_TEST

START_TEST(a_body_that_comes_steadily_and_slowly_has_an_end)
{
    struct bench *bench = start();
    const uint64_t until = 1000 + bench->shared.limits.body_all_ms;
    feed(bench, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n");
    char block[1024];
    memset(block, 'x', sizeof block);
    size_t n = 0;
    while (bench->shared.now_ms + 1000 < dg_http_deadline(bench->http)) {
        dg_http_feed(bench->http, block, sizeof block);
        bench->shared.now_ms += 1000;
        ck_assert_uint_lt(++n, 1000);
    }
    ck_assert_uint_eq(dg_http_deadline(bench->http), until);
    bench->shared.now_ms = until;
    dg_http_expire(bench->http);
    ck_assert_ptr_nonnull(strstr(output(bench), "HTTP/1.1 408 "));
    stop(bench);
}
END_TEST

START_TEST(a_client_that_leaves_takes_its_request_along)
{
    struct bench *bench = start();
    bench->hold = true;
    feed(bench, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    dg_http_eof(bench->http);
    bool at_once = false;
    ck_assert(dg_http_wants_close(bench->http, &at_once) && at_once);
    dg_http_free(bench->http);
    ck_assert_int_eq(bench->n_gone, 1);
    ck_assert_int_eq(bench->n_done, 0);
    dg_free(bench);
}
END_TEST

START_TEST(answers_to_http_1_0_end_with_the_connection_unless_asked)
{
    struct bench *bench = start();
    feed(bench, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    ck_assert_ptr_nonnull(strstr(output(bench), "Connection: keep-alive\r\n"));
    ck_assert(!wants_close(bench));
    feed(bench, "GET / HTTP/1.0\r\n\r\n");
    ck_assert_ptr_nonnull(strstr(output(bench), "Connection: close\r\n"));
    ck_assert(wants_close(bench));
    stop(bench);
}
END_TEST

START_TEST(answers_are_compressed_when_asked_and_worth_it)
{
    struct bench *bench = start();
    bench->hold = true;
    static char big[3000];
    memset(big, 'a', sizeof big);
    feed(bench, "GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: br, gzip;q=0.5\r\n\r\n");
    dg_http_reply(held(bench), 200, "application/json", dg_span_make(big, sizeof big));
    ck_assert_ptr_nonnull(strstr(output(bench), "Content-Encoding: gzip\r\n"));
    feed(bench, "GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip;q=0\r\n\r\n");
    dg_http_reply(held(bench), 200, "application/json", dg_span_make(big, sizeof big));
    ck_assert_ptr_null(strstr(output(bench), "Content-Encoding"));
    feed(bench, "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
    dg_http_reply(held(bench), 200, "application/json", dg_span_make(big, sizeof big));
    ck_assert_ptr_nonnull(strstr(output(bench), "Content-Length: 3000\r\n\r\n"));
    ck_assert_str_eq(bench->seen + strlen(bench->seen) - 4, "\r\n\r\n");
    /* a body that is already compressed is sent as it is, or the body itself in its place */
    feed(bench, "GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n");
    dg_http_reply_member(held(bench), 200, "text/html", DG_SPAN("plain"), DG_SPAN("packed"));
    const char *said = output(bench);
    ck_assert_ptr_nonnull(strstr(said, "Content-Encoding: gzip\r\n"));
    ck_assert_ptr_nonnull(strstr(said, "Vary: Accept-Encoding\r\n"));
    ck_assert_ptr_nonnull(strstr(said, "Content-Length: 6\r\n\r\npacked"));
    feed(bench, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    dg_http_reply_member(held(bench), 200, "text/html", DG_SPAN("plain"), DG_SPAN("packed"));
    said = output(bench);
    ck_assert_ptr_null(strstr(said, "Content-Encoding"));
    ck_assert_ptr_nonnull(strstr(said, "Vary: Accept-Encoding\r\n"));
    ck_assert_ptr_nonnull(strstr(said, "Content-Length: 5\r\n\r\nplain"));
    stop(bench);
}
END_TEST

START_TEST(header_values_cannot_split_the_answer)
{
    struct bench *bench = start();
    bench->hold = true;
    feed(bench, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    dg_http_reply_header(held(bench), "X-Id", DG_SPAN("a\r\nEvil: 1"));
    dg_http_reply(held(bench), 204, NULL, (struct dg_span){NULL, 0});
    ck_assert_ptr_null(strstr(output(bench), "\nEvil"));
    stop(bench);
}
END_TEST

START_TEST(bodies_past_the_limit_are_refused_by_length_and_by_count)
{
    struct bench *bench = start();
    bench->shared.limits.body_bytes = 10;
    feed(bench, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n");
    ck_assert_ptr_nonnull(strstr(output(bench), " 413 "));
    stop(bench);
    bench = start();
    bench->shared.limits.body_bytes = 10;
    feed(bench, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                "chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n");
    ck_assert_ptr_nonnull(strstr(output(bench), " 413 "));
    ck_assert(wants_close(bench));
    stop(bench);
}
END_TEST

START_TEST(a_body_is_asked_for_when_it_is_announced_and_when_it_grows)
{
    struct bench *bench = start();
    size_t body;
    bench->room = 100 * 1000;
    feed(bench, "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n");
    ck_assert_uint_eq(bench->asked, 100000);
    ck_assert_uint_ge(dg_http_buffers(bench->http, &body), 100000);
    ck_assert_uint_eq(body, 100000);
    stop(bench);

    bench = start();
    bench->room = 99999;
    feed(bench, "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n");
    ck_assert_ptr_nonnull(strstr(output(bench), "HTTP/1.1 503 "));
    ck_assert(wants_close(bench));
    stop(bench);

    bench = start();
    bench->room = 40000;
    char chunk[4001];
    memset(chunk, 'x', sizeof chunk - 1);
    chunk[sizeof chunk - 1] = '\0';
    feed(bench, "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (size_t sent = 0; sent < 32000; sent += 4000) {
        feed(bench, "fa0\r\n");
        feed(bench, chunk);
        feed(bench, "\r\n");
        ck_assert(!wants_close(bench));
        dg_http_buffers(bench->http, &body);
        ck_assert_uint_ge(body, sent + 4000);
    }
    feed(bench, "fa0\r\n");
    feed(bench, chunk);
    ck_assert_uint_eq(bench->asked, 65536);
    ck_assert_ptr_nonnull(strstr(output(bench), "HTTP/1.1 503 "));
    dg_http_buffers(bench->http, &body);
    ck_assert_uint_le(body, 16 * 1024); /* the memory was released */
    stop(bench);

    bench = start(); /* a body that is too large is refused as such */
    feed(bench, "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10000000\r\n\r\n");
    ck_assert_ptr_nonnull(strstr(output(bench), "HTTP/1.1 413 "));
    ck_assert_uint_eq(bench->asked, 0);
    stop(bench);
}
END_TEST

START_TEST(memory_that_is_gone_ends_in_503_or_a_closed_connection)
{
    for (uint64_t nth = 1; nth < 12; nth++) {
        struct bench *bench = start();
        dg_mem_fail_after(nth);
        feed(bench, "POST /abc HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhello");
        feed(bench, "worldGET / HTTP/1.1\r\nHost: h\r\n\r\n");
        dg_mem_fail_after(0);
        stop(bench);
    }
}
END_TEST

START_TEST(a_body_may_be_taken_piece_by_piece)
{
    struct bench *bench = start();
    size_t body;
    bench->takes_pieces = bench->hold = true;
    bench->room = 0; /* nobody wants the body */
    feed(bench, "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nab");
    feed(bench, "cd");
    ck_assert(dg_span_eq(dg_span_make(bench->pieces, bench->n_pieces), DG_SPAN("abcd")));
    (void)dg_http_buffers(bench->http, &body);
    ck_assert_uint_eq(body, 0);
    ck_assert(dg_http_wants_input(bench->http));
    dg_http_hold(held(bench));
    ck_assert(!dg_http_wants_input(bench->http));
    feed(bench, "e"); /* it was read before */
    const int n_output = bench->n_output;
    dg_http_go_on(held(bench));
    ck_assert(dg_http_wants_input(bench->http) && bench->n_output == n_output + 1);
    ck_assert_int_eq(bench->n_requests, 0);
    feed(bench, "f");
    ck_assert_int_eq(bench->n_requests, 1);
    ck_assert(dg_span_eq(dg_span_make(bench->pieces, bench->n_pieces), DG_SPAN("abcdef")));
    ck_assert_uint_eq(held(bench)->body.len, 0);
    answer(held(bench));
    ck_assert_ptr_nonnull(strstr(output(bench), "POST /a|"));
    stop(bench);
}
END_TEST

START_TEST(a_body_may_be_refused_at_a_piece)
{
    struct bench *bench = start();
    bench->takes_pieces = bench->refuses_pieces = true;
    feed(bench, "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nab");
    ck_assert_ptr_nonnull(strstr(output(bench), "413"));
    ck_assert_int_eq(bench->n_done, 1);
    feed(bench, "cdef"); /* the body is discarded, and the connection continues */
    ck_assert_uint_eq(bench->n_pieces, 2);
    bench->takes_pieces = false;
    feed(bench, "GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_ptr_nonnull(strstr(output(bench), "GET /b|"));
    stop(bench);
}
END_TEST

DG_UNIT(a_body_may_be_taken_piece_by_piece, a_body_may_be_refused_at_a_piece,
        answers_and_keeps_the_connection, pipelined_requests_wait_for_the_answer_before_them,
        input_is_not_wanted_while_too_much_is_pipelined, continue_is_sent_when_the_body_is_wanted,
        a_short_body_that_nobody_wants_is_dropped_and_the_connection_kept,
        a_streamed_answer_is_chunked_and_a_reader_that_stalls_is_given_up,
        a_stream_is_told_when_there_is_room_again,
        slow_heads_and_bodies_expire_and_working_ones_do_not,
        a_body_that_comes_steadily_and_slowly_has_an_end,
        a_client_that_leaves_takes_its_request_along,
        answers_to_http_1_0_end_with_the_connection_unless_asked,
        answers_are_compressed_when_asked_and_worth_it, header_values_cannot_split_the_answer,
        bodies_past_the_limit_are_refused_by_length_and_by_count,
        a_body_is_asked_for_when_it_is_announced_and_when_it_grows,
        memory_that_is_gone_ends_in_503_or_a_closed_connection)
