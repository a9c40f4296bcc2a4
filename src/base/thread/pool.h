/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A small pool of threads with a bounded queue of jobs.
 *
 *     err = dg_pool_new(&(struct dg_pool_opts){.n_threads = 2, .max_jobs = 64, .name = "split"},
 *                       &pool);
 *     err = dg_pool_submit(pool, split_document, document);       DG_ERR_BUSY when 64 wait
 *     dg_pool_wait(pool);                                 until no job waits or runs
 *     dg_pool_free(pool);                       runs the waiting jobs, then ends the threads
 *
 * Each accepted job runs exactly once, in the order of submission, on one of the threads. Jobs may
 * submit jobs but may not wait for the pool or free it. The pool's threads block all signals
 * but SIGBUS (base/file/map_file.h), so the thread that made the pool gets them. Any thread may
 * submit. */
#ifndef DG_BASE_THREAD_POOL_H
#define DG_BASE_THREAD_POOL_H

#include "base/memory/error.h"

#include <stddef.h>

struct dg_pool;

typedef void (*dg_pool_job_fn)(void *arg);

struct dg_pool_opts {
    size_t n_threads; /* at least 1 */
    size_t max_jobs;  /* waiting jobs; at least 1 */
    const char *name; /* the threads' name in ps(1), at most 15 bytes; NULL: none */
};

enum dg_err dg_pool_new(const struct dg_pool_opts *opts, struct dg_pool **out) DG_MUST_CHECK;
void dg_pool_free(struct dg_pool *pool); /* mirror of new; NULL is fine */

enum dg_err dg_pool_submit(struct dg_pool *pool, dg_pool_job_fn fn, void *arg) DG_MUST_CHECK;
void dg_pool_wait(struct dg_pool *pool);

#endif
