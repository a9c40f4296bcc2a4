/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Work that would hold the loop: done by threads of its own, its end told on the loop's thread.
 *
 *     err = dg_offload_open(loop, &(struct dg_pool_opts){.n_threads = 1, .max_jobs = 64}, &error,
 * &offload); struct copy { struct dg_task task; ... }; err = dg_offload_submit(offload,
 * &copy->task, run_copy, on_copied);    loop's thread static void run_copy(struct dg_task *task)
 * ...                         later, on a thread of it static void on_copied(struct dg_task *task)
 * ...                        after that, on the loop's dg_offload_close(offload); loop's thread;
 * runs what waits
 *
 * With one thread tasks run, and end, in the order in which they were submitted. A task belongs to
 * the offload from submit until its second function is called, which it always is.
 *
 *     err = dg_offload_submit_sized(offload, &copy->task, n_bytes, run_copy, on_copied);
 *
 * Those with a size wait in a line of their own, from which a thread that is free takes the
 * smallest, and every fourth time the oldest: who sends little does not wait behind many who send
 * much, and they are not forgotten. */
#ifndef DG_NET_LOOP_OFFLOAD_H
#define DG_NET_LOOP_OFFLOAD_H

#include "base/memory/list.h"
#include "base/thread/pool.h"
#include "net/loop/mailbox.h"

struct dg_offload;
struct dg_task;
typedef void (*dg_task_fn)(struct dg_task *task);

struct dg_task {
    struct dg_mail mail;
    struct dg_offload *home;
    dg_task_fn run, done;
    struct dg_list link; /* of one with a size, in line */
    size_t size;         /* 0: none */
};

enum dg_err dg_offload_open(uv_loop_t *loop, const struct dg_pool_opts *opts,
                            struct dg_error *error, struct dg_offload **offload) DG_MUST_CHECK;

/* Waits for all tasks, tells their ends, and lets go: the loop closes the rest. NULL is fine. A
 * task whose end submits another one during this is refused with DG_ERR_CLOSED. */
void dg_offload_close(struct dg_offload *offload);

/* DG_ERR_LIMIT: as many wait as may. */
enum dg_err dg_offload_submit(struct dg_offload *offload, struct dg_task *task, dg_task_fn run,
                              dg_task_fn done) DG_MUST_CHECK;

/* The same in the line, of which `size`, more than 0, says how long it will take. DG_ERR_LIMIT: as
 * many stand there as may wait. */
enum dg_err dg_offload_submit_sized(struct dg_offload *offload, struct dg_task *task, size_t size,
                                    dg_task_fn run, dg_task_fn done) DG_MUST_CHECK;

/* The sizes of all that stand in line. */
size_t dg_offload_in_line(const struct dg_offload *offload);

#endif
