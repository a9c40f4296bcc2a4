/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The wall clock's lead over the monotonic clock changes only when the clock is set or the machine
 * has slept. */
#include "access/wall_time.h"

static bool is_near(int64_t a, int64_t b)
{
    const int64_t slack = DG_WALL_TIME_SLACK_S * (int64_t)DG_CLOCK_S;
    return a - b <= slack && b - a <= slack;
}

uint64_t dg_wall_time_s(struct dg_wall_time *steady, const struct dg_clock *clock)
{
    const uint64_t now = dg_clock_now(clock);
    const int64_t ahead = (int64_t)(dg_clock_wall(clock) - now);
    if (!steady->is_set || is_near(ahead, steady->ahead_ns)) {
        steady->ahead_ns = ahead;
        steady->is_set = true;
        steady->has_other = false;
    } else if (!steady->has_other || !is_near(ahead, steady->other_ns)) {
        steady->other_ns = ahead;
        steady->since_ns = now;
        steady->has_other = true;
    } else if (now - steady->since_ns >= DG_WALL_TIME_HELD_S * DG_CLOCK_S) {
        steady->ahead_ns = ahead;
        steady->has_other = false;
    }
    return (now + (uint64_t)steady->ahead_ns) / DG_CLOCK_S;
}
