/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Private to the pickle reader: the known names and what calling them does (pickle_call.c). The
 * stack machine is in pickle.c. */
#ifndef DG_IMPORT_CONTAINER_PICKLE_INT_H
#define DG_IMPORT_CONTAINER_PICKLE_INT_H

#include "import/container/pickle.h"

/* Finds "module" "name"; false when it is not on the list. */
bool dg_pickle_call_find(struct dg_span module, struct dg_span name, int64_t *global);

/* Returns the full text of a known name ("collections.OrderedDict"). */
const char *dg_pickle_call_name(int64_t global);

/* Calls `global`(*args); the result is a new or an existing value. Error texts have no offset. */
enum dg_err dg_pickle_call(struct dg_pickle *pickle, int64_t global,
                           const struct dg_pickle_value *args, struct dg_pickle_value **result,
                           struct dg_error *error) DG_MUST_CHECK;

/* Makes a storage from a persistent id: ("storage", class, key, location, elements[, view]). */
enum dg_err dg_pickle_call_storage(struct dg_pickle *pickle, const struct dg_pickle_value *id,
                                   struct dg_pickle_value **result,
                                   struct dg_error *error) DG_MUST_CHECK;

/* Makes a new value in the arena; NULL past the limit. */
struct dg_pickle_value *dg_pickle_make(struct dg_pickle *pickle, enum dg_pickle_type type);

/* Appends to a tuple, list or dict. */
enum dg_err dg_pickle_push(struct dg_pickle *pickle, struct dg_pickle_value *list,
                           struct dg_pickle_value *item) DG_MUST_CHECK;

#endif
