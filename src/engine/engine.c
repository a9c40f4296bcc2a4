/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The engine: models by name, requests by id, and the poll that moves news from workers to requests. */
#include "engine/engine.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "engine/engine_int.h"
#include "engine/remote_value.h"
#include "engine/request.h"
#include "engine/way.h"

#include <string.h>

enum {
    SENTENCES = 10000,
    SLOTS = 32,
    ROWS_PER_SLOT = 4,
    SOURCE_MAX = 256,
    TARGET_MAX = 512,
    KV_PER_SLOT = 256,
};

struct dg_engine {
    struct dg_clock own_clock;
    void (*wake)(void *arg);
    void *wake_arg;
    struct dg_decoder_limits limits;
    struct dg_request_tools tools;
    struct dg_loaded *models[DG_SCHED_MODELS_MAX]; /* a reference each */
    size_t n_models;
    struct dg_langid *langid;      /* NULL: languages are not detected, */
    struct dg_why langid_why;      /* because of this */
    struct dg_list requests;
    size_t n_requests;
    uint64_t last_id, last_version;
};

/* ---- Life --------------------------------------------------------------------------------------- */

static size_t or_default(size_t value, size_t fallback)
{
    return value ? value : fallback;
}

static struct dg_decoder_limits limits_of(const struct dg_engine_opts *opts)
{
    struct dg_decoder_limits limits = {
        .sentences = or_default(opts->slots, SLOTS),
        .source_max = or_default(opts->source_max, SOURCE_MAX),
        .target_max = or_default(opts->target_max, TARGET_MAX),
        .kv_tokens = opts->kv_tokens,
        .alignment_layer = opts->alignment_layer,
        .alignment_head = opts->alignment_head,
        .whole_vocabulary = opts->whole_vocabulary,
    };
    limits.rows = or_default(opts->rows, limits.sentences * ROWS_PER_SLOT);
    /* Room for a usual load, and always for the largest single request. */
    size_t largest = DG_BEAM_MAX * limits.target_max + limits.source_max;
    if (limits.kv_tokens == 0)
        limits.kv_tokens = limits.sentences * KV_PER_SLOT;
    if (limits.kv_tokens < largest)
        limits.kv_tokens = largest;
    limits.batch_tokens = limits.source_max * 8;
    return limits;
}

/* Without its data a server still translates; whoever needs a language detected is told why not. */
static void open_langid(struct dg_engine *engine, const char *path)
{
    if (!path || !*path)
        dg_why_set(&engine->langid_why, DG_ERR_UNSUPPORTED,
                   "this server has no data to tell languages apart");
    else if (dg_langid_open(&engine->langid, path, &engine->langid_why))
        engine->langid = NULL;
}

enum dg_err dg_engine_new(const struct dg_engine_opts *opts, struct dg_why *why,
                          struct dg_engine **out)
{
    struct dg_engine *engine = dg_xcalloc(1, sizeof *engine);
    dg_list_init(&engine->requests);
    dg_protect_list_init(&engine->tools.protected);
    dg_asks_init(&engine->tools.asks);
    engine->own_clock = (struct dg_clock)DG_CLOCK_REAL;
    engine->wake = opts->wake;
    engine->wake_arg = opts->wake_arg;
    engine->limits = limits_of(opts);
    engine->tools.clock = opts->clock ? opts->clock : &engine->own_clock;
    struct dg_sched_opts sched = {
        .n_workers = or_default(opts->n_threads, dg_cpu_cores()),
        .max_tickets = or_default(opts->max_sentences, SENTENCES),
        .batch_delay_ns = opts->batch_delay_ns,
        .clock = engine->tools.clock,
        .wake = opts->wake,
        .wake_arg = opts->wake_arg,
    };
    enum dg_err err = dg_sched_new(&sched, why, &engine->tools.sched);
    if (!err)
        err = dg_segmenter_new(&engine->tools.segmenter, why);
    if (!err && !(engine->tools.work = dg_tokenizer_work_new()))
        err = dg_why_set(why, DG_ERR_NOMEM, "no memory for the engine");
    if (err) {
        dg_engine_free(engine);
        return err;
    }
    open_langid(engine, opts->langid_path);
    if (opts->cache_bytes)
        engine->tools.cache = dg_cache_new(opts->cache_bytes);
    *out = engine;
    return DG_OK;
}

/* The end of a ticket that nobody is told of. All but its own sentence have let go of it. */
static void land(struct dg_engine *engine, struct dg_ticket *ticket)
{
    struct dg_flight *flight = ticket->ctx;
    flight->leader->is_over = true;
    flight->leader->request->n_open--;
    flight->leader = NULL;
    flight->is_over = true;
    if (!flight->ticket->err)
        flight->ticket->err = DG_ERR_CLOSED; /* nothing to keep */
    if (engine->tools.cache)
        dg_cache_settle(engine->tools.cache, flight);
}

/* Cancels what is open and waits for the workers to let go. */
static void drain(struct dg_engine *engine)
{
    for (struct dg_list *at = engine->requests.next; at != &engine->requests; at = at->next)
        dg_request_stop(DG_LIST_ITEM(at, struct dg_request, link), &engine->tools, DG_ERR_CLOSED);
    struct dg_list *at = engine->requests.next;
    while (at != &engine->requests) {
        struct dg_request *request = DG_LIST_ITEM(at, struct dg_request, link);
        struct dg_ticket *ticket;
        bool is_over;
        dg_sched_listen(engine->tools.sched);
        while (dg_sched_next(engine->tools.sched, &ticket, &is_over))
            if (is_over)
                land(engine, ticket);
        struct dg_span value;
        for (struct dg_flight *flight; (flight = dg_asks_next(&engine->tools.asks, 0, &value));)
            land(engine, flight->ticket);
        if (request->n_open == 0) {
            at = at->next;
            dg_request_free(request);
        }
    }
}

void dg_engine_free(struct dg_engine *engine)
{
    if (!engine)
        return;
    drain(engine);
    for (size_t i = 0; i < engine->n_models; i++)
        dg_loaded_unref(engine->models[i]);
    dg_sched_free(engine->tools.sched);
    dg_cache_free(engine->tools.cache);
    dg_langid_close(engine->langid);
    dg_segmenter_free(engine->tools.segmenter);
    dg_tokenizer_work_free(engine->tools.work);
    dg_protect_list_deinit(&engine->tools.protected);
    dg_free(engine);
}

/* ---- Models ------------------------------------------------------------------------------------- */

static size_t find_name(const struct dg_engine *engine, const char *name)
{
    size_t i = 0;
    while (i < engine->n_models && strcmp(engine->models[i]->name, name) != 0)
        i++;
    return i;
}

enum dg_err dg_engine_open(struct dg_engine *engine, const char *name, const char *path,
                           const char *source, const char *target, struct dg_why *why,
                           struct dg_loaded **loaded)
{
    enum dg_err err = dg_loaded_open(loaded, engine->tools.sched, name, path, source, target,
                                     &engine->limits, why);
    if (err || !engine->tools.asks.remote.get)
        return err;
    err = dg_remote_fingerprint(path, why, (*loaded)->fingerprint);
    (*loaded)->has_fingerprint = !err;
    if (err)
        dg_loaded_unref(*loaded);
    return err;
}

void dg_engine_close(struct dg_loaded *loaded)
{
    dg_loaded_unref(loaded);
}

/* Lets go of a model and of its answers. */
static void retire(struct dg_engine *engine, struct dg_loaded *loaded)
{
    if (engine->tools.cache)
        dg_cache_forget(engine->tools.cache, loaded->version);
    dg_loaded_unref(loaded);
}

enum dg_err dg_engine_publish(struct dg_engine *engine, struct dg_loaded *loaded,
                              struct dg_why *why)
{
    size_t at = find_name(engine, loaded->name);
    if (at == DG_SCHED_MODELS_MAX) {
        dg_loaded_unref(loaded);
        return dg_why_set(why, DG_ERR_LIMIT, "%d models are loaded, which is the most",
                          DG_SCHED_MODELS_MAX);
    }
    if (at == engine->n_models)
        engine->n_models++;
    else
        retire(engine, engine->models[at]);
    loaded->version = ++engine->last_version;
    engine->models[at] = loaded;
    return DG_OK;
}

enum dg_err dg_engine_load(struct dg_engine *engine, const char *name, const char *path,
                           const char *source, const char *target, struct dg_why *why)
{
    struct dg_loaded *loaded;
    enum dg_err err = dg_engine_open(engine, name, path, source, target, why, &loaded);
    return err ? err : dg_engine_publish(engine, loaded, why);
}

enum dg_err dg_engine_unload(struct dg_engine *engine, const char *name, struct dg_why *why)
{
    size_t at = find_name(engine, name);
    if (at == engine->n_models)
        return dg_why_set(why, DG_ERR_NOT_FOUND, "no model is called %s", name);
    retire(engine, engine->models[at]);
    engine->models[at] = engine->models[--engine->n_models];
    return DG_OK;
}

size_t dg_engine_n_models(const struct dg_engine *engine)
{
    return engine->n_models;
}

struct dg_engine_model_info dg_engine_model_info(const struct dg_engine *engine, size_t index)
{
    const struct dg_loaded *loaded = engine->models[index];
    return (struct dg_engine_model_info){
        .name = loaded->name,
        .source = loaded->source,
        .target = loaded->target,
        .bytes = loaded->bytes,
        .n_source_words = loaded->blueprint.encoder.V,
        .n_target_words = loaded->blueprint.decoder.V,
        .n_beams = loaded->blueprint.n_beams,
        .source_max = loaded->limits.source_max,
        .target_max = loaded->limits.target_max,
    };
}

enum dg_err dg_engine_detect(const struct dg_engine *engine, struct dg_span text,
                             struct dg_langid_guess *guesses, size_t max, struct dg_why *why, size_t *n)
{
    if (!engine->langid)
        return dg_why_set(why, DG_ERR_UNSUPPORTED, "%s",
                          dg_why_text(&engine->langid_why, DG_ERR_UNSUPPORTED));
    *n = dg_langid_detect(engine->langid, text, NULL, guesses, max);
    return DG_OK;
}

/* ---- Requests ----------------------------------------------------------------------------------- */

static void wake(const struct dg_engine *engine)
{
    if (engine->wake)
        engine->wake(engine->wake_arg);
}

bool dg_engine_leads(const struct dg_engine *engine, const char *source, const char *target)
{
    const struct dg_way_map map = {engine->models, engine->n_models, NULL, ""};
    const struct dg_engine_request request = {.source = source, .target = target};
    struct dg_way way;
    return dg_way_find(&map, &request, NULL, &way) == DG_OK;
}

/* The beam of a request that names none: the model's makers' habit, and room for all answers wanted. */
static void choose_beam(const struct dg_loaded *model, struct dg_search_opts *search)
{
    if (search->sample)
        return;
    size_t beam = model->blueprint.n_beams;
    if (beam < (size_t)search->n_best)
        beam = (size_t)search->n_best;
    search->beam = beam < 1 ? 1 : beam > DG_BEAM_MAX ? DG_BEAM_MAX : (int)beam;
}

enum dg_err dg_engine_can(struct dg_engine *engine, const struct dg_engine_request *request, struct dg_why *why)
{
    const struct dg_way_map map = {engine->models, engine->n_models, engine->langid,
                                   engine->langid_why.text};
    struct dg_way way;
    return dg_way_find(&map, request, why, &way);
}

enum dg_err dg_engine_find(struct dg_engine *engine, const struct dg_engine_request *request,
                           struct dg_why *why, struct dg_loaded **loaded)
{
    const struct dg_way_map map = {engine->models, engine->n_models, engine->langid,
                                   engine->langid_why.text};
    struct dg_way way;
    enum dg_err err = dg_way_find(&map, request, why, &way);
    if (!err && way.is_copy)
        err = dg_why_set(why, DG_ERR_NOT_FOUND, "the text is in none of the languages that lead to the target");
    if (!err && way.n_legs > 1)
        err = dg_why_set(why, DG_ERR_NOT_FOUND, "no single model leads from %s to %s", way.legs[0]->source,
                         way.legs[way.n_legs - 1]->target);
    if (!err)
        *loaded = dg_loaded_ref(way.legs[0]);
    return err;
}

enum dg_err dg_engine_submit(struct dg_engine *engine, const struct dg_engine_request *asked,
                             const struct dg_engine_events *events, void *ctx, struct dg_why *why,
                             uint64_t *retry_ms, uint64_t *id)
{
    const struct dg_way_map map = {engine->models, engine->n_models, engine->langid,
                                   engine->langid_why.text};
    struct dg_way way;
    struct dg_request *request;
    struct dg_engine_request whole = *asked;
    enum dg_err err = dg_way_find(&map, asked, why, &way);
    if (!err && asked->usual_beam)
        choose_beam(way.legs[way.n_legs - 1], &whole.search);
    if (!err)
        err = dg_request_new(&request, &engine->tools, &way, &whole, why);
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
    request->id = ++engine->last_id;
    dg_list_link_last(&engine->requests, &request->link);
    engine->n_requests++;
    if (id)
        *id = request->id;
    if (request->n_open == 0 || request->n_cached > 0 || request->n_ready > 0)
        wake(engine); /* there is something to show, and maybe no worker will call */
    return DG_OK;
}

bool dg_engine_cancel(struct dg_engine *engine, uint64_t id)
{
    for (struct dg_list *at = engine->requests.next; at != &engine->requests; at = at->next) {
        struct dg_request *request = DG_LIST_ITEM(at, struct dg_request, link);
        if (request->id != id)
            continue;
        dg_request_stop(request, &engine->tools, DG_ERR_CANCELLED);
        wake(engine); /* for what waits for no worker */
        return true;
    }
    return false;
}

/* Moves every request on: more sentences into the window, and the end where it is reached. */
static void move_on(struct dg_engine *engine)
{
    for (struct dg_list *at = engine->requests.next, *next; at != &engine->requests; at = next) {
        next = at->next;
        struct dg_request *request = DG_LIST_ITEM(at, struct dg_request, link);
        enum dg_err err = dg_request_pump(request, &engine->tools, NULL, NULL);
        dg_request_show(request, &engine->tools);
        if (!dg_request_is_over(request)) {
            if (request->n_open == 0 && err != DG_ERR_BUSY)
                wake(engine); /* all of it was cached so far; when busy, the others' news will call */
            continue;
        }
        dg_list_unlink(&request->link);
        engine->n_requests--;
        dg_request_finish(request, &engine->tools);
        dg_request_free(request);
        next = engine->requests.next; /* events may have submitted or cancelled */
    }
}

static void take_remote(struct dg_engine *engine)
{
    struct dg_span value;
    uint64_t now = dg_clock_now(engine->tools.clock);
    for (struct dg_flight *flight; (flight = dg_asks_next(&engine->tools.asks, now, &value));)
        dg_request_take_remote(&engine->tools, flight, value);
}

size_t dg_engine_poll(struct dg_engine *engine)
{
    struct dg_ticket *ticket;
    bool is_over;
    dg_sched_listen(engine->tools.sched);
    while (dg_sched_next(engine->tools.sched, &ticket, &is_over))
        dg_request_take(&engine->tools, ticket, is_over);
    take_remote(engine);
    move_on(engine);
    if (!dg_list_is_empty(&engine->tools.asks.answered))
        wake(engine); /* dropped or answered meanwhile */
    return engine->n_requests;
}

void dg_engine_read_stats(struct dg_engine *engine, struct dg_sched_stats *stats)
{
    dg_sched_read_stats(engine->tools.sched, stats);
}

void dg_engine_read_cache_stats(const struct dg_engine *engine, struct dg_engine_cache_stats *stats)
{
    *stats = (struct dg_engine_cache_stats){.n_hits = 0};
    if (engine->tools.cache)
        *stats = *dg_cache_stats(engine->tools.cache);
}

/* ---- Remote cache ------------------------------------------------------------------------------- */

enum dg_err dg_engine_set_remote(struct dg_engine *engine, const struct dg_remote *remote,
                                 struct dg_why *why)
{
    struct dg_asks *asks = &engine->tools.asks;
    if (remote && (!remote->get || !remote->put))
        return dg_why_set(why, DG_ERR_INVALID, "a remote cache needs both get and put");
    asks->remote = remote ? *remote : (struct dg_remote){.get = NULL};
    if (asks->remote.wait_ms == 0)
        asks->remote.wait_ms = DG_REMOTE_WAIT_MS;
    return DG_OK;
}

void dg_engine_remote_answer(struct dg_engine *engine, uint64_t id, struct dg_span value)
{
    dg_asks_answer(&engine->tools.asks, id, value);
    wake(engine);
}

void dg_engine_read_remote_stats(const struct dg_engine *engine, struct dg_engine_remote_stats *stats)
{
    *stats = engine->tools.asks.stats;
}
