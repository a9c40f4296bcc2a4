/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

#include "access/calendar.h"
#include "unit.h"

#include <time.h>

static uint64_t parse(const char *text)
{
    uint64_t seconds = 1;
    ck_assert_int_eq(dg_calendar_parse(dg_span_cstr(text), NULL, &seconds), DG_OK);
    return seconds;
}

START_TEST(reads_what_people_write)
{
    ck_assert_uint_eq(parse("1970-01-01"), 0);
    ck_assert_uint_eq(parse("1970-01-01T00:00:01Z"), 1);
    ck_assert_uint_eq(parse("2000-02-29T12:00:00Z"), 951825600);
    ck_assert_uint_eq(parse("2026-11-21T22:00:00Z"), 1795298400);
    ck_assert_uint_eq(parse("9999-12-31T23:59:59Z"), 253402300799);
}
END_TEST

START_TEST(refuses_what_is_no_time)
{
    static const char *const wrong[] = {"",
                                        "2026",
                                        "2026-13-01",
                                        "2026-00-01",
                                        "2026-02-29",
                                        "2026-02-30",
                                        "2026-04-31",
                                        "1969-12-31",
                                        "2026-1-1",
                                        "2026-11-21 22:00:00Z",
                                        "2026-11-21T22:00:00",
                                        "2026-11-21T24:00:00Z",
                                        "2026-11-21T22:60:00Z",
                                        "2026-11-21T22:00:60Z",
                                        "2026-11-21T22:00:00+01:00",
                                        "+026-11-21",
                                        "2026/11/21",
                                        "2026-11-21T",
                                        "2026-11-00"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t seconds = 7;
        struct dg_error error = DG_ERROR_NONE;
        ck_assert_msg(dg_calendar_parse(dg_span_cstr(wrong[i]), &error, &seconds) == DG_ERR_INVALID,
                      "%s", wrong[i]);
        ck_assert_uint_eq(seconds, 7);
        ck_assert_ptr_nonnull(strstr(error.text, "expected a time"));
    }
}
END_TEST

/* Compares with the C library, over a little more than 400 years. */
START_TEST(agrees_with_the_library_on_every_day)
{
    for (uint64_t day = 0; day < 150000; day += (uint64_t)(getenv("DRAGOMAN_SLOW") ? 37 : 1)) {
        time_t at = (time_t)(day * 86400 + day % 86400);
        struct tm tm;
        char ours[DG_CALENDAR_TEXT], theirs[64];
        ck_assert_ptr_nonnull(gmtime_r(&at, &tm));
        dg_calendar_format((uint64_t)at, ours);
        strftime(theirs, sizeof theirs, "%Y-%m-%dT%H:%M:%SZ", &tm);
        ck_assert_str_eq(ours, theirs);
        ck_assert_uint_eq(parse(ours), (uint64_t)at);
        ck_assert_uint_eq(dg_calendar_month((uint64_t)at),
                          (unsigned)(tm.tm_year + 1900) * 100 + (unsigned)tm.tm_mon + 1);
    }
}
END_TEST

START_TEST(the_next_month_begins_when_this_one_ends)
{
    ck_assert_uint_eq(dg_calendar_next_month(parse("2026-11-21T22:00:00Z")), parse("2026-12-01"));
    ck_assert_uint_eq(dg_calendar_next_month(parse("2026-12-31T23:59:59Z")), parse("2027-01-01"));
    ck_assert_uint_eq(dg_calendar_next_month(parse("2027-01-01")), parse("2027-02-01"));
    ck_assert_uint_eq(dg_calendar_next_month(parse("2028-02-29")), parse("2028-03-01"));
}
END_TEST

DG_UNIT(reads_what_people_write, refuses_what_is_no_time, agrees_with_the_library_on_every_day,
        the_next_month_begins_when_this_one_ends)
