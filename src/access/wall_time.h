/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A time of day that does not follow every jump of the machine's clock, for the months of quotas.
 *
 *     struct dg_wall_time steady = {0};
 *     uint64_t seconds = dg_wall_time_s(&steady, &clock);      since 1970
 *
 * The wall clock is trusted at first, and afterwards while it advances with the monotonic clock,
 * within DG_WALL_TIME_SLACK_S. After a jump in either direction, the old time continues until the
 * new one has held for DG_WALL_TIME_HELD_S, so an error that is corrected within that time has no
 * effect. One thread. */
#ifndef DG_ACCESS_WALL_TIME_H
#define DG_ACCESS_WALL_TIME_H

#include "base/memory/clock.h"

enum { DG_WALL_TIME_SLACK_S = 600, DG_WALL_TIME_HELD_S = 3600 };

/* Starts as all zeros. */
struct dg_wall_time {
    bool is_set, has_other;
    int64_t ahead_ns;  /* trusted time minus monotonic clock */
    int64_t other_ns;  /* the offset after a jump, which is not trusted yet */
    uint64_t since_ns; /* the monotonic time of that jump */
};

uint64_t dg_wall_time_s(struct dg_wall_time *steady, const struct dg_clock *clock);

#endif
