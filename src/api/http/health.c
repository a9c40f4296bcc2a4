/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* GET /healthz: says only that the loop turns; a supervisor restarts a server that does not answer.
 * GET /readyz: says whether a load balancer may send work here: not while draining, while a worker
 * hangs or while the queue is full, and not without a model that is loaded (and so has passed its
 * trial translation) or can be loaded on demand. The answer to HAProxy's agent-check follows from
 * the same state. */
#include "api/http/api_int.h"
#include "engine/engine.h"

#include <stdio.h>

/* Counts the workers that hang. Some requests are stuck with them, so others should go
 * elsewhere. */
static size_t n_stalled(const struct dg_api *api)
{
    struct dg_sched_stats stats = {.n_stalled = 0};
    if (api->engine)
        dg_engine_read_stats(api->engine, &stats);
    return stats.n_stalled;
}

void dg_api_healthz(struct dg_call *call)
{
    dg_call_json(call, 200, DG_SPAN("{\"status\":\"ok\"}\n"));
}

static bool is_full(struct dg_engine *engine)
{
    struct dg_sched_stats stats;
    dg_engine_read_stats(engine, &stats);
    return stats.n_waiting + stats.n_running >= stats.n_max;
}

/* Returns whether a load balancer should send requests elsewhere; `failure` says why. */
static bool is_unready(struct dg_api *api, struct dg_failure *failure)
{
    if (api->server && dg_server_is_draining(api->server))
        *failure = (struct dg_failure){.status = 503,
                                       .code = "draining",
                                       .retry_after_s = 1,
                                       .message = "This server is shutting down."};
    else if (n_stalled(api) > 0)
        *failure = (struct dg_failure){.status = 503,
                                       .code = "worker_stalled",
                                       .retry_after_s = 5,
                                       .message = "A worker of this server hangs."};
    else if (!api->engine || dg_engine_n_usable(api->engine) == 0)
        *failure = (struct dg_failure){.status = 503,
                                       .code = "no_model",
                                       .retry_after_s = 1,
                                       .message = "No model is loaded."};
    else if (is_full(api->engine))
        *failure = (struct dg_failure){.status = 503,
                                       .code = "overloaded",
                                       .retry_after_s = 1,
                                       .message = "The queue is full."};
    else
        return false;
    return true;
}

void dg_api_readyz(struct dg_call *call)
{
    struct dg_failure failure;
    if (is_unready(call->api, &failure))
        dg_call_fail(call, failure);
    else
        dg_call_json(call, 200, DG_SPAN("{\"status\":\"ready\"}\n"));
}

/* Each worker adds WORKER_PERCENT when nothing waits. Waiting sentences lower the sum: by half when
 * there are BATCH of them for each worker; but a server that is ready reports at least 1 %. */
void dg_api_capacity(struct dg_api *api, char *line, size_t cap)
{
    enum { WORKER_PERCENT = 25, BATCH = 16 };
    struct dg_failure failure;
    struct dg_sched_stats stats;
    if (is_unready(api, &failure)) {
        snprintf(line, cap, "up drain\n");
        return;
    }
    dg_engine_read_stats(api->engine, &stats);
    const size_t full = stats.n_workers * WORKER_PERCENT, room = stats.n_workers * BATCH;
    const size_t percent = full * room / (room + stats.n_waiting);
    snprintf(line, cap, "up ready %zu%%\n", percent > 0 ? percent : 1);
}
