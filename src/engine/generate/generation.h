/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: a generation on its way, a kind of task (task.h). Its prompt becomes one
 * ticket, whose tokens become text. */
#ifndef DG_ENGINE_GENERATE_GENERATION_H
#define DG_ENGINE_GENERATE_GENERATION_H

#include "engine/generate/generate.h"
#include "engine/task/task.h"

/* Errors as of dg_engine_generate. */
enum dg_err dg_generation_submit(struct dg_tasks *tasks, const struct dg_generate *ask,
                                 const struct dg_generate_events *events, void *ctx,
                                 struct dg_error *error, uint64_t *retry_ms,
                                 uint64_t *id) DG_MUST_CHECK;

/* How generations begin and end; their tickets are of kind DG_TICKET_GENERATION. */
extern const struct dg_task_ops dg_generation_ops;

#endif
