/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Everything that an interrupted run needs to continue, in one safetensors file that appears whole
 * or not at all (base/file/file_out.h): weights, both moments, the average, and a list of numbers.
 *
 *     struct dg_checkpoint point = {.params = &params, .state = dg_optimiser_state(optimiser),
 *                                   .numbers = numbers, .n_numbers = n};
 *     err = dg_checkpoint_save(&point, "run/checkpoint.safetensors", &error);
 *     err = dg_checkpoint_load(&point, "run/checkpoint.safetensors", &error);    fills all of them
 *
 * Loading refuses the file of another network before it changes anything. */
#ifndef DG_TRAIN_RUN_CHECKPOINT_H
#define DG_TRAIN_RUN_CHECKPOINT_H

#include "base/memory/error.h"
#include "train/pass/optimiser.h"
#include "train/pass/params.h"

#include <stddef.h>
#include <stdint.h>

struct dg_checkpoint {
    struct dg_params *params;
    struct dg_optimiser_state state;
    /* numbers that only the caller interprets: counters, and the bits of doubles */
    uint64_t *numbers;
    size_t n_numbers;
};

enum dg_err dg_checkpoint_save(const struct dg_checkpoint *point, const char *path,
                               struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_checkpoint_load(const struct dg_checkpoint *point, const char *path,
                               struct dg_error *error) DG_MUST_CHECK;

/* Removes the temporary files of writers that were killed: files named `path` with a dot and six
 * characters after it. */
void dg_checkpoint_sweep(const char *path);

#endif
