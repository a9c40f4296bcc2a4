/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Time over clock_gettime(2), or over a number for tests. */
#include "base/memory/clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * DG_CLOCK_S + (uint64_t)now.tv_nsec;
}

uint64_t dg_clock_now(const struct dg_clock *clock)
{
    return clock->is_virtual ? atomic_load(&clock->now_ns) : read_ns(CLOCK_MONOTONIC);
}

uint64_t dg_clock_wall(const struct dg_clock *clock)
{
    return clock->is_virtual ? atomic_load(&clock->now_ns) + (uint64_t)atomic_load(&clock->ahead_ns)
                             : read_ns(CLOCK_REALTIME);
}

void dg_clock_advance(struct dg_clock *clock, uint64_t ns)
{
    if (clock->is_virtual)
        atomic_fetch_add(&clock->now_ns, ns);
}

void dg_clock_set_ahead(struct dg_clock *clock, int64_t ns)
{
    if (clock->is_virtual)
        atomic_store(&clock->ahead_ns, ns);
}
