/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What makes an encoder that says one number of two texts a quality estimator: quality.json of its
 * directory.
 *
 *     struct dg_calibration calibration;
 *     err = dg_calibration_open(&calibration, "models/qe-fr-en", &error);
 *     quality = dg_calibration_apply(&calibration, raw, mean_logprob);     the expected sentence
 * chrF / 100
 *
 * The number that the network says of source and translation (raw), and how likely the translating
 * model found its own words (exp of the mean of their log-probabilities), become the chrF to expect
 * by a logistic curve, which rises with both:
 *
 *     quality = 1 / (1 + exp(-(bias + scale * raw + probability * exp(mean_logprob))))
 *
 * It is fitted (dg_calibration_fit) to translations with references that the network was not
 * trained on, by the largest likelihood of the fractions that they are: then the mean of what it
 * says there is the mean of what is so, and the sum of (what is so - what it says) times each of
 * the two numbers is zero as well.
 *
 *     {"scale": 5.2, "bias": -1.9, "probability": 1.1, "judges": ["fr-en"]}
 *
 * Any thread. */
#ifndef DG_MODEL_CALIBRATION_H
#define DG_MODEL_CALIBRATION_H

#include "base/memory/err.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>

enum { DG_JUDGES_MAX = 1000 /* bytes of the list of models that are judged */ };

struct dg_calibration {
    double scale, bias;
    double probability;             /* 0: that of its words does not count */
    char judges[DG_JUDGES_MAX + 1]; /* names of models, with commas between; as `model` of an answer
                                       has them */
};

/* One translation: what is known of it, and how good it is, 0 to 1. */
struct dg_calibration_row {
    double raw, logprob, is;
};

/* DG_ERR_NOT_FOUND: there is no quality.json, and the model is no estimator. */
enum dg_err dg_calibration_open(struct dg_calibration *calibration, const char *dir,
                                struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_calibration_save(const struct dg_calibration *calibration, const char *dir,
                                struct dg_error *error) DG_MUST_CHECK;

/* Between 0 and 1. A NaN stays one. */
double dg_calibration_apply(const struct dg_calibration *calibration, double raw,
                            double mean_logprob);

/* Scale, bias and, `with_logprob`, the weight of the probability. DG_ERR_RANGE, with a sentence:
 * there are too few rows, or what is known does not rise with what is so. `judges` is left as it
 * is. */
enum dg_err dg_calibration_fit(struct dg_calibration *calibration,
                               const struct dg_calibration_row *rows, size_t n, bool with_logprob,
                               struct dg_error *error) DG_MUST_CHECK;

/* Whether `name` is in a list of names with commas (and blanks) between. */
bool dg_judges_has(const char *list, const char *name);

/* The next name of a list; *list moves behind it. Its length is 0 at the end. */
struct dg_span dg_judges_next(const char **list);

#endif
