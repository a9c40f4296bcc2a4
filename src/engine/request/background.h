/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Work on a long text that would hold the consumer's thread for many milliseconds: done by one
 * thread beside it, made when it is first needed.
 *
 *     struct reading { struct dg_background_task task; ... };
 *     err = dg_background_begin(beside, &reading->task, run);    refused: run(&reading->task) here,
 * then
 *     ... after a wake-up ... if (dg_background_is_done(&reading->task)) ...
 *     dg_background_leave(&reading->task);                       stopped or late: the function
 * looks at is_unwanted dg_background_close(beside);                               when all are done
 *
 * From begin until it is done a task, and what it points to, is the thread's. One thread: the
 * consumer's, but for the task's function. */
#ifndef DG_ENGINE_REQUEST_BACKGROUND_H
#define DG_ENGINE_REQUEST_BACKGROUND_H

#include "base/memory/err.h"

#include <stdatomic.h>
#include <stdbool.h>

struct dg_pool;
struct dg_background_task;
typedef void (*dg_background_fn)(struct dg_background_task *task);

struct dg_background {
    struct dg_pool *pool;    /* owned; NULL until something is begun */
    void (*wake)(void *arg); /* the engine's; or NULL */
    void *wake_arg;
};

struct dg_background_task {
    const struct dg_background *background;
    dg_background_fn run;
    atomic_bool is_done, is_unwanted;
};

/* DG_ERR_LIMIT, DG_ERR_NOMEM: then nothing has begun. */
enum dg_err dg_background_begin(struct dg_background *background, struct dg_background_task *task,
                                dg_background_fn run) DG_MUST_CHECK;

static inline bool dg_background_is_done(const struct dg_background_task *task)
{
    return atomic_load(&task->is_done);
}

/* Nobody wants what the task makes: it ends soon, and leaves whatever there is of it, a failure
 * mostly. */
static inline void dg_background_leave(struct dg_background_task *task)
{
    atomic_store(&task->is_unwanted, true);
}

/* Waits for all that was begun. */
void dg_background_close(struct dg_background *background);

#endif
