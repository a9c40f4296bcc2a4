/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The time of day for what must not follow every jump of the machine's clock: months of quotas.
 *
 *     struct dg_steady steady = {0};
 *     uint64_t seconds = dg_steady_s(&steady, &clock);      since 1970
 *
 * The wall clock is believed at first, and then as long as it goes on as the monotonic clock does,
 * give or take DG_STEADY_SLACK_S. After a jump, in either direction, the old time goes on until the
 * new one has held for DG_STEADY_HELD_S: a mistake that is mended within that time is never seen.
 * One thread. */
#ifndef DG_ACCESS_STEADY_H
#define DG_ACCESS_STEADY_H

#include "base/memory/clock.h"

enum { DG_STEADY_SLACK_S = 600, DG_STEADY_HELD_S = 3600 };

/* All zeros is the beginning. */
struct dg_steady {
    bool is_set, has_other;
    int64_t ahead_ns;  /* of the monotonic clock, as believed, */
    int64_t other_ns;  /* and as the wall clock has it since: */
    uint64_t since_ns; /* monotonic */
};

uint64_t dg_steady_s(struct dg_steady *steady, const struct dg_clock *clock);

#endif
