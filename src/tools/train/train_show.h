/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What dragoman train shows while it works: progress on a terminal, lines in a log, and the result
 * of each validation. */
#ifndef DG_TOOLS_TRAIN_TRAIN_SHOW_H
#define DG_TOOLS_TRAIN_TRAIN_SHOW_H

#include "tools/train/train_options.h"
#include "train/run/trainer.h"

struct train_show {
    const struct train_options *flags;
    const char *dir;
    bool is_terminal, is_dirty;
    double shown;         /* the time of the run, in seconds, when progress was last shown */
    double first_seconds; /* the time of the run, in seconds, at which this process took it up */
    uint64_t n;           /* pairs in an epoch */
};

/* Wipes the progress of a terminal, before something else is written. */
void train_show_wipe(struct train_show *show);

/* Writes a line. `ctx` is not used. */
void train_show_say(void *ctx, const char *line);

/* Events of a trainer; `ctx` is the struct train_show. */
void train_show_step(void *ctx, const struct dg_trainer_now *now);
void train_show_line(void *ctx, const struct dg_trainer_now *now);
void train_show_valid(void *ctx, const struct dg_trainer_now *now,
                      const struct dg_validate_report *report, bool is_best);

#endif
