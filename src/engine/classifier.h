/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A recurrent classifier, ready to run: text in, a probability for each label out.
 *
 *     err = dg_classifier_open(&classifier, "models/mood", &why);
 *     err = dg_classifier_run(classifier, text, probabilities, &why);          [dg_classifier_labels(classifier)->n]
 *     dg_classifier_close(classifier);
 *
 * All memory is taken when it is opened but what a text of a new greatest length needs for its words. One thread. */
#ifndef DG_ENGINE_CLASSIFIER_H
#define DG_ENGINE_CLASSIFIER_H

#include "base/err.h"
#include "base/span.h"
#include "base/why.h"
#include "model/labels.h"

struct dg_classifier; /* opaque */

/* DG_ERR_INVALID for a model that translates. */
enum dg_err dg_classifier_open(struct dg_classifier **classifier, const char *dir, struct dg_why *why) DG_MUST_CHECK;
void dg_classifier_close(struct dg_classifier *classifier); /* NULL is fine */

const struct dg_labels *dg_classifier_labels(const struct dg_classifier *classifier);

/* Of a text longer than the network's limit the beginning counts; *cut (may be NULL) says so. */
enum dg_err dg_classifier_run(struct dg_classifier *classifier, struct dg_span text, float *probabilities, bool *cut,
                              struct dg_why *why) DG_MUST_CHECK;

#endif
