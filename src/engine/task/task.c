/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Events may submit tasks and cancel them. A new task is linked last, and a cancelled task stays in
 * its place until its turn comes, so that tasks may call events while `going` is traversed. No
 * event is called while `waiting` is traversed. */
#include "engine/task/task.h"

enum {
    RETRY_MS = 1000,
    BEGUN_IN_MOVE = 16, /* tasks begun in one move, of those that waited for a model */
};

static const uint64_t NEVER_LOOKED = UINT64_MAX; /* no version of the registry */

static struct dg_task *task_at(struct dg_list *at)
{
    return DG_LIST_ITEM(at, struct dg_task, link);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void dg_tasks_init(struct dg_tasks *tasks)
{
    *tasks = (struct dg_tasks){.n = 0};
    dg_list_init(&tasks->going);
    dg_list_init(&tasks->waiting);
    for (size_t i = 0; i < DG_TASKS_BUCKETS; i++)
        dg_list_init(&tasks->by_id[i]);
}

void dg_task_init(struct dg_task *task, struct dg_tasks *tasks, const struct dg_task_ops *ops,
                  size_t n_bytes, uint64_t timeout_ms)
{
    dg_list_init(&task->link);
    dg_list_init(&task->same_bucket);
    task->tasks = tasks;
    task->ops = ops;
    task->n_bytes = n_bytes;
    task->began_ns = dg_clock_now(tasks->clock);
    task->deadline_ns = timeout_ms ? task->began_ns + timeout_ms * DG_CLOCK_MS : 0;
}

void dg_task_deinit(struct dg_task *task)
{
    dg_list_unlink(&task->link);
    dg_list_unlink(&task->same_bucket);
    dg_served_model_unref(task->model);
    task->model = NULL;
}

enum dg_err dg_task_await(struct dg_task *task, struct dg_served_model *model,
                          struct dg_error *error)
{
    return dg_registry_await(task->tasks->registry, model, error, &task->model);
}

void dg_task_fail(struct dg_task *task, enum dg_err err, const struct dg_error *error)
{
    if (!task->err)
        task->err = err;
    if (error && task->err == err && !*task->error.text)
        task->error = *error;
    dg_task_rouse(task);
    task->ops->cancel(task);
}

enum dg_err dg_task_check_late(const struct dg_task *task, struct dg_error *error)
{
    return task->n_open == 0 && dg_task_is_late(task)
               ? dg_error_set(error, DG_ERR_TIMEOUT,
                              "the time allowed ran out while it was waiting")
               : DG_OK;
}

bool dg_task_ends(struct dg_task *task)
{
    if (task->is_told)
        return false;
    task->is_told = true;
    task->tasks->n--;
    task->tasks->n_bytes -= task->n_bytes;
    return true;
}

/* ---- Coming ---------------------------------------------------------------------------------- */

enum dg_err dg_tasks_check_room(const struct dg_tasks *tasks, size_t n_bytes,
                                struct dg_error *error, uint64_t *retry_ms)
{
    const size_t most = tasks->bytes_max;
    if (!most)
        return DG_OK;
    if (n_bytes > most)
        return dg_error_set(
            error, DG_ERR_LIMIT,
            "the request has %zu bytes of text, expected at most %zu, all that memory-limit "
            "leaves for texts",
            n_bytes, most);
    if (n_bytes == 0 || (tasks->n_bytes < most && n_bytes <= most - tasks->n_bytes))
        return DG_OK;
    if (retry_ms)
        *retry_ms = RETRY_MS;
    return dg_error_set(error, DG_ERR_BUSY,
                        "the texts under way take all the memory that they may; try again later");
}

enum dg_err dg_tasks_check_search(const struct dg_tasks *tasks, const struct dg_search_opts *search,
                                  struct dg_error *error)
{
    const int width = search->beam > search->n_best ? search->beam : search->n_best;
    if (tasks->beam_max && width > (int)tasks->beam_max)
        return dg_error_set(
            error, DG_ERR_RANGE,
            "a beam, or a number of alternatives, of %d was asked for, expected at most %zu", width,
            tasks->beam_max);
    if (tasks->min_len_max && search->min_len > (int)tasks->min_len_max)
        return dg_error_set(error, DG_ERR_RANGE,
                            "a minimum length of %d tokens was asked for, expected at most %zu",
                            search->min_len, tasks->min_len_max);
    return DG_OK;
}

enum dg_err dg_tasks_submit(struct dg_tasks *tasks, struct dg_task *task, struct dg_error *error,
                            uint64_t *retry_ms, uint64_t *id)
{
    struct dg_error reason = DG_ERROR_NONE;
    struct dg_task_turn turn = {.retry_ms = RETRY_MS};
    enum dg_err err = task->ops->begin(task, &turn, &reason);
    const bool waits = err == DG_ERR_NOT_YET;
    if (waits && (task->waits || tasks->n_waiting < tasks->waiting_max)) {
        err = DG_OK;
    } else if (waits) {
        err = dg_error_set(&reason, DG_ERR_BUSY,
                           "too many requests are waiting for their models; try again later");
    } else if (err && task->n_open > 0) { /* it ends when the workers have released it */
        dg_task_fail(task, err, &reason);
        turn.wants_more = true;
        err = DG_OK;
    }
    if (err) {
        if (err == DG_ERR_BUSY && retry_ms)
            *retry_ms = turn.retry_ms;
        task->is_told = true;
        task->ops->finish(task);
        return dg_error_set(error, err, "%s", dg_error_text(&reason, err));
    }
    task->id = ++tasks->last_id;
    dg_list_link_last(&tasks->by_id[task->id % DG_TASKS_BUCKETS], &task->same_bucket);
    tasks->n++;
    tasks->n_bytes += task->n_bytes;
    tasks->n_waiting += waits;
    dg_list_link_last(waits ? &tasks->waiting : &tasks->going, &task->link);
    if (turn.wants_more)
        dg_tasks_wake(tasks);
    if (id)
        *id = task->id;
    return DG_OK;
}

/* ---- Waiting for models ---------------------------------------------------------------------- */

/* Begins a task that has waited, if its model is loaded. */
static enum dg_err try_again(struct dg_task *task, struct dg_task_turn *turn,
                             struct dg_error *error)
{
    if (task->err)
        return task->err;
    if (dg_task_is_late(task))
        return dg_error_set(error, DG_ERR_TIMEOUT,
                            "the time allowed ran out while the model was being loaded");
    if (task->model && dg_registry_is_coming(task->tasks->registry, task->model))
        return DG_ERR_NOT_YET;
    return task->ops->begin(task, turn, error);
}

/* Looks at all waiting tasks, in order, when a model has come or gone; otherwise only at those that
 * are late or have failed. Only a few begin in one move, because the consumer has other work; the
 * rest, and those for which the scheduler has no room, are looked at again in the next one. */
static void begin_waiting(struct dg_tasks *tasks)
{
    const bool is_new = tasks->waited_version != dg_registry_version(tasks->registry);
    bool is_full = false;
    int n_begun = 0;
    tasks->waited_version = dg_registry_version(tasks->registry);
    for (struct dg_list *at = tasks->waiting.next, *next; at != &tasks->waiting; at = next) {
        struct dg_task *task = task_at(at);
        struct dg_task_turn turn = {.may_tell = false};
        struct dg_error error = DG_ERROR_NONE;
        enum dg_err err = DG_ERR_NOT_YET;
        next = at->next;
        if ((is_new || task->err || dg_task_is_late(task)) && n_begun < BEGUN_IN_MOVE)
            err = try_again(task, &turn, &error);
        is_full |= err == DG_ERR_BUSY;
        if (err == DG_ERR_BUSY || err == DG_ERR_NOT_YET)
            continue;
        if (err)
            dg_task_fail(task, err, &error);
        if (turn.wants_more)
            dg_tasks_wake(tasks);
        dg_list_unlink(at);
        dg_list_link_last(&tasks->going, at);
        tasks->n_waiting--;
        n_begun++;
    }
    if (is_full || n_begun == BEGUN_IN_MOVE)
        tasks->waited_version = NEVER_LOOKED;
    if (n_begun == BEGUN_IN_MOVE)
        dg_tasks_wake(tasks); /* when the scheduler is full, its news will wake us */
}

/* ---- Going ----------------------------------------------------------------------------------- */

bool dg_tasks_cancel(struct dg_tasks *tasks, uint64_t id)
{
    const struct dg_list *bucket = &tasks->by_id[id % DG_TASKS_BUCKETS];
    for (struct dg_list *at = bucket->next; at != bucket; at = at->next) {
        struct dg_task *task = DG_LIST_ITEM(at, struct dg_task, same_bucket);
        if (task->id != id || task->is_told)
            continue;
        dg_task_fail(task, DG_ERR_CANCELLED, NULL);
        dg_tasks_wake(tasks); /* for tasks that wait for no worker */
        return true;
    }
    return false;
}

static void move(struct dg_task *task)
{
    struct dg_error reason = DG_ERROR_NONE;
    struct dg_task_turn turn = {.may_tell = true};
    enum dg_err err = task->ops->begin(task, &turn, &reason);
    if (err && err != DG_ERR_BUSY && err != DG_ERR_NOT_YET)
        dg_task_fail(task, err, &reason);
    if (turn.rests && !task->err)
        task->rests_until_ns = task->deadline_ns ? task->deadline_ns : UINT64_MAX;
    if (turn.wants_more)
        dg_tasks_wake(task->tasks);
}

void dg_tasks_move(struct dg_tasks *tasks)
{
    const uint64_t now = dg_clock_now(tasks->clock);
    begin_waiting(tasks);
    for (struct dg_list *at = tasks->going.next, *next; at != &tasks->going; at = next) {
        struct dg_task *task = task_at(at);
        next = at->next;
        if (task->rests_until_ns > now)
            continue;
        dg_task_rouse(task);
        move(task);
        next = at->next;
        if (dg_task_is_over(task)) {
            dg_list_unlink(at);
            task->ops->finish(task);
        }
        if (dg_turn_has_time(tasks->turn))
            continue;
        if (next != &tasks->going) { /* the next move continues with the next task */
            dg_list_unlink(&tasks->going);
            dg_list_link_before(next, &tasks->going);
        }
        dg_tasks_wake(tasks);
        return;
    }
}

void dg_tasks_drain(struct dg_tasks *tasks, void (*take_news)(void *arg), void *arg)
{
    dg_list_splice_last(&tasks->going, &tasks->waiting);
    for (struct dg_list *at = tasks->going.next; at != &tasks->going; at = at->next) {
        task_at(at)->is_told = true;
        dg_task_fail(task_at(at), DG_ERR_CLOSED, NULL);
    }
    while (!dg_list_is_empty(&tasks->going)) {
        take_news(arg);
        for (struct dg_list *at = tasks->going.next, *next; at != &tasks->going; at = next) {
            struct dg_task *task = task_at(at);
            struct dg_task_turn turn = {.may_tell = false};
            next = at->next;
            task->ops->begin(task, &turn, NULL); /* begins nothing new, but notices what is no
                                                    longer open */
            if (task->n_open == 0)
                task->ops->finish(task);
        }
    }
}
