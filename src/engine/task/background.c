/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A pool of one thread, and a flag for each task. */
#include "engine/task/background.h"
#include "base/thread/pool.h"

enum { WAITING_MAX = 64 };

static void run_background(void *arg)
{
    struct dg_background_task *task = arg;
    const struct dg_background *background = task->background;
    task->run(task);
    atomic_store(&task->is_done, true); /* from here on, the task may no longer exist */
    if (background->wake)
        background->wake(background->wake_arg);
}

enum dg_err dg_background_begin(struct dg_background *background, struct dg_background_task *task,
                                dg_background_fn fn)
{
    const struct dg_pool_opts opts = {.n_threads = 1, .max_jobs = WAITING_MAX, .name = "dg-texts"};
    enum dg_err err = background->pool ? DG_OK : dg_pool_new(&opts, &background->pool);
    if (err)
        return err;
    task->background = background;
    task->run = fn;
    atomic_init(&task->is_done, false);
    atomic_init(&task->is_unwanted, false);
    return dg_pool_submit(background->pool, run_background, task);
}

void dg_background_leave_to(const struct dg_background *background, void (*fn)(void *arg),
                            void *arg)
{
    if (!background->pool || dg_pool_submit(background->pool, fn, arg) != DG_OK)
        fn(arg);
}

void dg_background_close(struct dg_background *background)
{
    dg_pool_free(background->pool);
    background->pool = NULL;
}
