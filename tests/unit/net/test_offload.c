/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/mem.h"
#include "net/loop/offload.h"
#include "unit.h"

enum { N = 20 };

struct bench {
    uv_loop_t loop;
    struct dg_offload *offload;
    uv_thread_t loop_thread;
    int n_run, n_done;
    enum dg_err late; /* what submitting from an end at close gave */
    struct step {
        struct dg_task task;
        struct bench *bench;
        int nth, run_as, done_as;
        bool was_elsewhere, submits_at_end;
    } steps[N + 1];
};

static void run(struct dg_task *task)
{
    struct step *step = (struct step *)task;
    uv_thread_t self = uv_thread_self();
    step->was_elsewhere = !uv_thread_equal(&self, &step->bench->loop_thread);
    step->run_as = step->bench->n_run++;
}

static void on_done(struct dg_task *task)
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
    struct dg_why why = DG_WHY_NONE;
    uv_loop_init(&bench->loop);
    bench->loop_thread = uv_thread_self();
    for (int i = 0; i <= N; i++)
        bench->steps[i] = (struct step){.bench = bench, .nth = i, .run_as = -1, .done_as = -1};
    const struct dg_pool_opts opts = {.n_threads = 1, .max_jobs = max, .name = "test"};
    return dg_offload_open(&bench->loop, &opts, &why, &bench->offload);
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
        ck_assert_int_eq(dg_offload_submit(bench.offload, &bench.steps[i].task, run, on_done), DG_OK);
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
        ck_assert_int_eq(dg_offload_submit(bench.offload, &bench.steps[i].task, run, on_done), DG_OK);
    bench.steps[2].submits_at_end = true;
    dg_offload_close(bench.offload);
    ck_assert_int_eq(bench.n_run, 3);
    ck_assert_int_eq(bench.n_done, 3);
    ck_assert_int_eq(bench.late, DG_ERR_CLOSED);
    stop(&bench);
}
END_TEST

DG_UNIT(tasks_run_elsewhere_and_end_here_in_their_order, a_close_ends_what_waits_and_takes_nothing_more)
