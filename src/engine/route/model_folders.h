/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Where models and the data of language identification are when nobody says.
 *
 *     struct dg_model_folders places;
 *     dg_model_folders_find(&places);
 *     places.own                       where this account's models go; it need not be there
 *     places.dirs[0 .. places.n - 1]   folders that are there; of models of one name the first
 * counts places.langid                    the data; the file need not be there err =
 * dg_model_folders_each(&places, on_model, ctx, &error);
 *
 * An account's own place is $XDG_DATA_HOME/dragoman/models (~/.local/share/dragoman/models), root's
 * the server's, /var/lib/dragoman/models. Behind it come the server's, and what is installed with
 * the program; for a program in its build folder that is the source tree's. Relative paths in the
 * environment do not count. Any thread. */
#ifndef DG_ENGINE_ROUTE_MODEL_FOLDERS_H
#define DG_ENGINE_ROUTE_MODEL_FOLDERS_H

#include "base/memory/err.h"
#include "base/memory/error.h"

#include <stddef.h>

enum { DG_MODEL_FOLDERS_MAX = 3, DG_MODEL_FOLDERS_PATH = 4096 };

struct dg_model_folders {
    char own[DG_MODEL_FOLDERS_PATH]; /* "": there is no home */
    char dirs[DG_MODEL_FOLDERS_MAX][DG_MODEL_FOLDERS_PATH];
    size_t n;
    char langid[DG_MODEL_FOLDERS_PATH];
};

void dg_model_folders_find(struct dg_model_folders *places);

/* Called with a model's name, which is its folder's, and path; an error ends the walk. */
typedef enum dg_err dg_model_folders_fn(void *ctx, const char *name, const char *path,
                                        struct dg_error *error);

/* Each sub-directory that has a config.json; hidden ones are passed over. */
enum dg_err dg_model_folders_each_in(const char *dir, dg_model_folders_fn *on_model, void *ctx,
                                     struct dg_error *error) DG_MUST_CHECK;

/* Of all places, each name once. */
enum dg_err dg_model_folders_each(const struct dg_model_folders *places,
                                  dg_model_folders_fn *on_model, void *ctx,
                                  struct dg_error *error) DG_MUST_CHECK;

#endif
