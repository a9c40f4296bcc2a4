/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

#include "access/token_bucket.h"
#include "base/memory/clock.h"
#include "unit.h"

static const uint64_t second = DG_CLOCK_S, minute = 60 * DG_CLOCK_S;

/* Takes one token if the bucket has one. */
static bool take_one(struct dg_token_bucket *bucket, uint64_t rate, uint64_t now)
{
    if (dg_token_bucket_wait(bucket, rate, 60, 1, now))
        return false;
    dg_token_bucket_take(bucket, rate, 60, 1, now);
    return true;
}

START_TEST(a_full_bucket_is_a_minutes_worth)
{
    const uint64_t rates[] = {1, 2, 3, 7, 59, 60, 61, 1000, 99991};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        struct dg_token_bucket bucket = {0};
        uint64_t n = 0, now = 12345 * second;
        ck_assert_uint_eq(dg_token_bucket_level(&bucket, rates[i], 60, now), rates[i]);
        while (take_one(&bucket, rates[i], now)) {
            n++;
            ck_assert_uint_eq(dg_token_bucket_level(&bucket, rates[i], 60, now), rates[i] - n);
        }
        ck_assert_uint_eq(n, rates[i]);
    }
}
END_TEST

START_TEST(units_flow_in_evenly)
{
    struct dg_token_bucket bucket = {0};
    uint64_t now = second;
    dg_token_bucket_take(&bucket, 60, 60, 60, now);
    ck_assert_uint_eq(dg_token_bucket_level(&bucket, 60, 60, now), 0);
    ck_assert_uint_eq(dg_token_bucket_wait(&bucket, 60, 60, 1, now), second);
    ck_assert_uint_eq(dg_token_bucket_wait(&bucket, 60, 60, 10, now), 10 * second);
    ck_assert_uint_eq(dg_token_bucket_full_in(&bucket, now), minute);
    now += 10 * second;
    ck_assert_uint_eq(dg_token_bucket_level(&bucket, 60, 60, now), 10);
    ck_assert_uint_eq(dg_token_bucket_wait(&bucket, 60, 60, 10, now), 0);
    now += minute;
    ck_assert_uint_eq(dg_token_bucket_level(&bucket, 60, 60, now), 60);
    ck_assert_uint_eq(dg_token_bucket_full_in(&bucket, now), 0);
}
END_TEST

START_TEST(over_an_hour_no_more_than_the_rate_gets_through)
{
    struct dg_token_bucket bucket = {0};
    uint64_t now = second, n = 0;
    for (; now < 3601 * second; now += second / 20)
        n += take_one(&bucket, 37, now);
    ck_assert_uint_ge(n, 37 * 60);
    ck_assert_uint_le(n, 37 * 61);
}
END_TEST

START_TEST(what_is_larger_than_the_bucket_passes_when_it_is_full)
{
    struct dg_token_bucket bucket = {0};
    uint64_t now = second;
    ck_assert_uint_eq(dg_token_bucket_wait(&bucket, 100, 60, 500, now), 0);
    dg_token_bucket_take(&bucket, 100, 60, 500, now);
    ck_assert_uint_eq(dg_token_bucket_level(&bucket, 100, 60, now), 0);
    ck_assert_uint_eq(dg_token_bucket_full_in(&bucket, now), 5 * minute);
    ck_assert_uint_eq(dg_token_bucket_wait(&bucket, 100, 60, 500, now), 5 * minute);
    ck_assert_uint_eq(dg_token_bucket_wait(&bucket, 100, 60, 1, now),
                      4 * minute + 600 * DG_CLOCK_MS);
}
END_TEST

START_TEST(a_window_may_be_an_hour_or_a_day)
{
    const uint64_t windows[] = {3600, 86400};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        struct dg_token_bucket bucket = {0};
        const uint64_t window = windows[i], now = 7 * second;
        for (uint64_t n = 0; n < 24; n++) {
            ck_assert_uint_eq(dg_token_bucket_wait(&bucket, 24, window, 1, now), 0);
            dg_token_bucket_take(&bucket, 24, window, 1, now);
            ck_assert_uint_eq(dg_token_bucket_level(&bucket, 24, window, now), 23 - n);
        }
        ck_assert_uint_eq(dg_token_bucket_wait(&bucket, 24, window, 1, now), window / 24 * second);
        ck_assert_uint_eq(dg_token_bucket_full_in(&bucket, now), window * second);
        dg_token_bucket_give(&bucket, 24, window, 1);
        ck_assert_uint_eq(dg_token_bucket_wait(&bucket, 24, window, 1, now), 0);
    }
}
END_TEST

START_TEST(what_is_given_back_is_there_again)
{
    struct dg_token_bucket bucket = {0};
    uint64_t now = second;
    dg_token_bucket_take(&bucket, 60, 60, 60, now);
    dg_token_bucket_give(&bucket, 60, 60, 20);
    ck_assert_uint_eq(dg_token_bucket_level(&bucket, 60, 60, now), 20);
    dg_token_bucket_give(&bucket, 60, 60, 1000);
    ck_assert_uint_eq(dg_token_bucket_level(&bucket, 60, 60, now), 60);
}
END_TEST

START_TEST(no_cost_is_too_large_to_compute)
{
    struct dg_token_bucket bucket = {0};
    uint64_t now = second;
    for (int i = 0; i < 1000; i++)
        dg_token_bucket_take(&bucket, 1, 60, UINT64_MAX, now);
    ck_assert_uint_eq(dg_token_bucket_full_in(&bucket, now), 365 * 24 * 60 * minute);
    ck_assert_uint_gt(dg_token_bucket_wait(&bucket, 1000000000, 60, UINT64_MAX, now), 0);
    dg_token_bucket_give(&bucket, 1, 60, UINT64_MAX);
    struct dg_token_bucket fast = {0};
    dg_token_bucket_take(&fast, 1000000000, 60, 999999999, now);
    ck_assert_uint_ge(dg_token_bucket_level(&fast, 1000000000, 60, now), 1);
    struct dg_token_bucket day = {0};
    dg_token_bucket_take(&day, 100000000, 86400, 99999999, now);
    ck_assert_uint_ge(dg_token_bucket_level(&day, 100000000, 86400, now), 1);
    dg_token_bucket_take(&day, 1, 86400, UINT64_MAX, now);
    ck_assert_uint_eq(dg_token_bucket_full_in(&day, now), 365 * 24 * 60 * minute);
}
END_TEST

START_TEST(a_half_full_bucket_stays_half_full_when_the_rate_changes)
{
    struct dg_token_bucket bucket = {0};
    dg_token_bucket_take(&bucket, 60, 60, 30, second);
    ck_assert_uint_eq(dg_token_bucket_level(&bucket, 600, 60, second), 300);
}
END_TEST

DG_UNIT(a_full_bucket_is_a_minutes_worth, units_flow_in_evenly,
        over_an_hour_no_more_than_the_rate_gets_through,
        what_is_larger_than_the_bucket_passes_when_it_is_full, a_window_may_be_an_hour_or_a_day,
        what_is_given_back_is_there_again, no_cost_is_too_large_to_compute,
        a_half_full_bucket_stays_half_full_when_the_rate_changes)
