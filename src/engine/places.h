/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Where models and the data of language identification are when nobody says.
 *
 *     struct dg_places places;
 *     dg_places_find(&places);
 *     places.own                       where this account's models go; it need not be there
 *     places.dirs[0 .. places.n - 1]   folders that are there; of models of one name the first counts
 *     places.langid                    the data; the file need not be there
 *     err = dg_places_each(&places, on_model, ctx, &why);
 *
 * An account's own place is $XDG_DATA_HOME/dragoman/models (~/.local/share/dragoman/models), root's the server's,
 * /var/lib/dragoman/models. Behind it come the server's, and what is installed with the program; for a program in its
 * build folder that is the source tree's. Relative paths in the environment do not count. Any thread. */
#ifndef DG_ENGINE_PLACES_H
#define DG_ENGINE_PLACES_H

#include "base/err.h"
#include "base/why.h"

#include <stddef.h>

enum { DG_PLACES_MAX = 3, DG_PLACES_PATH = 4096 };

struct dg_places {
    char own[DG_PLACES_PATH]; /* "": there is no home */
    char dirs[DG_PLACES_MAX][DG_PLACES_PATH];
    size_t n;
    char langid[DG_PLACES_PATH];
};

void dg_places_find(struct dg_places *places);

/* Called with a model's name, which is its folder's, and path; an error ends the walk. */
typedef enum dg_err dg_places_fn(void *ctx, const char *name, const char *path, struct dg_why *why);

/* Each sub-directory that has a config.json; hidden ones are passed over. */
enum dg_err dg_places_each_in(const char *dir, dg_places_fn *on_model, void *ctx, struct dg_why *why) DG_MUST_CHECK;

/* Of all places, each name once. */
enum dg_err dg_places_each(const struct dg_places *places, dg_places_fn *on_model, void *ctx, struct dg_why *why) DG_MUST_CHECK;

#endif
