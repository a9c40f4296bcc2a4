/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/clock.h"
#include "unit.h"

START_TEST(real_time_only_grows)
{
    struct dg_clock clock = DG_CLOCK_REAL;
    uint64_t before = dg_clock_now(&clock);
    dg_clock_advance(&clock, 3600 * DG_CLOCK_S);
    uint64_t after = dg_clock_now(&clock);
    ck_assert_uint_ge(after, before);
    ck_assert_uint_lt(after - before, 3600 * DG_CLOCK_S);
    ck_assert_uint_gt(dg_clock_wall(&clock), UINT64_C(1700000000) * DG_CLOCK_S);
}
END_TEST

START_TEST(virtual_time_stands_still_until_it_is_moved)
{
    struct dg_clock clock = DG_CLOCK_VIRTUAL(5);
    ck_assert_uint_eq(dg_clock_now(&clock), 5);
    ck_assert_uint_eq(dg_clock_now(&clock), 5);
    dg_clock_advance(&clock, 2 * DG_CLOCK_MS);
    ck_assert_uint_eq(dg_clock_now(&clock), 2 * DG_CLOCK_MS + 5);
    ck_assert_uint_eq(dg_clock_wall(&clock), 2 * DG_CLOCK_MS + 5);
}
END_TEST

DG_UNIT(real_time_only_grows, virtual_time_stands_still_until_it_is_moved)
