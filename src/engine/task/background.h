/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A background thread for work on long texts, which would hold the consumer's thread for many
 * milliseconds. The thread is made when it is first needed.
 *
 *     struct reading { struct dg_background_task task; ... };
 *     err = dg_background_begin(background, &reading->task, run);
 *     if (err) run(&reading->task);                  refused: do the work on this thread
 *     ...
 *     if (dg_background_is_done(&reading->task)) ... after a wake-up
 *     dg_background_leave(&reading->task);           unwanted: the function looks at is_unwanted
 *     dg_background_leave_to(background, free, memory);    nobody waits for this
 *     dg_background_close(background);               when all are done
 *
 * From begin until it is done, a task and what it points to belong to the background thread. The
 * functions here are called on the consumer's thread only. */
#ifndef DG_ENGINE_TASK_BACKGROUND_H
#define DG_ENGINE_TASK_BACKGROUND_H

#include "base/memory/error.h"

#include <stdatomic.h>
#include <stdbool.h>

struct dg_pool;
struct dg_background_task;
typedef void (*dg_background_fn)(struct dg_background_task *task);

struct dg_background {
    struct dg_pool *pool;    /* owned; NULL until something is begun */
    void (*wake)(void *arg); /* set by the engine; or NULL */
    void *wake_arg;
};

struct dg_background_task {
    const struct dg_background *background;
    dg_background_fn run;
    atomic_bool is_done, is_unwanted;
};

/* Begins a task on the background thread. On failure (DG_ERR_BUSY, DG_ERR_NOMEM) nothing has
 * begun. */
enum dg_err dg_background_begin(struct dg_background *background, struct dg_background_task *task,
                                dg_background_fn run) DG_MUST_CHECK;

static inline bool dg_background_is_done(const struct dg_background_task *task)
{
    return atomic_load(&task->is_done);
}

/* Says that the result is no longer wanted: the task ends soon, usually with a failure. */
static inline void dg_background_leave(struct dg_background_task *task)
{
    atomic_store(&task->is_unwanted, true);
}

/* Arranges that fn(arg) runs on the background thread after the tasks that were begun. It runs on
 * the calling thread instead if there is no background thread yet, or if too much is waiting for
 * that. */
void dg_background_leave_to(const struct dg_background *background, void (*fn)(void *arg),
                            void *arg);

/* Waits for all tasks that were begun, and for all functions that were left to the thread. */
void dg_background_close(struct dg_background *background);

#endif
