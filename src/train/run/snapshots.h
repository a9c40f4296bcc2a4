/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The weights of a run at its last k validations, as files training/at-STEP.safetensors, and their
 * mean: an average over a stretch of the way that forgets what is before it, where the moving one
 * (optimiser.h) fades it out.
 *
 *     err = dg_snapshots_take(&params, "run/training", step, k, average, &error);     after step,
 * before it is judged dg_snapshots_prune("run/training", step, k); when a checkpoint has been
 * written
 *
 * A run that goes back to a checkpoint finds the snapshots that it had then and takes the later
 * ones again, so the mean is the same to the bit. */
#ifndef DG_TRAIN_RUN_SNAPSHOTS_H
#define DG_TRAIN_RUN_SNAPSHOTS_H

#include "base/memory/err.h"
#include "base/memory/error.h"
#include "train/pass/params.h"

#include <stddef.h>
#include <stdint.h>

enum { DG_SNAPSHOTS_MAX = 64 };

/* Writes params->w as the snapshot of `step`; `mean` [params.n] becomes that of the last `k`, 1 to
 * DG_SNAPSHOTS_MAX, or of as many as there are. */
enum dg_err dg_snapshots_take(const struct dg_params *params, const char *dir, uint64_t step,
                              size_t k, float *mean, struct dg_error *error) DG_MUST_CHECK;

/* Removes all but the last k of those up to `step`, and what killed writers have left. */
void dg_snapshots_prune(const char *dir, uint64_t step, size_t k);

#endif
