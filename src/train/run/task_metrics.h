/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Measures how good the output of an encoder-only model is, added up example by example.
 *
 *     struct dg_task_metrics metrics = {0};
 *     said = dg_pass_said(pass, i, &n);                              for each example:
 *     dg_task_metrics_add(&metrics, bp, labels, said, n);
 *     dg_task_metrics_report(&metrics, bp, &report);
 *
 * Labels and masked words: accuracy. Labels of which a text may have any number: the share of texts
 * with exactly the right labels, F1 over all labels of all texts (micro), and the mean of each
 * label's F1 (macro), except for labels that no text has or is given. Entities, if there is a label
 * "O": F1, where an entity counts if all its words and its type are right, with words joined as the
 * server does. Answers: the share with both ends right, and the mean F1 of their tokens; "no
 * answer" counts as an answer. Numbers: Pearson's correlation. */
#ifndef DG_TRAIN_RUN_TASK_METRICS_H
#define DG_TRAIN_RUN_TASK_METRICS_H

#include "model/blueprint.h"
#include "model/labels.h"
#include "train/pass/pass.h"
#include "train/run/validate.h"

#include <stddef.h>
#include <stdint.h>

/* How often something is true, how often it is predicted, and how often it is both. */
struct dg_task_metrics_count {
    uint64_t n_true, n_said, n_both;
};

struct dg_task_metrics {
    uint64_t n, n_right;
    struct dg_task_metrics_count entities;
    bool has_entities;
    struct dg_task_metrics_count labels[DG_LABELS_MAX]; /* for DG_LABELS_EACH */
    double f1;                                          /* the sum of the answers' F1 */
    double x, y, xx, yy, xy;                            /* sums over predicted and true numbers */
};

/* `labels`: of a TOKENS head; NULL: entities are not counted. */
void dg_task_metrics_add(struct dg_task_metrics *metrics, const struct dg_blueprint *bp,
                         const struct dg_labels *labels, const struct dg_pass_said *said, size_t n);
void dg_task_metrics_merge(struct dg_task_metrics *into, const struct dg_task_metrics *from);
void dg_task_metrics_report(const struct dg_task_metrics *metrics, const struct dg_blueprint *bp,
                            struct dg_validate_report *report);

#endif
