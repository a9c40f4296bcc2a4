/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How well one list of numbers predicts another: Pearson's correlation, Spearman's (that of the
 * ranks, where equal numbers share their mean rank), and the calibration error of a forecast.
 *
 *     double r = dg_pearson(forecast, actual, n);
 *     err = dg_spearman(forecast, actual, n, &rho);
 *     err = dg_calibration_error(forecast, actual, n, 10, &off);
 *
 * Pure; any thread. */
#ifndef DG_TEXT_SCORE_CORRELATION_H
#define DG_TEXT_SCORE_CORRELATION_H

#include "base/memory/error.h"

#include <stddef.h>

/* -1 to 1; 0 when there are fewer than two numbers or one list has only equal numbers. */
double dg_pearson(const double *a, const double *b, size_t n);

/* DG_ERR_NOMEM. */
enum dg_err dg_spearman(const double *a, const double *b, size_t n, double *rho) DG_MUST_CHECK;

/* Sorts the rows by their forecast `said`, divides them into `parts` of equal size, and gives the
 * mean over the parts of |mean of `said` - mean of `is`|: 0 for a perfectly calibrated forecast.
 * DG_ERR_NOMEM. */
enum dg_err dg_calibration_error(const double *said, const double *is, size_t n, size_t parts,
                                 double *off) DG_MUST_CHECK;

#endif
