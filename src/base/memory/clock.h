/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The time: the machine's, or a virtual one for tests, behind one struct that is passed around.
 *
 *     struct dg_clock clock = DG_CLOCK_REAL;
 *     uint64_t start = dg_clock_now(&clock);              monotonic nanoseconds
 *
 *     struct dg_clock clock = DG_CLOCK_VIRTUAL(0);        starts at 0 and stands still
 *     dg_clock_advance(&clock, 5 * DG_CLOCK_MS);
 *
 * Any thread may read; a virtual clock may be advanced by any thread. */
#ifndef DG_BASE_MEMORY_CLOCK_H
#define DG_BASE_MEMORY_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DG_CLOCK_US UINT64_C(1000)
#define DG_CLOCK_MS UINT64_C(1000000)
#define DG_CLOCK_S  UINT64_C(1000000000)

struct dg_clock {
    bool is_virtual;
    _Atomic uint64_t now_ns;  /* the time of a virtual clock */
    _Atomic int64_t ahead_ns; /* how far a virtual wall clock is ahead of now_ns */
};

#define DG_CLOCK_REAL                                                                              \
    {                                                                                              \
        false, 0, 0                                                                                \
    }
#define DG_CLOCK_VIRTUAL(start_ns)                                                                 \
    {                                                                                              \
        true, (start_ns), 0                                                                        \
    }

/* Monotonic nanoseconds, from an arbitrary start. */
uint64_t dg_clock_now(const struct dg_clock *clock);

/* Nanoseconds since 1970 (UTC), for people and time stamps; may jump. A virtual clock starts in
 * 1970. */
uint64_t dg_clock_wall(const struct dg_clock *clock);

/* Advances a virtual clock, or makes its wall clock jump. A real clock ignores both calls. */
void dg_clock_advance(struct dg_clock *clock, uint64_t ns);
void dg_clock_set_ahead(struct dg_clock *clock, int64_t ns);

#endif
