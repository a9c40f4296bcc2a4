/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "access/wall_time.h"
#include "unit.h"

static const uint64_t year_s = 365 * 86400;

START_TEST(time_goes_on_as_the_clock_does)
{
    struct dg_clock clock = DG_CLOCK_VIRTUAL(1000 * DG_CLOCK_S);
    struct dg_wall_time steady = {0};
    ck_assert_uint_eq(dg_wall_time_s(&steady, &clock), 1000);
    dg_clock_advance(&clock, 5 * DG_CLOCK_S);
    ck_assert_uint_eq(dg_wall_time_s(&steady, &clock), 1005);
    /* the clock was corrected */
    dg_clock_set_ahead(&clock, (int64_t)(DG_WALL_TIME_SLACK_S * DG_CLOCK_S));
    ck_assert_uint_eq(dg_wall_time_s(&steady, &clock), 1005 + DG_WALL_TIME_SLACK_S);
    dg_clock_advance(&clock, year_s * DG_CLOCK_S); /* there were no requests for a year */
    ck_assert_uint_eq(dg_wall_time_s(&steady, &clock), 1005 + DG_WALL_TIME_SLACK_S + year_s);
}
END_TEST

START_TEST(a_jump_is_believed_when_it_has_held)
{
    const int64_t jumps[] = {(int64_t)(year_s * DG_CLOCK_S), -(int64_t)(year_s * DG_CLOCK_S)};
    for (size_t i = 0; i < 2; i++) {
        struct dg_clock clock = DG_CLOCK_VIRTUAL(2 * year_s * DG_CLOCK_S);
        struct dg_wall_time steady = {0};
        ck_assert_uint_eq(dg_wall_time_s(&steady, &clock), 2 * year_s);
        dg_clock_set_ahead(&clock, jumps[i]);
        ck_assert_uint_eq(dg_wall_time_s(&steady, &clock), 2 * year_s);
        dg_clock_advance(&clock, (DG_WALL_TIME_HELD_S - 1) * DG_CLOCK_S);
        ck_assert_uint_eq(dg_wall_time_s(&steady, &clock), 2 * year_s + DG_WALL_TIME_HELD_S - 1);
        dg_clock_set_ahead(&clock, 0); /* back in time */
        dg_clock_advance(&clock, DG_CLOCK_S);
        ck_assert_uint_eq(dg_wall_time_s(&steady, &clock), 2 * year_s + DG_WALL_TIME_HELD_S);
        dg_clock_set_ahead(&clock, jumps[i]);
        ck_assert_uint_eq(dg_wall_time_s(&steady, &clock), 2 * year_s + DG_WALL_TIME_HELD_S);
        dg_clock_advance(&clock, DG_WALL_TIME_HELD_S * DG_CLOCK_S);
        ck_assert_uint_eq(dg_wall_time_s(&steady, &clock),
                          (uint64_t)((int64_t)(2 * year_s + 2 * DG_WALL_TIME_HELD_S) +
                                     jumps[i] / (int64_t)DG_CLOCK_S));
    }
}
END_TEST

DG_UNIT(time_goes_on_as_the_clock_does, a_jump_is_believed_when_it_has_held)
