/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Requests for translations until they have begun. Checks that there is room; a request whose
 * models are not loaded waits (waiting.h) and, when they are, begins as if it had just come. After
 * that engine.c handles it. Also cancels requests of all kinds. */
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "engine/engine_int.h"
#include "engine/read/quality_estimate.h"
#include "engine/request/request.h"
#include "engine/route/waiting.h"

#include <string.h>

enum {
    RETRY_MS = 1000,
    BEGUN_PER_POLL = 16, /* of those that waited for a model */
};

static const uint64_t NEVER_LOOKED = UINT64_MAX; /* no version of the registry */

/* ---- Beginning ---------------------------------------------------------------------------------
 */

/* The beam of a request that names none: the model's own, but wide enough for all answers wanted.
 */
static void choose_beam(const struct dg_engine *engine, const struct dg_served_model *model,
                        struct dg_search_opts *search)
{
    if (search->sample)
        return;
    size_t beam = model->blueprint.n_beams;
    if (engine->tasks.beam_max && beam > engine->tasks.beam_max)
        beam = engine->tasks.beam_max;
    if (beam < (size_t)search->n_best)
        beam = (size_t)search->n_best;
    search->beam = beam < 1 ? 1 : beam > DG_BEAM_MAX ? DG_BEAM_MAX : (int)beam;
}

/* The first of the routing's models that is not loaded; NULL: all are. */
static struct dg_served_model *missing_of(const struct dg_routing *routing)
{
    for (size_t i = 0; i < routing->n_hops; i++)
        if (!dg_served_model_is_at_hand(routing->hops[i]))
            return routing->hops[i];
    return NULL;
}

/* Tells the registry that the routing's models are used, or must be loaded. */
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

/* The same of the estimator, which is needed when all is translated. */
static enum dg_err want_estimator(struct dg_engine *engine, const struct dg_routing *routing,
                                  struct dg_error *error)
{
    char name[DG_ROUTING_NAME];
    if (routing->is_copy)
        return DG_OK;
    dg_routing_name(routing, name);
    return dg_registry_want(engine->registry, dg_engine_find_estimator(engine, name),
                            error); /* find_way
                                       has
                                       found
                                       it
                                     */
}

/* Begins a request whose models are loaded. `id` 0: a new one. */
static enum dg_err begin(struct dg_engine *engine, const struct dg_routing *routing,
                         const struct dg_engine_request *asked,
                         const struct dg_engine_events *events, void *ctx, struct dg_error *error,
                         uint64_t *retry_ms, uint64_t id, struct dg_request **out)
{
    struct dg_request *request;
    struct dg_engine_request whole = *asked;
    if (asked->usual_beam)
        choose_beam(engine, routing->hops[routing->n_hops - 1], &whole.search);
    enum dg_err err = dg_request_new(&request, &engine->tools, routing, &whole, error);
    if (err)
        return err;
    request->events = events;
    request->ctx = ctx;
    err = dg_request_pump(request, &engine->tools, error, retry_ms);
    if (err == DG_ERR_BUSY && request->has_begun)
        err = DG_OK; /* it has begun; the rest follows as room comes */
    if (err && request->n_open == 0) {
        dg_request_free(request);
        return err;
    }
    request->id = id ? id : ++engine->tasks.last_id;
    dg_list_link_last(&engine->requests, &request->link);
    if (request->n_open == 0 || request->n_cached > 0 || request->n_ready > 0 ||
        dg_request_wants_turn(request))
        dg_engine_wake(engine); /* there is something to show, and maybe no worker will call */
    *out = request;
    return DG_OK;
}

/* Reports errors that can be found at once, before the model is loaded. */
static enum dg_err check(const struct dg_engine *engine, const struct dg_routing *routing,
                         const struct dg_engine_request *asked, struct dg_error *error)
{
    const struct dg_served_model *model = routing->hops[routing->n_hops - 1];
    struct dg_search_opts search = asked->search;
    size_t bad_at;
    if (asked->usual_beam)
        choose_beam(engine, model, &search);
    if (!dg_utf8_valid(asked->text, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8, "the text is not valid UTF-8 at byte %zu", bad_at);
    return dg_search_opts_check(&search, model->blueprint.decoder.V, error);
}

/* Puts a request aside until its models are there. */
static enum dg_err wait_for_model(struct dg_engine *engine, const struct dg_routing *routing,
                                  const struct dg_engine_request *asked,
                                  const struct dg_engine_events *events, void *ctx,
                                  struct dg_error *error, uint64_t *retry_ms, uint64_t *id)
{
    struct dg_waiting *waiting;
    if (engine->n_waiting >= engine->tasks.waiting_max) {
        if (retry_ms)
            *retry_ms = RETRY_MS;
        return dg_error_set(error, DG_ERR_BUSY,
                            "as many requests wait for their models as may; try again later");
    }
    enum dg_err err = check(engine, routing, asked, error);
    if (!err)
        err = dg_waiting_new(&waiting, missing_of(routing), asked, error);
    if (err)
        return err;
    waiting->events = events;
    waiting->ctx = ctx;
    waiting->began_ns = dg_clock_now(engine->tasks.clock);
    *id = waiting->id = ++engine->tasks.last_id;
    dg_list_link_last(dg_list_is_empty(&engine->looked_at) ? &engine->waiting : &engine->looked_at,
                      &waiting->link);
    engine->n_waiting++;
    return DG_OK;
}

enum dg_err dg_engine_submit(struct dg_engine *engine, const struct dg_engine_request *asked,
                             const struct dg_engine_events *events, void *ctx,
                             struct dg_error *error, uint64_t *retry_ms, uint64_t *id)
{
    struct dg_routing routing;
    struct dg_request *request;
    uint64_t given = 0;
    enum dg_err err = dg_tasks_check_search(&engine->tasks, &asked->search, error);
    if (!err)
        err = dg_tasks_check_room(&engine->tasks, asked->text.len, error, retry_ms);
    if (!err)
        err = dg_engine_find_way(engine, asked, error, &routing);
    if (!err)
        err = want(engine, &routing, error);
    if (!err && asked->quality)
        err = want_estimator(engine, &routing, error);
    if (!err && missing_of(&routing)) {
        err = wait_for_model(engine, &routing, asked, events, ctx, error, retry_ms, &given);
    } else if (!err) {
        err = begin(engine, &routing, asked, events, ctx, error, retry_ms, 0, &request);
        if (!err)
            given = request->id;
    }
    if (err)
        return err;
    if (id)
        *id = given;
    engine->tasks.n++;
    engine->tasks.n_bytes += asked->text.len;
    return DG_OK;
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

static bool cancel_waiting(struct dg_engine *engine, struct dg_list *list, uint64_t id)
{
    for (struct dg_list *at = list->next; at != list; at = at->next) {
        struct dg_waiting *waiting = DG_LIST_ITEM(at, struct dg_waiting, link);
        if (waiting->id != id)
            continue;
        waiting->is_unwanted = true;
        engine->waited_version = NEVER_LOOKED;
        dg_engine_wake(engine);
        return true;
    }
    return false;
}

bool dg_engine_cancel(struct dg_engine *engine, uint64_t id)
{
    for (struct dg_list *at = engine->requests.next; at != &engine->requests; at = at->next) {
        struct dg_request *request = DG_LIST_ITEM(at, struct dg_request, link);
        if (request->id != id || request->is_told)
            continue;
        dg_request_stop(request, &engine->tools, DG_ERR_CANCELLED);
        dg_engine_wake(engine); /* for what waits for no worker */
        return true;
    }
    if (dg_tasks_cancel(&engine->tasks, id))
        return true;
    return cancel_waiting(engine, &engine->waiting, id) ||
           cancel_waiting(engine, &engine->looked_at, id);
}

void dg_engine_uncount(struct dg_engine *engine, size_t text_len)
{
    engine->tasks.n--;
    engine->tasks.n_bytes -= text_len;
}

/* ---- Waiting for models -------------------------------------------------------------------------
 */

/* The end of a request that never began. */
static void give_up(struct dg_engine *engine, struct dg_waiting *waiting, enum dg_err err,
                    const struct dg_error *error)
{
    uint64_t waited_ns = dg_clock_now(engine->tasks.clock) - waiting->began_ns;
    const struct dg_engine_result result = {
        .err = err,
        .error = dg_error_text(error, err),
        .finish = err == DG_ERR_CANCELLED ? DG_FINISH_CANCELLED : DG_FINISH_FAILED,
        .model = "",
        .source = "",
        .target = "",
        .n_characters = dg_utf8_count(waiting->asked.text),
        .queue_ns = waited_ns,
        .total_ns = waited_ns,
    };
    dg_engine_uncount(engine, waiting->asked.text.len);
    waiting->events->on_done(waiting->ctx, &result);
    dg_waiting_free(waiting);
}

/* When a request needs two models, the one loaded first must still be there when the other one is.
 * Only the request that has waited longest keeps such a model, even if that was to make room for
 * others: otherwise waiting requests could fill the memory with models that they do not use yet. */
static void hold_on(struct dg_engine *engine, struct dg_waiting *waiting,
                    struct dg_routing *routing)
{
    for (size_t i = 0; i < routing->n_hops; i++)
        if (waiting->held && !dg_served_model_is_at_hand(routing->hops[i]) &&
            strcmp(waiting->held->name, routing->hops[i]->name) == 0)
            dg_routing_replace(routing, i, waiting->held);
    for (size_t i = 0; i < routing->n_hops && !waiting->held; i++)
        if (engine->waiting.next == &waiting->link && dg_served_model_is_at_hand(routing->hops[i]))
            waiting->held = dg_served_model_ref(routing->hops[i]);
}

/* Begins a request that has waited, if its models are there. DG_ERR_NOT_YET: they are not;
 * DG_ERR_BUSY: the scheduler has no room. */
static enum dg_err try_again(struct dg_engine *engine, struct dg_waiting *waiting,
                             struct dg_error *error)
{
    struct dg_engine_request asked = waiting->asked;
    struct dg_request *request;
    struct dg_routing routing;
    uint64_t waited_ms = (dg_clock_now(engine->tasks.clock) - waiting->began_ns) / DG_CLOCK_MS;
    if (waiting->is_unwanted)
        return DG_ERR_CANCELLED;
    if (asked.timeout_ms && waited_ms >= asked.timeout_ms)
        return dg_error_set(error, DG_ERR_TIMEOUT,
                            "the time allowed ran out while the model was being loaded");
    if (dg_registry_is_coming(engine->registry, waiting->model))
        return DG_ERR_NOT_YET;
    enum dg_err err = dg_engine_find_way(engine, &asked, error, &routing);
    if (!err)
        hold_on(engine, waiting, &routing);
    if (!err)
        err = want(engine, &routing, error);
    if (err)
        return err;
    struct dg_served_model *missing = missing_of(&routing);
    if (missing) { /* the next one, or what it waited for was replaced */
        dg_served_model_unref(waiting->model);
        waiting->model = dg_served_model_ref(missing);
        return DG_ERR_NOT_YET;
    }
    if (asked.timeout_ms)
        asked.timeout_ms -= waited_ms;
    err = begin(engine, &routing, &asked, waiting->events, waiting->ctx, error, NULL, waiting->id,
                &request);
    if (!err) {
        request->queue_ns = dg_clock_now(engine->tasks.clock) - waiting->began_ns;
        request->began_ns = waiting->began_ns;
    }
    return err;
}

static bool is_late(const struct dg_engine *engine, const struct dg_waiting *waiting)
{
    return waiting->asked.timeout_ms && dg_clock_now(engine->tasks.clock) - waiting->began_ns >=
                                            waiting->asked.timeout_ms * DG_CLOCK_MS;
}

/* Looks at all waiting requests, in order, when a model has come or gone; otherwise only at late
 * ones. Only a few begin in one poll, because the consumer has other work; the rest, and those for
 * which the scheduler has no room, are looked at again in the next poll. */
void dg_engine_begin_waiting(struct dg_engine *engine)
{
    bool is_new = engine->waited_version != dg_registry_version(engine->registry), is_full = false;
    struct dg_list *at;
    int n_begun = 0;
    engine->waited_version = dg_registry_version(engine->registry);
    dg_list_splice_last(&engine->looked_at, &engine->waiting);
    while ((at = dg_list_pop_first(&engine->looked_at))) {
        struct dg_waiting *waiting = DG_LIST_ITEM(at, struct dg_waiting, link);
        struct dg_error error = DG_ERROR_NONE;
        enum dg_err err = DG_ERR_NOT_YET;
        dg_list_link_last(&engine->waiting, at);
        if ((is_new || is_late(engine, waiting)) && n_begun < BEGUN_PER_POLL)
            err = try_again(engine, waiting, &error);
        is_full |= err == DG_ERR_BUSY;
        if (err == DG_ERR_BUSY || err == DG_ERR_NOT_YET)
            continue;
        dg_list_unlink(at);
        engine->n_waiting--;
        n_begun++;
        if (err)
            give_up(engine, waiting, err, &error);
        else
            dg_waiting_free(waiting);
    }
    if (is_full || n_begun == BEGUN_PER_POLL)
        engine->waited_version = NEVER_LOOKED;
    if (n_begun == BEGUN_PER_POLL)
        dg_engine_wake(engine); /* when the scheduler is full, its news will */
}
