/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/heap.h"
#include "base/mem.h"
#include "unit.h"

enum { N = 200 };
static struct dg_heap_node nodes[N];

static uint64_t rng = 1;

static uint32_t any(uint32_t below)
{
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(rng >> 33) % below;
}

/* Every parent is not after its children, and every node knows its place. */
static void check_shape(const struct dg_heap *heap)
{
    for (size_t i = 0; i < heap->len; i++) {
        ck_assert_uint_eq(heap->nodes[i]->at, i + 1);
        if (i > 0)
            ck_assert_uint_le(heap->nodes[(i - 1) / 2]->key, heap->nodes[i]->key);
    }
}

START_TEST(stays_a_heap_under_random_pushes_removals_and_updates)
{
    struct dg_heap heap;
    dg_heap_init(&heap, N);
    memset(nodes, 0, sizeof nodes);
    for (int step = 0; step < 50000; step++) {
        struct dg_heap_node *node = &nodes[any(N)];
        size_t before = heap.len;
        if (!dg_heap_has(node)) {
            ck_assert_int_eq(dg_heap_push(&heap, node, any(50)), DG_OK);
            ck_assert_uint_eq(heap.len, before + 1);
            ck_assert_int_eq(dg_heap_push(&heap, node, 1), DG_ERR_EXISTS);
        } else if (any(3) == 0) {
            dg_heap_update(&heap, node, any(50));
        } else {
            dg_heap_remove(&heap, node);
            dg_heap_remove(&heap, node);
            ck_assert_uint_eq(heap.len, before - 1);
        }
        if (step % 50 == 0)
            check_shape(&heap);
    }
    uint64_t last = 0;
    size_t n = heap.len;
    for (struct dg_heap_node *node; (node = dg_heap_pop(&heap)); last = node->key, n--)
        ck_assert_uint_ge(node->key, last);
    ck_assert_uint_eq(n, 0);
    ck_assert_ptr_null(dg_heap_top(&heap));
    dg_heap_deinit(&heap);
}
END_TEST

START_TEST(gives_equal_keys_in_order_of_arrival)
{
    struct dg_heap heap;
    dg_heap_init(&heap, N);
    memset(nodes, 0, sizeof nodes);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(dg_heap_push(&heap, &nodes[i], (uint64_t)(i % 3)), DG_OK);
    dg_heap_update(&heap, &nodes[0], 0); /* now the last of those with key 0 */
    for (int i = 3; i < N; i += 3)
        ck_assert_ptr_eq(dg_heap_pop(&heap), &nodes[i]);
    ck_assert_ptr_eq(dg_heap_pop(&heap), &nodes[0]);
    for (int key = 1; key < 3; key++)
        for (int i = key; i < N; i += 3)
            ck_assert_ptr_eq(dg_heap_pop(&heap), &nodes[i]);
    dg_heap_deinit(&heap);
}
END_TEST

START_TEST(stops_at_its_maximum_and_reports_memory_that_is_gone)
{
    struct dg_heap heap;
    dg_heap_init(&heap, 17);
    memset(nodes, 0, sizeof nodes);
    dg_mem_fail_after(1);
    ck_assert_int_eq(dg_heap_push(&heap, &nodes[0], 0), DG_ERR_NOMEM);
    ck_assert(!dg_heap_has(&nodes[0]));
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(dg_heap_push(&heap, &nodes[i], 0), DG_OK);
    dg_mem_fail_after(1);
    ck_assert_int_eq(dg_heap_push(&heap, &nodes[16], 0), DG_ERR_NOMEM);
    dg_mem_fail_after(0);
    ck_assert_int_eq(dg_heap_push(&heap, &nodes[16], 0), DG_OK);
    ck_assert_int_eq(dg_heap_push(&heap, &nodes[17], 0), DG_ERR_LIMIT);
    ck_assert_int_eq(dg_heap_reserve(&heap, 18), DG_ERR_LIMIT);
    dg_heap_deinit(&heap);
}
END_TEST

DG_UNIT(stays_a_heap_under_random_pushes_removals_and_updates,
        gives_equal_keys_in_order_of_arrival,
        stops_at_its_maximum_and_reports_memory_that_is_gone)
