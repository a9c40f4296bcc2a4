/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/error.h"
#include "base/memory/utf8.h"
#include "unit.h"

#include <errno.h>

static const enum dg_err all[] = {DG_OK,
#define CODE(code, number, name, sentence) code,
                                  DG_ERR_LIST(CODE)
#undef CODE
};
enum { N_ALL = sizeof all / sizeof *all };

START_TEST(each_error_has_its_own_negative_number_and_name)
{
    for (int i = 1; i < N_ALL; i++) {
        ck_assert_int_lt(all[i], 0);
        for (int k = 0; k < i; k++) {
            ck_assert_int_ne(all[i], all[k]);
            ck_assert_str_ne(dg_err_name(all[i]), dg_err_name(all[k]));
        }
    }
}
END_TEST

START_TEST(names_are_fit_for_logs_and_sentences_for_people)
{
    for (int i = 0; i < N_ALL; i++) {
        const char *name = dg_err_name(all[i]);
        ck_assert_uint_gt(strlen(name), 0);
        ck_assert_uint_eq(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(name));
        const char *sentence = dg_err_sentence(all[i]);
        ck_assert_uint_gt(strlen(sentence), 5);
        ck_assert_int_ne(sentence[strlen(sentence) - 1], '.');
    }
    ck_assert_str_eq(dg_err_name(DG_ERR_NOMEM), "nomem");
    ck_assert_str_eq(dg_err_name((enum dg_err) - 1000), "unknown");
    ck_assert_str_eq(dg_err_sentence((enum dg_err) - 1000), "unknown error");
}
END_TEST

START_TEST(maps_system_errors_to_the_nearest)
{
    ck_assert_int_eq(dg_err_from_errno(0), DG_OK);
    ck_assert_int_eq(dg_err_from_errno(ENOMEM), DG_ERR_NOMEM);
    ck_assert_int_eq(dg_err_from_errno(ENOENT), DG_ERR_NOT_FOUND);
    ck_assert_int_eq(dg_err_from_errno(ENOTDIR), DG_ERR_NOT_FOUND);
    ck_assert_int_eq(dg_err_from_errno(EACCES), DG_ERR_DENIED);
    ck_assert_int_eq(dg_err_from_errno(EEXIST), DG_ERR_EXISTS);
    ck_assert_int_eq(dg_err_from_errno(EMFILE), DG_ERR_NO_FILES);
    ck_assert_int_eq(dg_err_from_errno(ENOSPC), DG_ERR_NO_SPACE);
    ck_assert_int_eq(dg_err_from_errno(EFBIG), DG_ERR_NO_SPACE);
    ck_assert_int_eq(dg_err_from_errno(ECONNRESET), DG_ERR_IO);
}
END_TEST

START_TEST(keeps_the_sentence_and_gives_the_error_back)
{
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_str_eq(dg_error_text(&error, DG_ERR_NOMEM), "not enough memory");
    ck_assert_int_eq(dg_error_set(&error, DG_ERR_RANGE, "layers is %d, expected 1 to 64", 65),
                     DG_ERR_RANGE);
    ck_assert_str_eq(dg_error_text(&error, DG_ERR_RANGE), "layers is 65, expected 1 to 64");
    ck_assert_int_eq(dg_error_wrap(&error, DG_ERR_RANGE, "%s", "config.json"), DG_ERR_RANGE);
    ck_assert_str_eq(error.text, "config.json: layers is 65, expected 1 to 64");
}
END_TEST

START_TEST(says_what_errno_says)
{
    struct dg_error error = DG_ERROR_NONE;
    errno = ENOENT;
    ck_assert_int_eq(dg_error_errno(&error, "cannot open %s", "here"), DG_ERR_NOT_FOUND);
    ck_assert_str_eq(error.text, "cannot open here: No such file or directory");
    errno = ENOSPC;
    ck_assert_int_eq(dg_error_errno(NULL, "cannot write"), DG_ERR_NO_SPACE);
}
END_TEST

START_TEST(needs_nobody_to_listen)
{
    ck_assert_int_eq(dg_error_set(NULL, DG_ERR_IO, "x"), DG_ERR_IO);
    ck_assert_int_eq(dg_error_wrap(NULL, DG_ERR_IO, "x"), DG_ERR_IO);
    ck_assert_str_eq(dg_error_text(NULL, DG_ERR_IO), "reading or writing failed");
}
END_TEST

START_TEST(wraps_the_general_sentence_when_nothing_was_said)
{
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_error_wrap(&error, DG_ERR_TRUNCATED, "model %d", 3), DG_ERR_TRUNCATED);
    ck_assert_str_eq(error.text, "model 3: the data ends too early");
}
END_TEST

START_TEST(makes_what_it_quotes_harmless)
{
    struct dg_error error = DG_ERROR_NONE;
    (void)dg_error_set(&error, DG_ERR_FORMAT, "read '%s'",
                       "a\nb\x1B[1m\x7F\xFF\xC2\x9B\xC3\xA9\xE2\x82");
    ck_assert_str_eq(error.text, "read 'a?b?[1m?"
                                 "?"
                                 "?"
                                 "?\xC3\xA9?"
                                 "?'");
}
END_TEST

/* A message of any length is cut between characters, however it becomes long. */
START_TEST(cuts_between_characters)
{
    static char euros[3 * 400 + 1];
    for (int i = 0; i < 400; i++)
        memcpy(euros + 3 * i, "\xE2\x82\xAC", 3);
    for (int shift = 0; shift < 4; shift++) {
        struct dg_error error = DG_ERROR_NONE;
        (void)dg_error_set(&error, DG_ERR_FORMAT, "%.*s%s", shift, "abc", euros);
        size_t len = strlen(error.text);
        ck_assert_uint_ge(len, DG_ERROR_CAP - 4);
        ck_assert_uint_lt(len, DG_ERROR_CAP);
        ck_assert(dg_utf8_valid(dg_span_cstr(error.text), NULL));
        ck_assert_ptr_null(strchr(error.text, '?'));
        (void)dg_error_wrap(&error, DG_ERR_FORMAT, "outer");
        ck_assert(dg_utf8_valid(dg_span_cstr(error.text), NULL));
        ck_assert_ptr_null(strchr(error.text, '?'));
        ck_assert(dg_span_starts(dg_span_cstr(error.text), DG_SPAN("outer: ")));
        (void)dg_error_wrap(&error, DG_ERR_FORMAT, "%s", euros);
        ck_assert_uint_lt(strlen(error.text), DG_ERROR_CAP);
        ck_assert(dg_utf8_valid(dg_span_cstr(error.text), NULL));
    }
}
END_TEST

DG_UNIT(each_error_has_its_own_negative_number_and_name,
        names_are_fit_for_logs_and_sentences_for_people, maps_system_errors_to_the_nearest,
        keeps_the_sentence_and_gives_the_error_back, says_what_errno_says, needs_nobody_to_listen,
        wraps_the_general_sentence_when_nothing_was_said, makes_what_it_quotes_harmless,
        cuts_between_characters)
