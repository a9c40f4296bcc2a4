/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Models found as sub-directories of one directory (the daemon's models-dir), each named by its folder.
 *
 *     err = dg_models_dir_scan("/var/lib/dragoman/models", on_model, ctx, &why);
 *
 * A sub-directory (or a link to one) is a model when it holds a config.json and its name is one a model may
 * have. Hidden folders and the unfinished ones of `dragoman import` are passed over. */
#ifndef DG_MODEL_MODELS_DIR_H
#define DG_MODEL_MODELS_DIR_H

#include "base/err.h"
#include "base/span.h"
#include "base/why.h"

#include <stdbool.h>

enum { DG_MODELS_DIR_MAX = 1000, DG_MODELS_DIR_NAME_MAX = 64 };

/* 1 to 64 letters, digits, '-', '_', '.', not beginning with '.' or '-'. */
bool dg_models_dir_is_name(struct dg_span name);

/* `name` and `path` live until the callback returns; a result other than DG_OK ends the scan. */
typedef enum dg_err (*dg_models_dir_fn)(void *ctx, const char *name, const char *path,
                                        struct dg_why *why);

/* Calls `fn` for each model, in the order of their names. */
enum dg_err dg_models_dir_scan(const char *dir, dg_models_dir_fn fn, void *ctx,
                               struct dg_why *why) DG_MUST_CHECK;

#endif
