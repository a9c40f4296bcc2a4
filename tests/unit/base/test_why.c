/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/why.h"
#include "base/utf8.h"
#include "unit.h"

START_TEST(keeps_the_sentence_and_gives_the_error_back)
{
    struct dg_why why = DG_WHY_NONE;
    ck_assert_str_eq(dg_why_text(&why, DG_ERR_NOMEM), "not enough memory");
    ck_assert_int_eq(dg_why_set(&why, DG_ERR_RANGE, "layers is %d, expected 1 to 64", 65),
                     DG_ERR_RANGE);
    ck_assert_str_eq(dg_why_text(&why, DG_ERR_RANGE), "layers is 65, expected 1 to 64");
    ck_assert_int_eq(dg_why_wrap(&why, DG_ERR_RANGE, "%s", "config.json"), DG_ERR_RANGE);
    ck_assert_str_eq(why.text, "config.json: layers is 65, expected 1 to 64");
}
END_TEST

START_TEST(needs_nobody_to_listen)
{
    ck_assert_int_eq(dg_why_set(NULL, DG_ERR_IO, "x"), DG_ERR_IO);
    ck_assert_int_eq(dg_why_wrap(NULL, DG_ERR_IO, "x"), DG_ERR_IO);
    ck_assert_str_eq(dg_why_text(NULL, DG_ERR_IO), "reading or writing failed");
}
END_TEST

START_TEST(wraps_the_general_sentence_when_nothing_was_said)
{
    struct dg_why why = DG_WHY_NONE;
    ck_assert_int_eq(dg_why_wrap(&why, DG_ERR_TRUNCATED, "model %d", 3), DG_ERR_TRUNCATED);
    ck_assert_str_eq(why.text, "model 3: the data ends too early");
}
END_TEST

START_TEST(makes_what_it_quotes_harmless)
{
    struct dg_why why = DG_WHY_NONE;
    (void)dg_why_set(&why, DG_ERR_FORMAT, "read '%s'", "a\nb\x1B[1m\x7F\xFF\xC2\x9B\xC3\xA9\xE2\x82");
    ck_assert_str_eq(why.text, "read 'a?b?[1m?"
                               "?"
                               "?"
                               "?\xC3\xA9?"
                               "?'");
}
END_TEST

/* A sentence of any length is cut between characters, whichever way it gets long. */
START_TEST(cuts_between_characters)
{
    static char euros[3 * 400 + 1];
    for (int i = 0; i < 400; i++)
        memcpy(euros + 3 * i, "\xE2\x82\xAC", 3);
    for (int shift = 0; shift < 4; shift++) {
        struct dg_why why = DG_WHY_NONE;
        (void)dg_why_set(&why, DG_ERR_FORMAT, "%.*s%s", shift, "abc", euros);
        size_t len = strlen(why.text);
        ck_assert_uint_ge(len, DG_WHY_CAP - 4);
        ck_assert_uint_lt(len, DG_WHY_CAP);
        ck_assert(dg_utf8_valid(dg_span_cstr(why.text), NULL));
        ck_assert_ptr_null(strchr(why.text, '?'));
        (void)dg_why_wrap(&why, DG_ERR_FORMAT, "outer");
        ck_assert(dg_utf8_valid(dg_span_cstr(why.text), NULL));
        ck_assert_ptr_null(strchr(why.text, '?'));
        ck_assert(dg_span_starts(dg_span_cstr(why.text), DG_SPAN("outer: ")));
        (void)dg_why_wrap(&why, DG_ERR_FORMAT, "%s", euros);
        ck_assert_uint_lt(strlen(why.text), DG_WHY_CAP);
        ck_assert(dg_utf8_valid(dg_span_cstr(why.text), NULL));
    }
}
END_TEST

DG_UNIT(keeps_the_sentence_and_gives_the_error_back, needs_nobody_to_listen,
        wraps_the_general_sentence_when_nothing_was_said, makes_what_it_quotes_harmless,
        cuts_between_characters)
