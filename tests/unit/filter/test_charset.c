/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "filtered.h"
#include "filter/charset.h"

#define LATIN "Le caf\xE9 est ferm\xE9, o\xF9 est la gare\xA0? L'\xE9t\xE9 est l\xE0.\r\n"
#define UTF8                                                                                       \
    "Le caf\xC3\xA9 est ferm\xC3\xA9, o\xC3\xB9 est la gare\xC2\xA0? L'\xC3\xA9t\xC3\xA9 est "     \
    "l\xC3\xA0.\r\n"

START_TEST(text_in_other_encodings_is_read_and_written)
{
    check_text("a.txt", DG_SPAN(LATIN), "", UTF8);
    check_note("a.txt", DG_SPAN(LATIN), "", "the file is read as windows-1252");
    check_written("a.txt", DG_SPAN(LATIN), "", "\xC3\x84, \xE2\x82\xAC\n", "de",
                  DG_SPAN("\xC4, \x80\n"));
    check_written("a.srt", DG_SPAN(LATIN), "", "\xD0\x94\n", "ru", DG_SPAN("\xD0\x94\n"));
    check_written("a.html", DG_SPAN("<p>" LATIN), "", "<p>\xD0\x94\xC3\xA9", "ru",
                  DG_SPAN("<p>&#1044;\xE9"));
    check_text("a.html", DG_SPAN("<meta charset=koi8-r>\xF0\xD2\xC9"), "",
               "<meta charset=koi8-r>\xD0\x9F\xD1\x80\xD0\xB8");
    check_text("a.csv", DG_SPAN("id;nom\n1;caf\xE9\n"), "", "<p>caf\xC3\xA9</p>\n");
    check_written("a.csv", DG_SPAN("id;nom\n1;caf\xE9\n"), "", "<p>\xC3\xA9t\xC3\xA9</p>\n", "fr",
                  DG_SPAN("id;nom\n1;\xE9t\xE9\n"));
}
END_TEST

START_TEST(other_scripts_are_told)
{
    char name[DG_CHARSET_NAME];
    ck_assert(dg_charset_detect(
        DG_SPAN("\xCF\xF0\xE8\xE2\xE5\xF2, \xEA\xE0\xEA \xE4\xE5\xEB\xE0? \xD1\xEF\xE0\xF1\xE8\xE1"
                "\xEE, \xF5\xEE\xF0\xEE\xF8\xEE."),
        name));
    ck_assert_str_eq(name, "windows-1251");
    ck_assert(dg_charset_detect(DG_SPAN("O\xF9 est la gare ?"), name));
    ck_assert_str_eq(name, "windows-1252");
    ck_assert(!dg_charset_detect(DG_SPAN(""), name));
}
END_TEST

START_TEST(marks_of_order_are_kept)
{
    check_text("a.txt", DG_SPAN("\xFF\xFEH\0i\0\n\0"), "", "Hi\n");
    check_written("a.txt", DG_SPAN("\xFF\xFEH\0i\0\n\0"), "", "\xD0\x94\n", "ru",
                  DG_SPAN("\xFF\xFE\x14\x04\n\0"));
    check_text("a.txt", DG_SPAN("\xFE\xFF\0H\0i"), "", "Hi");
    check_text("a.txt", DG_SPAN("\xEF\xBB\xBFHi"), "", "Hi");
    check_written("a.txt", DG_SPAN("\xEF\xBB\xBFHi"), "", "Ho", "de", DG_SPAN("\xEF\xBB\xBFHo"));
    check_text("a.srt", DG_SPAN("\xE9\0t\0e\0 \0a\0b\0c\0"), "", "\xC3\xA9te abc");
}
END_TEST

START_TEST(bytes_that_are_no_text_are_refused)
{
    check_refusal("a.txt",
                  DG_SPAN("a\0\xFF"
                          "b\xFE\0x"),
                  "", DG_ERR_UTF8, "at byte 2");
    check_refusal("a.txt", DG_SPAN("\xFF\xFEH\0i\0\n"), "", DG_ERR_UTF8, "at byte 0");
    ck_assert(!dg_filter_takes(DG_SPAN("a.txt"), DG_SPAN("plain")));
    ck_assert(dg_filter_takes(DG_SPAN("a.txt"), DG_SPAN("caf\xE9")));
    ck_assert(!dg_filter_is_named(DG_SPAN("a.txt")));
}
END_TEST

START_TEST(names_of_encodings_are_checked)
{
    struct dg_buf out;
    bool is_exact, fits;
    dg_buf_init(&out, FILTERED_MAX);
    ck_assert_int_eq(dg_charset_decode("../x", DG_SPAN("a"), &out, &is_exact), DG_ERR_UNSUPPORTED);
    ck_assert_int_eq(dg_charset_decode("", DG_SPAN("a"), &out, &is_exact), DG_ERR_UNSUPPORTED);
    ck_assert_int_eq(dg_charset_encode("no-such", DG_SPAN("a"), false, &out, &fits),
                     DG_ERR_UNSUPPORTED);
    ck_assert_int_eq(dg_charset_encode("us-ascii", DG_SPAN("a\xC3\xA9"), false, &out, &fits),
                     DG_OK);
    ck_assert(!fits);
    ck_assert_uint_eq(out.len, 0);
    dg_buf_deinit(&out);
}
END_TEST

DG_UNIT(text_in_other_encodings_is_read_and_written, other_scripts_are_told,
        marks_of_order_are_kept, bytes_that_are_no_text_are_refused, names_of_encodings_are_checked)
