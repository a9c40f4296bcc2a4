/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/mem.h"
#include "net/loop/offload.h"
#include "unit.h"

enum { N = 20 };

struct bench {
    uv_loop_t loop;
    struct dg_offload *offload;
    uv_thread_t loop_thread;
    int n_run, n_done;
    enum dg_err late; /* the result of submitting from an end at close */
    struct step {
        struct dg_offload_task task;
        struct bench *bench;
        int nth, run_as, done_as;
        bool was_elsewhere, submits_at_end;
    } steps[N + 1];
};

static void run(struct dg_offload_task *task)
{
    struct step *step = (struct step *)task;
    uv_thread_t self = uv_thread_self();
    step->was_elsewhere = !uv_thread_equal(&self, &step->bench->loop_thread);
    step->run_as = step->bench->n_run++;
}

static void on_done(struct dg_offload_task *task)
{
    struct step *step = (struct step *)task;
    struct bench *bench = step->bench;
    step->done_as = bench->n_done++;
    if (step->submits_at_end)
        bench->late = dg_offload_submit(bench->offload, &bench->steps[N].task, run, on_done);
    else if (bench->n_done == N)
        uv_stop(&bench->loop);
}

static enum dg_err start(struct bench *bench, size_t max)
{
    struct dg_error error = DG_ERROR_NONE;
    uv_loop_init(&bench->loop);
    bench->loop_thread = uv_thread_self();
    for (int i = 0; i <= N; i++)
        bench->steps[i] = (struct step){.bench = bench, .nth = i, .run_as = -1, .done_as = -1};
    const struct dg_pool_opts opts = {.n_threads = 1, .max_jobs = max, .name = "test"};
    return dg_offload_open(&bench->loop, NULL, &opts, &error, &bench->offload);
}

static void stop(struct bench *bench)
{
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&bench->loop), 0);
}

START_TEST(tasks_run_elsewhere_and_end_here_in_their_order)
{
    struct bench bench = {.n_run = 0};
    ck_assert_int_eq(start(&bench, N), DG_OK);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(dg_offload_submit(bench.offload, &bench.steps[i].task, run, on_done),
                         DG_OK);
    uv_run(&bench.loop, UV_RUN_DEFAULT);
    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(bench.steps[i].run_as, i);
        ck_assert_int_eq(bench.steps[i].done_as, i);
        ck_assert(bench.steps[i].was_elsewhere);
    }
    dg_offload_close(bench.offload);
    stop(&bench);
}
END_TEST

START_TEST(a_close_ends_what_waits_and_takes_nothing_more)
{
    struct bench bench = {.n_run = 0};
    ck_assert_int_eq(start(&bench, N), DG_OK);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(dg_offload_submit(bench.offload, &bench.steps[i].task, run, on_done),
                         DG_OK);
    bench.steps[2].submits_at_end = true;
    dg_offload_close(bench.offload);
    ck_assert_int_eq(bench.n_run, 3);
    ck_assert_int_eq(bench.n_done, 3);
    ck_assert_int_eq(bench.late, DG_ERR_CLOSED);
    stop(&bench);
}
END_TEST

/* The smallest task goes first, and every fourth time the oldest. The first task keeps the thread
 * until all others are in the queue. */
static uv_sem_t stands;

static void run_late(struct dg_offload_task *task)
{
    uv_sem_wait(&stands);
    run(task);
}

START_TEST(of_those_with_a_size_the_smallest_goes_first_and_none_is_forgotten)
{
    static const size_t sizes[] = {1, 100, 90, 5, 7, 80, 5};
    static const int order[] = {0, 3, 6, 1, 4, 5, 2}; /* how many ran before each */
    enum { SIZED = sizeof sizes / sizeof *sizes };
    struct bench bench = {.n_run = 0};
    uv_sem_init(&stands, 0);
    ck_assert_int_eq(start(&bench, N), DG_OK);
    for (int i = 0; i < SIZED; i++)
        ck_assert_int_eq(dg_offload_submit_sized(bench.offload, &bench.steps[i].task, sizes[i],
                                                 i ? run : run_late, on_done),
                         DG_OK);
    ck_assert_uint_eq(dg_offload_in_line(bench.offload), 100 + 90 + 5 + 7 + 80 + 5);
    for (int i = SIZED; i < N; i++) /* other tasks have their own queue */
        ck_assert_int_eq(dg_offload_submit(bench.offload, &bench.steps[i].task, run, on_done),
                         DG_OK);
    uv_sem_post(&stands);
    uv_run(&bench.loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(bench.n_done, N);
    for (int i = 0; i < SIZED; i++)
        for (int k = 0; k < SIZED; k++)
            ck_assert_int_eq(bench.steps[i].run_as < bench.steps[k].run_as, order[i] < order[k]);
    ck_assert_uint_eq(dg_offload_in_line(bench.offload), 0);
    dg_offload_close(bench.offload);
    stop(&bench);
    uv_sem_destroy(&stands);
}
END_TEST

START_TEST(the_line_has_an_end_and_a_close_serves_it)
{
    struct bench bench = {.n_run = 0};
    uv_sem_init(&stands, 0);
    ck_assert_int_eq(start(&bench, 3), DG_OK);
    for (int i = 0; i < 4; i++) /* one runs, three wait */
        ck_assert_int_eq(dg_offload_submit_sized(bench.offload, &bench.steps[i].task, 9,
                                                 i ? run : run_late, on_done),
                         DG_OK);
    ck_assert_int_eq(dg_offload_submit_sized(bench.offload, &bench.steps[4].task, 1, run, on_done),
                     DG_ERR_BUSY);
    bench.steps[3].submits_at_end = true;
    uv_sem_post(&stands);
    dg_offload_close(bench.offload);
    ck_assert_int_eq(bench.n_run, 4);
    ck_assert_int_eq(bench.n_done, 4);
    ck_assert_int_eq(bench.late, DG_ERR_CLOSED);
    stop(&bench);
    uv_sem_destroy(&stands);
}
END_TEST

DG_UNIT(of_those_with_a_size_the_smallest_goes_first_and_none_is_forgotten,
        the_line_has_an_end_and_a_close_serves_it, tasks_run_elsewhere_and_end_here_in_their_order,
        a_close_ends_what_waits_and_takes_nothing_more)
