/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Arrays that grow: a pointer to the items, how many are used, and how many have room.
 *
 *     err = DG_GROW(list->items, list->n, list->cap, 16);
 *     if (!err)
 *         list->items[list->n++] = item; */
#ifndef DG_BASE_MEMORY_GROW_H
#define DG_BASE_MEMORY_GROW_H

#include "base/memory/mem.h"

/* Makes room for one more item after the first `n`. The first time it makes room for `first` items,
 * and later for twice as many each time. DG_ERR_NOMEM leaves everything as it is. */
#define DG_GROW(items, n, cap, first) DG_RESERVE(items, (n) + 1, cap, first)

/* The same for `wanted` items in all. */
#define DG_RESERVE(items, wanted, cap, first)                                                      \
    ((wanted) <= (cap) ? DG_OK : dg_reserve(&(items), wanted, &(cap), sizeof *(items), first))

/* `items` is the address of the pointer; `first` is 1 or more. */
enum dg_err dg_reserve(void *items, size_t wanted, size_t *cap, size_t size,
                       size_t first) DG_MUST_CHECK;

#endif
