/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A heap of nodes that are members of the elements: the smallest key on top, any element removable.
 * It is what timers and deadlines live in.
 *
 *     struct timer { struct dg_heap_node node; ... };
 *
 *     struct dg_heap heap;
 *     dg_heap_init(&heap, 1000);                          at most 1000 elements
 *     err = dg_heap_push(&heap, &timer->node, deadline_ns);
 *     struct dg_heap_node *first = dg_heap_top(&heap);    first->key is the next deadline
 *     dg_heap_remove(&heap, &timer->node);                nothing happens when it is not in
 *     dg_heap_deinit(&heap);
 *
 * Equal keys leave in the order they came. An element is in one heap at most. One thread. */
#ifndef DG_BASE_HEAP_H
#define DG_BASE_HEAP_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_heap_node {
    uint64_t key;
    uint64_t order; /* of arrival */
    size_t at;      /* its place + 1; 0: in no heap, which is also what zeroed memory says */
};

struct dg_heap {
    struct dg_heap_node **nodes; /* owned array of borrowed nodes */
    size_t len;
    size_t cap;
    size_t max;
    uint64_t n_pushed;
};

void dg_heap_init(struct dg_heap *heap, size_t max);
void dg_heap_deinit(struct dg_heap *heap); /* elements still in it are not touched */

/* Makes room for `n` elements in all, so that pushing them does not allocate. */
enum dg_err dg_heap_reserve(struct dg_heap *heap, size_t n) DG_MUST_CHECK;

/* DG_ERR_EXISTS when it is in already, DG_ERR_LIMIT, DG_ERR_NOMEM. */
enum dg_err dg_heap_push(struct dg_heap *heap, struct dg_heap_node *node,
                         uint64_t key) DG_MUST_CHECK;

/* The smallest, borrowed; NULL when the heap is empty. Pop takes it out. */
struct dg_heap_node *dg_heap_top(const struct dg_heap *heap);
struct dg_heap_node *dg_heap_pop(struct dg_heap *heap);

void dg_heap_remove(struct dg_heap *heap, struct dg_heap_node *node);

/* Changes the key of an element that is in; among equals it comes last. */
void dg_heap_update(struct dg_heap *heap, struct dg_heap_node *node, uint64_t key);

static inline bool dg_heap_has(const struct dg_heap_node *node)
{
    return node->at != 0;
}

#endif
