/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the engine shows to the other files of its folder. Consumer thread. */
#ifndef DG_ENGINE_ENGINE_INT_H
#define DG_ENGINE_ENGINE_INT_H

#include "engine/engine.h"
#include "engine/loaded.h"

/* The model that would serve the request, with a reference for the caller, and its languages, borrowed from it. Errors
 * as of dg_engine_submit; DG_ERR_BUSY also when the model is not at hand: its loading has been asked for. */
enum dg_err dg_engine_find(struct dg_engine *engine, const struct dg_engine_request *request,
                           struct dg_why *why, struct dg_loaded **loaded, struct dg_pair *pair) DG_MUST_CHECK;

/* Submits an empty text for the model that would serve the request: done when the model is at hand. */
enum dg_err dg_engine_await(struct dg_engine *engine, const struct dg_engine_request *request,
                            const struct dg_engine_events *events, void *ctx, struct dg_why *why,
                            uint64_t *id) DG_MUST_CHECK;

#endif
