/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "api/http/api_int.h"
#include "api/ops/live.h"
#include "net/proto/http.h"
#include "unit.h"

#include <math.h>
#include <string.h>

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

START_TEST(percentiles_lie_where_the_counts_do)
{
    uint64_t counts[DG_HISTOGRAM] = {0};
    ck_assert(isnan(dg_live_percentile(counts, 0.5)));
    counts[0] = 10;
    ck_assert(near(dg_live_percentile(counts, 0.5), 0.5));
    counts[3] = 10; /* 4 to 8 */
    ck_assert(near(dg_live_percentile(counts, 0.75), 6));
    ck_assert(near(dg_live_percentile(counts, 1), 8));
    memset(counts, 0, sizeof counts);
    counts[DG_HISTOGRAM - 1] = 1;
    ck_assert_double_ge(dg_live_percentile(counts, 0.5), 1024);
}
END_TEST

/* An API without a server or an engine, and a connection to it in memory. */
struct bench {
    struct dg_api *api;
    struct dg_http_shared shared;
    struct dg_http *http;
};

static void on_head(void *user, struct dg_http_req *req)
{
    struct bench *bench = user;
    req->is_private = true;
    dg_api_handler()->on_head(bench->api, req);
}

static void on_request(void *user, struct dg_http_req *req)
{
    struct bench *bench = user;
    dg_api_handler()->on_request(bench->api, req);
}

static void open_bench(struct bench *bench)
{
    static const struct dg_http_events events = {.on_head = on_head, .on_request = on_request};
    struct dg_api_opts opts = DG_API_OPTS_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    *bench = (struct bench){.shared = {.limits = DG_HTTP_LIMITS_DEFAULT}};
    ck_assert_int_eq(dg_api_new(&opts, NULL, &error, &bench->api), DG_OK);
    bench->http = dg_http_new(&bench->shared, &events, bench);
    ck_assert_ptr_nonnull(bench->http);
}

static void close_bench(struct bench *bench)
{
    dg_http_free(bench->http);
    dg_api_free(bench->api);
}

static void look(struct bench *bench)
{
    static const char request[] = "GET /v1/admin/live HTTP/1.1\r\nHost: here\r\n\r\n";
    dg_http_feed(bench->http, request, sizeof request - 1);
}

static bool says(struct bench *bench, const char *text)
{
    struct dg_span out = dg_http_output(bench->http);
    for (size_t i = 0; i + strlen(text) <= out.len; i++)
        if (memcmp(out.ptr + i, text, strlen(text)) == 0)
            return true;
    return false;
}

static void read_all(struct bench *bench)
{
    dg_http_written(bench->http, dg_http_output(bench->http).len);
}

START_TEST(rows_go_round)
{
    struct bench bench;
    open_bench(&bench);
    for (int i = 0; i < DG_LIVE_ROWS + 7; i++)
        dg_live_take(&bench.api->live, bench.api,
                     (uint64_t)(i + 1) * DG_CLOCK_S + (i == 305 ? DG_CLOCK_S / 2 : 0), 0);
    ck_assert_uint_eq(bench.api->live.n, DG_LIVE_ROWS);
    for (size_t i = 0; i < DG_LIVE_ROWS; i++)
        ck_assert(near(dg_live_row(&bench.api->live, i)[DG_LIVE_LAG], i == 298 ? 500 : 0));
    close_bench(&bench);
}
END_TEST

START_TEST(a_viewer_sees_what_was_and_then_each_second)
{
    struct bench bench;
    open_bench(&bench);
    dg_api_second(bench.api);
    look(&bench);
    ck_assert_uint_eq(bench.api->live.n_viewers, 1);
    ck_assert(says(&bench, "event: history\ndata: {"));
    ck_assert(!says(&bench, "event: now"));
    for (int i = 0; i < 50; i++) { /* as long as the client reads */
        read_all(&bench);
        dg_api_second(bench.api);
        ck_assert(says(&bench, "event: now\ndata: {"));
    }
    read_all(&bench);
    dg_api_drain(bench.api);
    ck_assert(says(&bench, "event: over"));
    ck_assert_uint_eq(bench.api->live.n_viewers, 0);
    dg_api_second(bench.api);
    close_bench(&bench);
}
END_TEST

START_TEST(who_does_not_read_is_left_behind)
{
    struct bench bench;
    bool at_once = false;
    open_bench(&bench);
    look(&bench);
    for (int i = 0; i < 20; i++)
        dg_api_second(bench.api);
    ck_assert_uint_eq(bench.api->live.n_viewers, 0);
    ck_assert_uint_eq(bench.api->live.n_dropped, 1);
    ck_assert(dg_http_wants_close(bench.http, &at_once));
    close_bench(&bench);
}
END_TEST

START_TEST(there_is_room_for_a_few)
{
    struct bench benches[DG_LIVE_VIEWERS_MAX + 1];
    open_bench(&benches[0]);
    for (size_t i = 1; i <= DG_LIVE_VIEWERS_MAX; i++) {
        open_bench(&benches[i]);
        dg_api_free(benches[i].api);
        benches[i].api = benches[0].api;
    }
    for (size_t i = 0; i <= DG_LIVE_VIEWERS_MAX; i++)
        look(&benches[i]);
    ck_assert_uint_eq(benches[0].api->live.n_viewers, DG_LIVE_VIEWERS_MAX);
    ck_assert(says(&benches[DG_LIVE_VIEWERS_MAX], "HTTP/1.1 503"));
    ck_assert(says(&benches[DG_LIVE_VIEWERS_MAX], "Retry-After: "));
    for (size_t i = DG_LIVE_VIEWERS_MAX; i > 0; i--)
        dg_http_free(benches[i].http); /* it left */
    ck_assert_uint_eq(benches[0].api->live.n_viewers, 1);
    close_bench(&benches[0]);
}
END_TEST

DG_UNIT(percentiles_lie_where_the_counts_do, rows_go_round,
        a_viewer_sees_what_was_and_then_each_second, who_does_not_read_is_left_behind,
        there_is_room_for_a_few)
