/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/mem.h"
#include "base/memory/ring.h"
#include "unit.h"

#include <stdint.h>

START_TEST(gives_items_back_in_order_for_ever)
{
    struct dg_ring ring;
    ck_assert_int_eq(dg_ring_init(&ring, 5, sizeof(int)), DG_OK);
    int pushed = 0, popped = 0, item;
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < round % 6; i++)
            if (dg_ring_push(&ring, &pushed) == DG_OK)
                pushed++;
        ck_assert_uint_eq(ring.len, (size_t)(pushed - popped));
        for (int i = 0; i < round % 4; i++)
            if (dg_ring_pop(&ring, &item))
                ck_assert_int_eq(item, popped++);
    }
    ck_assert_int_gt(popped, 50);
    dg_ring_deinit(&ring);
}
END_TEST

START_TEST(refuses_when_full_and_says_when_empty)
{
    struct dg_ring ring;
    int item = 1;
    ck_assert_int_eq(dg_ring_init(&ring, 2, sizeof item), DG_OK);
    ck_assert(!dg_ring_pop(&ring, &item));
    ck_assert_int_eq(dg_ring_push(&ring, &item), DG_OK);
    ck_assert_int_eq(dg_ring_push(&ring, &item), DG_OK);
    ck_assert_int_eq(dg_ring_push(&ring, &item), DG_ERR_LIMIT);
    dg_ring_deinit(&ring);
    ck_assert_int_eq(dg_ring_init(&ring, 0, sizeof item), DG_OK);
    ck_assert_int_eq(dg_ring_push(&ring, &item), DG_ERR_LIMIT);
    dg_ring_deinit(&ring);
}
END_TEST

START_TEST(reports_memory_that_is_gone)
{
    struct dg_ring ring;
    ck_assert_int_eq(dg_ring_init(&ring, SIZE_MAX / 2, 4), DG_ERR_NOMEM);
    dg_mem_fail_after(1);
    ck_assert_int_eq(dg_ring_init(&ring, 4, 4), DG_ERR_NOMEM);
    dg_mem_fail_after(0);
}
END_TEST

DG_UNIT(gives_items_back_in_order_for_ever, refuses_when_full_and_says_when_empty,
        reports_memory_that_is_gone)
