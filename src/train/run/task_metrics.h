/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How much of what an encoder alone said was right, added up example by example.
 *
 *     struct dg_task_metrics tally = {0};
 *     dg_task_metrics_add(&tally, bp, labels, dg_pass_said(pass, i, &n), n);         any number of
 * times dg_task_metrics_report(&tally, bp, &report);
 *
 * Labels and masked words: the share that was found. Labels of which any number may be right: the
 * share of texts all of whose labels were found and no other; F1 of all labels of all texts counted
 * together (micro), and the mean of each label's own (macro), without labels that no text has or is
 * given. Entities, where there is a label "O": F1 of those whose words and type are all as they
 * should be, as the server joins words. Answers: the share with both ends right, and the mean F1 of
 * their tokens; that there is none is an answer, too. Numbers: Pearson's correlation. */
#ifndef DG_TRAIN_RUN_TASK_METRICS_H
#define DG_TRAIN_RUN_TASK_METRICS_H

#include "model/blueprint.h"
#include "model/labels.h"
#include "train/pass/pass.h"
#include "train/run/validate.h"

#include <stddef.h>
#include <stdint.h>

/* How often something is there, is said, and both. */
struct dg_task_metrics_count {
    uint64_t n_true, n_said, n_both;
};

struct dg_task_metrics {
    uint64_t n, n_right;
    struct dg_task_metrics_count entities;
    bool has_entities;
    struct dg_task_metrics_count labels[DG_LABELS_MAX]; /* of DG_LABELS_EACH */
    double f1;                                          /* of answers, summed */
    double x, y, xx, yy, xy;                            /* sums of numbers said and wanted */
};

/* `labels`: of TOKENS; NULL: no entities are looked for. */
void dg_task_metrics_add(struct dg_task_metrics *metrics, const struct dg_blueprint *bp,
                         const struct dg_labels *labels, const struct dg_pass_said *said, size_t n);
void dg_task_metrics_merge(struct dg_task_metrics *into, const struct dg_task_metrics *from);
void dg_task_metrics_report(const struct dg_task_metrics *metrics, const struct dg_blueprint *bp,
                            struct dg_validate_report *report);

#endif
