/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/arena.h"
#include "unit.h"

#include <stdint.h>

START_TEST(hands_out_aligned_memory_that_does_not_overlap)
{
    struct dg_arena arena;
    dg_arena_init(&arena, 1 << 20);
    unsigned char *parts[200];
    for (int i = 0; i < 200; i++) {
        parts[i] = dg_arena_alloc(&arena, (size_t)i);
        ck_assert_ptr_nonnull(parts[i]);
        ck_assert_uint_eq((uintptr_t)parts[i] % 16, 0);
        memset(parts[i], i, (size_t)i);
    }
    for (int i = 0; i < 200; i++)
        for (int k = 0; k < i; k++)
            ck_assert_int_eq(parts[i][k], i);
    dg_arena_deinit(&arena);
}
END_TEST

START_TEST(stops_at_its_maximum_and_starts_again_after_reset)
{
    struct dg_arena arena;
    dg_arena_init(&arena, 8192);
    ck_assert_ptr_nonnull(dg_arena_alloc(&arena, 8000));
    ck_assert_ptr_null(dg_arena_alloc(&arena, 8000));
    ck_assert_ptr_null(dg_arena_alloc(&arena, SIZE_MAX));
    ck_assert_ptr_null(dg_arena_calloc(&arena, SIZE_MAX / 2, 4));
    dg_arena_reset(&arena);
    ck_assert_ptr_nonnull(dg_arena_alloc(&arena, 8000));
    dg_arena_deinit(&arena);
}
END_TEST

START_TEST(copies_text_with_nul_bytes)
{
    struct dg_arena arena;
    dg_arena_init(&arena, 100);
    struct dg_span copy = dg_arena_copy(&arena, DG_SPAN("a\0b"));
    ck_assert(dg_span_eq(copy, DG_SPAN("a\0b")));
    ck_assert_int_eq(copy.ptr[3], '\0');
    dg_arena_deinit(&arena);
}
END_TEST

DG_UNIT(hands_out_aligned_memory_that_does_not_overlap,
        stops_at_its_maximum_and_starts_again_after_reset, copies_text_with_nul_bytes)
