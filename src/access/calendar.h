/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Calendar time as in the key file, "2026-11-21T22:00:00Z" (RFC 3339, UTC, whole seconds), and
 * calendar months, for quotas.
 *
 *     err = dg_calendar_parse(DG_SPAN("2026-12-31T23:59:59Z"), &error, &seconds);
 *                                                             also "2026-12-31"
 *     dg_calendar_format(seconds, text);
 *     unsigned month = dg_calendar_month(seconds);            202612
 *
 * Seconds are those since 1970, without leap seconds. Pure; any thread. */
#ifndef DG_ACCESS_CALENDAR_H
#define DG_ACCESS_CALENDAR_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdint.h>

enum { DG_CALENDAR_TEXT = 24 }; /* room for the text and its NUL */

/* Reads a time. A date without a time of day means the beginning of that day. Years 1970 to 9999.
 * Refusals read `read "...", expected ...`. */
enum dg_err dg_calendar_parse(struct dg_span text, struct dg_error *error,
                              uint64_t *seconds) DG_MUST_CHECK;
void dg_calendar_format(uint64_t seconds, char text[DG_CALENDAR_TEXT]);

/* Return the month of a time as year * 100 + month, and the time at which the next month begins. */
unsigned dg_calendar_month(uint64_t seconds);
uint64_t dg_calendar_next_month(uint64_t seconds);

#endif
