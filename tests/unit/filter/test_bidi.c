/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "filter/bidi.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static void check(const char *seen, bool is_rtl, const char *read)
{
    char line[256];
    bool found;
    snprintf(line, sizeof line, "%s", seen);
    ck_assert_int_eq(dg_bidi_reorder(line, strlen(line), &found), DG_OK);
    ck_assert_str_eq(line, read);
    ck_assert_int_eq(found, is_rtl);
}

START_TEST(lines_are_read_in_their_direction)
{
    check("A cat, 25 (dogs).", false, "A cat, 25 (dogs).");
    check("", false, "");
    check(".הנחתה דיל", true, "ליד התחנה.");
    check(".2024 ماع", true, "عام 2024.");
    check(".לארשיב ABC def 25 שי", true, "יש 25 ABC def בישראל.");
    check("The word םולש is a greeting.", false, "The word שלום is a greeting.");
}
END_TEST

START_TEST(what_is_no_text_stays)
{
    check("\xD7\xA9\xFF", true, "\xD7\xA9\xFF");
}
END_TEST

DG_UNIT(lines_are_read_in_their_direction, what_is_no_text_stays)
