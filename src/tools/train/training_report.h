/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writes what a training produces besides the model: scores on the held-out pairs and other sets
 * (training/scores.tsv), the loss curve, and the card.
 *
 *     struct training_report end = {.dir = dir, .setup = &setup, .trainer = trainer, ...};
 *     err = training_report_keep_tests(&end, &error);       whenever the run begins or goes on
 *     err = training_report_score(&end, true, &error);      before the first step, when a trained
 *                                                           model is trained further
 *     err = training_report_finish(&end, "...", &error);    after the last step */
#ifndef DG_TOOLS_TRAIN_TRAINING_REPORT_H
#define DG_TOOLS_TRAIN_TRAINING_REPORT_H

#include "base/option/opt.h"
#include "train/run/setup.h"
#include "train/run/trainer.h"

struct training_report {
    const char *dir;
    const struct dg_setup *setup;
    struct dg_trainer *trainer;
    const struct dg_opt_list *tests; /* files of pairs */
    bool swap;                       /* their lines have the form target<TAB>source */
    size_t n_translate;              /* sentences of each set that are translated */
    int beam;                        /* the beam of the second search */
    size_t threads;
};

/* Copies the test sets into training/, so that the run can be resumed after the original files are
 * gone. A missing file is not an error if it was copied before. */
enum dg_err training_report_keep_tests(const struct training_report *end,
                                       struct dg_error *error) DG_MUST_CHECK;

/* Scores the present weights on all sets and writes the rows to the file. */
enum dg_err training_report_score(const struct training_report *end, bool is_before,
                                  struct dg_error *error) DG_MUST_CHECK;

/* Scores the published model, prints the scores on stderr, and writes the curve and the card.
 * `text` says how the training ended. */
enum dg_err training_report_finish(const struct training_report *end, const char *text,
                                   struct dg_error *error) DG_MUST_CHECK;

/* Keeps text for the card as training/NAME: `text` itself or, if it begins with '@', the content of
 * the file that it names. Empty: does nothing. */
enum dg_err training_report_keep(const char *dir, const char *name, const char *text,
                                 struct dg_error *error) DG_MUST_CHECK;

#endif
