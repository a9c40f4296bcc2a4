/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The buckets of many clients, by id: a table with a declared maximum, from which the client seen
 * least recently is removed to make room.
 *
 *     dg_rates_init(&rates, 65536);                             nothing is allocated yet
 *     struct dg_rate *rate = dg_rates_get(&rates, DG_SPAN("192.0.2.7"));     NULL: no memory
 *     ... rate->buckets[DG_QUOTA_HOUR] ...                      borrowed until the next call
 *     dg_rates_deinit(&rates);
 *
 * A client that is removed gets full buckets when it returns. An idle bucket is full after its
 * window anyway, so the client gains from this only while more addresses than the maximum arrive
 * within one window. One thread. */
#ifndef DG_ACCESS_RATES_H
#define DG_ACCESS_RATES_H

#include "access/token_bucket.h"
#include "access/quota.h"
#include "base/memory/list.h"
#include "base/memory/map.h"

struct dg_rate {
    struct dg_list link; /* most recently seen last */
    struct dg_token_bucket buckets[DG_QUOTA_FLOWING];
    struct dg_quota_id id;
};

struct dg_rates {
    struct dg_map by_id; /* of owned struct dg_rate */
    struct dg_list recent;
};

void dg_rates_init(struct dg_rates *rates, size_t max);
void dg_rates_deinit(struct dg_rates *rates);

/* Returns the buckets of an id (cut at DG_QUOTA_ID_MAX), full when it is new. */
struct dg_rate *dg_rates_get(struct dg_rates *rates, struct dg_span id);

static inline size_t dg_rates_len(const struct dg_rates *rates)
{
    return rates->by_id.len;
}

#endif
