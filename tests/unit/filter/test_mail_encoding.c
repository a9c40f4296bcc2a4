/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "filter/mail_encoding.h"
#include "unit.h"

/* Takes what a function has written. */
static void check(enum dg_err err, struct dg_buf *out, const char *expected)
{
    const bool is_as_expected = dg_span_eq(dg_buf_span(out), dg_span_cstr(expected));
    dg_buf_deinit(out);
    ck_assert_int_eq(err, DG_OK);
    ck_assert_msg(is_as_expected, "not as expected: \"%s\"", expected);
}

static void check_quoted(const char *text, const char *encoded)
{
    struct dg_buf out;
    dg_buf_init(&out, 10000);
    check(dg_mail_encode_quoted(dg_span_cstr(text), "\r\n", &out), &out, encoded);
    check(dg_mail_decode_quoted(dg_span_cstr(encoded), false, &out), &out, text);
}

#define X70 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

START_TEST(quoted_printable_keeps_lines_short_and_safe)
{
    check_quoted("", "");
    check_quoted("a = b", "a =3D b");
    check_quoted("Caf\xC3\xA9\r\n", "Caf=C3=A9\r\n");
    check_quoted("a \r\nb\t\n", "a=20\r\nb=09\n"); /* white space at the end of a line */
    check_quoted(".\nFrom me\n", "=2E\n=46rom me\n");
    check_quoted(X70 "123456", X70 "12345=\r\n6");
    check_quoted(X70 "1234=", X70 "1234=\r\n=3D");
}
END_TEST

START_TEST(broken_quoted_printable_is_copied)
{
    struct dg_buf out;
    dg_buf_init(&out, 10000);
    check(dg_mail_decode_quoted(DG_SPAN("=4 =zz =c3=A9 = \nend="), false, &out), &out,
          "=4 =zz \xC3\xA9 end=");
    check(dg_mail_decode_quoted(DG_SPAN("a_b=5F=\n"), true, &out), &out, "a b_=\n");
}
END_TEST

START_TEST(base64_is_written_in_lines)
{
    static const char *const texts[][2] = {
        {"", ""},        {"f", "Zg=="},          {"fo", "Zm8="},
        {"foo", "Zm9v"}, {"foob", "Zm9v\nYg=="}, {"foobarfoo", "Zm9v\nYmFy\nZm9v"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct dg_buf out;
        dg_buf_init(&out, 100);
        check(dg_mail_encode_base64(dg_span_cstr(texts[i][0]), 4, "\n", &out), &out, texts[i][1]);
        check(dg_mail_decode_base64(dg_span_cstr(texts[i][1]), &out), &out, texts[i][0]);
    }
    struct dg_buf out;
    dg_buf_init(&out, 100);
    check(dg_mail_decode_base64(DG_SPAN("Z m\0\xFF"
                                        "9v=Zm9v"),
                                &out),
          &out, "foo");
}
END_TEST

static void check_header(const char *header, const char *text)
{
    struct dg_buf out;
    dg_buf_init(&out, 10000);
    check(dg_mail_decode_header(dg_span_cstr(header), &out), &out, text);
}

START_TEST(headers_are_read_with_their_encoded_words)
{
    check_header("A\r\n  longer\tsubject", "A longer subject");
    check_header("=?utf-8?q?a=5Fb_c?= d", "a_b c d");
    check_header("=?utf-8*en?B?w6k=?=\r\n =?ISO-8859-1?Q?=E9?= =?utf-8?b?w6k=?=",
                 "\xC3\xA9\xC3\xA9\xC3\xA9");
    check_header("=?no-such-set?Q?a?= =?utf-8?X?a?= =?utf-8?Q?a b?= =?",
                 "=?no-such-set?Q?a?= =?utf-8?X?a?= =?utf-8?Q?a b?= =?");
}
END_TEST

START_TEST(headers_are_written_folded)
{
    struct dg_buf out;
    dg_buf_init(&out, 10000);
    check(dg_mail_encode_header(DG_SPAN(X70 " and more"), 9, "\r\n", &out), &out,
          X70 "\r\n and more");
    check(dg_mail_encode_header(DG_SPAN("\xC3\xA9t\xC3\xA9"), 9, "\n", &out), &out,
          "=?UTF-8?B?w6l0w6k=?=");
    check(dg_mail_encode_header(DG_SPAN("=?x?="), 9, "\n", &out), &out, "=?UTF-8?B?PT94Pz0=?=");
    /* A character is not divided between two words. */
    check(dg_mail_encode_header(DG_SPAN("12345678901234567890123456789012345\xC3\xA9"), 9, "\n",
                                &out),
          &out, "=?UTF-8?B?MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU=?=\n =?UTF-8?B?w6k=?=");
}
END_TEST

DG_UNIT(quoted_printable_keeps_lines_short_and_safe, broken_quoted_printable_is_copied,
        base64_is_written_in_lines, headers_are_read_with_their_encoded_words,
        headers_are_written_folded)
