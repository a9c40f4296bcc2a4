/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The options of a run, kept in its directory as training/recipe.conf, so that `--resume DIR` is
 * enough to continue it. */
#ifndef DG_TOOLS_TRAIN_TRAIN_RECIPE_H
#define DG_TOOLS_TRAIN_TRAIN_RECIPE_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/option/opt.h"

enum { TRAIN_RECIPE_MAX = 1 << 16 };

enum dg_err train_recipe_save(const struct dg_opt_set *set, const char *dir,
                              struct dg_error *error) DG_MUST_CHECK;

/* Loads the options of the run in `dir`; those of the command line replace them. Options that may
 * change and did are appended to `history`. The caller frees *set. */
enum dg_err train_recipe_load(struct dg_opt_set **set, struct dg_buf *history, const char *dir,
                              int argc, char **argv, struct dg_error *error) DG_MUST_CHECK;

#endif
