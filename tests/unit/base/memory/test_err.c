/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/err.h"
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
    ck_assert_int_eq(dg_err_from_errno(EMFILE), DG_ERR_LIMIT);
    ck_assert_int_eq(dg_err_from_errno(ENOSPC), DG_ERR_NO_SPACE);
    ck_assert_int_eq(dg_err_from_errno(EFBIG), DG_ERR_NO_SPACE);
    ck_assert_int_eq(dg_err_from_errno(ECONNRESET), DG_ERR_IO);
}
END_TEST

DG_UNIT(each_error_has_its_own_negative_number_and_name,
        names_are_fit_for_logs_and_sentences_for_people, maps_system_errors_to_the_nearest)
