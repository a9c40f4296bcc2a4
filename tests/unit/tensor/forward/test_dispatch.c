/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "tensor/forward/kernels.h"

#include "unit.h"

START_TEST(finds_every_table_that_it_lists)
{
    const struct dg_kernels *all[DG_KERNELS_MAX], *found = NULL;
    size_t n = dg_kernels_all(all);
    ck_assert_uint_ge(n, 2);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(dg_kernels_find(&found, all[i]->name, NULL), DG_OK);
        ck_assert_ptr_eq(found, all[i]);
    }
    ck_assert_ptr_null(all[n]);
}
END_TEST

START_TEST(refuses_unknown_and_unsupported_names_with_a_sentence)
{
    const struct dg_kernels *found = NULL;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_kernels_find(&found, "gpu", &error), DG_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "\"gpu\""));
    ck_assert_ptr_nonnull(strstr(error.text, "ref"));
#if defined(__aarch64__)
    const char *foreign = "avx2";
#else
    const char *foreign = "neon";
#endif
    ck_assert_int_eq(dg_kernels_find(&found, foreign, &error), DG_ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, foreign));
    ck_assert_ptr_null(found);
}
END_TEST

START_TEST(obeys_the_environment)
{
    const struct dg_kernels *found = NULL, *all[DG_KERNELS_MAX];
    struct dg_error error = DG_ERROR_NONE;
    setenv("DRAGOMAN_KERNELS", "ref", 1);
    ck_assert_int_eq(dg_kernels_default(&found, NULL), DG_OK);
    ck_assert_str_eq(found->name, "ref");
    setenv("DRAGOMAN_KERNELS", "abacus", 1);
    ck_assert_int_eq(dg_kernels_default(&found, &error), DG_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "DRAGOMAN_KERNELS"));
    setenv("DRAGOMAN_KERNELS", "", 1);
    ck_assert_int_eq(dg_kernels_default(&found, NULL), DG_OK);
    dg_kernels_all(all);
    ck_assert_ptr_eq(found, all[0]);
}
END_TEST

DG_UNIT(finds_every_table_that_it_lists, refuses_unknown_and_unsupported_names_with_a_sentence,
        obeys_the_environment)
