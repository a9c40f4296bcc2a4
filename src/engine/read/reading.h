/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: a request for readings on its way, a kind of task (task.h). Items become
 * windows, and windows become tickets. Items are tokenised in stretches, so that no turn of the
 * consumer's thread takes long; a few dozen tickets are open at a time. As soon as a ticket ends,
 * its output is reduced to the result that will be reported (reading_result.h), and the ticket is
 * freed. */
#ifndef DG_ENGINE_READ_READING_H
#define DG_ENGINE_READ_READING_H

#include "engine/read/read.h"
#include "engine/task/task.h"
#include "model/blueprint.h"

/* Errors as of dg_engine_submit. */
enum dg_err dg_reading_submit(struct dg_tasks *tasks, const struct dg_engine_read *ask,
                              const struct dg_engine_read_events *events, void *ctx,
                              struct dg_error *error, uint64_t *retry_ms,
                              uint64_t *id) DG_MUST_CHECK;

/* How readings begin and end; their tickets are of kind DG_TICKET_READING. */
extern const struct dg_task_ops dg_reading_ops;

/* Returns whether a model can do the task. */
bool dg_reading_fits(const struct dg_blueprint *bp, enum dg_read_task task);

#endif
