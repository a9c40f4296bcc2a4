/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Runs tasks that would block the loop on other threads, and reports on the loop's thread when each
 * one has ended.
 *
 *     err = dg_offload_open(loop, turn, &(struct dg_pool_opts){.n_threads = 1, .max_jobs = 64},
 *                           &error, &offload);
 *     struct copy { struct dg_offload_task task; ... };
 *     err = dg_offload_submit(offload, &copy->task, run_copy, on_copied);     loop's thread
 *     static void run_copy(struct dg_offload_task *task) ...         later, on one of the threads
 *     static void on_copied(struct dg_offload_task *task) ...        then, on the loop's thread
 *     dg_offload_close(offload);                  loop's thread; runs the waiting tasks
 *
 * With one thread, tasks run and end in the order of submission. A task belongs to the offload from
 * submit until its second function is called, which always happens.
 *
 *     err = dg_offload_submit_sized(offload, &copy->task, n_bytes, run_copy, on_copied);
 *
 * Sized tasks wait in a separate queue (the line). A free thread takes the smallest of them, and
 * every fourth time the oldest, so that small tasks do not wait behind many large ones, and large
 * ones do not starve. */
#ifndef DG_NET_LOOP_OFFLOAD_H
#define DG_NET_LOOP_OFFLOAD_H

#include "base/memory/list.h"
#include "base/thread/pool.h"
#include "net/loop/mailbox.h"

struct dg_offload;
struct dg_offload_task;
typedef void (*dg_offload_fn)(struct dg_offload_task *task);

struct dg_offload_task {
    struct dg_mail mail;
    struct dg_offload *home;
    dg_offload_fn run, done;
    struct dg_list link; /* in the line of sized tasks */
    size_t size;         /* 0: not sized */
};

/* The ends of tasks are work of `turn` (mailbox.h). */
enum dg_err dg_offload_open(uv_loop_t *loop, struct dg_turn *turn, const struct dg_pool_opts *opts,
                            struct dg_error *error, struct dg_offload **offload) DG_MUST_CHECK;

/* Waits for all tasks, reports their ends and closes; the loop then frees the rest. A task that is
 * submitted meanwhile is refused with DG_ERR_CLOSED. NULL is fine. */
void dg_offload_close(struct dg_offload *offload);

/* DG_ERR_BUSY: max_jobs tasks are waiting. */
enum dg_err dg_offload_submit(struct dg_offload *offload, struct dg_offload_task *task,
                              dg_offload_fn run, dg_offload_fn done) DG_MUST_CHECK;

/* The same for the line of sized tasks; `size`, above 0, is a measure of the task's duration.
 * DG_ERR_BUSY: max_jobs sized tasks are waiting. */
enum dg_err dg_offload_submit_sized(struct dg_offload *offload, struct dg_offload_task *task,
                                    size_t size, dg_offload_fn run,
                                    dg_offload_fn done) DG_MUST_CHECK;

/* The sum of the sizes of all tasks in the line. */
size_t dg_offload_in_line(const struct dg_offload *offload);

#endif
