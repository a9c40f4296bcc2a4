/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "decode/repetition.h"
#include "unit.h"

#define IDS(...)                                                                                   \
    ((const int32_t[]){__VA_ARGS__}), sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)

START_TEST(finds_the_period_and_run_of_a_tail)
{
    struct dg_repetition tail = dg_repetition_tail(IDS(9, 2, 3, 2, 3, 2));
    ck_assert_int_eq(tail.period, 2);
    ck_assert_int_eq(tail.run, 5);
    tail = dg_repetition_tail(IDS(1, 2, 3, 4));
    ck_assert_int_eq(tail.period, 0);
    tail = dg_repetition_tail(IDS(7, 7, 7));
    ck_assert_int_eq(tail.period, 1);
    ck_assert_int_eq(tail.run, 3);
    ck_assert_int_eq(dg_repetition_tail(NULL, 0).period, 0);
}
END_TEST

START_TEST(calls_long_circles_hopeless_and_short_ones_not)
{
    int32_t ids[64];
    for (int i = 0; i < 64; i++)
        ids[i] = 2 + i % 3;
    for (size_t n = 0; n <= 64; n++) {
        struct dg_repetition tail = dg_repetition_tail(ids, n);
        ck_assert_int_eq(dg_repetition_is_hopeless(&tail, 0), n >= 16);
        ck_assert_int_eq(dg_repetition_is_hopeless(&tail, 10), n >= 28);
    }
}
END_TEST

START_TEST(a_source_that_repeats_allows_repetition)
{
    ck_assert_int_eq(dg_repetition_allowance(IDS(1, 2, 3, 4, 5, 0)), 0);
    ck_assert_int_eq(dg_repetition_allowance(IDS(4, 5, 4, 5, 4, 5, 4, 5, 0)), 8);
}
END_TEST

START_TEST(holds_back_what_follows_the_second_copy)
{
    ck_assert_uint_eq(dg_repetition_held_back(IDS(1, 2, 3)), 0);
    ck_assert_uint_eq(dg_repetition_held_back(IDS(1, 5, 5)), 0);
    ck_assert_uint_eq(dg_repetition_held_back(IDS(1, 5, 5, 5, 5)), 2);
    ck_assert_uint_eq(dg_repetition_held_back(IDS(1, 2, 3, 2, 3, 2, 3)), 2);
}
END_TEST

DG_UNIT(finds_the_period_and_run_of_a_tail, calls_long_circles_hopeless_and_short_ones_not,
        a_source_that_repeats_allows_repetition, holds_back_what_follows_the_second_copy)
