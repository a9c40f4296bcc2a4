/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: what a request keeps while it waits for its models to be loaded.
 *
 *     err = dg_model_wait_new(&waiting, &request->asked, &error);   its texts are now copies
 *     dg_model_wait_free(waiting); */
#ifndef DG_ENGINE_REQUEST_MODEL_WAIT_H
#define DG_ENGINE_REQUEST_MODEL_WAIT_H

#include "base/memory/arena.h"
#include "engine/interface/engine_request.h"
#include "engine/models/served_model.h"

struct dg_model_wait {
    struct dg_arena arena;
    struct dg_served_model *held; /* One reference to another model that the request will need and
                                     that is loaded already; or NULL. */
};

/* Copies what `asked` points to, unless it lives until on_done anyway. DG_ERR_NOMEM, with a
 * sentence; `asked` is then unchanged. */
enum dg_err dg_model_wait_new(struct dg_model_wait **waiting, struct dg_engine_request *asked,
                              struct dg_error *error) DG_MUST_CHECK;
void dg_model_wait_free(struct dg_model_wait *waiting); /* NULL is fine */

#endif
