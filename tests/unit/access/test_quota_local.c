/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

#include "access/quota_local.h"
#include "unit.h"

static struct dg_clock clock;
static struct dg_usage *usage;
static struct dg_quota_local *local;
static struct dg_quota quota;

static void begin(void)
{
    clock = (struct dg_clock)DG_CLOCK_VIRTUAL(1000 * DG_CLOCK_S);
    ck_assert_int_eq(dg_usage_open(&clock, NULL, NULL, &usage), DG_OK);
    local = dg_quota_local_new(&clock, usage, 100);
    quota = dg_quota_local(local);
}

static void end(void)
{
    dg_quota_local_free(local);
    dg_usage_close(usage);
}

static void keep(void *ctx, const struct dg_quota_verdict *verdict)
{
    *(struct dg_quota_verdict *)ctx = *verdict;
}

static struct dg_quota_verdict charge(const struct dg_quota_ask *ask)
{
    struct dg_quota_verdict verdict = {.retry_s = 77};
    ck_assert_ptr_null(dg_quota_charge(&quota, ask, keep, &verdict));
    return verdict;
}

static struct dg_quota_verdict peek(const struct dg_quota_ask *ask)
{
    struct dg_quota_verdict verdict = {.retry_s = 77};
    ck_assert_ptr_null(dg_quota_peek(&quota, ask, keep, &verdict));
    return verdict;
}

static struct dg_quota_ask ask_of(const char *name, uint64_t requests, uint64_t characters,
                                  uint64_t month)
{
    return (struct dg_quota_ask){.kind = DG_QUOTA_KEY,
                                 .id = dg_span_cstr(name),
                                 .limits = {[DG_QUOTA_REQUESTS] = requests,
                                            [DG_QUOTA_CHARACTERS] = characters,
                                            [DG_QUOTA_MONTH] = month},
                                 .requests = 1,
                                 .characters = 10};
}

START_TEST(without_limits_all_is_allowed_and_counted)
{
    begin();
    struct dg_quota_ask ask = ask_of("alice", 0, 0, 0);
    struct dg_quota_verdict verdict = {.allowed = false};
    for (int i = 0; i < 1000; i++)
        verdict = charge(&ask);
    ck_assert(verdict.allowed);
    ck_assert_uint_eq(verdict.month_requests, 1000);
    ck_assert_uint_eq(verdict.month_characters, 10000);
    ck_assert_uint_eq(verdict.windows[DG_QUOTA_REQUESTS].limit, 0);
    end();
}
END_TEST

START_TEST(requests_per_minute_are_limited)
{
    begin();
    struct dg_quota_ask ask = ask_of("alice", 3, 0, 0), other = ask_of("bob", 3, 0, 0);
    for (uint64_t i = 0; i < 3; i++) {
        struct dg_quota_verdict verdict = charge(&ask);
        ck_assert(verdict.allowed);
        ck_assert_uint_eq(verdict.windows[DG_QUOTA_REQUESTS].limit, 3);
        ck_assert_uint_eq(verdict.windows[DG_QUOTA_REQUESTS].remaining, 2 - i);
        ck_assert_uint_eq(verdict.windows[DG_QUOTA_REQUESTS].reset_s, 20 * (i + 1));
    }
    struct dg_quota_verdict verdict = charge(&ask);
    ck_assert(!verdict.allowed);
    ck_assert_int_eq(verdict.refused_by, DG_QUOTA_REQUESTS);
    ck_assert_uint_eq(verdict.retry_s, 20);
    ck_assert_uint_eq(verdict.month_requests, 3); /* a refused charge is not counted */
    ck_assert(charge(&other).allowed);
    dg_clock_advance(&clock, 20 * DG_CLOCK_S);
    ck_assert(charge(&ask).allowed);
    ck_assert(!charge(&ask).allowed);
    end();
}
END_TEST

START_TEST(hours_and_days_have_limits_of_their_own)
{
    begin();
    struct dg_quota_ask ask = {.kind = DG_QUOTA_ADDRESS,
                               .id = DG_SPAN("192.0.2.1"),
                               .limits = {[DG_QUOTA_HOUR] = 2, [DG_QUOTA_DAY] = 3},
                               .requests = 1,
                               .characters = 1000};
    ck_assert(charge(&ask).allowed);
    struct dg_quota_verdict verdict = charge(&ask);
    ck_assert(verdict.allowed);
    ck_assert_uint_eq(verdict.windows[DG_QUOTA_HOUR].remaining, 0);
    ck_assert_uint_eq(verdict.windows[DG_QUOTA_HOUR].reset_s, 3600);
    ck_assert_uint_eq(verdict.windows[DG_QUOTA_DAY].remaining, 1);
    verdict = charge(&ask);
    ck_assert(!verdict.allowed);
    ck_assert_int_eq(verdict.refused_by, DG_QUOTA_HOUR);
    ck_assert_uint_eq(verdict.retry_s, 1800);
    dg_quota_refund(&quota, &ask);
    ck_assert(charge(&ask).allowed);
    dg_clock_advance(&clock, 3600 * DG_CLOCK_S);
    ck_assert(charge(&ask).allowed);
    verdict = charge(&ask); /* the hour's limit would allow it */
    ck_assert_int_eq(verdict.refused_by, DG_QUOTA_DAY);
    ck_assert_uint_gt(verdict.retry_s, 3600);
    end();
}
END_TEST

START_TEST(characters_per_minute_are_limited_and_nothing_is_taken_by_halves)
{
    begin();
    struct dg_quota_ask ask = ask_of("alice", 10, 100, 0);
    ask.characters = 60;
    ck_assert(charge(&ask).allowed);
    struct dg_quota_verdict verdict = charge(&ask);
    ck_assert(!verdict.allowed);
    ck_assert_int_eq(verdict.refused_by, DG_QUOTA_CHARACTERS);
    ck_assert_uint_eq(verdict.retry_s, 12);
    ck_assert_uint_eq(verdict.windows[DG_QUOTA_REQUESTS].remaining, 9);
    ask.characters = 40;
    ck_assert(charge(&ask).allowed);
    ask.characters = 0;
    ck_assert(charge(&ask).allowed); /* a charge without cost does not wait for others */
    end();
}
END_TEST

START_TEST(the_month_ends_with_the_month)
{
    begin();
    struct dg_quota_ask ask = ask_of("alice", 0, 0, 25);
    ck_assert(charge(&ask).allowed);
    struct dg_quota_verdict verdict = charge(&ask);
    ck_assert(verdict.allowed);
    ck_assert_uint_eq(verdict.windows[DG_QUOTA_MONTH].remaining, 5);
    verdict = charge(&ask);
    ck_assert(!verdict.allowed);
    ck_assert_int_eq(verdict.refused_by, DG_QUOTA_MONTH);
    ck_assert_uint_eq(verdict.retry_s, 31 * 86400 - 1000); /* January 1970 */
    ck_assert_uint_eq(verdict.windows[DG_QUOTA_MONTH].reset_s, 31 * 86400 - 1000);
    dg_clock_advance(&clock, (31 * 86400 - 1000) * DG_CLOCK_S);
    verdict = charge(&ask);
    ck_assert(verdict.allowed);
    ck_assert_uint_eq(verdict.month_characters, 10);
    end();
}
END_TEST

START_TEST(a_lowered_quota_leaves_nothing_rather_than_less)
{
    begin();
    struct dg_quota_ask ask = ask_of("alice", 0, 0, 0);
    ask.characters = 100;
    ck_assert(charge(&ask).allowed);
    ask.limits[DG_QUOTA_MONTH] = 50;
    struct dg_quota_verdict verdict = charge(&ask);
    ck_assert(!verdict.allowed);
    ck_assert_uint_eq(verdict.windows[DG_QUOTA_MONTH].remaining, 0);
    end();
}
END_TEST

START_TEST(a_peek_takes_nothing_and_a_refund_gives_all_back)
{
    begin();
    struct dg_quota_ask ask = ask_of("alice", 2, 20, 20);
    ck_assert(peek(&ask).allowed);
    ck_assert(charge(&ask).allowed);
    ck_assert(charge(&ask).allowed);
    ck_assert(!peek(&ask).allowed);
    dg_quota_refund(&quota, &ask);
    struct dg_quota_verdict verdict = peek(&ask);
    ck_assert(verdict.allowed);
    ck_assert_uint_eq(verdict.windows[DG_QUOTA_REQUESTS].remaining, 1);
    ck_assert_uint_eq(verdict.windows[DG_QUOTA_CHARACTERS].remaining, 10);
    ck_assert_uint_eq(verdict.windows[DG_QUOTA_MONTH].remaining, 10);
    ck_assert_uint_eq(verdict.month_requests, 1);
    end();
}
END_TEST

START_TEST(a_refund_after_the_months_turn_does_not_credit_the_new_month)
{
    begin();
    struct dg_quota_ask ask = ask_of("alice", 0, 0, 0);
    ask.month = charge(&ask).month;
    ck_assert_uint_eq(ask.month, 197001);
    charge(&ask);
    dg_quota_refund(&quota, &ask);
    ck_assert_uint_eq(peek(&ask).month_characters, 10);
    dg_clock_advance(&clock, 31ull * 86400 * DG_CLOCK_S);
    ck_assert_uint_eq(charge(&ask).month, 197002);
    dg_quota_refund(&quota, &ask);
    ck_assert_uint_eq(peek(&ask).month_characters, 10);
    ck_assert_uint_eq(peek(&ask).month_requests, 1);
    end();
}
END_TEST

START_TEST(addresses_have_no_month_and_their_table_is_bounded)
{
    begin();
    struct dg_quota_ask ask = {
        .kind = DG_QUOTA_ADDRESS, .limits = {1, 0, 5}, .requests = 1, .characters = 10};
    for (int i = 0; i < 500; i++) {
        char id[16];
        snprintf(id, sizeof id, "10.0.0.%d", i);
        ask.id = dg_span_cstr(id);
        ask.limits[DG_QUOTA_MONTH] = 0;
        ck_assert(charge(&ask).allowed);
        ck_assert(!charge(&ask).allowed);
    }
    ck_assert_uint_eq(dg_quota_local_addresses(local), 100);
    ask.limits[DG_QUOTA_REQUESTS] = 0;
    ask.id = DG_SPAN("10.1.1.1");
    ck_assert(charge(&ask).allowed); /* without limits no client is remembered */
    ask.id = DG_SPAN("10.0.0.499");
    ask.limits[DG_QUOTA_REQUESTS] = 1;
    ck_assert(!charge(&ask).allowed);
    end();
}
END_TEST

START_TEST(nobody_need_listen)
{
    begin();
    struct dg_quota_ask ask = ask_of("alice", 1, 0, 0);
    dg_quota_charge(&quota, &ask, NULL, NULL);
    ck_assert(!charge(&ask).allowed);
    dg_quota_cancel(&quota, NULL);
    end();
}
END_TEST

DG_UNIT(without_limits_all_is_allowed_and_counted, requests_per_minute_are_limited,
        hours_and_days_have_limits_of_their_own,
        characters_per_minute_are_limited_and_nothing_is_taken_by_halves,
        the_month_ends_with_the_month, a_lowered_quota_leaves_nothing_rather_than_less,
        a_peek_takes_nothing_and_a_refund_gives_all_back,
        a_refund_after_the_months_turn_does_not_credit_the_new_month,
        addresses_have_no_month_and_their_table_is_bounded, nobody_need_listen)
