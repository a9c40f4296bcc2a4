/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: a request whose model is not loaded yet, kept with all its options.
 *
 *     err = dg_waiting_new(&waiting, model, asked, &error);
 *     waiting->asked ...                        the request, copied into memory of its own
 *     dg_waiting_free(waiting); */
#ifndef DG_ENGINE_ROUTE_WAITING_H
#define DG_ENGINE_ROUTE_WAITING_H

#include "base/memory/arena.h"
#include "base/memory/list.h"
#include "engine/engine.h"
#include "engine/route/served_model.h"

struct dg_waiting {
    struct dg_list link; /* in the engine's list */
    struct dg_arena arena;
    struct dg_engine_request asked; /* what it points to is in the arena, unless it lives until
                                     * on_done anyway */
    struct dg_served_model *model;  /* a reference: the stand-in of the model that it waits for */
    struct dg_served_model *held;   /* a reference: another model that it will need and that is
                                       loaded; or NULL */
    const struct dg_engine_events *events;
    void *ctx;
    uint64_t id, began_ns;
    bool is_unwanted; /* cancelled */
};

/* DG_ERR_NOMEM, with a sentence. */
enum dg_err dg_waiting_new(struct dg_waiting **waiting, struct dg_served_model *model,
                           const struct dg_engine_request *asked,
                           struct dg_error *error) DG_MUST_CHECK;
void dg_waiting_free(struct dg_waiting *waiting); /* NULL is fine */

#endif
