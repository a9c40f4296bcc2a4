/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What trainer.c, trainer_log.c and trainer_resume.c share. */
#ifndef DG_TRAIN_RUN_TRAINER_INT_H
#define DG_TRAIN_RUN_TRAINER_INT_H

#include "base/file/folder.h"
#include "base/memory/clock.h"
#include "train/run/trainer.h"

/* A thread's part of a step. */
struct dg_trainer_share {
    size_t first, n; /* of the step's examples */
    uint64_t source_row, target_row;
    struct dg_pass_sums sums;
};

struct dg_trainer {
    struct dg_trainer_opts opts;
    struct dg_trainer_data data;
    struct dg_params params;
    struct dg_team *team;
    struct dg_optimiser *optimiser;
    struct dg_pass **passes;         /* [threads] */
    struct dg_trainer_share *shares; /* [threads] */
    struct dg_order order;
    struct dg_example *examples; /* the examples of the step under way */
    size_t cap_examples;
    struct dg_pass_batch batch; /* what all parts of the step have in common */
    struct dg_trainer_now now;
    struct dg_pass_sums window; /* sums since the last line of the log */
    double line_seconds;
    double earlier_seconds; /* seconds of earlier parts of the run */
    uint64_t started_ns, saved_ns;
    struct dg_clock clock;
    int log; /* file descriptor; -1: not open */
    unsigned n_skipped_in_a_row;
};

/* The path of a file of the run's directory. */
static inline enum dg_err dg_trainer_path(const struct dg_trainer *t, const char *name,
                                          char path[DG_PATH_CAP], struct dg_error *error)
{
    return dg_folder_path(t->opts.dir, name, path, error);
}

/* ---- trainer_log.c --------------------------------------------------------------------------- */

/* Opens the log, with its head if it is new, as t->log. */
enum dg_err dg_trainer_open_log(struct dg_trainer *t, struct dg_error *error) DG_MUST_CHECK;
/* Writes a line about the present step; `report` is that of its validation, or NULL. */
enum dg_err dg_trainer_put_line(struct dg_trainer *t, const struct dg_validate_report *report,
                                struct dg_error *error) DG_MUST_CHECK;
/* Appends a validation's samples to their file. */
enum dg_err dg_trainer_put_samples(const struct dg_trainer *t,
                                   const struct dg_validate_report *report,
                                   struct dg_error *error) DG_MUST_CHECK;
/* What is reported of the run. */
struct dg_trainer_now dg_trainer_now_of(const struct dg_trainer *t);

/* ---- trainer_resume.c, whose other half is dg_trainer_resume (trainer.h) -----------------------
 */

/* Writes a checkpoint, and tells the events. */
enum dg_err dg_trainer_save(struct dg_trainer *t, const struct dg_trainer_events *events, void *ctx,
                            struct dg_error *error) DG_MUST_CHECK;

#endif
