/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* GET /healthz: says only that the loop turns; a supervisor restarts a server that does not answer.
 * GET /readyz: says whether a load balancer may send work here: not while draining, while a worker
 * hangs or while the queue is full, and not without a model that is loaded (and so has passed its
 * trial translation) or can be loaded on demand. */
#include "api/http/api_int.h"
#include "engine/engine.h"

/* Workers that hang; some requests are stuck with them, so that others had better go elsewhere. */
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

void dg_api_readyz(struct dg_call *call)
{
    struct dg_api *api = call->api;
    if (api->server && dg_server_is_draining(api->server))
        dg_call_fail(call, (struct dg_failure){.status = 503,
                                               .code = "draining",
                                               .retry_after_s = 1,
                                               .message = "This server is shutting down."});
    else if (n_stalled(api) > 0)
        dg_call_fail(call, (struct dg_failure){.status = 503,
                                               .code = "worker_stalled",
                                               .retry_after_s = 5,
                                               .message = "A worker of this server hangs."});
    else if (!api->engine || dg_engine_n_usable(api->engine) == 0)
        dg_call_fail(call, (struct dg_failure){.status = 503,
                                               .code = "no_model",
                                               .retry_after_s = 1,
                                               .message = "No model is loaded."});
    else if (is_full(api->engine))
        dg_call_fail(call, (struct dg_failure){.status = 503,
                                               .code = "overloaded",
                                               .retry_after_s = 1,
                                               .message = "The queue is full."});
    else
        dg_call_json(call, 200, DG_SPAN("{\"status\":\"ready\"}\n"));
}
