/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Bounded FIFO over one block of memory; the oldest item's index wraps around. */
#include "base/memory/ring.h"
#include "base/memory/mem.h"

#include <string.h>

enum dg_err dg_ring_init(struct dg_ring *ring, size_t cap, size_t item_size)
{
    unsigned char *items = dg_try_calloc(cap, item_size);
    if (!items)
        return DG_ERR_NOMEM;
    *ring = (struct dg_ring){.items = items, .item_size = item_size, .cap = cap};
    return DG_OK;
}

void dg_ring_deinit(struct dg_ring *ring)
{
    dg_free(ring->items);
    *ring = (struct dg_ring){0};
}

/* The place `i` (< cap) steps after the oldest item; the sum is computed so that it cannot wrap. */
static unsigned char *place(const struct dg_ring *ring, size_t i)
{
    size_t to_end = ring->cap - ring->first;
    size_t index = i < to_end ? ring->first + i : i - to_end;
    return ring->items + index * ring->item_size;
}

enum dg_err dg_ring_push(struct dg_ring *ring, const void *item)
{
    if (ring->len == ring->cap)
        return DG_ERR_LIMIT;
    memcpy(place(ring, ring->len), item, ring->item_size);
    ring->len++;
    return DG_OK;
}

bool dg_ring_pop(struct dg_ring *ring, void *item)
{
    if (ring->len == 0)
        return false;
    memcpy(item, place(ring, 0), ring->item_size);
    ring->first = ring->first + 1 == ring->cap ? 0 : ring->first + 1;
    ring->len--;
    return true;
}
