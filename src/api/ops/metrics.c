/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* GET /metrics: requests by route and class of status, their times as histograms, connections, and
 * what the scheduler counts. */
#include "api/ops/metrics.h"
#include "api/http/api_int.h"
#include "api/ops/counters.h"
#include "api/ops/metrics_models.h"

#include <inttypes.h>
#include <string.h>

/* Upper ends of the buckets, in microseconds, as Prometheus' clients write them in seconds. */
static const struct {
    uint64_t us;
    const char *le;
} buckets[DG_METRICS_BUCKETS] = {
    {500, "0.0005"},  {1000, "0.001"}, {5000, "0.005"},  {10000, "0.01"},
    {25000, "0.025"}, {50000, "0.05"}, {100000, "0.1"},  {250000, "0.25"},
    {500000, "0.5"},  {1000000, "1"},  {2500000, "2.5"}, {10000000, "10"},
};

void dg_metrics_count(struct dg_metrics *metrics, size_t route, int status, uint64_t ns)
{
    size_t class = status >= 100 && status < 600 ? (size_t)status / 100 : 0;
    size_t bucket = 0;
    while (bucket < DG_METRICS_BUCKETS && ns > buckets[bucket].us * 1000)
        bucket++;
    metrics->requests[route][class]++;
    metrics->buckets[route][bucket]++;
    metrics->total_ns[route] += ns;
}

static const char *name_of(size_t route)
{
    size_t n;
    const struct dg_route *routes = dg_routes(&n);
    return route < n ? routes[route].name : "none";
}

static enum dg_err put_requests(struct dg_buf *buf, const struct dg_metrics *metrics)
{
    enum dg_err err = dg_buf_append_cstr(buf, "# HELP dragoman_requests_total Requests answered.\n"
                                              "# TYPE dragoman_requests_total counter\n");
    for (size_t r = 0; r <= DG_METRICS_ROUTES; r++)
        for (size_t c = 1; c < DG_METRICS_CLASSES && !err; c++)
            if (metrics->requests[r][c])
                err = dg_buf_printf(
                    buf, "dragoman_requests_total{route=\"%s\",status=\"%zuxx\"} %" PRIu64 "\n",
                    name_of(r), c, metrics->requests[r][c]);
    return err;
}

static enum dg_err put_histogram(struct dg_buf *buf, const struct dg_metrics *metrics, size_t r)
{
    uint64_t sum = 0;
    enum dg_err err = DG_OK;
    for (size_t b = 0; b < DG_METRICS_BUCKETS && !err; b++) {
        sum += metrics->buckets[r][b];
        err = dg_buf_printf(buf,
                            "dragoman_request_seconds_bucket{route=\"%s\",le=\"%s\"} %" PRIu64 "\n",
                            name_of(r), buckets[b].le, sum);
    }
    sum += metrics->buckets[r][DG_METRICS_BUCKETS];
    if (!err)
        err = dg_buf_printf(
            buf,
            "dragoman_request_seconds_bucket{route=\"%s\",le=\"+Inf\"} %" PRIu64 "\n"
            "dragoman_request_seconds_sum{route=\"%s\"} %.6f\n"
            "dragoman_request_seconds_count{route=\"%s\"} %" PRIu64 "\n",
            name_of(r), sum, name_of(r), (double)metrics->total_ns[r] / 1e9, name_of(r), sum);
    return err;
}

static enum dg_err put_times(struct dg_buf *buf, const struct dg_metrics *metrics)
{
    enum dg_err err = dg_buf_append_cstr(
        buf,
        "# HELP dragoman_request_seconds From the end of the headers to the end of the answer.\n"
        "# TYPE dragoman_request_seconds histogram\n");
    for (size_t r = 0; r <= DG_METRICS_ROUTES && !err; r++) {
        uint64_t any = 0;
        for (size_t b = 0; b <= DG_METRICS_BUCKETS; b++)
            any += metrics->buckets[r][b];
        if (any)
            err = put_histogram(buf, metrics, r);
    }
    return err;
}

static enum dg_err put_one(struct dg_buf *buf, const char *name, const char *kind, const char *help,
                           double value)
{
    return dg_buf_printf(buf, "# HELP dragoman_%s %s\n# TYPE dragoman_%s %s\ndragoman_%s %.17g\n",
                         name, help, name, kind, name, value);
}

/* Puts the counters of some groups, which are neighbours in the table. */
static enum dg_err put_counters(struct dg_buf *buf, const struct dg_counters *counters,
                                enum dg_counter_group first, enum dg_counter_group last)
{
    enum dg_err err = DG_OK;
    for (size_t c = 0; c < DG_N_COUNTERS && !err; c++) {
        const struct dg_counter_info *info = dg_counter_info(c);
        const double divisor = strstr(info->name, "seconds") ? 1e9 : 1;
        if (info->group >= first && info->group <= last && info->whom & DG_COUNTER_FOR_ALL)
            err = put_one(buf, info->name, dg_counter_kind(c), info->help,
                          (double)dg_counter_value(counters, c) / divisor);
    }
    return err;
}

/* Puts the times of the loop's turns: while one lasts, everybody waits. */
static enum dg_err put_turns(struct dg_buf *buf, const struct dg_server_stats *stats)
{
    uint64_t sum = 0;
    enum dg_err err = dg_buf_append_cstr(
        buf,
        "# HELP dragoman_loop_turn_cpu_seconds Processor time of the turns of the event loop.\n"
        "# TYPE dragoman_loop_turn_cpu_seconds histogram\n");
    for (size_t b = 0; b + 1 < DG_SERVER_TURN_BUCKETS && !err; b++) {
        sum += stats->turns_cpu[b];
        err = dg_buf_printf(buf, "dragoman_loop_turn_cpu_seconds_bucket{le=\"%g\"} %" PRIu64 "\n",
                            DG_SERVER_TURN_LEAST_US * 1e-6 * (double)(1u << b), sum);
    }
    sum += stats->turns_cpu[DG_SERVER_TURN_BUCKETS - 1];
    if (!err)
        err = dg_buf_printf(buf,
                            "dragoman_loop_turn_cpu_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n"
                            "dragoman_loop_turn_cpu_seconds_sum %.6f\n"
                            "dragoman_loop_turn_cpu_seconds_count %" PRIu64 "\n",
                            sum, (double)stats->turns_cpu_ns / 1e9, sum);
    return err;
}

void dg_api_metrics(struct dg_call *call)
{
    struct dg_api *api = call->api;
    struct dg_counters counters;
    struct dg_buf buf;
    dg_buf_init(&buf, 8 << 20);
    dg_counters_read(&counters, api);
    enum dg_err err = put_requests(&buf, &api->metrics);
    if (!err)
        err = put_times(&buf, &api->metrics);
    if (!err)
        err = put_one(&buf, "uptime_seconds", "gauge", "Since the server started.",
                      (double)(dg_clock_now(&api->clock) - api->started_ns) / 1e9);
    if (!err)
        err = dg_gate_put_metrics(api, &buf);
    if (!err && api->server)
        err = put_counters(&buf, &counters, DG_COUNTERS_OF_SERVER, DG_COUNTERS_OF_SERVER);
    if (!err && api->server)
        err = put_turns(&buf, &counters.server);
    if (!err && api->engine)
        err = put_counters(&buf, &counters, DG_COUNTERS_OF_ENGINE, DG_COUNTERS_OF_WORK);
    if (!err && api->has_jobs)
        err = put_counters(&buf, &counters, DG_COUNTERS_OF_JOBS, DG_COUNTERS_OF_JOBS);
    if (!err && api->engine)
        err = dg_metrics_put_models(&buf, api->engine);
    if (!err)
        dg_call_reply(call, 200, "text/plain; version=0.0.4; charset=utf-8", dg_buf_span(&buf));
    else
        dg_call_fail(call,
                     (struct dg_failure){.status = 503,
                                         .code = "overloaded",
                                         .message = "There is not enough memory for the answer."});
    dg_buf_deinit(&buf);
}
