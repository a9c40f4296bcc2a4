/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Requests for translations until they have begun: whether there is room, whose models are not at hand waits (waiting.h)
 * and begins when they are, as if it had just come; and how all kinds are cancelled. From then on they are engine.c's. */
#include "engine/engine_int.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "engine/generation.h"
#include "engine/judgement.h"
#include "engine/request.h"
#include "engine/waiting.h"

#include <string.h>

enum {
    RETRY_MS = 1000,
    BEGUN_PER_POLL = 16, /* of those that waited for a model */
};

static const uint64_t NEVER_LOOKED = UINT64_MAX; /* no version of the registry */

/* ---- Beginning --------------------------------------------------------------------------------- */

/* The beam of a request that names none: the model's makers' habit, and room for all answers wanted. */
static void choose_beam(const struct dg_engine *engine, const struct dg_loaded *model, struct dg_search_opts *search)
{
    if (search->sample)
        return;
    size_t beam = model->blueprint.n_beams;
    if (engine->beam_max && beam > engine->beam_max)
        beam = engine->beam_max;
    if (beam < (size_t)search->n_best)
        beam = (size_t)search->n_best;
    search->beam = beam < 1 ? 1 : beam > DG_BEAM_MAX ? DG_BEAM_MAX : (int)beam;
}

/* The first of the way's models that is not at hand; NULL: all are. */
static struct dg_loaded *missing_of(const struct dg_way *way)
{
    for (size_t i = 0; i < way->n_legs; i++)
        if (!dg_loaded_is_at_hand(way->legs[i]))
            return way->legs[i];
    return NULL;
}

/* Says to the registry that the way's models are used, or to be loaded. */
static enum dg_err want(struct dg_engine *engine, const struct dg_way *way, struct dg_why *why)
{
    const struct dg_ledger *ledger = dg_registry_ledger(engine->registry);
    enum dg_err err = DG_OK;
    size_t bytes = 0;
    for (size_t i = 0; !err && i < way->n_legs; i++) {
        err = dg_registry_want(engine->registry, way->legs[i], why);
        bytes += way->legs[i]->bytes;
    }
    if (!err && ledger->max && way->n_legs > 1 && bytes > ledger->max)
        err = dg_why_set(why, DG_ERR_MODEL, "the models %s and %s do not fit into memory-limit together",
                         way->legs[0]->name, way->legs[1]->name);
    return err;
}

/* The same of the estimator, which is needed when all is translated. */
static enum dg_err want_estimator(struct dg_engine *engine, const struct dg_way *way, struct dg_why *why)
{
    char name[DG_WAY_NAME];
    if (way->is_copy)
        return DG_OK;
    dg_way_name(way, name);
    return dg_registry_want(engine->registry, dg_engine_find_estimator(engine, name), why); /* find_way has found it */
}

/* Begins a request whose models are at hand. `id` 0: a new one. */
static enum dg_err begin(struct dg_engine *engine, const struct dg_way *way,
                         const struct dg_engine_request *asked, const struct dg_engine_events *events,
                         void *ctx, struct dg_why *why, uint64_t *retry_ms, uint64_t id,
                         struct dg_request **out)
{
    struct dg_request *request;
    struct dg_engine_request whole = *asked;
    if (asked->usual_beam)
        choose_beam(engine, way->legs[way->n_legs - 1], &whole.search);
    enum dg_err err = dg_request_new(&request, &engine->tools, way, &whole, why);
    if (err)
        return err;
    request->events = events;
    request->ctx = ctx;
    err = dg_request_pump(request, &engine->tools, why, retry_ms);
    if (err == DG_ERR_BUSY && request->has_begun)
        err = DG_OK; /* it has begun; the rest follows as room comes */
    if (err && request->n_open == 0) {
        dg_request_free(request);
        return err;
    }
    request->id = id ? id : ++engine->last_id;
    dg_list_link_last(&engine->requests, &request->link);
    if (request->n_open == 0 || request->n_cached > 0 || request->n_ready > 0 || dg_request_wants_turn(request))
        dg_engine_wake(engine); /* there is something to show, and maybe no worker will call */
    *out = request;
    return DG_OK;
}

/* What could be said at once is said at once, not when the model is there. */
static enum dg_err check(const struct dg_way *way, const struct dg_engine_request *asked, struct dg_why *why)
{
    size_t bad_at;
    if (!dg_utf8_valid(asked->text, &bad_at))
        return dg_why_set(why, DG_ERR_UTF8, "the text is not valid UTF-8 at byte %zu", bad_at);
    return dg_search_opts_check(&asked->search, way->legs[way->n_legs - 1]->blueprint.decoder.V, why);
}

/* Puts a request aside until its models are there. */
static enum dg_err wait_for_model(struct dg_engine *engine, const struct dg_way *way,
                                  const struct dg_engine_request *asked,
                                  const struct dg_engine_events *events, void *ctx, struct dg_why *why,
                                  uint64_t *retry_ms, uint64_t *id)
{
    struct dg_waiting *waiting;
    if (engine->n_waiting >= engine->waiting_max) {
        if (retry_ms)
            *retry_ms = RETRY_MS;
        return dg_why_set(why, DG_ERR_BUSY, "as many requests wait for their models as may; try again later");
    }
    enum dg_err err = check(way, asked, why);
    if (!err)
        err = dg_waiting_new(&waiting, missing_of(way), asked, why);
    if (err)
        return err;
    waiting->events = events;
    waiting->ctx = ctx;
    waiting->began_ns = dg_clock_now(engine->tools.clock);
    *id = waiting->id = ++engine->last_id;
    dg_list_link_last(dg_list_is_empty(&engine->looked_at) ? &engine->waiting : &engine->looked_at,
                      &waiting->link);
    engine->n_waiting++;
    return DG_OK;
}

enum dg_err dg_engine_check_search(const struct dg_engine *engine, const struct dg_search_opts *search, struct dg_why *why)
{
    const int width = search->beam > search->n_best ? search->beam : search->n_best;
    if (engine->beam_max && width > (int)engine->beam_max)
        return dg_why_set(why, DG_ERR_RANGE, "a beam or alternatives of %d are asked for, expected at most %zu", width,
                          engine->beam_max);
    if (engine->min_len_max && search->min_len > (int)engine->min_len_max)
        return dg_why_set(why, DG_ERR_RANGE, "a least length of %d tokens is demanded, expected at most %zu", search->min_len,
                          engine->min_len_max);
    return DG_OK;
}

/* Room for a request's texts beside those under way. */
enum dg_err dg_engine_check_room(const struct dg_engine *engine, size_t bytes, struct dg_why *why, uint64_t *retry_ms)
{
    const size_t most = engine->texts_bytes_max;
    if (!most)
        return DG_OK;
    if (bytes > most)
        return dg_why_set(why, DG_ERR_LIMIT, "the request has %zu bytes of text, expected at most %zu, all that memory-limit "
                          "leaves for texts", bytes, most);
    if (bytes == 0 || (engine->texts_bytes < most && bytes <= most - engine->texts_bytes))
        return DG_OK;
    if (retry_ms)
        *retry_ms = RETRY_MS;
    return dg_why_set(why, DG_ERR_BUSY, "the texts under way take as much memory as they may; try again later");
}

enum dg_err dg_engine_submit(struct dg_engine *engine, const struct dg_engine_request *asked,
                             const struct dg_engine_events *events, void *ctx, struct dg_why *why,
                             uint64_t *retry_ms, uint64_t *id)
{
    struct dg_way way;
    struct dg_request *request;
    uint64_t given = 0;
    enum dg_err err = dg_engine_check_search(engine, &asked->search, why);
    if (!err)
        err = dg_engine_check_room(engine, asked->text.len, why, retry_ms);
    if (!err)
        err = dg_engine_find_way(engine, asked, why, &way);
    if (!err)
        err = want(engine, &way, why);
    if (!err && asked->quality)
        err = want_estimator(engine, &way, why);
    if (!err && missing_of(&way)) {
        err = wait_for_model(engine, &way, asked, events, ctx, why, retry_ms, &given);
    } else if (!err) {
        err = begin(engine, &way, asked, events, ctx, why, retry_ms, 0, &request);
        if (!err)
            given = request->id;
    }
    if (err)
        return err;
    if (id)
        *id = given;
    engine->n_requests++;
    engine->texts_bytes += asked->text.len;
    return DG_OK;
}

enum dg_err dg_engine_await(struct dg_engine *engine, const struct dg_engine_request *request,
                            const struct dg_engine_events *events, void *ctx, struct dg_why *why,
                            uint64_t *id)
{
    struct dg_way way;
    struct dg_engine_request knock = DG_ENGINE_REQUEST_DEFAULT;
    enum dg_err err = dg_engine_find_way(engine, request, why, &way);
    if (err)
        return err;
    knock.model = way.legs[0]->name;
    knock.text = DG_SPAN("");
    return dg_engine_submit(engine, &knock, events, ctx, why, NULL, id);
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
    for (struct dg_list *at = engine->generations.next; at != &engine->generations; at = at->next) {
        struct dg_generation *generation = DG_LIST_ITEM(at, struct dg_generation, link);
        if (generation->id != id)
            continue;
        dg_generation_stop(generation, engine->tools.sched, DG_ERR_CANCELLED);
        dg_engine_wake(engine);
        return true;
    }
    if (dg_readings_cancel(&engine->readings, id)) {
        dg_engine_wake(engine);
        return true;
    }
    return cancel_waiting(engine, &engine->waiting, id) || cancel_waiting(engine, &engine->looked_at, id);
}

void dg_engine_uncount(struct dg_engine *engine, size_t text_len)
{
    engine->n_requests--;
    engine->texts_bytes -= text_len;
}

/* ---- Waiting for models ------------------------------------------------------------------------- */

/* The end of a request that never began. */
static void give_up(struct dg_engine *engine, struct dg_waiting *waiting, enum dg_err err,
                    const struct dg_why *why)
{
    uint64_t waited_ns = dg_clock_now(engine->tools.clock) - waiting->began_ns;
    const struct dg_engine_result result = {
        .err = err,
        .why = dg_why_text(why, err),
        .finish = err == DG_ERR_CANCELLED ? DG_FINISH_CANCELLED : DG_FINISH_FAILED,
        .model = "", .source = "", .target = "",
        .n_characters = dg_utf8_count(waiting->asked.text),
        .queue_ns = waited_ns,
        .total_ns = waited_ns,
    };
    dg_engine_uncount(engine, waiting->asked.text.len);
    waiting->events->on_done(waiting->ctx, &result);
    dg_waiting_free(waiting);
}

/* Of a way through two models, the one that came first must still be there when the other one is. The request that has
 * waited longest holds on to it, also when it has had to make room for others; only that one, so that those
 * who wait cannot fill the memory with what they do not use yet. */
static void hold_on(struct dg_engine *engine, struct dg_waiting *waiting, struct dg_way *way)
{
    for (size_t i = 0; i < way->n_legs; i++)
        if (waiting->held && !dg_loaded_is_at_hand(way->legs[i]) &&
            strcmp(waiting->held->name, way->legs[i]->name) == 0)
            dg_way_replace(way, i, waiting->held);
    for (size_t i = 0; i < way->n_legs && !waiting->held; i++)
        if (engine->waiting.next == &waiting->link && dg_loaded_is_at_hand(way->legs[i]))
            waiting->held = dg_loaded_ref(way->legs[i]);
}

/* Begins a request that has waited, if its models are there. DG_ERR_BUSY: not yet. */
static enum dg_err try_again(struct dg_engine *engine, struct dg_waiting *waiting, struct dg_why *why)
{
    struct dg_engine_request asked = waiting->asked;
    struct dg_request *request;
    struct dg_way way;
    uint64_t waited_ms = (dg_clock_now(engine->tools.clock) - waiting->began_ns) / DG_CLOCK_MS;
    if (waiting->is_unwanted)
        return DG_ERR_CANCELLED;
    if (asked.timeout_ms && waited_ms >= asked.timeout_ms)
        return dg_why_set(why, DG_ERR_TIMEOUT, "the time allowed ran out while the model was being loaded");
    if (dg_registry_is_coming(engine->registry, waiting->model))
        return DG_ERR_BUSY;
    enum dg_err err = dg_engine_find_way(engine, &asked, why, &way);
    if (!err)
        hold_on(engine, waiting, &way);
    if (!err)
        err = want(engine, &way, why);
    if (err)
        return err;
    struct dg_loaded *missing = missing_of(&way);
    if (missing) { /* the next one, or what it waited for was replaced */
        dg_loaded_unref(waiting->model);
        waiting->model = dg_loaded_ref(missing);
        return DG_ERR_BUSY;
    }
    if (asked.timeout_ms)
        asked.timeout_ms -= waited_ms;
    err = begin(engine, &way, &asked, waiting->events, waiting->ctx, why, NULL, waiting->id, &request);
    if (!err) {
        request->queue_ns = dg_clock_now(engine->tools.clock) - waiting->began_ns;
        request->began_ns = waiting->began_ns;
    }
    return err;
}

static bool is_late(const struct dg_engine *engine, const struct dg_waiting *waiting)
{
    return waiting->asked.timeout_ms && dg_clock_now(engine->tools.clock) - waiting->began_ns >=
                                            waiting->asked.timeout_ms * DG_CLOCK_MS;
}

/* Looks at all that wait, in order, when a model has come or gone; else only for who is late. Not too many begin
 * in one poll, because the consumer has others to serve; they, and those whom the scheduler has no room for, are
 * looked at again in the next. */
void dg_engine_begin_waiting(struct dg_engine *engine)
{
    bool is_new = engine->waited_version != dg_registry_version(engine->registry), is_full = false;
    struct dg_list *at;
    int n_begun = 0;
    engine->waited_version = dg_registry_version(engine->registry);
    dg_list_splice_last(&engine->looked_at, &engine->waiting);
    while ((at = dg_list_pop_first(&engine->looked_at))) {
        struct dg_waiting *waiting = DG_LIST_ITEM(at, struct dg_waiting, link);
        struct dg_why why = DG_WHY_NONE;
        enum dg_err err = DG_ERR_BUSY;
        dg_list_link_last(&engine->waiting, at);
        if ((is_new || is_late(engine, waiting)) && n_begun < BEGUN_PER_POLL)
            err = try_again(engine, waiting, &why);
        is_full |= err == DG_ERR_BUSY && *why.text;
        if (err == DG_ERR_BUSY)
            continue;
        dg_list_unlink(at);
        engine->n_waiting--;
        n_begun++;
        if (err)
            give_up(engine, waiting, err, &why);
        else
            dg_waiting_free(waiting);
    }
    if (is_full || n_begun == BEGUN_PER_POLL)
        engine->waited_version = NEVER_LOOKED;
    if (n_begun == BEGUN_PER_POLL)
        dg_engine_wake(engine); /* when the scheduler is full, its news will */
}
