/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: one request on its way, of any kind, and the list of all requests that are
 * under way. A kind (a translation, a generation, a reading) embeds a task as its first member and
 * brings four operations; everything that is the same for all kinds is done here.
 *
 *     submit -> waiting ------> going ------------------> told ----------> freed
 *                (for a model)    |  begin, take  ^  over  (finish)  nothing is open
 *                                 '---------------'
 *
 *     dg_task_init(&reading->task, tasks, &ops, n_bytes, timeout_ms);
 *     err = dg_tasks_submit(tasks, &reading->task, &error, &retry_ms, &id);
 *                                                     takes the task, also on failure
 *     ... dg_tasks_move(tasks) in each poll calls `begin`, and `finish` when it is over
 *     dg_tasks_cancel(tasks, id);
 *     dg_tasks_drain(tasks, take_news, arg);      at the end of the engine: no end is reported
 *
 * A task is over when it has failed or is done, and none of its parts is open. Open parts are those
 * that others are working on: tickets with the scheduler, a text that the background thread reads.
 * One thread, the consumer's. */
#ifndef DG_ENGINE_TASK_TASK_H
#define DG_ENGINE_TASK_TASK_H

#include "base/memory/clock.h"
#include "base/memory/error.h"
#include "base/memory/list.h"
#include "base/memory/turn.h"
#include "engine/models/registry.h"
#include "engine/models/served_model.h"
#include "engine/task/background.h"
#include "sched/sched.h"

struct dg_task;
struct dg_tasks;

/* What a task receives for one turn, and what it answers. A task does at least a little, and more
 * while tasks->turn has time. */
struct dg_task_turn {
    bool may_tell;     /* it may call events, except while it is being submitted */
    bool wants_more;   /* answer: there is more to do at once */
    bool rests;        /* answer: until dg_task_rouse there is nothing to do but to be late */
    uint64_t retry_ms; /* answer, with DG_ERR_BUSY: the time after which to try again */
};

/* The operations of a kind. */
struct dg_task_ops {
    /* Does what can be done now: finds the model, makes tickets and submits them, reports what is
     * ready, and sets `is_done` when nothing is left to do. Called when the task is submitted and
     * then in each poll, unless it rests, also for a task that has failed but still has open parts.
     * DG_ERR_NOT_YET: its model is not loaded (dg_task_await); DG_ERR_BUSY: the scheduler has no
     * room for its first ticket. Any other error makes the task fail. */
    enum dg_err (*begin)(struct dg_task *task, struct dg_task_turn *turn, struct dg_error *error);
    /* Takes news of a ticket of this kind. */
    void (*take)(struct dg_tasks *tasks, struct dg_ticket *ticket, bool is_over);
    /* Cancels all that is open; task->err says why. */
    void (*cancel)(struct dg_task *task);
    /* Reports the end if dg_task_ends says so, and frees the task if none of its parts is open. */
    void (*finish)(struct dg_task *task);
};

struct dg_task {
    struct dg_list link;     /* linked in one of the lists of `tasks` */
    uint64_t rests_until_ns; /* polls pass it over until then; 0: it does not rest */
    struct dg_tasks *tasks;
    const struct dg_task_ops *ops;
    uint64_t id;                   /* 0 until it is accepted */
    struct dg_list same_bucket;    /* linked in one of `tasks->by_id` once it is accepted */
    size_t n_bytes;                /* bytes of its texts, as dg_tasks_check_room counts them */
    struct dg_served_model *model; /* One reference; while the task waits, the stand-in of the model
                                      that it waits for; or NULL. */
    size_t n_open;                 /* tickets with the scheduler, and texts that are being read */
    bool waits;                    /* it waits for its model, even if many others do */
    bool is_done, is_told;
    enum dg_err err;
    struct dg_error error; /* "": the standard text of `err` says enough */
    uint64_t began_ns, deadline_ns;
};

enum { DG_TASKS_BUCKETS = 4096 };

struct dg_tasks {
    struct dg_sched *sched;
    struct dg_clock *clock;
    struct dg_turn *turn;
    struct dg_registry *registry;
    struct dg_tokenizer_work *work;  /* owned by the engine, */
    struct dg_subword_work *subword; /* which also owns this; the first reading makes it */
    struct dg_background background;
    void (*wake)(void *arg); /* set by the engine; or NULL */
    void *wake_arg;
    struct dg_list by_id[DG_TASKS_BUCKETS]; /* all tasks, by the last bits of their ids */
    struct dg_list going;
    struct dg_list waiting; /* those that wait for their models, in the order of arrival */
    size_t n_waiting, waiting_max;
    uint64_t waited_version;      /* the registry's version when `waiting` was last gone through */
    size_t n;                     /* tasks that were accepted and have not reported their end */
    size_t beam_max, min_len_max; /* limits for a search; 0: no limit here */
    size_t n_bytes, bytes_max;    /* bytes of their texts; max 0: no limit */
    uint64_t last_id;
};

void dg_tasks_init(struct dg_tasks *tasks);

static inline void dg_tasks_wake(const struct dg_tasks *tasks)
{
    if (tasks->wake)
        tasks->wake(tasks->wake_arg);
}

/* Checks that there is room for texts besides those under way. DG_ERR_BUSY: there is none now;
 * DG_ERR_LIMIT: there never will be. */
enum dg_err dg_tasks_check_room(const struct dg_tasks *tasks, size_t n_bytes,
                                struct dg_error *error, uint64_t *retry_ms) DG_MUST_CHECK;

/* Checks the limits of a search. DG_ERR_RANGE: the search exceeds what a request may ask for. */
enum dg_err dg_tasks_check_search(const struct dg_tasks *tasks, const struct dg_search_opts *search,
                                  struct dg_error *error) DG_MUST_CHECK;

/* Begins a task, or lets it wait for its model. Takes the task: one that is refused is finished
 * without a report of its end. *id is set when the task is accepted. */
enum dg_err dg_tasks_submit(struct dg_tasks *tasks, struct dg_task *task, struct dg_error *error,
                            uint64_t *retry_ms, uint64_t *id) DG_MUST_CHECK;

/* Makes a task fail with DG_ERR_CANCELLED; a later move reports its end. Returns false when the
 * task is over. */
bool dg_tasks_cancel(struct dg_tasks *tasks, uint64_t id);

/* Begins tasks whose models have been loaded; then continues tasks that are under way and do not
 * rest, one after the other, at least one of them and while the turn has time; finishes tasks that
 * are over. */
void dg_tasks_move(struct dg_tasks *tasks);

/* Cancels all tasks and frees them without reporting their ends. `take_news(arg)` delivers the news
 * of tickets; it is called until nothing is open. */
void dg_tasks_drain(struct dg_tasks *tasks, void (*take_news)(void *arg), void *arg);

/* ---- For the kinds --------------------------------------------------------------------------- */

/* Initialises a task, which must be zeroed memory. timeout_ms 0: no deadline. */
void dg_task_init(struct dg_task *task, struct dg_tasks *tasks, const struct dg_task_ops *ops,
                  size_t n_bytes, uint64_t timeout_ms);
void dg_task_deinit(struct dg_task *task);

/* Requests the model and keeps a reference to it. DG_ERR_NOT_YET: it is not loaded. */
enum dg_err dg_task_await(struct dg_task *task, struct dg_served_model *model,
                          struct dg_error *error) DG_MUST_CHECK;

/* Makes the task fail, unless it has failed before, and cancels what is open. `error` may be NULL.
 */
void dg_task_fail(struct dg_task *task, enum dg_err err, const struct dg_error *error);

/* Called when there is news of a task that may rest. */
static inline void dg_task_rouse(struct dg_task *task)
{
    task->rests_until_ns = 0;
}

/* Returns true when the end of an accepted task was not reported yet: the caller reports it now.
 * The task no longer counts as accepted. */
bool dg_task_ends(struct dg_task *task);

static inline uint64_t dg_task_now(const struct dg_task *task)
{
    return dg_clock_now(task->tasks->clock);
}

static inline bool dg_task_is_late(const struct dg_task *task)
{
    return task->deadline_ns && dg_task_now(task) >= task->deadline_ns;
}

/* Returns DG_ERR_TIMEOUT, with a sentence, for a task that is late and has no open parts. */
enum dg_err dg_task_check_late(const struct dg_task *task, struct dg_error *error) DG_MUST_CHECK;

static inline bool dg_task_is_over(const struct dg_task *task)
{
    return task->n_open == 0 && (task->err || task->is_done);
}

#endif
