/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Binary heap in an array: the children of i are 2i+1 and 2i+2, none smaller than its parent. Each node
 * knows its place, so that it can be removed from the middle in O(log n). */
#include "base/heap.h"
#include "base/mem.h"

#include <assert.h>

enum { SMALLEST = 16 };

void dg_heap_init(struct dg_heap *heap, size_t max)
{
    *heap = (struct dg_heap){.max = max};
}

void dg_heap_deinit(struct dg_heap *heap)
{
    dg_free(heap->nodes);
    *heap = (struct dg_heap){.max = heap->max};
}

enum dg_err dg_heap_reserve(struct dg_heap *heap, size_t n)
{
    if (n > heap->max)
        return DG_ERR_LIMIT;
    if (n <= heap->cap)
        return DG_OK;
    size_t cap = heap->cap ? heap->cap : SMALLEST;
    while (cap < n)
        if (!dg_mul(cap, 2, &cap))
            return DG_ERR_NOMEM;
    size_t size;
    if (!dg_mul(cap, sizeof(struct dg_heap_node *), &size))
        return DG_ERR_NOMEM;
    struct dg_heap_node **nodes = dg_try_realloc(heap->nodes, size);
    if (!nodes)
        return DG_ERR_NOMEM;
    heap->nodes = nodes;
    heap->cap = cap;
    return DG_OK;
}

static bool is_before(const struct dg_heap_node *a, const struct dg_heap_node *b)
{
    return a->key != b->key ? a->key < b->key : a->order < b->order;
}

static void put(struct dg_heap *heap, size_t at, struct dg_heap_node *node)
{
    heap->nodes[at] = node;
    node->at = at + 1;
}

/* Moves `node`, whose place `at` is free, towards the top as far as it belongs. */
static size_t rise(struct dg_heap *heap, size_t at, const struct dg_heap_node *node)
{
    while (at > 0 && is_before(node, heap->nodes[(at - 1) / 2])) {
        put(heap, at, heap->nodes[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    return at;
}

static size_t sink(struct dg_heap *heap, size_t at, const struct dg_heap_node *node)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->len)
            return at;
        if (child + 1 < heap->len && is_before(heap->nodes[child + 1], heap->nodes[child]))
            child++;
        if (is_before(node, heap->nodes[child]))
            return at;
        put(heap, at, heap->nodes[child]);
        at = child;
    }
}

/* Puts `node` where it belongs, given a free place. */
static void settle(struct dg_heap *heap, size_t at, struct dg_heap_node *node)
{
    put(heap, sink(heap, rise(heap, at, node), node), node);
}

enum dg_err dg_heap_push(struct dg_heap *heap, struct dg_heap_node *node, uint64_t key)
{
    if (dg_heap_has(node))
        return DG_ERR_EXISTS;
    enum dg_err err = dg_heap_reserve(heap, heap->len + 1);
    if (err)
        return err;
    node->key = key;
    node->order = heap->n_pushed++;
    size_t at = heap->len++;
    put(heap, rise(heap, at, node), node);
    return DG_OK;
}

struct dg_heap_node *dg_heap_top(const struct dg_heap *heap)
{
    return heap->len ? heap->nodes[0] : NULL;
}

struct dg_heap_node *dg_heap_pop(struct dg_heap *heap)
{
    struct dg_heap_node *top = dg_heap_top(heap);
    if (top)
        dg_heap_remove(heap, top);
    return top;
}

void dg_heap_remove(struct dg_heap *heap, struct dg_heap_node *node)
{
    if (!dg_heap_has(node))
        return;
    size_t at = node->at - 1;
    assert(at < heap->len && heap->nodes[at] == node);
    node->at = 0;
    struct dg_heap_node *last = heap->nodes[--heap->len];
    if (last != node)
        settle(heap, at, last);
}

void dg_heap_update(struct dg_heap *heap, struct dg_heap_node *node, uint64_t key)
{
    assert(dg_heap_has(node) && heap->nodes[node->at - 1] == node);
    node->key = key;
    node->order = heap->n_pushed++;
    settle(heap, node->at - 1, node);
}
