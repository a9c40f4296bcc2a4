/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The curve from an estimator's number to a quality: computed by hand, fitted, and read from a
 * file. */
#include "model/calibration.h"

#include "base/file/file_out.h"
#include "tmpdir.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>

static enum dg_err put(const char *dir, const char *text)
{
    char path[DG_TMPDIR_CAP + 20];
    snprintf(path, sizeof path, "%s/quality.json", dir);
    return dg_file_out_save(path, 0644, text, strlen(text), NULL);
}

START_TEST(the_curve_is_that_of_the_book)
{
    const struct dg_calibration plain = {.scale = 2, .bias = -1};
    const struct dg_calibration both = {.scale = 1, .bias = -1.25, .probability = 0.5};
    /* the other number does not count */
    ck_assert_double_eq_tol(dg_calibration_apply(&plain, 0.5, NAN), 0.5, 1e-12);
    ck_assert_double_eq_tol(dg_calibration_apply(&plain, (1 + log(3)) / 2, 0), 0.75, 1e-12);
    ck_assert_double_eq_tol(dg_calibration_apply(&both, 1, log(0.5)), 0.5, 1e-12);
    ck_assert_double_eq_tol(dg_calibration_apply(&both, 1 - log(4), log(0.5)), 0.2, 1e-12);
    ck_assert_double_eq_tol(dg_calibration_apply(&plain, 1e9, 0), 1, 1e-12);
    ck_assert_double_eq_tol(dg_calibration_apply(&plain, -1e9, 0), 0, 1e-12);
    ck_assert(isnan(dg_calibration_apply(&plain, NAN, 0)));
}
END_TEST

/* With two kinds of rows, a quarter and three quarters of which are right, the curve goes
 * through both. */
START_TEST(a_fit_goes_through_the_means)
{
    struct dg_calibration_row rows[40];
    struct dg_calibration fitted = {.judges = "fr-en"};
    struct dg_error error = DG_ERROR_NONE;
    for (int i = 0; i < 40; i++)
        rows[i] = (struct dg_calibration_row){.raw = i % 2,
                                              .logprob = -1,
                                              .is = i % 2   ? i % 4 == 1 ? 0.5 : 1
                                                    : i % 4 ? 0.5
                                                            : 0};
    ck_assert_int_eq(dg_calibration_fit(&fitted, rows, 40, false, &error), DG_OK);
    ck_assert_double_eq_tol(fitted.bias, -log(3), 1e-4);
    ck_assert_double_eq_tol(fitted.scale, 2 * log(3), 1e-4);
    ck_assert_double_eq_tol(fitted.probability, 0, 1e-12);
    ck_assert_str_eq(fitted.judges, "fr-en");
    ck_assert_double_eq_tol(dg_calibration_apply(&fitted, 0, 0), 0.25, 1e-4);
    ck_assert_double_eq_tol(dg_calibration_apply(&fitted, 1, 0), 0.75, 1e-4);
}
END_TEST

/* Rows that lie on a curve give that curve back. */
START_TEST(both_numbers_are_weighed)
{
    struct dg_calibration_row rows[100];
    const struct dg_calibration true_one = {.scale = 3, .bias = -0.5, .probability = 1.5};
    struct dg_calibration fitted = {.scale = 0};
    for (int i = 0; i < 100; i++) {
        rows[i] = (struct dg_calibration_row){.raw = (i % 10) / 10.0, .logprob = -(i / 10) / 5.0};
        rows[i].is = dg_calibration_apply(&true_one, rows[i].raw, rows[i].logprob);
    }
    ck_assert_int_eq(dg_calibration_fit(&fitted, rows, 100, true, NULL), DG_OK);
    ck_assert_double_eq_tol(fitted.scale, 3, 1e-3);
    ck_assert_double_eq_tol(fitted.bias, -0.5, 1e-3);
    ck_assert_double_eq_tol(fitted.probability, 1.5, 1e-3);
    for (int i = 0; i < 100; i++) /* without a mistake: the weights stay finite */
        rows[i].is = rows[i].raw >= 0.5;
    ck_assert_int_eq(dg_calibration_fit(&fitted, rows, 100, false, NULL), DG_OK);
    ck_assert(isfinite(fitted.scale) && fitted.scale > 10);
}
END_TEST

START_TEST(what_cannot_be_fitted_is_refused)
{
    struct dg_calibration_row rows[20];
    struct dg_calibration fitted = {.scale = 7};
    struct dg_error error = DG_ERROR_NONE;
    for (int i = 0; i < 20; i++)
        rows[i] =
            (struct dg_calibration_row){.raw = i / 20.0, .logprob = i / -20.0, .is = 1 - i / 20.0};
    ck_assert_int_eq(dg_calibration_fit(&fitted, rows, 5, false, &error), DG_ERR_RANGE);
    ck_assert_msg(strstr(error.text, "there are 5 rows") != NULL, "%s", error.text);
    ck_assert_int_eq(dg_calibration_fit(&fitted, rows, 20, false, &error), DG_ERR_RANGE);
    ck_assert_msg(strstr(error.text, "does not rise") != NULL, "%s", error.text);
    rows[7].raw = NAN;
    ck_assert_int_eq(dg_calibration_fit(&fitted, rows, 20, false, &error), DG_ERR_RANGE);
    ck_assert_msg(strstr(error.text, "row 8") != NULL, "%s", error.text);
    ck_assert_double_eq(fitted.scale, 7);
}
END_TEST

START_TEST(a_file_is_read_as_it_was_written)
{
    const struct dg_calibration made = {
        .scale = 2.5, .bias = -1.25, .probability = 0.125, .judges = "fr-en, de-en+en-fr"};
    struct dg_calibration read;
    char dir[DG_TMPDIR_CAP];
    dg_tmpdir_make(dir);
    ck_assert_int_eq(dg_calibration_open(&read, dir, NULL), DG_ERR_NOT_FOUND);
    ck_assert_int_eq(dg_calibration_save(&made, dir, NULL), DG_OK);
    ck_assert_int_eq(dg_calibration_open(&read, dir, NULL), DG_OK);
    ck_assert_double_eq(read.scale, 2.5);
    ck_assert_double_eq(read.bias, -1.25);
    ck_assert_double_eq(read.probability, 0.125);
    ck_assert_str_eq(read.judges, "fr-en,de-en+en-fr");
    ck_assert(dg_judges_has(read.judges, "de-en+en-fr"));
    ck_assert(dg_judges_has(made.judges, "fr-en"));
    ck_assert(!dg_judges_has(read.judges, "fr"));
    ck_assert(!dg_judges_has(read.judges, ""));
    ck_assert(!dg_judges_has("", "fr-en"));
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(a_file_that_is_none_is_refused)
{
    static const char *const texts[] = {"",
                                        "[1]",
                                        "{\"scale\": 1}",
                                        "{\"scale\": -1, \"bias\": 0}",
                                        "{\"scale\": 1, \"bias\": 0, \"of\": 1}",
                                        "{\"scale\": 1, \"bias\": 0, \"probability\": -1}",
                                        "{\"scale\": 1, \"bias\": 0, \"judges\": [\"a,b\"]}",
                                        "{\"scale\": 1, \"bias\": 0, \"judges\": [\"\"]}",
                                        "{\"scale\": 1, \"bias\": 0, \"judges\": \"fr-en\"}"};
    char dir[DG_TMPDIR_CAP];
    struct dg_calibration read = {.scale = 7};
    dg_tmpdir_make(dir);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct dg_error error = DG_ERROR_NONE;
        ck_assert_int_eq(put(dir, texts[i]), DG_OK);
        const enum dg_err err = dg_calibration_open(&read, dir, &error);
        ck_assert_msg(err != DG_OK && err != DG_ERR_NOT_FOUND, "%s", texts[i]);
        ck_assert_msg(err == DG_ERR_NOMEM || strstr(error.text, "quality.json") != NULL, "%s: %s",
                      texts[i], error.text);
    }
    ck_assert_double_eq(read.scale, 7);
    dg_tmpdir_remove(dir);
}
END_TEST

DG_UNIT(the_curve_is_that_of_the_book, a_fit_goes_through_the_means, both_numbers_are_weighed,
        what_cannot_be_fitted_is_refused, a_file_is_read_as_it_was_written,
        a_file_that_is_none_is_refused)
