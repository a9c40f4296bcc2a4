/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* GET /metrics: requests by route and class of status, their times as histograms, connections, and
 * what the scheduler counts. */
#include "api/ops/metrics.h"
#include "api/http/api_int.h"
#include "api/ops/metrics_models.h"
#include "engine/cache/remote.h"
#include "engine/engine.h"

#include <inttypes.h>

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

struct fact {
    const char *name, *kind, *help;
    double value;
};

static enum dg_err put_facts(struct dg_buf *buf, const struct fact *facts, size_t n)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n && !err; i++)
        err = put_one(buf, facts[i].name, facts[i].kind, facts[i].help, facts[i].value);
    return err;
}

static enum dg_err put_server(struct dg_buf *buf, const struct dg_server *server)
{
    struct dg_server_stats stats;
    dg_server_stats(server, &stats);
    const struct fact facts[] = {
        {"connections", "gauge", "Connections open now.", stats.connections},
        {"websockets", "gauge", "WebSockets open now.", stats.websockets},
        {"connections_accepted_total", "counter", "Connections accepted.", (double)stats.accepted},
        {"connections_refused_total", "counter", "Connections turned away by a limit.",
         (double)stats.refused},
        {"connections_expired_total", "counter", "Connections cut off by a timeout.",
         (double)stats.expired},
        {"connections_stalled_total", "counter", "Connections cut off because they did not read.",
         (double)stats.stalled},
        {"received_bytes_total", "counter", "Bytes received.", (double)stats.bytes_in},
        {"sent_bytes_total", "counter", "Bytes sent.", (double)stats.bytes_out},
        {"loop_turns_total", "counter", "Turns of the event loop.", (double)stats.turns},
        {"loop_slow_turns_total", "counter", "Turns of the event loop that took more than 5 ms.",
         (double)stats.turns_slow},
        {"loop_busy_seconds_total", "counter", "Time that the event loop did not sleep.",
         (double)stats.busy_ns / 1e9},
        {"loop_turn_max_seconds", "gauge", "The longest turn of the event loop.",
         (double)stats.turn_max_ns / 1e9},
    };
    return put_facts(buf, facts, sizeof facts / sizeof *facts);
}

/* What turns of the loop do: while one lasts, everybody waits. */
static enum dg_err put_turns(struct dg_buf *buf, const struct dg_server *server)
{
    struct dg_server_stats stats;
    uint64_t sum = 0;
    dg_server_stats(server, &stats);
    enum dg_err err = dg_buf_append_cstr(
        buf,
        "# HELP dragoman_loop_turn_cpu_seconds Processor time of the turns of the event loop.\n"
        "# TYPE dragoman_loop_turn_cpu_seconds histogram\n");
    for (size_t b = 0; b + 1 < DG_SERVER_TURN_BUCKETS && !err; b++) {
        sum += stats.turns_cpu[b];
        err = dg_buf_printf(buf, "dragoman_loop_turn_cpu_seconds_bucket{le=\"%g\"} %" PRIu64 "\n",
                            DG_SERVER_TURN_LEAST_US * 1e-6 * (double)(1u << b), sum);
    }
    sum += stats.turns_cpu[DG_SERVER_TURN_BUCKETS - 1];
    if (!err)
        err = dg_buf_printf(buf,
                            "dragoman_loop_turn_cpu_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n"
                            "dragoman_loop_turn_cpu_seconds_sum %.6f\n"
                            "dragoman_loop_turn_cpu_seconds_count %" PRIu64 "\n",
                            sum, (double)stats.turns_cpu_ns / 1e9, sum);
    return err;
}

static enum dg_err put_engine(struct dg_buf *buf, struct dg_engine *engine)
{
    struct dg_sched_stats stats;
    dg_engine_read_stats(engine, &stats);
    struct dg_engine_memory memory;
    dg_engine_read_memory(engine, &memory);
    struct dg_engine_cache_stats cache;
    dg_engine_read_cache_stats(engine, &cache);
    struct dg_engine_remote_stats shared;
    dg_engine_read_remote_stats(engine, &shared);
    const struct fact facts[] = {
        {"models", "gauge", "Models offered.", (double)dg_engine_n_models(engine)},
        {"models_bytes", "gauge", "Memory promised to models, those that are leaving included.",
         (double)memory.models},
        {"models_bytes_max", "gauge", "Memory for models; 0: no limit.", (double)memory.models_max},
        {"requests_waiting_for_model", "gauge", "Requests whose model is being loaded.",
         (double)memory.n_waiting},
        {"text_bytes", "gauge", "Texts of requests under way.", (double)memory.texts},
        {"workers", "gauge", "Workers.", (double)stats.n_workers},
        {"workers_stalled", "gauge", "Workers that hang at one step.", (double)stats.n_stalled},
        {"worker_stalled_seconds", "gauge",
         "Longest time that a worker has been at its present step.",
         (double)stats.stalled_ns / 1e9},
        {"sentences_waiting", "gauge", "Sentences in the queue.", (double)stats.n_waiting},
        {"sentences_running", "gauge", "Sentences being translated.", (double)stats.n_running},
        {"sentences_accepted_total", "counter", "Sentences taken into the queue.",
         (double)stats.n_accepted},
        {"sentences_refused_total", "counter", "Sentences refused by a full queue.",
         (double)stats.n_refused},
        {"sentences_done_total", "counter", "Sentences translated.", (double)stats.n_done},
        {"sentences_cancelled_total", "counter", "Sentences cancelled.", (double)stats.n_cancelled},
        {"sentences_timed_out_total", "counter", "Sentences whose time ran out.",
         (double)stats.n_timed_out},
        {"sentences_failed_total", "counter", "Sentences that failed.", (double)stats.n_failed},
        {"cache_hits_total", "counter", "Sentences answered from the cache.", (double)cache.n_hits},
        {"cache_joined_total", "counter", "Sentences that waited for the same one.",
         (double)cache.n_joined},
        {"cache_misses_total", "counter", "Sentences that the cache did not have.",
         (double)cache.n_misses},
        {"cache_evicted_total", "counter", "Answers that made room for others.",
         (double)cache.n_evicted},
        {"cache_entries", "gauge", "Answers in the cache.", (double)cache.n_entries},
        {"cache_bytes", "gauge", "Memory of the cache.", (double)cache.bytes},
        {"shared_cache_hits_total", "counter",
         "Sentences answered from the cache that servers share.", (double)shared.n_hits},
        {"shared_cache_misses_total", "counter", "Sentences that it did not have.",
         (double)shared.n_misses},
        {"shared_cache_late_total", "counter", "Sentences for which it was not waited any longer.",
         (double)shared.n_late},
        {"shared_cache_bad_total", "counter", "Answers of it that did not check.",
         (double)shared.n_bad},
        {"shared_cache_puts_total", "counter", "Answers given to it.", (double)shared.n_puts},
        {"shared_cache_resting", "gauge", "1 while it is left alone, because it failed to answer.",
         shared.is_resting},
        {"input_tokens_total", "counter", "Tokens read.", (double)stats.n_tokens_in},
        {"output_tokens_total", "counter", "Tokens written.", (double)stats.n_tokens_out},
        {"decoder_steps_total", "counter", "Decoder steps.", (double)stats.n_steps},
        {"decoder_rows_total", "counter", "Rows of all decoder steps.", (double)stats.n_rows},
        {"queue_seconds_total", "counter", "Time that sentences waited.",
         (double)stats.wait_ns / 1e9},
        {"first_token_seconds_total", "counter", "Time to the first token, summed over sentences.",
         (double)stats.first_ns / 1e9},
        {"translation_seconds_total", "counter", "Time from queue to end, summed over sentences.",
         (double)stats.total_ns / 1e9},
    };
    return put_facts(buf, facts, sizeof facts / sizeof *facts);
}

static enum dg_err put_bulk(struct dg_buf *buf, const struct dg_bulk *bulk)
{
    struct dg_bulk_stats stats;
    dg_bulk_read_stats(bulk, &stats);
    const struct fact facts[] = {
        {"jobs_waiting", "gauge", "Bulk jobs that wait for their turn.", (double)stats.n_waiting},
        {"jobs_running", "gauge", "Bulk jobs under way.", (double)stats.n_running},
        {"jobs_over", "gauge", "Bulk jobs that are over and kept.", (double)stats.n_over},
        {"jobs_bytes", "gauge", "Files of all bulk jobs.", (double)stats.bytes},
        {"jobs_lines_total", "counter", "Lines of bulk jobs done.", (double)stats.n_lines},
        {"jobs_lines_failed_total", "counter", "Of these, lines that failed.",
         (double)stats.n_failed},
    };
    return put_facts(buf, facts, sizeof facts / sizeof *facts);
}

void dg_api_metrics(struct dg_call *call)
{
    struct dg_api *api = call->api;
    struct dg_buf buf;
    dg_buf_init(&buf, 8 << 20);
    enum dg_err err = put_requests(&buf, &api->metrics);
    if (!err)
        err = put_times(&buf, &api->metrics);
    if (!err)
        err = put_one(&buf, "uptime_seconds", "gauge", "Since the server started.",
                      (double)(dg_clock_now(&api->clock) - api->started_ns) / 1e9);
    if (!err)
        err = dg_gate_put_metrics(api, &buf);
    if (!err && api->server)
        err = put_server(&buf, api->server);
    if (!err && api->server)
        err = put_turns(&buf, api->server);
    if (!err && api->engine)
        err = put_engine(&buf, api->engine);
    if (!err && api->bulk)
        err = put_bulk(&buf, api->bulk);
    if (!err && api->engine)
        err = dg_metrics_put_models(&buf, api->engine);
    if (!err)
        dg_call_reply(call, 200, "text/plain; version=0.0.4; charset=utf-8", dg_buf_span(&buf));
    else
        dg_call_fail(call, (struct dg_failure){.status = 503,
                                               .code = "overloaded",
                                               .message = "There is no memory for the answer."});
    dg_buf_deinit(&buf);
}
