/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as the body of each route of our own that takes JSON, through the HTTP machine and the
 * api with an engine that has no model: what is wrong is refused with a 4xx and the error's shape,
 * and nothing is a 500. The first byte picks the route. */
#include "api/http/api.h"
#include "api/ops/admin.h"
#include "base/memory/mem.h"
#include "engine/engine.h"
#include "net/loop/offload.h"
#include "net/proto/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static enum dg_err admin_load(void *user, const struct dg_admin_model *model,
                              dg_admin_loaded_fn on_loaded, void *owner, struct dg_error *error)
{
    require(model->name && *model->name && model->path && *model->path && model->source &&
            model->target);
    return DG_ERR_NOT_FOUND;
}

static enum dg_err admin_unload(void *user, const char *name, struct dg_error *error)
{
    return DG_ERR_NOT_FOUND;
}

static enum dg_log_level admin_log_level(void *user)
{
    return DG_LOG_INFO;
}

static void admin_set_log_level(void *user, enum dg_log_level level)
{
    require(level >= DG_LOG_ERROR && level <= DG_LOG_DEBUG);
}

static void admin_nothing(void *user)
{
}

static const struct dg_admin_ops admin_ops = {.load = admin_load,
                                              .unload = admin_unload,
                                              .log_level = admin_log_level,
                                              .set_log_level = admin_set_log_level,
                                              .reload = admin_nothing,
                                              .drain = admin_nothing};

/* Made once, for all inputs. */
static struct {
    uv_loop_t loop;
    struct dg_offload *threads;
    struct dg_engine *engine;
    struct dg_api *api;
    struct dg_http_shared shared;
} all;

static void on_head(void *user, struct dg_http_req *req)
{
    req->is_private = true;
    dg_api_handler()->on_head(all.api, req);
}

static void on_request(void *user, struct dg_http_req *req)
{
    dg_api_handler()->on_request(all.api, req);
}

static void on_refused(void *user, struct dg_http_req *req, int status, const char *reason)
{
    dg_api_handler()->on_refused(all.api, req, status, reason);
}

static const struct dg_http_events events = {
    .on_head = on_head, .on_request = on_request, .on_refused = on_refused};

static void set_up(void)
{
    if (all.api)
        return;
    const struct dg_engine_opts engine = {.n_threads = 1};
    const struct dg_pool_opts pool = {.n_threads = 1, .max_jobs = 4};
    struct dg_api_opts opts = DG_API_OPTS_DEFAULT;
    opts.access_log = false;
    opts.texts_max = 10;
    uv_loop_init(&all.loop);
    require(dg_offload_open(&all.loop, NULL, &pool, NULL, &all.threads) == DG_OK);
    require(dg_engine_new(&engine, NULL, &all.engine) == DG_OK);
    require(dg_api_new(&opts, NULL, NULL, &all.api) == DG_OK);
    dg_api_set_engine(all.api, all.engine);
    dg_api_set_threads(all.api, all.threads);
    dg_api_set_admin(all.api, &admin_ops, NULL);
    all.shared.limits = (struct dg_http_limits)DG_HTTP_LIMITS_DEFAULT;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const char *const paths[] = {"/v1/translate", "/v1/detect", "/v1/score",
                                        "/v1/admin/models", "/v1/admin/log-level"};
    char head[256];
    if (len == 0)
        return 0;
    set_up();
    const char *path = paths[bytes[0] % (sizeof paths / sizeof *paths)];
    struct dg_http *http = dg_http_new(&all.shared, &events, NULL);
    require(http != NULL);
    int n = snprintf(head, sizeof head,
                     "POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", path, len - 1);
    dg_http_feed(http, head, (size_t)n);
    dg_http_feed(http, (const char *)bytes + 1, len - 1);
    struct dg_span out = dg_http_output(http);
    require(dg_span_starts(out, DG_SPAN("HTTP/1.1 ")) && out.len > 12);
    long status = strtol(out.ptr + 9, NULL, 10);
    bool is_level = strcmp(path, "/v1/admin/log-level") == 0;
    /* 501: no data to detect languages with. */
    require((status >= 400 && status < 500) ||
            (status == 200 && (is_level || strcmp(path, "/v1/detect") == 0)) || status == 501);
    dg_http_free(http);
    return 0;
}
