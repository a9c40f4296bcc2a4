/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

#include "access/rates.h"
#include "base/memory/clock.h"
#include "unit.h"

#include <stdio.h>

static struct dg_rate *get(struct dg_rates *rates, int i)
{
    char id[32];
    snprintf(id, sizeof id, "10.0.%d.%d", i / 256, i % 256);
    return dg_rates_get(rates, dg_span_cstr(id));
}

START_TEST(everybody_has_buckets_of_his_own)
{
    struct dg_rates rates;
    dg_rates_init(&rates, 10);
    struct dg_rate *a = get(&rates, 1);
    ck_assert_ptr_nonnull(a);
    dg_token_bucket_take(&a->buckets[DG_QUOTA_REQUESTS], 60, 60, 60, DG_CLOCK_S);
    struct dg_rate *b = get(&rates, 2);
    ck_assert_ptr_nonnull(b);
    ck_assert_uint_eq(dg_token_bucket_level(&b->buckets[DG_QUOTA_REQUESTS], 60, 60, DG_CLOCK_S),
                      60);
    ck_assert_ptr_eq(get(&rates, 1), a);
    ck_assert_uint_eq(dg_rates_len(&rates), 2);
    dg_rates_deinit(&rates);
}
END_TEST

START_TEST(the_table_is_bounded_and_forgets_who_was_seen_least_recently)
{
    enum { MAX = 100 };
    struct dg_rates rates;
    dg_rates_init(&rates, MAX);
    for (int i = 0; i < 1000; i++) {
        struct dg_rate *rate = get(&rates, i);
        struct dg_rate *first = get(&rates, 0); /* seen again each time */
        ck_assert(rate && first);
        dg_token_bucket_take(&rate->buckets[DG_QUOTA_REQUESTS], 60, 60, 60, DG_CLOCK_S);
        dg_token_bucket_take(&first->buckets[DG_QUOTA_CHARACTERS], 60, 60, 60, DG_CLOCK_S);
    }
    ck_assert_uint_eq(dg_rates_len(&rates), MAX);
    struct dg_rate *first = get(&rates, 0), *last = get(&rates, 999), *second = get(&rates, 1);
    ck_assert_uint_eq(
        dg_token_bucket_level(&first->buckets[DG_QUOTA_CHARACTERS], 60, 60, DG_CLOCK_S), 0);
    ck_assert_uint_eq(dg_token_bucket_level(&last->buckets[DG_QUOTA_REQUESTS], 60, 60, DG_CLOCK_S),
                      0);
    /* The table forgot the second client to make room, so its bucket is full again. */
    ck_assert_uint_eq(
        dg_token_bucket_level(&second->buckets[DG_QUOTA_REQUESTS], 60, 60, DG_CLOCK_S), 60);
    ck_assert_uint_eq(dg_rates_len(&rates), MAX);
    dg_rates_deinit(&rates);
}
END_TEST

DG_UNIT(everybody_has_buckets_of_his_own,
        the_table_is_bounded_and_forgets_who_was_seen_least_recently)
