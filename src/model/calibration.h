/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Turns an encoder that gives one number for two texts into a quality estimator: quality.json in
 * its directory.
 *
 *     struct dg_calibration calibration;
 *     err = dg_calibration_open(&calibration, "models/qe-fr-en", &error);
 *     quality = dg_calibration_apply(&calibration, raw, mean_logprob);
 *                                                        the expected sentence chrF / 100
 *
 * Two numbers predict the chrF by a logistic curve, which rises with both: the network's number for
 * source and translation (raw), and the translating model's probability of its own words (exp of
 * the mean of their log-probabilities):
 *
 *     quality = 1 / (1 + exp(-(bias + scale * raw + probability * exp(mean_logprob))))
 *
 * dg_calibration_fit fits the curve, by maximum likelihood, to translations with references that
 * the network was not trained on. On these, the mean prediction then equals the mean quality, and
 * the sum of (quality - prediction) times each of the two numbers is zero.
 *
 *     {"scale": 5.2, "bias": -1.9, "probability": 1.1, "judges": ["fr-en"]}
 *
 * Any thread. */
#ifndef DG_MODEL_CALIBRATION_H
#define DG_MODEL_CALIBRATION_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>

enum { DG_JUDGES_MAX = 1000 /* the most bytes of the list of judged models */ };

struct dg_calibration {
    double scale, bias;
    double probability; /* the weight of the words' probability; 0: it is ignored */
    /* model names as in `model` of an answer, separated by commas */
    char judges[DG_JUDGES_MAX + 1];
};

/* One translation: the two numbers, and its true quality, 0 to 1. */
struct dg_calibration_row {
    double raw, logprob, is;
};

/* Reads DIR/quality.json. DG_ERR_NOT_FOUND: there is none, so the model is not an estimator. */
enum dg_err dg_calibration_open(struct dg_calibration *calibration, const char *dir,
                                struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_calibration_save(const struct dg_calibration *calibration, const char *dir,
                                struct dg_error *error) DG_MUST_CHECK;

/* Returns the expected quality, between 0 and 1; NaN for NaN. */
double dg_calibration_apply(const struct dg_calibration *calibration, double raw,
                            double mean_logprob);

/* Fits scale, bias and, `with_logprob`, the weight of the probability. DG_ERR_RANGE, with a
 * sentence: there are too few rows, or the numbers do not rise with the quality. `judges` does not
 * change. */
enum dg_err dg_calibration_fit(struct dg_calibration *calibration,
                               const struct dg_calibration_row *rows, size_t n, bool with_logprob,
                               struct dg_error *error) DG_MUST_CHECK;

/* Returns whether `name` is in a list of names separated by commas and blanks. */
bool dg_judges_has(const char *list, const char *name);

/* Returns the next name of a list and moves *list past it; the length is 0 at the end. */
struct dg_span dg_judges_next(const char **list);

#endif
