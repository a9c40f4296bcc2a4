/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The background thread: tasks that are given to it are done, whichever thread does them. */
#include "engine/task/background.h"
#include "unit.h"

#include <pthread.h>

static pthread_t done_by;
static int n_done;

static void count(void *arg)
{
    ck_assert_ptr_eq(arg, &n_done);
    done_by = pthread_self();
    n_done++;
}

static void run(struct dg_background_task *task)
{
    (void)task;
}

START_TEST(what_is_left_to_no_thread_is_done_at_once)
{
    const struct dg_background background = {.pool = NULL};
    n_done = 0;
    dg_background_leave_to(&background, count, &n_done);
    ck_assert_int_eq(n_done, 1);
    ck_assert(pthread_equal(done_by, pthread_self()));
}
END_TEST

START_TEST(what_is_left_to_the_thread_is_done_by_it_before_it_ends)
{
    enum { N = 10 };
    struct dg_background background = {.pool = NULL};
    struct dg_background_task task;
    n_done = 0;
    const enum dg_err err = dg_background_begin(&background, &task, run);
    ck_assert_int_eq(err, DG_OK);
    for (int i = 0; i < N; i++)
        dg_background_leave_to(&background, count, &n_done);
    dg_background_close(&background);
    ck_assert_int_eq(n_done, N);
    ck_assert(!pthread_equal(done_by, pthread_self()));
}
END_TEST

DG_UNIT(what_is_left_to_no_thread_is_done_at_once,
        what_is_left_to_the_thread_is_done_by_it_before_it_ends)
