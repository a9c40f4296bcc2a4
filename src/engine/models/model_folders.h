/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The default folders of models and of the language identification data.
 *
 *     struct dg_model_folders places;
 *     dg_model_folders_find(&places);
 *     places.own                       where this account's models go; it may not exist
 *     places.dirs[0 .. places.n - 1]   folders that exist; the first that has a model's name counts
 *     places.langid                    the data; the file may not exist
 *     err = dg_model_folders_each(&places, on_model, ctx, &error);
 *
 * An account's own folder is $XDG_DATA_HOME/dragoman/models (~/.local/share/dragoman/models); if
 * the program is installed, root's own folder is the server's, /var/lib/dragoman/models, or models
 * in the STATE_DIRECTORY that systemd gives a service. After the
 * account's own folder come the server's folder and the one installed with the program; a program
 * in its build folder uses the folders of the source tree around it. Relative paths in the
 * environment are ignored. Any thread. */
#ifndef DG_ENGINE_MODELS_MODEL_FOLDERS_H
#define DG_ENGINE_MODELS_MODEL_FOLDERS_H

#include "base/memory/error.h"

#include <stddef.h>

enum { DG_MODEL_FOLDERS_MAX = 3, DG_MODEL_FOLDERS_PATH = 4096 };

struct dg_model_folders {
    char own[DG_MODEL_FOLDERS_PATH]; /* the user's own folder; "": the account has no home */
    char dirs[DG_MODEL_FOLDERS_MAX][DG_MODEL_FOLDERS_PATH];
    size_t n;
    char langid[DG_MODEL_FOLDERS_PATH];
    char catalogue[DG_MODEL_FOLDERS_PATH]; /* the catalogue of what `dragoman get` can fetch */
};

void dg_model_folders_find(struct dg_model_folders *places);

/* Called with a model's name (its folder's name) and path; an error ends the walk. */
typedef enum dg_err dg_model_folders_fn(void *ctx, const char *name, const char *path,
                                        struct dg_error *error);

/* Visits each sub-directory that has a config.json; hidden ones are skipped. */
enum dg_err dg_model_folders_each_in(const char *dir, dg_model_folders_fn *on_model, void *ctx,
                                     struct dg_error *error) DG_MUST_CHECK;

/* Visits the models of all folders, each name once. */
enum dg_err dg_model_folders_each(const struct dg_model_folders *places,
                                  dg_model_folders_fn *on_model, void *ctx,
                                  struct dg_error *error) DG_MUST_CHECK;

#endif
