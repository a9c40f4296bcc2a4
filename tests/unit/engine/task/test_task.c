/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The life of tasks, with a kind of task that the test controls: no model, no ticket, and a clock
 * that stands still. */
#include "engine/task/task.h"
#include "base/memory/mem.h"
#include "unit.h"

#include <stdio.h>

static struct dg_clock clock_;
static struct dg_turn turn_;
static struct dg_tasks tasks;
static int n_wakes, n_freed, n_alive;

static void wake(void *arg)
{
    (void)arg;
    n_wakes++;
}

/* What a test sees of its task, which is freed when it is over. */
struct seen {
    enum dg_err next; /* the result of `begin` */
    bool is_done;     /* and the values that it then sets */
    size_t n_open;
    int n_begun, n_told, n_cancelled;
    enum dg_err told;
    char error[DG_ERROR_CAP];
    struct seen *submits; /* the task that its end submits; or NULL */
    uint64_t cancels;     /* the task that its end cancels; or 0 */
    uint64_t lasts_ns;    /* how long a turn takes */
    bool rests;           /* what it answers */
    struct dg_task *task;
};

struct scripted {
    struct dg_task task;
    struct seen *seen;
};

static enum dg_err submit(struct seen *seen, size_t n_bytes, uint64_t timeout_ms, uint64_t *id);

static struct seen *seen_of(struct dg_task *task)
{
    return DG_LIST_ITEM(task, struct scripted, task)->seen;
}

static enum dg_err begin(struct dg_task *task, struct dg_task_turn *turn, struct dg_error *error)
{
    struct seen *seen = seen_of(task);
    seen->n_begun++;
    dg_clock_advance(&clock_, seen->lasts_ns);
    task->n_open = seen->n_open;
    turn->retry_ms = 70;
    if (task->err)
        return DG_OK;
    turn->rests = seen->rests;
    task->is_done = seen->is_done && !seen->next;
    return seen->next ? dg_error_set(error, seen->next, "as the test says") : DG_OK;
}

static void take(struct dg_tasks *all, struct dg_ticket *ticket, bool is_over)
{
    (void)all;
    (void)ticket;
    (void)is_over;
}

static void cancel(struct dg_task *task)
{
    seen_of(task)->n_cancelled++;
}

static void finish(struct dg_task *task)
{
    struct seen *seen = seen_of(task);
    if (dg_task_ends(task)) {
        seen->n_told++;
        seen->told = task->err;
        snprintf(seen->error, sizeof seen->error, "%s", task->error.text);
        if (seen->submits)
            ck_assert_int_eq(submit(seen->submits, 1, 0, NULL), DG_OK);
        if (seen->cancels)
            ck_assert(dg_tasks_cancel(&tasks, seen->cancels));
    }
    if (task->n_open > 0)
        return;
    dg_task_deinit(task);
    dg_free(DG_LIST_ITEM(task, struct scripted, task));
    seen->task = NULL;
    n_freed++;
    n_alive--;
}

static const struct dg_task_ops ops = {begin, take, cancel, finish};

static enum dg_err submit_with(struct seen *seen, size_t n_bytes, uint64_t timeout_ms,
                               struct dg_error *error, uint64_t *retry_ms, uint64_t *id)
{
    struct scripted *one = dg_xcalloc(1, sizeof *one);
    dg_task_init(&one->task, &tasks, &ops, n_bytes, timeout_ms);
    one->seen = seen;
    seen->task = &one->task;
    n_alive++;
    return dg_tasks_submit(&tasks, &one->task, error, retry_ms, id);
}

static enum dg_err submit(struct seen *seen, size_t n_bytes, uint64_t timeout_ms, uint64_t *id)
{
    return submit_with(seen, n_bytes, timeout_ms, NULL, NULL, id);
}

static void start(void)
{
    struct dg_error error = DG_ERROR_NONE;
    clock_ = (struct dg_clock)DG_CLOCK_VIRTUAL(DG_CLOCK_S);
    n_wakes = n_freed = n_alive = 0;
    dg_tasks_init(&tasks);
    tasks.clock = &clock_;
    dg_turn_init(&turn_, &clock_);
    tasks.turn = &turn_;
    tasks.wake = wake;
    tasks.waiting_max = 2;
    const struct dg_sched_opts sched = {
        .n_workers = 1, .manual = true, .max_tickets = 8, .clock = &clock_};
    ck_assert_int_eq(dg_sched_new(&sched, &error, &tasks.sched), DG_OK);
    const struct dg_registry_opts registry = {.sched = tasks.sched, .clock = &clock_};
    ck_assert_int_eq(dg_registry_new(&registry, &error, &tasks.registry), DG_OK);
}

static void no_news(void *arg)
{
    (void)arg;
}

static void stop(void)
{
    dg_tasks_drain(&tasks, no_news, NULL);
    ck_assert_int_eq(n_alive, 0);
    dg_registry_free(tasks.registry);
    dg_sched_free(tasks.sched);
}

static void move(void)
{
    dg_turn_end(&turn_);
    dg_turn_begin(&turn_);
    dg_tasks_move(&tasks);
}

/* Acts as if a model had come or gone. */
static void look_at_waiting(void)
{
    tasks.waited_version = dg_registry_version(tasks.registry) - 1;
    move();
}

START_TEST(tells_an_end_once_and_counts_until_then)
{
    struct seen one = {.next = DG_OK};
    uint64_t id = 0;
    start();
    ck_assert_int_eq(submit(&one, 40, 0, &id), DG_OK);
    ck_assert_uint_ne(id, 0);
    ck_assert_uint_eq(tasks.n, 1);
    ck_assert_uint_eq(tasks.n_bytes, 40);
    move();
    ck_assert_int_eq(one.n_told, 0);
    one.is_done = true;
    move();
    ck_assert_int_eq(one.n_told, 1);
    ck_assert_int_eq(one.told, DG_OK);
    ck_assert_uint_eq(tasks.n, 0);
    ck_assert_uint_eq(tasks.n_bytes, 0);
    ck_assert_int_eq(n_freed, 1);
    ck_assert(!dg_tasks_cancel(&tasks, id));
    stop();
}
END_TEST

START_TEST(frees_what_it_refuses_without_telling_its_end)
{
    struct seen one = {.next = DG_ERR_BUSY}, two = {.next = DG_ERR_UTF8};
    struct dg_error error = DG_ERROR_NONE;
    uint64_t retry_ms = 0;
    start();
    ck_assert_int_eq(submit_with(&one, 1, 0, &error, &retry_ms, NULL), DG_ERR_BUSY);
    ck_assert_uint_eq(retry_ms, 70);
    ck_assert_str_eq(error.text, "as the test says");
    ck_assert_int_eq(submit(&two, 1, 0, NULL), DG_ERR_UTF8);
    ck_assert_int_eq(one.n_told + two.n_told, 0);
    ck_assert_int_eq(n_freed, 2);
    ck_assert_uint_eq(tasks.n, 0);
    ck_assert_uint_eq(tasks.n_bytes, 0);
    stop();
}
END_TEST

START_TEST(a_failure_with_something_open_is_told_when_that_is_back)
{
    struct seen one = {.next = DG_ERR_RANGE, .n_open = 1};
    start();
    ck_assert_int_eq(submit(&one, 1, 0, NULL), DG_OK);
    ck_assert_int_eq(one.n_cancelled, 1);
    ck_assert_int_gt(n_wakes, 0);
    move();
    ck_assert_int_eq(one.n_told, 0);
    one.n_open = 0;
    move();
    ck_assert_int_eq(one.n_told, 1);
    ck_assert_int_eq(one.told, DG_ERR_RANGE);
    ck_assert_str_eq(one.error, "as the test says");
    stop();
}
END_TEST

START_TEST(waits_for_its_model_and_begins_when_models_change)
{
    struct seen one = {.next = DG_ERR_NOT_YET};
    start();
    ck_assert_int_eq(submit(&one, 1, 0, NULL), DG_OK);
    ck_assert_uint_eq(tasks.n_waiting, 1);
    look_at_waiting();
    const int n_begun = one.n_begun;
    move(); /* no model has come or gone */
    ck_assert_int_eq(one.n_begun, n_begun);
    one.next = DG_OK;
    one.is_done = true;
    look_at_waiting();
    ck_assert_uint_eq(tasks.n_waiting, 0);
    ck_assert_int_eq(one.n_told, 1);
    stop();
}
END_TEST

START_TEST(is_looked_at_again_while_the_scheduler_is_full)
{
    struct seen one = {.next = DG_ERR_NOT_YET};
    start();
    ck_assert_int_eq(submit(&one, 1, 0, NULL), DG_OK);
    one.next = DG_ERR_BUSY;
    look_at_waiting();
    ck_assert_uint_eq(tasks.n_waiting, 1);
    one.next = DG_OK;
    move();
    ck_assert_uint_eq(tasks.n_waiting, 0);
    stop();
}
END_TEST

START_TEST(as_many_wait_as_may_and_those_that_must)
{
    struct seen some[4];
    struct dg_error error = DG_ERROR_NONE;
    start();
    for (size_t i = 0; i < 4; i++)
        some[i] = (struct seen){.next = DG_ERR_NOT_YET};
    ck_assert_int_eq(submit(&some[0], 1, 0, NULL), DG_OK);
    ck_assert_int_eq(submit(&some[1], 1, 0, NULL), DG_OK);
    ck_assert_int_eq(submit_with(&some[2], 1, 0, &error, NULL, NULL), DG_ERR_BUSY);
    ck_assert(strstr(error.text, "waiting for their models"));
    struct scripted *one = dg_xcalloc(1, sizeof *one);
    dg_task_init(&one->task, &tasks, &ops, 1, 0);
    one->seen = &some[3];
    one->task.waits = true;
    n_alive++;
    ck_assert_int_eq(dg_tasks_submit(&tasks, &one->task, NULL, NULL, NULL), DG_OK);
    ck_assert_uint_eq(tasks.n_waiting, 3);
    stop();
}
END_TEST

START_TEST(is_late_while_it_waits)
{
    struct seen one = {.next = DG_ERR_NOT_YET};
    start();
    ck_assert_int_eq(submit(&one, 1, 5, NULL), DG_OK);
    move();
    ck_assert_int_eq(one.n_told, 0);
    dg_clock_advance(&clock_, 5 * DG_CLOCK_MS);
    move();
    ck_assert_int_eq(one.n_told, 1);
    ck_assert_int_eq(one.told, DG_ERR_TIMEOUT);
    ck_assert(strstr(one.error, "model"));
    stop();
}
END_TEST

START_TEST(is_cancelled_while_it_waits_and_while_it_goes)
{
    struct seen waits = {.next = DG_ERR_NOT_YET}, goes = {.n_open = 1};
    uint64_t ids[2];
    start();
    ck_assert_int_eq(submit(&waits, 1, 0, &ids[0]), DG_OK);
    ck_assert_int_eq(submit(&goes, 1, 0, &ids[1]), DG_OK);
    ck_assert(dg_tasks_cancel(&tasks, ids[0]));
    ck_assert(dg_tasks_cancel(&tasks, ids[1]));
    ck_assert(!dg_tasks_cancel(&tasks, 99));
    ck_assert_int_eq(waits.n_told + goes.n_told, 0); /* a later move reports it */
    move();
    ck_assert_int_eq(waits.told, DG_ERR_CANCELLED);
    ck_assert_int_eq(waits.n_told, 1);
    ck_assert_int_eq(goes.n_told, 0);
    goes.n_open = 0;
    move();
    ck_assert_int_eq(goes.told, DG_ERR_CANCELLED);
    ck_assert_uint_eq(tasks.n_waiting, 0);
    stop();
}
END_TEST

START_TEST(an_end_may_submit_and_cancel)
{
    struct seen third = {.is_done = true}, second = {.n_open = 1}, first = {.submits = &third};
    uint64_t id;
    start();
    ck_assert_int_eq(submit(&first, 1, 0, NULL), DG_OK);
    ck_assert_int_eq(submit(&second, 1, 0, &id), DG_OK);
    first.is_done = true;
    first.cancels = id;
    move();
    second.n_open = 0;
    move();
    move();
    ck_assert_int_eq(first.n_told, 1);
    ck_assert_int_eq(second.told, DG_ERR_CANCELLED);
    ck_assert_int_eq(third.n_told, 1);
    ck_assert_uint_eq(tasks.n, 0);
    stop();
}
END_TEST

START_TEST(tasks_take_turns_when_time_is_short)
{
    struct seen some[3];
    start();
    for (size_t i = 0; i < 3; i++) {
        some[i] = (struct seen){.n_open = 1, .lasts_ns = DG_TURN_NS};
        ck_assert_int_eq(submit(&some[i], 1, 0, NULL), DG_OK);
    }
    for (size_t i = 0; i < 6; i++)
        move();
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(some[i].n_begun, 3); /* when it was submitted, and in two of six moves */
        some[i].n_open = 0;
    }
    ck_assert_int_gt(n_wakes, 0);
    stop();
}
END_TEST

START_TEST(polls_pass_over_what_rests)
{
    struct seen one = {.n_open = 1, .rests = true}, late = one;
    uint64_t id;
    start();
    ck_assert_int_eq(submit(&one, 1, 0, &id), DG_OK);
    ck_assert_int_eq(submit(&late, 1, 5, NULL), DG_OK);
    for (int i = 0; i < 3; i++)
        move();
    ck_assert_int_eq(one.n_begun, 2); /* when it was submitted, and in the first move */
    ck_assert_int_eq(late.n_begun, 2);
    dg_clock_advance(&clock_, 5 * DG_CLOCK_MS);
    move();
    ck_assert_int_eq(one.n_begun, 2);
    ck_assert_int_eq(late.n_begun, 3);
    dg_task_rouse(one.task);
    move();
    move();
    ck_assert_int_eq(one.n_begun, 3);
    ck_assert(dg_tasks_cancel(&tasks, id));
    one.n_open = 0;
    move();
    ck_assert_int_eq(one.n_told, 1);
    ck_assert_int_eq(one.told, DG_ERR_CANCELLED);
    late.n_open = 0;
    stop();
}
END_TEST

START_TEST(there_is_room_for_so_many_bytes)
{
    struct seen one = {.n_open = 1};
    uint64_t retry_ms = 0;
    start();
    tasks.bytes_max = 100;
    ck_assert_int_eq(dg_tasks_check_room(&tasks, 101, NULL, &retry_ms), DG_ERR_LIMIT);
    ck_assert_int_eq(dg_tasks_check_room(&tasks, 100, NULL, &retry_ms), DG_OK);
    ck_assert_int_eq(submit(&one, 60, 0, NULL), DG_OK);
    ck_assert_int_eq(dg_tasks_check_room(&tasks, 40, NULL, &retry_ms), DG_OK);
    ck_assert_int_eq(dg_tasks_check_room(&tasks, 41, NULL, &retry_ms), DG_ERR_BUSY);
    ck_assert_uint_gt(retry_ms, 0);
    one.n_open = 0;
    stop();
}
END_TEST

START_TEST(the_end_of_all_is_told_to_nobody)
{
    struct seen waits = {.next = DG_ERR_NOT_YET}, goes = {.next = DG_OK};
    start();
    ck_assert_int_eq(submit(&waits, 1, 0, NULL), DG_OK);
    ck_assert_int_eq(submit(&goes, 1, 0, NULL), DG_OK);
    stop();
    ck_assert_int_eq(waits.n_cancelled + goes.n_cancelled, 2);
    ck_assert_int_eq(waits.n_told + goes.n_told, 0);
    ck_assert_int_eq(n_freed, 2);
}
END_TEST

DG_UNIT(tells_an_end_once_and_counts_until_then, frees_what_it_refuses_without_telling_its_end,
        a_failure_with_something_open_is_told_when_that_is_back,
        waits_for_its_model_and_begins_when_models_change,
        is_looked_at_again_while_the_scheduler_is_full, as_many_wait_as_may_and_those_that_must,
        is_late_while_it_waits, is_cancelled_while_it_waits_and_while_it_goes,
        an_end_may_submit_and_cancel, tasks_take_turns_when_time_is_short,
        polls_pass_over_what_rests, there_is_room_for_so_many_bytes,
        the_end_of_all_is_told_to_nobody)
