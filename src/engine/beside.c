/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A pool of one thread, and a flag for each task. */
#include "engine/beside.h"
#include "base/pool.h"

enum { WAITING_MAX = 64 };

static void run(void *arg)
{
    struct dg_beside_task *task = arg;
    const struct dg_beside *beside = task->beside;
    task->run(task);
    atomic_store(&task->is_done, true); /* it may be gone from here on */
    if (beside->wake)
        beside->wake(beside->wake_arg);
}

enum dg_err dg_beside_begin(struct dg_beside *beside, struct dg_beside_task *task, dg_beside_fn fn)
{
    const struct dg_pool_opts opts = {.n_threads = 1, .max_jobs = WAITING_MAX, .name = "dg-texts"};
    enum dg_err err = beside->pool ? DG_OK : dg_pool_new(&opts, &beside->pool);
    if (err)
        return err;
    task->beside = beside;
    task->run = fn;
    atomic_init(&task->is_done, false);
    atomic_init(&task->is_unwanted, false);
    return dg_pool_submit(beside->pool, run, task);
}

void dg_beside_close(struct dg_beside *beside)
{
    dg_pool_free(beside->pool);
    beside->pool = NULL;
}
