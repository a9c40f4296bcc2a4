/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "filter/pdf.h"
#include "unit.h"

#include <stdio.h>

/* Checks a page with one block of these lines, in letters of 10 points. */
static void check(const char *lines, enum dg_err expected_err, const char *expected)
{
    char layout[2048];
    struct dg_buf html;
    dg_buf_init(&html, 4096);
    snprintf(layout, sizeof layout, "<page height=\"800\"><block>%s</block></page>", lines);
    ck_assert_int_eq(dg_pdf_read(dg_span_cstr(layout), &html), expected_err);
    ck_assert_int_eq(dg_buf_append_byte(&html, '\0'), DG_OK);
    ck_assert_str_eq(html.ptr, expected);
    dg_buf_deinit(&html);
}

#define LINE(left, top, right, bottom, words)                                                      \
    "<line xMin=\"" left "\" yMin=\"" top "\" xMax=\"" right "\" yMax=\"" bottom "\">" words       \
    "</line>"
#define WORD(left, right, text) "<word xMin=\"" left "\" xMax=\"" right "\">" text "</word>"

START_TEST(words_that_touch_are_one)
{
    check(LINE("100", "200", "300", "210",
               WORD("100", "120", "The") WORD("123", "150", "cat") WORD("150.2", "152", ",")
                   WORD("155", "170", "too")),
          DG_OK, "<p>The cat, too</p>\n");
}
END_TEST

START_TEST(lines_from_right_to_left_are_read_so)
{
    check(LINE("100", "200", "300", "210", WORD("100", "140", ".דיל") WORD("143", "300", "הנחתה"))
              LINE("220", "212", "300", "222", WORD("220", "300", ".ןשי"))
                  LINE("100", "224", "300", "234", WORD("100", "300", "לותחה")),
          DG_OK, "<p>התחנה ליד. ישן.</p>\n<p>החתול</p>\n");
}
END_TEST

START_TEST(what_is_no_layout_is_refused)
{
    check("", DG_OK, "");
    check(WORD("1", "2", "lost"), DG_OK, "");
    check("<line xMin yMin=><word xMax>lost</word></line>", DG_OK, "<p>lost</p>\n");
    check(LINE("a", "", "1e999", "-1", WORD("nan", "inf", "&amp;&lt;")), DG_OK,
          "<p>&amp;&lt;</p>\n");
    check("\xFF", DG_ERR_UTF8, "");
}
END_TEST

DG_UNIT(words_that_touch_are_one, lines_from_right_to_left_are_read_so,
        what_is_no_layout_is_refused)
