/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A pool and a mailbox: a thread runs the task and posts it. The pool has at most one sized task
 * per thread; the others wait here, on the loop's thread, until one has returned. */
#include "net/loop/offload.h"
#include "base/memory/mem.h"

enum { OLDEST_EVERY = 4 };

struct dg_offload {
    struct dg_pool *pool; /* NULL once it is closing */
    struct dg_mailbox *mailbox;
    size_t n_threads, line_max;
    struct dg_list line; /* of tasks with a size, oldest first */
    size_t n_line, line_size;
    size_t n_out;      /* how many of them the pool has */
    unsigned n_picked; /* from the line so far */
};

enum dg_err dg_offload_open(uv_loop_t *loop, struct dg_turn *turn, const struct dg_pool_opts *opts,
                            struct dg_error *error, struct dg_offload **offload)
{
    struct dg_offload *made = dg_xcalloc(1, sizeof *made);
    dg_list_init(&made->line);
    made->n_threads = opts->n_threads;
    made->line_max = opts->max_jobs;
    enum dg_err err = dg_mailbox_open(loop, turn, error, &made->mailbox);
    if (!err) {
        err = dg_pool_new(opts, &made->pool);
        if (err)
            dg_error_set(error, err, "cannot start threads: %s", dg_err_sentence(err));
    }
    if (err) {
        dg_mailbox_close(made->mailbox);
        dg_free(made);
        return err;
    }
    *offload = made;
    return DG_OK;
}

/* ---- The line -------------------------------------------------------------------------------- */

static void get_in_line(struct dg_offload *offload, struct dg_offload_task *task)
{
    dg_list_init(&task->link);
    dg_list_link_last(&offload->line, &task->link);
    offload->n_line++;
    offload->line_size += task->size;
}

/* Takes the next task from the line; NULL when it is empty. */
static struct dg_offload_task *pick(struct dg_offload *offload)
{
    struct dg_offload_task *best = NULL;
    const bool takes_oldest = ++offload->n_picked % OLDEST_EVERY == 0;
    for (struct dg_list *at = offload->line.next; at != &offload->line && !(best && takes_oldest);
         at = at->next) {
        struct dg_offload_task *task = DG_LIST_ITEM(at, struct dg_offload_task, link);
        if (!best || task->size < best->size)
            best = task;
    }
    if (!best)
        return NULL;
    dg_list_unlink(&best->link);
    offload->n_line--;
    offload->line_size -= best->size;
    return best;
}

static void deliver(struct dg_mail *mail);

static void run(void *arg)
{
    struct dg_offload_task *task = arg;
    struct dg_mailbox *mailbox = task->home->mailbox;
    task->run(task);
    dg_mailbox_post(mailbox, &task->mail, deliver);
}

/* Gives the pool as many sized tasks as it has threads. When other tasks fill the pool, the line is
 * served when one of them comes back. */
static void serve_line(struct dg_offload *offload)
{
    while (offload->n_out < offload->n_threads && offload->n_line > 0) {
        struct dg_offload_task *task = pick(offload);
        if (dg_pool_submit(offload->pool, run, task) != DG_OK) {
            get_in_line(offload, task);
            return;
        }
        offload->n_out++;
    }
}

static void deliver(struct dg_mail *mail)
{
    struct dg_offload_task *task =
        (struct dg_offload_task *)((char *)mail - offsetof(struct dg_offload_task, mail));
    struct dg_offload *offload = task->home;
    offload->n_out -= task->size > 0;
    serve_line(offload);
    task->done(task); /* from here on it may no longer exist */
}

size_t dg_offload_in_line(const struct dg_offload *offload)
{
    return offload->line_size;
}

/* ---- Life ------------------------------------------------------------------------------------ */

void dg_offload_close(struct dg_offload *offload)
{
    if (!offload)
        return;
    struct dg_pool *pool = offload->pool;
    offload->pool = NULL;
    for (struct dg_offload_task *task; (task = pick(offload));) {
        while (dg_pool_submit(pool, run, task) != DG_OK)
            dg_pool_wait(pool);
        offload->n_out++;
    }
    dg_pool_free(pool);
    dg_mailbox_close(offload->mailbox); /* delivers first */
    dg_free(offload);
}

static enum dg_err take(struct dg_offload *offload, struct dg_offload_task *task, size_t size,
                        dg_offload_fn run_task, dg_offload_fn done)
{
    if (!offload->pool)
        return DG_ERR_CLOSED;
    task->home = offload;
    task->run = run_task;
    task->done = done;
    task->size = size;
    return DG_OK;
}

enum dg_err dg_offload_submit(struct dg_offload *offload, struct dg_offload_task *task,
                              dg_offload_fn run_task, dg_offload_fn done)
{
    enum dg_err err = take(offload, task, 0, run_task, done);
    return err ? err : dg_pool_submit(offload->pool, run, task);
}

enum dg_err dg_offload_submit_sized(struct dg_offload *offload, struct dg_offload_task *task,
                                    size_t size, dg_offload_fn run_task, dg_offload_fn done)
{
    enum dg_err err = take(offload, task, size, run_task, done);
    if (!err && offload->n_line >= offload->line_max)
        err = DG_ERR_BUSY;
    if (err)
        return err;
    get_in_line(offload, task);
    serve_line(offload);
    return DG_OK;
}
