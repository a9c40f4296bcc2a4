/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The engine's requests other than translations: generations (generation.h) and readings
 * (reading.h). This file finds their models, counts them, and continues them in the poll. */
#include "base/memory/utf8.h"
#include "engine/engine_int.h"
#include "engine/generate/generation.h"

/* ---- Generations --------------------------------------------------------------------------------
 */

static bool fits_generation(const struct dg_served_model *model, const void *arg)
{
    (void)arg;
    return dg_engine_is_lm(model);
}

/* The language model that is meant. */
static enum dg_err find_lm(const struct dg_engine *engine, const struct dg_generate *ask,
                           struct dg_error *error, struct dg_served_model **found)
{
    const struct dg_registry_wish wish = {.name = ask->model,
                                          .only = ask->only,
                                          .n_only = ask->n_only,
                                          .fits = fits_generation,
                                          .one = "language model",
                                          .several = "language models"};
    enum dg_err err = dg_registry_choose(engine->registry, &wish, error, found);
    if (!err && !dg_engine_is_lm(*found))
        err = dg_error_set(error, DG_ERR_UNSUPPORTED, "%s translates; expected a language model",
                           (*found)->name);
    return err;
}

/* Begins it if its model is loaded. DG_ERR_NOT_YET: it waits for the model, or its prompt
 * is being read. */
static enum dg_err begin_generation(struct dg_engine *engine, struct dg_generation *generation,
                                    struct dg_error *error, uint64_t *retry_ms)
{
    struct dg_served_model *model = NULL;
    if (dg_registry_is_coming(engine->registry, generation->model) ||
        dg_generation_is_being_read(generation))
        return DG_ERR_NOT_YET;
    enum dg_err err = find_lm(engine, &generation->asked, error, &model);
    if (!err)
        err = dg_registry_await(engine->registry, model, error, &generation->model);
    return err ? err : dg_generation_begin(generation, &engine->tools, error, retry_ms);
}

enum dg_err dg_engine_generate(struct dg_engine *engine, const struct dg_generate *ask,
                               const struct dg_generate_events *events, void *ctx,
                               struct dg_error *error, uint64_t *retry_ms, uint64_t *id)
{
    struct dg_generation *generation;
    struct dg_served_model *model = NULL;
    struct dg_error reason = DG_ERROR_NONE;
    size_t bad_at;
    if (!dg_utf8_valid(ask->prompt, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8, "the prompt is not valid UTF-8 at byte %zu",
                            bad_at);
    struct dg_search_opts search = ask->search;
    search.min_len = 0; /* what may be long may also have to be */
    enum dg_err err = dg_engine_check_search(engine, &search, error);
    if (!err)
        err = dg_engine_check_room(engine, ask->prompt.len, error, retry_ms);
    if (!err)
        err = find_lm(engine, ask, error, &model);
    if (!err)
        err = dg_search_opts_check(&ask->search, model->blueprint.decoder.V, error);
    if (!err)
        err = dg_generation_new(&generation, ask, model, dg_clock_now(engine->tools.clock), error);
    if (err)
        return err;
    generation->events = events;
    generation->ctx = ctx;
    err = begin_generation(engine, generation, &reason, retry_ms);
    if (err == DG_ERR_NOT_YET)
        err = dg_generation_is_being_read(generation) || engine->n_waiting < engine->waiting_max
                  ? DG_OK
                  : DG_ERR_BUSY;
    if (err) {
        dg_generation_free(generation);
        return dg_error_set(error, err, "%s", dg_error_text(&reason, err));
    }
    generation->id = ++engine->last_id;
    dg_list_link_last(&engine->generations, &generation->link);
    engine->n_requests++;
    engine->texts_bytes += ask->prompt.len;
    if (id)
        *id = generation->id;
    return DG_OK;
}

/* Begins a waiting generation when its model is loaded, or ends it when it is late. */
static void tend_generation(struct dg_engine *engine, struct dg_generation *generation)
{
    if (generation->is_over || generation->is_open)
        return;
    struct dg_error reason = DG_ERROR_NONE;
    if (generation->err) { /* it was stopped while its prompt was read */
        dg_generation_stop(generation, engine->tools.sched, generation->err);
        return;
    }
    enum dg_err err = begin_generation(engine, generation, &reason, NULL);
    const bool waits = err == DG_ERR_BUSY || err == DG_ERR_NOT_YET;
    if (waits && generation->deadline_ns &&
        dg_clock_now(engine->tools.clock) >= generation->deadline_ns)
        err = dg_error_set(&reason, DG_ERR_TIMEOUT, "the time allowed ran out before it began");
    else if (!err || waits)
        return;
    generation->error = reason;
    dg_generation_stop(generation, engine->tools.sched, err);
}

void dg_engine_move_generations(struct dg_engine *engine)
{
    for (struct dg_list *at = engine->generations.next, *next; at != &engine->generations;
         at = next) {
        struct dg_generation *generation = DG_LIST_ITEM(at, struct dg_generation, link);
        tend_generation(engine, generation);
        next = at->next;
        if (!generation->is_over)
            continue;
        dg_list_unlink(at);
        dg_engine_uncount(engine, generation->asked.prompt.len);
        dg_generation_finish(generation, dg_clock_now(engine->tools.clock));
        dg_generation_free(generation);
        next = engine->generations.next; /* its end may have begun or stopped others */
    }
}

/* ---- Readings
 * --------------------------------------------------------------------------------------- */

enum dg_err dg_engine_read(struct dg_engine *engine, const struct dg_engine_read *ask,
                           const struct dg_engine_read_events *events, void *ctx,
                           struct dg_error *error, uint64_t *retry_ms, uint64_t *id)
{
    const size_t bytes = dg_readings_bytes(ask);
    bool more = false;
    enum dg_err err = ask->waits ? DG_OK : dg_engine_check_room(engine, bytes, error, retry_ms);
    if (!err)
        err = dg_readings_add(&engine->readings, ask, events, ctx, ++engine->last_id,
                              engine->n_waiting < engine->waiting_max, error, retry_ms, &more);
    if (err)
        return err;
    engine->n_requests++;
    engine->texts_bytes += bytes;
    if (id)
        *id = engine->last_id;
    if (more)
        dg_engine_wake(engine);
    return DG_OK;
}

void dg_engine_move_readings(struct dg_engine *engine, uint64_t until_ns)
{
    size_t bytes;
    bool more = false;
    const size_t n = dg_readings_move(&engine->readings, until_ns, &bytes, &more);
    engine->n_requests -= n;
    engine->texts_bytes -= bytes;
    if (more)
        dg_engine_wake(engine);
}
