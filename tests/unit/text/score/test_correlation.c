/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Correlations that were computed by hand. */
#include "text/score/correlation.h"

#include "unit.h"

START_TEST(pearson_is_that_of_the_book)
{
    static const double a[] = {1, 2, 3, 4}, b[] = {2, 4, 6, 8}, c[] = {8, 6, 4, 2},
                        d[] = {1, 3, 2, 4}, same[] = {5, 5, 5, 5};
    ck_assert_double_eq_tol(dg_pearson(a, b, 4), 1, 1e-12);
    ck_assert_double_eq_tol(dg_pearson(a, c, 4), -1, 1e-12);
    ck_assert_double_eq_tol(dg_pearson(a, d, 4), 0.8, 1e-12); /* 4 / 5 */
    ck_assert_double_eq_tol(dg_pearson(a, same, 4), 0, 1e-12);
    ck_assert_double_eq_tol(dg_pearson(a, b, 1), 0, 1e-12);
    ck_assert_double_eq_tol(dg_pearson(a, b, 0), 0, 1e-12);
}
END_TEST

START_TEST(spearman_sees_only_the_order)
{
    static const double a[] = {1, 2, 3, 4}, steep[] = {1, 10, 100, 1000}, tied[] = {1, 2, 2, 4},
                        d[] = {1, 30, 2, 400};
    double rho = 7;
    ck_assert_int_eq(dg_spearman(a, steep, 4, &rho), DG_OK);
    ck_assert_double_eq_tol(rho, 1, 1e-12);
    ck_assert_int_eq(dg_spearman(a, d, 4, &rho), DG_OK);
    ck_assert_double_eq_tol(rho, 0.8, 1e-12);
    ck_assert_int_eq(dg_spearman(a, tied, 4, &rho), DG_OK); /* ranks 0 1.5 1.5 3: 4.5 / sqrt(5
                                                             * 4.5) */
    ck_assert_double_eq_tol(rho, 0.9486832980505138, 1e-12);
    ck_assert_int_eq(dg_spearman(a, d, 0, &rho), DG_OK);
    ck_assert_double_eq_tol(rho, 0, 1e-12);
}
END_TEST

START_TEST(a_forecast_is_taken_at_its_word)
{
    static const double said[] = {0.2, 0.8, 0.2, 0.8}, is[] = {0, 1, 0.4, 0.6},
                        other[] = {0.4, 1, 0.4, 0.4};
    double off = 7;
    ck_assert_int_eq(dg_calibration_error(said, is, 4, 2, &off), DG_OK);
    ck_assert_double_eq_tol(off, 0, 1e-12);
    ck_assert_int_eq(dg_calibration_error(said, other, 4, 2, &off), DG_OK); /* 0.2 too low, 0.1 too
                                                                               high */
    ck_assert_double_eq_tol(off, 0.15, 1e-12);
    ck_assert_int_eq(dg_calibration_error(said, is, 0, 2, &off), DG_OK);
    ck_assert_double_eq_tol(off, 0, 1e-12);
}
END_TEST

DG_UNIT(pearson_is_that_of_the_book, spearman_sees_only_the_order, a_forecast_is_taken_at_its_word)
