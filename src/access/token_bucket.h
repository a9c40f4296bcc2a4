/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A token bucket that holds the units of one window, such as a minute. Its eight bytes are the time
 * at which it is full again.
 *
 *     struct dg_token_bucket bucket = {0};                         full
 *     uint64_t wait_ns = dg_token_bucket_wait(&bucket, 60, 3600, 1, now_ns);
 *     if (wait_ns == 0)
 *         dg_token_bucket_take(&bucket, 60, 3600, 1, now_ns);
 *     dg_token_bucket_give(&bucket, 60, 3600, 1);                        back
 *
 * Units flow in evenly, `limit` of them in `window_s` seconds (60 an hour above), so a full bucket
 * permits a burst of one window's worth. A larger cost is permitted when the bucket is full, and
 * leaves it in debt. When the rate changes, a half-full bucket stays half full. Any thread, one at
 * a time for each bucket. */
#ifndef DG_ACCESS_TOKEN_BUCKET_H
#define DG_ACCESS_TOKEN_BUCKET_H

#include <stdint.h>

struct dg_token_bucket {
    uint64_t full_at_ns;
};

enum {
    DG_TOKEN_BUCKET_COST_MAX = 100000000
}; /* most units of one cost; a larger cost counts as this */

/* Returns how long until `n` units may be taken; 0: now. `limit` is 1 or more, and at most 10^9 in
 * a window of a minute, 10^8 in one of up to a day. */
uint64_t dg_token_bucket_wait(const struct dg_token_bucket *bucket, uint64_t limit,
                              uint64_t window_s, uint64_t n, uint64_t now_ns);

/* Takes `n` units even if the bucket has fewer; a debt never exceeds one year. */
void dg_token_bucket_take(struct dg_token_bucket *bucket, uint64_t limit, uint64_t window_s,
                          uint64_t n, uint64_t now_ns);
/* Gives units back: the mirror of take. */
void dg_token_bucket_give(struct dg_token_bucket *bucket, uint64_t limit, uint64_t window_s,
                          uint64_t n);

/* Return the units in the bucket, and the time until it is full. */
uint64_t dg_token_bucket_level(const struct dg_token_bucket *bucket, uint64_t limit,
                               uint64_t window_s, uint64_t now_ns);
uint64_t dg_token_bucket_full_in(const struct dg_token_bucket *bucket, uint64_t now_ns);

#endif
