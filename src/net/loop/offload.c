/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A pool and a mailbox: a thread runs the task and posts it. */
#include "net/loop/offload.h"
#include "base/mem.h"

struct dg_offload {
    struct dg_pool *pool; /* NULL once it is closing */
    struct dg_mailbox *mailbox;
};

enum dg_err dg_offload_open(uv_loop_t *loop, const struct dg_pool_opts *opts, struct dg_why *why,
                            struct dg_offload **offload)
{
    struct dg_offload *made = dg_xcalloc(1, sizeof *made);
    enum dg_err err = dg_mailbox_open(loop, why, &made->mailbox);
    if (!err) {
        err = dg_pool_new(opts, &made->pool);
        if (err)
            dg_why_set(why, err, "cannot start threads: %s", dg_err_sentence(err));
    }
    if (err) {
        dg_mailbox_close(made->mailbox);
        dg_free(made);
        return err;
    }
    *offload = made;
    return DG_OK;
}

void dg_offload_close(struct dg_offload *offload)
{
    if (!offload)
        return;
    struct dg_pool *pool = offload->pool;
    offload->pool = NULL;
    dg_pool_free(pool);
    dg_mailbox_close(offload->mailbox); /* delivers first */
    dg_free(offload);
}

static void deliver(struct dg_mail *mail)
{
    struct dg_task *task = (struct dg_task *)((char *)mail - offsetof(struct dg_task, mail));
    task->done(task);
}

static void run(void *arg)
{
    struct dg_task *task = arg;
    struct dg_mailbox *mailbox = task->home->mailbox;
    task->run(task);
    dg_mailbox_post(mailbox, &task->mail, deliver);
}

enum dg_err dg_offload_submit(struct dg_offload *offload, struct dg_task *task, dg_task_fn run_task,
                              dg_task_fn done)
{
    if (!offload->pool)
        return DG_ERR_CLOSED;
    task->home = offload;
    task->run = run_task;
    task->done = done;
    return dg_pool_submit(offload->pool, run, task);
}
