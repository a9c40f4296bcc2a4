/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What a training leaves behind beside the model: scores on the held-out pairs and other sets
 * (training/scores.tsv), the loss curve, the card.
 *
 *     struct train_end end = {.dir = dir, .setup = &setup, .trainer = trainer, ...};
 *     err = train_end_score(&end, true, &error);         before the first step, when there is
 * something to compare with err = train_end_finish(&end, "...", &error);       after the last
 */
#ifndef DG_TOOLS_TRAIN_TRAIN_END_H
#define DG_TOOLS_TRAIN_TRAIN_END_H

#include "base/option/opt.h"
#include "train/run/setup.h"
#include "train/run/trainer.h"

struct train_end {
    const char *dir;
    const struct dg_setup *setup;
    struct dg_trainer *trainer;
    const struct dg_opt_list *tests; /* files of pairs */
    bool swap;                       /* they are target<TAB>source */
    size_t n_translate;              /* sentences of each set */
    int beam;                        /* of the second search */
    size_t threads;
};

/* Judges the weights of now on all sets and writes the rows to the file. */
enum dg_err train_end_score(const struct train_end *end, bool is_before,
                            struct dg_error *error) DG_MUST_CHECK;

/* Takes the published model, judges it, says the scores on stderr, writes curve and card. `text`:
 * how it ended. */
enum dg_err train_end_finish(const struct train_end *end, const char *text,
                             struct dg_error *error) DG_MUST_CHECK;

/* Text given for the card is kept beside the run as training/NAME: the text itself, or with '@'
 * before it the file that has it. Empty: nothing is done. */
enum dg_err train_end_keep(const char *dir, const char *name, const char *text,
                           struct dg_error *error) DG_MUST_CHECK;

#endif
