/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Requests for translations as tasks (task.h): finds the models of a request, keeps a request whose
 * models are not loaded (model_wait.h), sets it up when they are, and ties the request (request.h)
 * to the operations of its task. */
#include "base/memory/utf8.h"
#include "engine/engine_int.h"
#include "engine/request/request.h"

#include <string.h>

/* ---- Beginning ------------------------------------------------------------------------------- */

/* Returns the first of the routing's models that is not loaded; NULL: all are. */
static struct dg_served_model *missing_of(const struct dg_routing *routing)
{
    for (size_t i = 0; i < routing->n_hops; i++)
        if (!dg_served_model_is_at_hand(routing->hops[i]))
            return routing->hops[i];
    return NULL;
}

/* Tells the registry that the models of the routing are in use, or must be loaded. */
static enum dg_err want(struct dg_engine *engine, const struct dg_routing *routing,
                        struct dg_error *error)
{
    const struct dg_ledger *ledger = dg_registry_ledger(engine->registry);
    enum dg_err err = DG_OK;
    size_t bytes = 0;
    for (size_t i = 0; !err && i < routing->n_hops; i++) {
        err = dg_registry_want(engine->registry, routing->hops[i], error);
        bytes += routing->hops[i]->bytes;
    }
    if (!err && ledger->max && routing->n_hops > 1 && bytes > ledger->max)
        err = dg_error_set(error, DG_ERR_MODEL,
                           "the models %s and %s do not fit into memory-limit together",
                           routing->hops[0]->name, routing->hops[1]->name);
    return err;
}

/* The same for the estimator, which is needed when all sentences are translated; dg_engine_find_way
 * has found that there is one. */
static enum dg_err want_estimator(struct dg_engine *engine, const struct dg_routing *routing,
                                  struct dg_error *error)
{
    char name[DG_ROUTING_NAME];
    if (routing->is_copy)
        return DG_OK;
    dg_routing_name(routing, name);
    return dg_registry_want(engine->registry, dg_engine_find_estimator(engine, name), error);
}

/* Reports errors that can be found at once, before the model is loaded. */
static enum dg_err check(const struct dg_engine *engine, const struct dg_routing *routing,
                         const struct dg_engine_request *asked, struct dg_error *error)
{
    const struct dg_served_model *model = routing->hops[routing->n_hops - 1];
    struct dg_search_opts search = asked->search;
    const struct dg_search_usual usual = {.beam = asked->usual_beam};
    size_t bad_at;
    dg_search_opts_complete(&search, &model->blueprint, usual, engine->tasks.beam_max);
    if (!asked->is_utf8 && !dg_utf8_valid(asked->text, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8, "the text is not valid UTF-8 at byte %zu", bad_at);
    return dg_search_opts_check(&search, model->blueprint.decoder.V, error);
}

/* Makes the request wait for `missing`, with copies of everything that it was given. */
static enum dg_err wait_for(const struct dg_engine *engine, struct dg_request *request,
                            const struct dg_routing *routing, struct dg_served_model *missing,
                            struct dg_error *error)
{
    enum dg_err err = DG_OK;
    if (!request->waiting)
        err = check(engine, routing, &request->asked, error);
    if (!err && !request->waiting)
        err = dg_model_wait_new(&request->waiting, &request->asked, error);
    if (err)
        return err;
    dg_served_model_unref(request->task.model);
    request->task.model = dg_served_model_ref(missing);
    return DG_ERR_NOT_YET;
}

/* When a request needs two models, the one loaded first must still be there when the other one is.
 * Only the request that has waited longest keeps such a model, even if the model should make room
 * for others: otherwise waiting requests could fill the memory with models that they do not use
 * yet. */
static void hold_on(const struct dg_engine *engine, struct dg_request *request,
                    struct dg_routing *routing)
{
    struct dg_model_wait *waiting = request->waiting;
    for (size_t i = 0; i < routing->n_hops; i++)
        if (waiting->held && !dg_served_model_is_at_hand(routing->hops[i]) &&
            strcmp(waiting->held->name, routing->hops[i]->name) == 0)
            dg_routing_replace(routing, i, waiting->held);
    for (size_t i = 0; i < routing->n_hops && !waiting->held; i++)
        if (engine->tasks.waiting.next == &request->task.link &&
            dg_served_model_is_at_hand(routing->hops[i]))
            waiting->held = dg_served_model_ref(routing->hops[i]);
}

/* Finds the models of a request and sets it up. DG_ERR_NOT_YET: they are not loaded. */
static enum dg_err set_up(struct dg_engine *engine, struct dg_request *request,
                          struct dg_error *error)
{
    struct dg_engine_request *asked = &request->asked;
    struct dg_routing routing;
    enum dg_err err = dg_engine_find_way(engine, asked, error, &routing);
    if (!err && request->waiting)
        hold_on(engine, request, &routing);
    if (!err)
        err = want(engine, &routing, error);
    if (!err && asked->quality && !request->waiting)
        err = want_estimator(engine, &routing, error);
    if (err)
        return err;
    struct dg_served_model *missing = missing_of(&routing);
    if (missing)
        return wait_for(engine, request, &routing, missing, error);
    const struct dg_search_usual usual = {.beam = asked->usual_beam};
    dg_search_opts_complete(&asked->search, &routing.hops[routing.n_hops - 1]->blueprint, usual,
                            engine->tasks.beam_max);
    err = dg_request_set_up(request, &engine->tools, &routing, error);
    if (err || !request->waiting)
        return err;
    request->queue_ns = dg_task_now(&request->task) - request->task.began_ns;
    dg_served_model_unref(request->task.model);
    request->task.model = NULL;
    dg_model_wait_free(request->waiting);
    request->waiting = NULL;
    return DG_OK;
}

/* ---- The operations of its task -------------------------------------------------------------- */

static struct dg_engine *engine_of(struct dg_tasks *tasks)
{
    return DG_LIST_ITEM(tasks, struct dg_engine, tasks);
}

/* Sets the request up and submits its first sentences. */
static enum dg_err open_request(struct dg_engine *engine, struct dg_request *request,
                                struct dg_task_turn *turn, struct dg_error *error)
{
    enum dg_err err = request->n_hops == 0 ? set_up(engine, request, error) : DG_OK;
    if (!err)
        err = dg_request_pump(request, &engine->tools, error, &turn->retry_ms);
    if (err == DG_ERR_BUSY && request->has_begun)
        err = DG_OK; /* the request has begun; the rest follows as soon as there is room */
    if (err && request->task.n_open == 0)
        return err;
    request->is_open = true;
    turn->wants_more = request->task.n_open == 0 || request->n_cached > 0 || request->n_ready > 0 ||
                       dg_request_wants_turn(request);
    return DG_OK;
}

static enum dg_err begin(struct dg_task *task, struct dg_task_turn *turn, struct dg_error *error)
{
    struct dg_engine *engine = engine_of(task->tasks);
    struct dg_request *request = dg_request_of(task);
    if (!request->is_open)
        return task->err ? DG_OK : open_request(engine, request, turn, error);
    const enum dg_err err = dg_request_pump(request, &engine->tools, NULL, NULL);
    dg_request_show(request, &engine->tools);
    if (dg_request_is_over(request)) {
        task->is_done = !dg_engine_is_being_judged(engine, request);
        return DG_OK;
    }
    turn->wants_more = (task->n_open == 0 || dg_request_wants_turn(request)) && err != DG_ERR_BUSY;
    turn->rests = !turn->wants_more && !err && !request->is_reading && request->n_ready == 0;
    if (dg_request_is_stuck(request))
        task->ops->finish(task); /* the task stays in the list until its worker has released it */
    return DG_OK;
}

static void take(struct dg_tasks *tasks, struct dg_ticket *ticket, bool is_over)
{
    dg_request_take(&engine_of(tasks)->tools, ticket, is_over);
}

static void cancel(struct dg_task *task)
{
    dg_request_stop(dg_request_of(task), &engine_of(task->tasks)->tools, task->err);
}

static void finish(struct dg_task *task)
{
    struct dg_request *request = dg_request_of(task);
    dg_engine_stop_judging(engine_of(task->tasks), request);
    if (dg_task_ends(task))
        dg_request_tell_end(request);
    if (task->n_open == 0)
        dg_request_free(request);
}

const struct dg_task_ops dg_engine_request_ops = {begin, take, cancel, finish};

/* ---- Submitting ------------------------------------------------------------------------------ */

enum dg_err dg_engine_submit(struct dg_engine *engine, const struct dg_engine_request *asked,
                             const struct dg_engine_events *events, void *ctx,
                             struct dg_error *error, uint64_t *retry_ms, uint64_t *id)
{
    struct dg_tasks *tasks = &engine->tasks;
    enum dg_err err = dg_tasks_check_search(tasks, &asked->search, error);
    if (!err)
        err = dg_tasks_check_room(tasks, asked->text.len, error, retry_ms);
    if (err)
        return err;
    struct dg_request *request = dg_request_new(tasks, &dg_engine_request_ops, asked, events, ctx);
    return request ? dg_tasks_submit(tasks, &request->task, error, retry_ms, id)
                   : dg_error_set(error, DG_ERR_NOMEM, "no memory for a request");
}

enum dg_err dg_engine_await(struct dg_engine *engine, const struct dg_engine_request *request,
                            const struct dg_engine_events *events, void *ctx,
                            struct dg_error *error, uint64_t *id)
{
    struct dg_routing routing;
    struct dg_engine_request knock = DG_ENGINE_REQUEST_DEFAULT;
    enum dg_err err = dg_engine_find_way(engine, request, error, &routing);
    if (err)
        return err;
    knock.model = routing.hops[0]->name;
    knock.text = DG_SPAN("");
    return dg_engine_submit(engine, &knock, events, ctx, error, NULL, id);
}

bool dg_engine_cancel(struct dg_engine *engine, uint64_t id)
{
    return dg_tasks_cancel(&engine->tasks, id);
}
