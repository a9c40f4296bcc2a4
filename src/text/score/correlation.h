/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How well one list of numbers foretells another: Pearson's correlation, Spearman's (that of the
 * ranks, equal numbers sharing the mean of theirs), and how far off a forecast is that says what to
 * expect.
 *
 *     double r = dg_pearson(said, is, n);
 *     err = dg_spearman(said, is, n, &rho);
 *     err = dg_calibration_error(said, is, n, 10, &off);
 *
 * Pure; any thread. */
#ifndef DG_TEXT_SCORE_CORRELATION_H
#define DG_TEXT_SCORE_CORRELATION_H

#include "base/memory/err.h"

#include <stddef.h>

/* -1 to 1; 0 where one of the lists says nothing: fewer than two numbers, or all equal. */
double dg_pearson(const double *a, const double *b, size_t n);

/* DG_ERR_NOMEM. */
enum dg_err dg_spearman(const double *a, const double *b, size_t n, double *rho) DG_MUST_CHECK;

/* The rows, put in the order of what is said of them, are divided into `parts` of equal size: the
 * mean distance between what is said and what is so in the mean of each part, 0 for a forecast that
 * can be taken at its word. DG_ERR_NOMEM. */
enum dg_err dg_calibration_error(const double *said, const double *is, size_t n, size_t parts,
                                 double *off) DG_MUST_CHECK;

#endif
