/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The inside of struct dg_api and the route table, for the files of this folder. */
#ifndef DG_API_API_INT_H
#define DG_API_API_INT_H

#include "api/api.h"
#include "api/call.h"
#include "api/metrics.h"

#include "base/clock.h"
#include "base/list.h"

struct dg_api {
    struct dg_api_opts opts;
    struct dg_log *log;
    struct dg_server *server; /* NULL until set */
    struct dg_engine *engine; /* NULL until set */
    struct dg_list jobs;      /* of struct dg_job: all that the engine has not let go of */
    struct dg_clock clock;
    uint64_t started_ns;
    struct dg_metrics metrics;
    unsigned char random[1024]; /* for request ids; */
    size_t random_used;         /* so much of it is spent */
};

struct dg_route {
    enum dg_http_method method; /* GET answers HEAD too */
    const char *path;
    const char *name; /* for metrics and the log */
    void (*handle)(struct dg_call *call);
};

/* All routes, and how many (unless NULL). */
const struct dg_route *dg_routes(size_t *n);

void dg_api_healthz(struct dg_call *call);
void dg_api_readyz(struct dg_call *call);
void dg_api_metrics(struct dg_call *call);
void dg_api_v1_detect(struct dg_call *call);
void dg_api_v1_translate(struct dg_call *call);
void dg_api_v1_stream(struct dg_call *call);
void dg_api_v1_models(struct dg_call *call);
void dg_api_v1_languages(struct dg_call *call);

#endif
