/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The last five minutes in numbers, a row for each second, for the operator's view
 * (clients/web/ops.js).
 *
 *     dg_live_init(&api->live);
 *     dg_live_take(&api->live, api, now_ns, wall_ns);          once a second
 *     const float *row = dg_live_row(&api->live, i);           i from 0, the oldest, to live.n - 1
 * A row is taken whether or not somebody looks, so that an operator who comes later still sees it;
 * it costs a few microseconds and allocates nothing. A value that does not exist in a second
 * (without sentences there is no time to a first token) is NaN. One thread: the loop's. */
#ifndef DG_API_OPS_LIVE_H
#define DG_API_OPS_LIVE_H

#include "api/ops/counters.h"
#include "base/memory/list.h"

#include <stddef.h>
#include <stdint.h>

struct dg_api;

/* The names are those of the event stream. Rates are per second; times in ms are over the last ten
 * seconds. */
#define DG_LIVE_COLUMNS(X)                                                                         \
    X(WAITING, "waiting")                                                                          \
    X(RUNNING, "running")                                                                          \
    X(SLOTS, "slots")                                                                              \
    X(WAIT_P50, "wait_p50_ms")                                                                     \
    X(WAIT_P95, "wait_p95_ms")                                                                     \
    X(FIRST_P50, "first_token_p50_ms")                                                             \
    X(FIRST_P95, "first_token_p95_ms")                                                             \
    X(TOKENS_IN, "tokens_in")                                                                      \
    X(TOKENS_OUT, "tokens_out")                                                                    \
    X(SENTENCES, "sentences")                                                                      \
    X(BATCH_ROWS, "batch_rows")             /* mean rows of a decoder step */                      \
    X(ENCODE_SENTENCES, "encode_sentences") /* mean sentences of an encoder batch */               \
    X(CACHE_HITS, "cache_hit_ratio")                                                               \
    X(REQUESTS, "requests")                                                                        \
    X(CLIENT_ERRORS, "client_errors") /* answered 4xx */                                           \
    X(SERVER_ERRORS, "server_errors") /* answered 5xx */                                           \
    X(CONNECTIONS, "connections")                                                                  \
    X(WEBSOCKETS, "websockets")                                                                    \
    X(LAG, "loop_lag_ms") /* how late the once-a-second timer ran */                               \
    X(BUSY, "loop_busy_ratio")

enum dg_live_column {
#define DG_LIVE_ENUM(name, text) DG_LIVE_##name,
    DG_LIVE_COLUMNS(DG_LIVE_ENUM)
#undef DG_LIVE_ENUM
        DG_LIVE_N_COLUMNS
};

enum { DG_LIVE_ROWS = 300, DG_LIVE_WINDOW = 10, DG_LIVE_VIEWERS_MAX = 16 };

struct dg_live {
    float rows[DG_LIVE_ROWS][DG_LIVE_N_COLUMNS]; /* a ring buffer */
    size_t n, next;                              /* number of rows; where the next one goes */
    uint64_t taken_ns, wall_ns; /* when the last row was taken; 0: there is none yet */

    /* The counters when the last row was taken, and the histograms of the last seconds. */
    struct dg_counters counters;
    uint64_t requests[3]; /* all requests, those with 4xx, those with 5xx */
    uint64_t wait_ms[DG_LIVE_WINDOW][DG_HISTOGRAM], first_ms[DG_LIVE_WINDOW][DG_HISTOGRAM];

    /* The viewers (v1_live.c). */
    struct dg_list viewers;
    size_t n_viewers;
    uint64_t log_number; /* the number of the last event of the log that was shown */
    uint64_t n_dropped;  /* viewers that were dropped because they did not read */
};

void dg_live_init(struct dg_live *live);
void dg_live_take(struct dg_live *live, struct dg_api *api, uint64_t now_ns, uint64_t wall_ns);
const float *dg_live_row(const struct dg_live *live, size_t i);
const char *dg_live_column_name(size_t column);

/* Returns the value below which `share` of a histogram's counts lie: bucket 0 ends at 1, each
 * further one at twice the end before it. NaN when the histogram is empty. */
double dg_live_percentile(const uint64_t counts[DG_HISTOGRAM], double share);

#endif
