/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A bounded first-in first-out queue of items of one size.
 *
 *     struct dg_ring ring;
 *     err = dg_ring_init(&ring, 100, sizeof(struct event));      all memory at once
 *     err = dg_ring_push(&ring, &event);                  copies; DG_ERR_LIMIT when 100 are in it
 *     while (dg_ring_pop(&ring, &event)) ...
 *     dg_ring_deinit(&ring);
 *
 * One thread; mpsc.h is a queue between threads. */
#ifndef DG_BASE_MEMORY_RING_H
#define DG_BASE_MEMORY_RING_H

#include "base/memory/error.h"

#include <stdbool.h>
#include <stddef.h>

struct dg_ring {
    unsigned char *items; /* owned */
    size_t item_size;
    size_t cap;
    size_t len;
    size_t first; /* index of the oldest item */
};

enum dg_err dg_ring_init(struct dg_ring *ring, size_t cap, size_t item_size) DG_MUST_CHECK;
void dg_ring_deinit(struct dg_ring *ring);

enum dg_err dg_ring_push(struct dg_ring *ring, const void *item) DG_MUST_CHECK;

/* Moves the oldest item to *item; false when there is none. */
bool dg_ring_pop(struct dg_ring *ring, void *item);

#endif
