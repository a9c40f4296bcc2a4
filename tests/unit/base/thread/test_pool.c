/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/mem.h"
#include "base/thread/pool.h"
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_int n_done;

static struct dg_pool *made(size_t n_threads, size_t max_jobs)
{
    atomic_store(&n_done, 0);
    struct dg_pool *pool = NULL;
    const struct dg_pool_opts opts = {n_threads, max_jobs, "a rather long thread name"};
    ck_assert_int_eq(dg_pool_new(&opts, &pool), DG_OK);
    return pool;
}

static void count(void *arg)
{
    atomic_fetch_add(&n_done, *(int *)arg);
}

START_TEST(runs_every_job_once)
{
    struct dg_pool *pool = made(3, 1000);
    int one = 1;
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(dg_pool_submit(pool, count, &one), DG_OK);
    dg_pool_wait(pool);
    ck_assert_int_eq(atomic_load(&n_done), 1000);
    dg_pool_wait(pool);
    dg_pool_free(pool);
    dg_pool_free(NULL);
}
END_TEST

START_TEST(runs_what_waits_before_it_ends)
{
    struct dg_pool *pool = made(2, 1000);
    int one = 1;
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(dg_pool_submit(pool, count, &one), DG_OK);
    dg_pool_free(pool);
    ck_assert_int_eq(atomic_load(&n_done), 1000);
}
END_TEST

/* A door that holds a job until it is opened. */
struct door {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_reached, is_open;
};

static struct door door = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false};

static void pass_door(void *arg)
{
    pthread_mutex_lock(&door.lock);
    door.is_reached = true;
    pthread_cond_broadcast(&door.changed);
    while (!door.is_open)
        pthread_cond_wait(&door.changed, &door.lock);
    pthread_mutex_unlock(&door.lock);
}

static void await_reached(void)
{
    pthread_mutex_lock(&door.lock);
    while (!door.is_reached)
        pthread_cond_wait(&door.changed, &door.lock);
    pthread_mutex_unlock(&door.lock);
}

static void open_door(void)
{
    pthread_mutex_lock(&door.lock);
    door.is_open = true;
    pthread_cond_broadcast(&door.changed);
    pthread_mutex_unlock(&door.lock);
}

START_TEST(refuses_jobs_when_its_queue_is_full)
{
    struct dg_pool *pool = made(1, 2);
    int one = 1;
    ck_assert_int_eq(dg_pool_submit(pool, pass_door, NULL), DG_OK);
    await_reached();
    ck_assert_int_eq(dg_pool_submit(pool, count, &one), DG_OK);
    ck_assert_int_eq(dg_pool_submit(pool, count, &one), DG_OK);
    ck_assert_int_eq(dg_pool_submit(pool, count, &one), DG_ERR_BUSY);
    ck_assert_int_eq(atomic_load(&n_done), 0);
    open_door();
    dg_pool_wait(pool);
    ck_assert_int_eq(atomic_load(&n_done), 2);
    dg_pool_free(pool);
}
END_TEST

static struct dg_pool *own_pool;
static atomic_int n_left;

static void submit_another(void *arg)
{
    if (atomic_fetch_sub(&n_left, 1) > 1)
        ck_assert_int_eq(dg_pool_submit(own_pool, submit_another, NULL), DG_OK);
}

START_TEST(lets_jobs_submit_jobs_even_while_it_ends)
{
    atomic_store(&n_left, 500);
    own_pool = made(2, 4);
    ck_assert_int_eq(dg_pool_submit(own_pool, submit_another, NULL), DG_OK);
    dg_pool_free(own_pool);
    ck_assert_int_eq(atomic_load(&n_left), 0);
}
END_TEST

static void see_mask(void *arg)
{
    pthread_sigmask(SIG_BLOCK, NULL, arg);
}

START_TEST(leaves_signals_to_its_maker)
{
    sigset_t before, after, of_job;
    sigemptyset(&of_job);
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    struct dg_pool *pool = made(1, 1);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    ck_assert_int_eq(dg_pool_submit(pool, see_mask, &of_job), DG_OK);
    dg_pool_free(pool);
    ck_assert_int_eq(sigismember(&of_job, SIGTERM), 1);
    ck_assert_int_eq(sigismember(&of_job, SIGHUP), 1);
    ck_assert_int_eq(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}
END_TEST

START_TEST(reports_memory_that_is_gone)
{
    struct dg_pool *pool = NULL;
    const struct dg_pool_opts opts = {2, 10, NULL};
    for (uint64_t n = 1; n <= 2; n++) {
        dg_mem_fail_after(n);
        ck_assert_int_eq(dg_pool_new(&opts, &pool), DG_ERR_NOMEM);
    }
    dg_mem_fail_after(0);
    ck_assert_ptr_null(pool);
}
END_TEST

DG_UNIT(runs_every_job_once, runs_what_waits_before_it_ends, refuses_jobs_when_its_queue_is_full,
        lets_jobs_submit_jobs_even_while_it_ends, leaves_signals_to_its_maker,
        reports_memory_that_is_gone)
