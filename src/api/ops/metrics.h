/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Numbers for GET /metrics, in Prometheus' text format. Labels are the names of routes and classes
 * of status, which are few and fixed: never text, keys or addresses of users. One thread: the
 * loop's. */
#ifndef DG_API_OPS_METRICS_H
#define DG_API_OPS_METRICS_H

#include "base/memory/buf.h"

#include <stddef.h>
#include <stdint.h>

enum {
    DG_METRICS_ROUTES = 192,
    DG_METRICS_NO_ROUTE = DG_METRICS_ROUTES, /* counts requests that matched no route */
    DG_METRICS_CLASSES = 6,                  /* classes 1xx to 5xx; 0 is not used */
    DG_METRICS_BUCKETS = 12,
};

struct dg_metrics {
    uint64_t requests[DG_METRICS_ROUTES + 1][DG_METRICS_CLASSES];
    uint64_t buckets[DG_METRICS_ROUTES + 1][DG_METRICS_BUCKETS + 1];
    uint64_t total_ns[DG_METRICS_ROUTES + 1];
};

void dg_metrics_count(struct dg_metrics *metrics, size_t route, int status, uint64_t ns);

#endif
