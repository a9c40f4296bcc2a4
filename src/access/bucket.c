/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The generic cell rate algorithm (ATM Forum, 1996) in mirrored form: taking a unit delays the time
 * of fullness by one unit's time, and a bucket is empty when that time is a minute away. */
#include "access/bucket.h"
#include "base/memory/clock.h"

static const uint64_t minute = 60 * DG_CLOCK_S;
static const uint64_t debt_max = 365 * 24 * 3600 * DG_CLOCK_S;

/* The time that `n` units take to flow in, in two steps because n minutes in nanoseconds need not
 * fit. Rounded down, so that a minute's worth fits a minute. */
static uint64_t cost(uint64_t per_minute, uint64_t n)
{
    uint64_t us = (n < DG_BUCKET_COST_MAX ? n : DG_BUCKET_COST_MAX) * (minute / 1000);
    return us / per_minute * 1000 + us % per_minute * 1000 / per_minute;
}

uint64_t dg_bucket_full_in(const struct dg_bucket *bucket, uint64_t now_ns)
{
    return bucket->full_at_ns > now_ns ? bucket->full_at_ns - now_ns : 0;
}

uint64_t dg_bucket_wait(const struct dg_bucket *bucket, uint64_t per_minute, uint64_t n,
                        uint64_t now_ns)
{
    uint64_t need = cost(per_minute, n), missing = dg_bucket_full_in(bucket, now_ns);
    if (need > minute)
        need = minute; /* the whole bucket, and then some as debt */
    return missing + need > minute ? missing + need - minute : 0;
}

void dg_bucket_take(struct dg_bucket *bucket, uint64_t per_minute, uint64_t n, uint64_t now_ns)
{
    if (bucket->full_at_ns < now_ns)
        bucket->full_at_ns = now_ns;
    bucket->full_at_ns += cost(per_minute, n);
    if (bucket->full_at_ns > now_ns + debt_max)
        bucket->full_at_ns = now_ns + debt_max;
}

void dg_bucket_give(struct dg_bucket *bucket, uint64_t per_minute, uint64_t n)
{
    uint64_t back = cost(per_minute, n);
    bucket->full_at_ns -= back < bucket->full_at_ns ? back : bucket->full_at_ns;
}

uint64_t dg_bucket_level(const struct dg_bucket *bucket, uint64_t per_minute, uint64_t now_ns)
{
    uint64_t missing = dg_bucket_full_in(bucket, now_ns);
    if (missing >= minute)
        return 0;
    /* In microseconds, so that the product fits; a rounded cost must not make a unit out of
     * nothing. */
    return (minute - missing + 999) / 1000 * per_minute / (minute / 1000);
}
