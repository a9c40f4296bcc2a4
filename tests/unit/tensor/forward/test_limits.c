/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "tensor/forward/limits.h"

#include "base/memory/mem.h"
#include "unit.h"

#include <stdio.h>

START_TEST(figures_are_those_of_a_computer)
{
    struct dg_limits l;
    ck_assert_int_eq(dg_limits_measure(&l), DG_OK);
    printf("%s: f32 %.1f, bf16 %.1f GFLOP/s, i8 %.1f GOP/s, read %.1f / %.1f / %.1f GB/s (0.5 / 16 "
           "/ 400 MB)\n",
           l.kernels, l.f32_gflops, l.bf16_gflops, l.i8_gops, l.read_l2_gbs, l.read_l3_gbs,
           l.read_memory_gbs);
    ck_assert(l.f32_gflops > 0.05 && l.f32_gflops < 1e4);
    ck_assert(l.bf16_gflops > 0.05 && l.bf16_gflops < 1e5);
    ck_assert(l.i8_gops > 0.05 && l.i8_gops < 1e5);
    ck_assert(l.read_l2_gbs > 0.05 && l.read_l2_gbs < 1e4);
    ck_assert(l.read_l3_gbs > 0.05 && l.read_l3_gbs < 1e4);
    ck_assert(l.read_memory_gbs > 0.05 && l.read_memory_gbs < 1e4);
}
END_TEST

START_TEST(says_when_memory_is_refused)
{
    struct dg_limits l;
    dg_mem_fail_after(1);
    ck_assert_int_eq(dg_limits_measure(&l), DG_ERR_NOMEM);
}
END_TEST

DG_UNIT(figures_are_those_of_a_computer, says_when_memory_is_refused)
