/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Memory that many holders, such as connections, share: how much there is, and how much they hold.
 *
 *     struct dg_allowance buffers = {.max = 6 << 20};
 *     if (n > dg_allowance_left(&buffers)) ... refuse what would need n bytes more ...
 *     dg_allowance_hold(&buffers, &conn->held, n);      the holder now has n bytes,
 *     dg_allowance_hold(&buffers, &conn->held, 0);      and now none
 * It only counts: the caller itself must refuse a request that would exceed the maximum. Memory
 * that cannot be refused (for an answer that exists already) may exceed it, and then the caller
 * begins nothing new. A NULL allowance has no limit and counts nothing. One thread. */
#ifndef DG_BASE_MEMORY_ALLOWANCE_H
#define DG_BASE_MEMORY_ALLOWANCE_H

#include <stddef.h>
#include <stdint.h>

struct dg_allowance {
    size_t max; /* bytes; 0: no limit */
    size_t used;
};

static inline size_t dg_allowance_left(const struct dg_allowance *allowance)
{
    if (!allowance || allowance->max == 0)
        return SIZE_MAX;
    return allowance->max > allowance->used ? allowance->max - allowance->used : 0;
}

/* `held` is what the holder had when this was last called, 0 at first. */
static inline void dg_allowance_hold(struct dg_allowance *allowance, size_t *held, size_t bytes)
{
    if (!allowance)
        return;
    allowance->used = allowance->used - *held + bytes;
    *held = bytes;
}

#endif
