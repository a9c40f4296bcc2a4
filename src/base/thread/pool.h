/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A small pool of threads with a bounded queue of jobs.
 *
 *     err = dg_pool_new(&(struct dg_pool_opts){.n_threads = 2, .max_jobs = 64, .name = "split"},
 *                       &pool);
 *     err = dg_pool_submit(pool, split_document, document);       DG_ERR_LIMIT when 64 wait
 *     dg_pool_wait(pool);                                 until nothing waits and nothing runs
 *     dg_pool_free(pool);                                 runs what still waits, then ends the
 * threads
 *
 * Each job that was taken runs exactly once, in the order of submission, on one of the threads.
 * Jobs may submit jobs but not wait for or free the pool. The threads take no signals: these are
 * for the thread that made the pool. Any thread may submit. */
#ifndef DG_BASE_THREAD_POOL_H
#define DG_BASE_THREAD_POOL_H

#include "base/memory/err.h"

#include <stddef.h>

struct dg_pool;

typedef void (*dg_pool_job_fn)(void *arg);

struct dg_pool_opts {
    size_t n_threads; /* at least 1 */
    size_t max_jobs;  /* waiting ones; at least 1 */
    const char *name; /* of the threads, as ps(1) shows it; at most 15 bytes; NULL: none */
};

enum dg_err dg_pool_new(const struct dg_pool_opts *opts, struct dg_pool **out) DG_MUST_CHECK;
void dg_pool_free(struct dg_pool *pool); /* mirror of new; NULL is fine */

enum dg_err dg_pool_submit(struct dg_pool *pool, dg_pool_job_fn fn, void *arg) DG_MUST_CHECK;
void dg_pool_wait(struct dg_pool *pool);

#endif
