/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Each second's row is the difference of the counters since the row before, and the present
 * gauges. */
#include "api/ops/live.h"
#include "api/http/api_int.h"

#include <math.h>

void dg_live_init(struct dg_live *live)
{
    *live = (struct dg_live){.n = 0};
    dg_list_init(&live->viewers);
}

const char *dg_live_column_name(size_t column)
{
    static const char *const names[] = {
#define DG_LIVE_NAME(name, text) text,
        DG_LIVE_COLUMNS(DG_LIVE_NAME)
#undef DG_LIVE_NAME
    };
    return names[column];
}

const float *dg_live_row(const struct dg_live *live, size_t i)
{
    return live->rows[(live->next + DG_LIVE_ROWS - live->n + i) % DG_LIVE_ROWS];
}

double dg_live_percentile(const uint64_t counts[DG_HISTOGRAM], double share)
{
    uint64_t total = 0, sum = 0;
    double from = 0, to = 1;
    for (size_t b = 0; b < DG_HISTOGRAM; b++)
        total += counts[b];
    if (total == 0)
        return NAN;
    for (size_t b = 0; b < DG_HISTOGRAM; b++, from = to, to *= 2) {
        if (counts[b] && (double)(sum + counts[b]) >= share * (double)total)
            return from + (to - from) * (share * (double)total - (double)sum) / (double)counts[b];
        sum += counts[b];
    }
    return from;
}

/* The counts of a histogram in the last seconds; `slot` becomes this second's. */
static void add_window(uint64_t window[DG_LIVE_WINDOW][DG_HISTOGRAM], size_t slot,
                       const uint64_t now[DG_HISTOGRAM], const uint64_t before[DG_HISTOGRAM],
                       uint64_t sums[DG_HISTOGRAM])
{
    for (size_t b = 0; b < DG_HISTOGRAM; b++) {
        window[slot][b] = now[b] - before[b];
        sums[b] = 0;
        for (size_t i = 0; i < DG_LIVE_WINDOW; i++)
            sums[b] += window[i][b];
    }
}

static float ratio(uint64_t part, uint64_t whole)
{
    return whole ? (float)((double)part / (double)whole) : NAN;
}

static float rate(uint64_t now, uint64_t before, double seconds)
{
    return seconds > 0 ? (float)((double)(now - before) / seconds) : 0;
}

static size_t slots_of(const struct dg_engine *engine, size_t n_workers)
{
    size_t slots = 0;
    for (size_t i = 0; i < dg_engine_n_models(engine); i++) {
        struct dg_engine_model_info info = dg_engine_model_info(engine, i);
        slots += info.state == DG_ENGINE_MODEL_READY ? info.slots * n_workers : 0;
    }
    return slots;
}

static void take_engine(struct dg_live *live, float *row, struct dg_engine *engine,
                        const struct dg_counters *counters, double seconds)
{
    const struct dg_sched_stats now = counters->sched, *before = &live->counters.sched;
    const struct dg_engine_cache_stats cache = counters->cache;
    uint64_t sums[DG_HISTOGRAM];
    row[DG_LIVE_WAITING] = (float)now.n_waiting;
    row[DG_LIVE_RUNNING] = (float)now.n_running;
    row[DG_LIVE_SLOTS] = (float)slots_of(engine, now.n_workers);
    add_window(live->wait_ms, live->next % DG_LIVE_WINDOW, now.wait_ms, before->wait_ms, sums);
    row[DG_LIVE_WAIT_P50] = (float)dg_live_percentile(sums, 0.5);
    row[DG_LIVE_WAIT_P95] = (float)dg_live_percentile(sums, 0.95);
    add_window(live->first_ms, live->next % DG_LIVE_WINDOW, now.first_ms, before->first_ms, sums);
    row[DG_LIVE_FIRST_P50] = (float)dg_live_percentile(sums, 0.5);
    row[DG_LIVE_FIRST_P95] = (float)dg_live_percentile(sums, 0.95);
    row[DG_LIVE_TOKENS_IN] = rate(now.n_tokens_in, before->n_tokens_in, seconds);
    row[DG_LIVE_TOKENS_OUT] = rate(now.n_tokens_out, before->n_tokens_out, seconds);
    row[DG_LIVE_SENTENCES] = rate(now.n_done, before->n_done, seconds);
    row[DG_LIVE_BATCH_ROWS] = ratio(now.n_rows - before->n_rows, now.n_steps - before->n_steps);
    row[DG_LIVE_ENCODE_SENTENCES] =
        ratio(now.n_encoded - before->n_encoded, now.n_encodes - before->n_encodes);
    uint64_t hits =
        cache.n_hits + cache.n_joined - live->counters.cache.n_hits - live->counters.cache.n_joined;
    row[DG_LIVE_CACHE_HITS] = ratio(hits, hits + cache.n_misses - live->counters.cache.n_misses);
}

static void take_server(const struct dg_live *live, float *row, const struct dg_server_stats *now,
                        uint64_t elapsed_ns)
{
    row[DG_LIVE_CONNECTIONS] = (float)now->connections;
    row[DG_LIVE_WEBSOCKETS] = (float)now->websockets;
    row[DG_LIVE_BUSY] = ratio(now->busy_ns - live->counters.server.busy_ns, elapsed_ns);
}

static void take_requests(struct dg_live *live, float *row, const struct dg_metrics *metrics,
                          double seconds)
{
    uint64_t now[3] = {0};
    for (size_t r = 0; r <= DG_METRICS_ROUTES; r++)
        for (size_t c = 0; c < DG_METRICS_CLASSES; c++) {
            now[0] += metrics->requests[r][c];
            now[1] += c == 4 ? metrics->requests[r][c] : 0;
            now[2] += c == 5 ? metrics->requests[r][c] : 0;
        }
    for (size_t i = 0; i < 3; i++) {
        row[DG_LIVE_REQUESTS + i] = rate(now[i], live->requests[i], seconds);
        live->requests[i] = now[i];
    }
}

void dg_live_take(struct dg_live *live, struct dg_api *api, uint64_t now_ns, uint64_t wall_ns)
{
    float *row = live->rows[live->next];
    uint64_t elapsed_ns = now_ns - (live->taken_ns ? live->taken_ns : api->started_ns);
    double seconds = (double)elapsed_ns / 1e9;
    struct dg_counters counters;
    dg_counters_read(&counters, api);
    for (size_t c = 0; c < DG_LIVE_N_COLUMNS; c++)
        row[c] = 0;
    if (api->engine)
        take_engine(live, row, api->engine, &counters, seconds);
    if (api->server)
        take_server(live, row, &counters.server, elapsed_ns);
    take_requests(live, row, &api->metrics, seconds);
    row[DG_LIVE_LAG] =
        live->n && elapsed_ns > DG_CLOCK_S ? (float)((double)(elapsed_ns - DG_CLOCK_S) / 1e6) : 0;
    live->counters = counters;
    live->taken_ns = now_ns;
    live->wall_ns = wall_ns;
    live->next = (live->next + 1) % DG_LIVE_ROWS;
    live->n += live->n < DG_LIVE_ROWS;
}
