/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The generic cell rate algorithm (ATM Forum, 1996) in mirrored form: taking a unit delays the time
 * of fullness by one unit's time, and a bucket is empty when that time is a window away. */
#include "access/token_bucket.h"
#include "base/memory/clock.h"

static const uint64_t debt_max = 365 * 24 * 3600 * DG_CLOCK_S;

/* Returns the time that `n` units take to flow in. It is computed in two steps, because n windows
 * in nanoseconds may overflow, and rounded down, so that the units of a whole window take no longer
 * than the window. */
static uint64_t cost(uint64_t limit, uint64_t window_s, uint64_t n)
{
    uint64_t us = (n < DG_TOKEN_BUCKET_COST_MAX ? n : DG_TOKEN_BUCKET_COST_MAX) * window_s *
                  (DG_CLOCK_S / 1000);
    if (us / limit >= debt_max / 1000)
        return debt_max;
    return us / limit * 1000 + us % limit * 1000 / limit;
}

uint64_t dg_token_bucket_full_in(const struct dg_token_bucket *bucket, uint64_t now_ns)
{
    return bucket->full_at_ns > now_ns ? bucket->full_at_ns - now_ns : 0;
}

uint64_t dg_token_bucket_wait(const struct dg_token_bucket *bucket, uint64_t limit,
                              uint64_t window_s, uint64_t n, uint64_t now_ns)
{
    const uint64_t window = window_s * DG_CLOCK_S;
    uint64_t need = cost(limit, window_s, n), missing = dg_token_bucket_full_in(bucket, now_ns);
    if (need > window)
        need = window; /* allows the whole bucket, and as much again as debt */
    return missing + need > window ? missing + need - window : 0;
}

void dg_token_bucket_take(struct dg_token_bucket *bucket, uint64_t limit, uint64_t window_s,
                          uint64_t n, uint64_t now_ns)
{
    if (bucket->full_at_ns < now_ns)
        bucket->full_at_ns = now_ns;
    bucket->full_at_ns += cost(limit, window_s, n);
    if (bucket->full_at_ns > now_ns + debt_max)
        bucket->full_at_ns = now_ns + debt_max;
}

void dg_token_bucket_give(struct dg_token_bucket *bucket, uint64_t limit, uint64_t window_s,
                          uint64_t n)
{
    uint64_t back = cost(limit, window_s, n);
    bucket->full_at_ns -= back < bucket->full_at_ns ? back : bucket->full_at_ns;
}

uint64_t dg_token_bucket_level(const struct dg_token_bucket *bucket, uint64_t limit,
                               uint64_t window_s, uint64_t now_ns)
{
    const uint64_t window = window_s * DG_CLOCK_S;
    uint64_t missing = dg_token_bucket_full_in(bucket, now_ns);
    if (missing >= window)
        return 0;
    /* In microseconds, so that the product fits. A rounded cost must not create a unit out of
     * nothing. */
    return (window - missing + 999) / 1000 * limit / (window / 1000);
}
