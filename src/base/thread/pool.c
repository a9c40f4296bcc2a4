/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Thread pool: one mutex, one ring of jobs, two conditions ("there is work", "all is done"). */
#define _GNU_SOURCE 1 /* pthread_setname_np */
#include "base/thread/pool.h"
#include "base/memory/mem.h"
#include "base/memory/ring.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

struct job {
    dg_pool_job_fn fn;
    void *arg;
};

struct dg_pool {
    pthread_mutex_t lock; /* all below */
    pthread_cond_t work;  /* a job came, or the end */
    pthread_cond_t idle;  /* nothing waits and nothing runs */
    struct dg_ring jobs;  /* of struct job */
    size_t n_running;
    bool is_ending;
    size_t n_threads;    /* not changed after new */
    pthread_t threads[]; /* n_threads */
};

static void *run(void *arg)
{
    struct dg_pool *pool = arg;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        struct job job;
        while (!dg_ring_pop(&pool->jobs, &job)) {
            if (pool->is_ending && pool->n_running == 0) {
                pthread_cond_broadcast(&pool->work);
                pthread_mutex_unlock(&pool->lock);
                return NULL;
            }
            pthread_cond_wait(&pool->work, &pool->lock);
        }
        pool->n_running++;
        pthread_mutex_unlock(&pool->lock);
        job.fn(job.arg);
        pthread_mutex_lock(&pool->lock);
        pool->n_running--;
        if (pool->n_running == 0 && pool->jobs.len == 0)
            pthread_cond_broadcast(&pool->idle);
    }
}

/* Starts the threads with all signals blocked except SIGBUS: its handler guards mapped files, and
 * the signal ends the process in a thread that blocks it. n_threads counts the running threads. */
static enum dg_err start(struct dg_pool *pool, size_t n_threads, const char *name)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = 0;
    while (!failed && pool->n_threads < n_threads) {
        failed = pthread_create(&pool->threads[pool->n_threads], NULL, run, pool);
        if (failed)
            break;
        if (name) {
            char shown[16];
            snprintf(shown, sizeof shown, "%s", name);
            pthread_setname_np(pool->threads[pool->n_threads], shown);
        }
        pool->n_threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed ? DG_ERR_BUSY : DG_OK;
}

enum dg_err dg_pool_new(const struct dg_pool_opts *opts, struct dg_pool **out)
{
    assert(opts->n_threads > 0 && opts->max_jobs > 0);
    size_t size;
    if (!dg_mul(opts->n_threads, sizeof(pthread_t), &size) ||
        !dg_add(size, sizeof(struct dg_pool), &size))
        return DG_ERR_NOMEM;
    struct dg_pool *pool = dg_try_calloc(1, size);
    if (!pool)
        return DG_ERR_NOMEM;
    enum dg_err err = dg_ring_init(&pool->jobs, opts->max_jobs, sizeof(struct job));
    if (err) {
        dg_free(pool);
        return err;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->idle, NULL);
    err = start(pool, opts->n_threads, opts->name);
    if (err) {
        dg_pool_free(pool);
        return err;
    }
    *out = pool;
    return DG_OK;
}

void dg_pool_free(struct dg_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->is_ending = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->n_threads; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    dg_ring_deinit(&pool->jobs);
    dg_free(pool);
}

enum dg_err dg_pool_submit(struct dg_pool *pool, dg_pool_job_fn fn, void *arg)
{
    pthread_mutex_lock(&pool->lock);
    enum dg_err err = dg_ring_push(&pool->jobs, &(struct job){fn, arg});
    if (!err)
        pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    return err ? DG_ERR_BUSY : DG_OK;
}

void dg_pool_wait(struct dg_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (pool->n_running > 0 || pool->jobs.len > 0)
        pthread_cond_wait(&pool->idle, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
