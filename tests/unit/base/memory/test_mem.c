/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "unit.h"

START_TEST(checks_products_and_sums)
{
    size_t out = 7;
    ck_assert(dg_mul(3, 5, &out) && out == 15);
    ck_assert(!dg_mul(SIZE_MAX / 2, 3, &out));
    ck_assert(dg_add(SIZE_MAX - 1, 1, &out) && out == SIZE_MAX);
    ck_assert(!dg_add(SIZE_MAX, 1, &out));
    ck_assert_ptr_null(dg_try_calloc(SIZE_MAX / 2, 3));
    ck_assert_ptr_null(dg_try_aligned(SIZE_MAX - 5));
}
END_TEST

START_TEST(gives_memory_for_zero_bytes_too)
{
    void *parts[] = {dg_xmalloc(0), dg_xcalloc(0, 8), dg_try_malloc(0), dg_try_calloc(0, 0),
                     dg_try_aligned(0)};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        ck_assert_ptr_nonnull(parts[i]);
        dg_free(parts[i]);
    }
    dg_free(NULL);
}
END_TEST

START_TEST(aligns_to_cache_lines)
{
    for (size_t size = 1; size < 300; size += 7) {
        unsigned char *ptr = dg_try_aligned(size);
        ck_assert_ptr_nonnull(ptr);
        ck_assert_uint_eq((uintptr_t)ptr % 64, 0);
        memset(ptr, 1, size);
        dg_free(ptr);
    }
}
END_TEST

START_TEST(zeroes_what_calloc_gives_and_copies_strings)
{
    unsigned char *zeroed = dg_try_calloc(100, 3);
    ck_assert_ptr_nonnull(zeroed);
    for (int i = 0; i < 300; i++)
        ck_assert_int_eq(zeroed[i], 0);
    char *copy = dg_xstrdup("caf\xC3\xA9");
    ck_assert_str_eq(copy, "caf\xC3\xA9");
    dg_free(copy);
    dg_free(zeroed);
}
END_TEST

START_TEST(fails_the_nth_try_once_and_only_there)
{
    for (uint64_t nth = 1; nth <= 4; nth++) {
        dg_mem_fail_after(nth);
        ck_assert(!dg_mem_failed());
        void *parts[4] = {dg_try_malloc(1), dg_try_calloc(1, 1), dg_try_aligned(1),
                          dg_try_realloc(NULL, 1)};
        ck_assert(dg_mem_failed());
        for (uint64_t i = 0; i < 4; i++) {
            ck_assert((parts[i] == NULL) == (i + 1 == nth));
            dg_free(parts[i]);
        }
    }
    dg_mem_fail_after(1);
    dg_mem_fail_after(0);
    void *ptr = dg_try_malloc(1);
    ck_assert(ptr && !dg_mem_failed());
    dg_free(ptr);
}
END_TEST

START_TEST(never_fails_the_first_door)
{
    dg_mem_fail_after(1);
    void *ptr = dg_xmalloc(10);
    ck_assert_ptr_nonnull(ptr);
    ck_assert(!dg_mem_failed());
    dg_mem_fail_after(0);
    dg_free(ptr);
}
END_TEST

START_TEST(counts_both_doors_and_tries_of_the_second)
{
    uint64_t count = dg_mem_count(), tries = dg_mem_tries();
    dg_free(dg_xmalloc(1));
    void *ptr = dg_try_malloc(1);
    dg_free(ptr);
    ck_assert_uint_eq(dg_mem_count(), count + 2);
    ck_assert_uint_eq(dg_mem_tries(), tries + 1);
}
END_TEST

START_TEST(arrays_grow_and_keep_their_items)
{
    size_t *items = NULL, n = 0, cap = 0;
    for (; n < 100; n++) {
        ck_assert_int_eq(DG_GROW(items, n, cap, 3), DG_OK);
        items[n] = n;
    }
    ck_assert_uint_eq(cap, 192);
    ck_assert_int_eq(DG_RESERVE(items, 193, cap, 3), DG_OK);
    ck_assert_uint_eq(cap, 384);
    ck_assert_int_eq(DG_RESERVE(items, SIZE_MAX / 4, cap, 3), DG_ERR_NOMEM);
    ck_assert_int_eq(DG_RESERVE(items, SIZE_MAX, cap, 3), DG_ERR_NOMEM);
    const uint64_t tries = dg_mem_tries();
    ck_assert_int_eq(DG_RESERVE(items, 384, cap, 3), DG_OK);
    ck_assert_uint_eq(dg_mem_tries(), tries);
    ck_assert_uint_eq(cap, 384);
    for (size_t i = 0; i < n; i++)
        ck_assert_uint_eq(items[i], i);
    dg_free(items);
}
END_TEST

DG_UNIT(arrays_grow_and_keep_their_items, checks_products_and_sums, gives_memory_for_zero_bytes_too,
        aligns_to_cache_lines, zeroes_what_calloc_gives_and_copies_strings,
        fails_the_nth_try_once_and_only_there, never_fails_the_first_door,
        counts_both_doors_and_tries_of_the_second)
