/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The Gregorian calendar by arithmetic: years that begin in March have their leap day at the end,
 * and repeat every 400 years. */
#include "access/calendar.h"

#include <stdbool.h>
#include <stdio.h>

enum {
    DAY_S = 86400,
    DAYS_400Y = 146097,
    DAYS_TO_1970 = 719468
}; /* the last from 1 March of year 0 */

struct date {
    unsigned year, month, day;
};

static uint64_t days_of(struct date date)
{
    uint64_t year = date.month <= 2 ? date.year - 1 : date.year;
    uint64_t of_era = year % 400, from_march = (date.month + 9) % 12;
    uint64_t day = (153 * from_march + 2) / 5 + date.day - 1;
    return year / 400 * DAYS_400Y + of_era * 365 + of_era / 4 - of_era / 100 + day - DAYS_TO_1970;
}

static struct date date_of(uint64_t seconds)
{
    uint64_t days = seconds / DAY_S + DAYS_TO_1970;
    uint64_t of_era = days % DAYS_400Y;
    uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t day = of_era - (365 * year + year / 4 - year / 100);
    uint64_t from_march = (5 * day + 2) / 153;
    struct date date = {
        .year = (unsigned)(days / DAYS_400Y * 400 + year),
        .month = (unsigned)(from_march < 10 ? from_march + 3 : from_march - 9),
        .day = (unsigned)(day - (153 * from_march + 2) / 5 + 1),
    };
    date.year += date.month <= 2;
    return date;
}

/* Reads a number of `digits` digits, at most `max`, at `at`, and the text `behind` that must
 * follow. */
static bool number(struct dg_span text, size_t at, size_t digits, unsigned max, const char *behind,
                   unsigned *out)
{
    unsigned value = 0;
    for (size_t i = at; i < at + digits; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        value = value * 10 + (unsigned)(text.ptr[i] - '0');
    }
    *out = value;
    return value <= max && (!*behind || text.ptr[at + digits] == *behind);
}

static bool parse(struct dg_span text, uint64_t *seconds)
{
    struct date date;
    unsigned hour = 0, minute = 0, second = 0;
    if (text.len != sizeof "2026-12-31" - 1 && text.len != sizeof "2026-12-31T23:59:59Z" - 1)
        return false;
    bool has_time = text.len > sizeof "2026-12-31";
    if (!number(text, 0, 4, 9999, "-", &date.year) || !number(text, 5, 2, 12, "-", &date.month) ||
        !number(text, 8, 2, 31, has_time ? "T" : "", &date.day))
        return false;
    if (has_time &&
        (!number(text, 11, 2, 23, ":", &hour) || !number(text, 14, 2, 59, ":", &minute) ||
         !number(text, 17, 2, 59, "Z", &second)))
        return false;
    if (date.year < 1970 || date.month == 0 || date.day == 0)
        return false;
    uint64_t at = days_of(date) * DAY_S;
    struct date again = date_of(at); /* 30 February is not a day */
    *seconds = at + hour * 3600 + minute * 60 + second;
    return again.day == date.day && again.month == date.month;
}

enum dg_err dg_calendar_parse(struct dg_span text, struct dg_error *error, uint64_t *seconds)
{
    uint64_t found = 0;
    if (!parse(text, &found))
        return dg_error_set(
            error, DG_ERR_INVALID,
            "read \"%.*s\", expected a time such as 2026-12-31 or 2026-12-31T23:59:59Z",
            (int)(text.len < 40 ? text.len : 40), text.ptr ? text.ptr : "");
    *seconds = found;
    return DG_OK;
}

void dg_calendar_format(uint64_t seconds, char text[DG_CALENDAR_TEXT])
{
    struct date date = date_of(seconds);
    unsigned of_day = (unsigned)(seconds % DAY_S);
    snprintf(text, DG_CALENDAR_TEXT, "%04u-%02u-%02uT%02u:%02u:%02uZ", date.year % 10000,
             date.month % 100, date.day % 100, of_day / 3600 % 100, of_day / 60 % 60, of_day % 60);
}

unsigned dg_calendar_month(uint64_t seconds)
{
    struct date date = date_of(seconds);
    return date.year * 100 + date.month;
}

uint64_t dg_calendar_next_month(uint64_t seconds)
{
    struct date date = date_of(seconds);
    date.day = 1;
    date.year += date.month == 12;
    date.month = date.month % 12 + 1;
    return days_of(date) * DAY_S;
}
