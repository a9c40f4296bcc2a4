/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Lists the installed models, with the contents of their origin.json.
 *
 *     err = library_read(&library, &flags, &error);
 *     for (size_t i = 0; i < library.n; i++)
 *         ... library.items[i].name ...
 *     library_free(&library); */
#ifndef DG_TOOLS_GET_LIBRARY_H
#define DG_TOOLS_GET_LIBRARY_H

#include "fetch/package.h"
#include "tools/get/get_flags.h"

struct library_item {
    char name[256];
    char path[DG_MODEL_FOLDERS_PATH];
    uint64_t bytes;  /* bytes of its files */
    bool has_origin; /* it was fetched, and `package` describes where from */
    bool is_own;     /* it is in the folder that `get` and `remove` work in */
    struct dg_package package;
};

struct library {
    struct library_item *items; /* owned; sorted by name */
    size_t n;
    char own[DG_MODEL_FOLDERS_PATH]; /* the folder that `get` and `remove` work in */
};

enum dg_err library_read(struct library *library, const struct get_flags *flags,
                         struct dg_error *error) DG_MUST_CHECK;
void library_free(struct library *library);

/* Returns the model of this name, in upper or lower case; NULL when there is none. */
const struct library_item *library_find(const struct library *library, const char *name);

#endif
