/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The weights of a run at its last k validations, as files training/at-STEP.safetensors, and their
 * mean. This mean ignores all weights before those validations, whereas the moving average
 * (optimiser.h) fades them out.
 *
 *     err = dg_snapshots_take(&params, "run/training", step, k, mean, &error);    at a validation,
 *                                                                                 before scoring
 *     dg_snapshots_prune("run/training", step, k);                        after each checkpoint
 *
 * A run that resumes from a checkpoint finds the snapshots made before the checkpoint and takes the
 * later ones again, so that the mean is the same to the bit. */
#ifndef DG_TRAIN_RUN_SNAPSHOTS_H
#define DG_TRAIN_RUN_SNAPSHOTS_H

#include "base/memory/error.h"
#include "train/pass/params.h"

#include <stddef.h>
#include <stdint.h>

enum { DG_SNAPSHOTS_MAX = 64 };

/* Writes params->w as the snapshot of `step`. `mean` [params.n] becomes the mean of the last `k`
 * snapshots (1 to DG_SNAPSHOTS_MAX), or of as many as there are. */
enum dg_err dg_snapshots_take(const struct dg_params *params, const char *dir, uint64_t step,
                              size_t k, float *mean, struct dg_error *error) DG_MUST_CHECK;

/* Removes all but the last k snapshots up to `step`, and the temporary files of writers that were
 * killed. */
void dg_snapshots_prune(const char *dir, uint64_t step, size_t k);

#endif
