/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The engine: requests by id, and the poll that moves news from workers to requests. A request whose model is not at
 * hand (registry.h) waits, and begins when it is, as if it had just come. */
#include "engine/engine.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "engine/engine_int.h"
#include "engine/generation.h"
#include "engine/judgement.h"
#include "engine/reading.h"
#include "engine/registry.h"
#include "engine/remote_value.h"
#include "engine/request.h"
#include "engine/waiting.h"
#include "engine/way.h"

#include <string.h>

enum {
    SENTENCES = 10000,
    SLOTS = 32,
    ROWS_PER_SLOT = 4,
    SOURCE_MAX = 256,
    TARGET_MAX = 512,
    PROMPT_MAX = 2048,
    KV_PER_SLOT = 256,
    POLL_NS = 1000 * 1000,
    RETRY_MS = 1000,
    BEGUN_PER_POLL = 16, /* of those that waited for a model */
};

_Static_assert((int)DG_CPU_CORES_MAX <= (int)DG_SCHED_WORKERS_MAX, "a worker for each core has room");

static const uint64_t NEVER_LOOKED = UINT64_MAX; /* no version of the registry */

struct dg_engine {
    struct dg_clock own_clock;
    void (*wake)(void *arg);
    void *wake_arg;
    struct dg_request_tools tools;
    struct dg_registry *registry;
    struct dg_langid *langid;      /* NULL: languages are not detected, */
    struct dg_why langid_why;      /* because of this */
    struct dg_list requests;
    struct dg_list waiting;        /* for their models, in the order of coming */
    struct dg_list looked_at;      /* of these, while they are gone through: those still to be looked at */
    struct dg_list generations;
    struct dg_readings readings;
    struct dg_list judgements;     /* asked; those that are dropped are only here */
    size_t n_requests;             /* of all four */
    size_t n_waiting, waiting_max;
    uint64_t waited_version;       /* of the registry, when those that wait were last looked at */
    size_t texts_bytes, texts_bytes_max; /* of all requests; max 0: no limit */
    uint64_t last_id;
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
        .prompt_max = or_default(opts->prompt_max, PROMPT_MAX),
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

/* Drops the answers of a model that no new request gets. */
static void on_retired(void *arg, const struct dg_loaded *loaded)
{
    struct dg_engine *engine = arg;
    if (engine->tools.cache)
        dg_cache_forget(engine->tools.cache, loaded->version);
}

static enum dg_err open_registry(struct dg_engine *engine, const struct dg_engine_opts *opts,
                                 struct dg_why *why)
{
    const struct dg_registry_opts how = {
        .sched = engine->tools.sched,
        .clock = engine->tools.clock,
        .limits = limits_of(opts),
        .bytes_max = opts->models_bytes,
        .idle_ns = opts->model_idle_ns,
        .wake = opts->wake,
        .wake_arg = opts->wake_arg,
        .on_retired = on_retired,
        .on_retired_arg = engine,
        .admit = opts->admit,
        .on_model = opts->on_model,
        .model_arg = opts->model_arg,
    };
    return dg_registry_new(&how, why, &engine->registry);
}

enum dg_err dg_engine_new(const struct dg_engine_opts *opts, struct dg_why *why,
                          struct dg_engine **out)
{
    struct dg_engine *engine = dg_xcalloc(1, sizeof *engine);
    dg_list_init(&engine->requests);
    dg_list_init(&engine->waiting);
    dg_list_init(&engine->generations);
    dg_list_init(&engine->judgements);
    dg_readings_init(&engine->readings, &engine->tools);
    dg_list_init(&engine->looked_at);
    dg_protect_list_init(&engine->tools.protected);
    dg_glossary_scan_init(&engine->tools.scan);
    dg_asks_init(&engine->tools.asks);
    engine->own_clock = (struct dg_clock)DG_CLOCK_REAL;
    engine->wake = opts->wake;
    engine->wake_arg = opts->wake_arg;
    engine->tools.beside = (struct dg_beside){.wake = opts->wake, .wake_arg = opts->wake_arg};
    engine->texts_bytes_max = opts->texts_bytes;
    engine->waiting_max = or_default(opts->max_sentences, SENTENCES);
    engine->tools.clock = opts->clock ? opts->clock : &engine->own_clock;
    struct dg_sched_opts sched = {
        .n_workers = or_default(opts->n_threads, dg_cpu_cores()),
        .max_tickets = or_default(opts->max_sentences, SENTENCES),
        .max_tokens = opts->max_tokens,
        .pins = opts->pins_workers,
        .stall_ns = opts->stall_ns,
        .on_turn = opts->on_turn,
        .on_turn_arg = opts->on_turn_arg,
        .batch_delay_ns = opts->batch_delay_ns,
        .clock = engine->tools.clock,
        .wake = opts->wake,
        .wake_arg = opts->wake_arg,
    };
    enum dg_err err = dg_sched_new(&sched, why, &engine->tools.sched);
    if (!err)
        err = open_registry(engine, opts, why);
    engine->readings.registry = engine->registry;
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
    if (ticket->kind == DG_TICKET_READING) {
        dg_readings_take(ticket);
        return;
    }
    if (ticket->kind == DG_TICKET_GENERATION) {
        ((struct dg_generation *)ticket->ctx)->is_open = false;
        return;
    }
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

/* The same of generations. */
static void drain_generations(struct dg_engine *engine)
{
    for (struct dg_list *at = engine->generations.next; at != &engine->generations; at = at->next)
        dg_generation_stop(DG_LIST_ITEM(at, struct dg_generation, link), engine->tools.sched, DG_ERR_CLOSED);
    while (!dg_list_is_empty(&engine->generations)) {
        struct dg_generation *first = DG_LIST_ITEM(engine->generations.next, struct dg_generation, link);
        struct dg_ticket *ticket;
        bool is_over;
        dg_sched_listen(engine->tools.sched);
        while (first->is_open && dg_sched_next(engine->tools.sched, &ticket, &is_over))
            if (is_over)
                land(engine, ticket);
        if (!first->is_open) {
            dg_list_unlink(&first->link);
            dg_generation_free(first);
        }
    }
}

/* And of readings. */
static void drain_readings(struct dg_engine *engine)
{
    struct dg_ticket *ticket;
    bool is_over;
    dg_readings_close(&engine->readings);
    while (dg_readings_sweep(&engine->readings)) {
        dg_sched_listen(engine->tools.sched);
        while (dg_sched_next(engine->tools.sched, &ticket, &is_over))
            if (is_over)
                land(engine, ticket);
    }
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
        dg_request_take_markup(request);
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
    dg_beside_close(&engine->tools.beside);
    drain(engine);
    drain_generations(engine);
    drain_readings(engine);
    dg_readings_deinit(&engine->readings);
    while (!dg_list_is_empty(&engine->judgements)) /* nobody will tell their ends */
        dg_judgement_free(DG_LIST_ITEM(engine->judgements.next, struct dg_judgement, link));
    while (!dg_list_is_empty(&engine->waiting))
        dg_waiting_free(DG_LIST_ITEM(engine->waiting.next, struct dg_waiting, link));
    dg_registry_free(engine->registry);
    dg_sched_free(engine->tools.sched);
    dg_cache_free(engine->tools.cache);
    dg_langid_close(engine->langid);
    dg_segmenter_free(engine->tools.segmenter);
    dg_tokenizer_work_free(engine->tools.work);
    dg_protect_list_deinit(&engine->tools.protected);
    dg_glossary_scan_deinit(&engine->tools.scan);
    dg_free(engine);
}

static void wake(const struct dg_engine *engine)
{
    if (engine->wake)
        engine->wake(engine->wake_arg);
}

/* ---- Models ------------------------------------------------------------------------------------- */

enum dg_err dg_engine_open(struct dg_engine *engine, const struct dg_engine_model *model, struct dg_why *why,
                           struct dg_loaded **loaded)
{
    const struct dg_registry_ask ask = {*model, false};
    return dg_registry_open(engine->registry, &ask, why, loaded);
}

void dg_engine_expect(struct dg_engine *engine, size_t n_models)
{
    dg_registry_expect(engine->registry, n_models);
}

enum dg_err dg_engine_offer(struct dg_engine *engine, const struct dg_engine_model *model, struct dg_why *why,
                            struct dg_loaded **loaded)
{
    const struct dg_registry_ask ask = {*model, true};
    return dg_registry_open(engine->registry, &ask, why, loaded);
}

void dg_engine_close(struct dg_loaded *loaded)
{
    dg_loaded_unref(loaded);
}

enum dg_err dg_engine_publish(struct dg_engine *engine, struct dg_loaded *loaded,
                              struct dg_why *why)
{
    enum dg_err err = dg_registry_publish(engine->registry, loaded, why);
    if (!err && engine->n_waiting > 0)
        wake(engine);
    return err;
}

enum dg_err dg_engine_load(struct dg_engine *engine, const char *name, const char *path,
                           const char *source, const char *target, struct dg_why *why)
{
    struct dg_loaded *loaded;
    const struct dg_engine_model model = {.name = name, .path = path, .source = source, .target = target};
    enum dg_err err = dg_engine_open(engine, &model, why, &loaded);
    return err ? err : dg_engine_publish(engine, loaded, why);
}

enum dg_err dg_engine_unload(struct dg_engine *engine, const char *name, struct dg_why *why)
{
    return dg_registry_remove(engine->registry, name, why);
}

void dg_engine_read_model_stats(struct dg_engine *engine, size_t index, struct dg_sched_stats *stats)
{
    dg_registry_read_counts(engine->registry, index, stats);
}

size_t dg_engine_n_models(const struct dg_engine *engine)
{
    struct dg_loaded *const *models;
    return dg_registry_list(engine->registry, &models);
}

size_t dg_engine_n_usable(const struct dg_engine *engine)
{
    size_t n = 0, n_models = dg_engine_n_models(engine);
    for (size_t i = 0; i < n_models; i++)
        n += dg_registry_state(engine->registry, i) != DG_ENGINE_MODEL_FAILED;
    return n;
}

const char *dg_engine_model_state_name(enum dg_engine_model_state state)
{
    static const char *const names[] = {
        [DG_ENGINE_MODEL_KNOWN] = "idle",      [DG_ENGINE_MODEL_WANTED] = "waiting",
        [DG_ENGINE_MODEL_LOADING] = "loading", [DG_ENGINE_MODEL_READY] = "ready",
        [DG_ENGINE_MODEL_FAILED] = "failed",
    };
    return names[state];
}

/* What a model that reads can do, a bit for each task. */
static unsigned tasks_of(const struct dg_blueprint *bp)
{
    unsigned can = 0;
    for (int task = 0; task < DG_N_TASKS; task++)
        can |= dg_reading_fits(bp, (enum dg_read_task)task) ? 1u << task : 0;
    return can;
}

struct dg_engine_model_info dg_engine_model_info(const struct dg_engine *engine, size_t index)
{
    struct dg_loaded *const *models;
    dg_registry_list(engine->registry, &models);
    const struct dg_loaded *loaded = models[index];
    const struct dg_langs *langs = loaded->langs;
    return (struct dg_engine_model_info){
        .name = loaded->name,
        .source = langs->n_sources == 1 ? langs->sources[0].code : "",
        .target = langs->n_targets == 1 ? langs->targets[0].code : "",
        .langs = langs,
        .state = dg_registry_state(engine->registry, index),
        .failure = dg_registry_failure(engine->registry, index),
        .bytes = loaded->bytes,
        .n_source_words = loaded->blueprint.encoder.V,
        .n_target_words = loaded->blueprint.decoder.V,
        .n_beams = loaded->blueprint.n_beams,
        .source_max = loaded->limits.source_max,
        .target_max = loaded->limits.target_max,
        .slots = loaded->limits.sentences,
        .is_language_model = loaded->blueprint.family == DG_FAMILY_LM && !dg_loaded_translates(loaded),
        .is_reader = dg_blueprint_is_reader(&loaded->blueprint),
        .can = tasks_of(&loaded->blueprint),
        .says_number = dg_loaded_says_number(&loaded->blueprint),
        .judges = dg_loaded_judges(loaded),
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

static bool is_lm(const struct dg_loaded *model)
{
    return model->blueprint.family == DG_FAMILY_LM;
}

/* The models that translate: all, but for those that read and language models without a template. `kept` has room for
 * all. */
static void list_translators(const struct dg_engine *engine, struct dg_loaded **kept, struct dg_way_map *map)
{
    struct dg_loaded *const *models;
    const size_t n = dg_registry_list(engine->registry, &models);
    map->n_models = 0;
    for (size_t i = 0; i < n; i++)
        if (dg_loaded_translates(models[i]))
            kept[map->n_models++] = models[i];
    map->models = kept;
}

static const struct dg_loaded *find_named(const struct dg_engine *engine, const char *name)
{
    struct dg_loaded *const *models;
    const size_t n = dg_registry_list(engine->registry, &models);
    for (size_t i = 0; i < n; i++)
        if (strcmp(models[i]->name, name) == 0)
            return models[i];
    return NULL;
}

/* The estimator of what goes this way; NULL: there is none. */
static const struct dg_loaded *find_estimator(const struct dg_engine *engine, const char *name)
{
    struct dg_loaded *const *models;
    const size_t n = dg_registry_list(engine->registry, &models);
    for (size_t i = 0; i < n; i++) {
        const char *judges = dg_loaded_judges(models[i]);
        if (judges && dg_judges_has(judges, name))
            return models[i];
    }
    return NULL;
}

/* Nothing is judged of a text that is copied. */
static enum dg_err check_estimator(const struct dg_engine *engine, const struct dg_way *way, struct dg_why *why)
{
    char name[DG_WAY_NAME];
    if (way->is_copy)
        return DG_OK;
    dg_way_name(way, name);
    return find_estimator(engine, name) ? DG_OK : dg_why_set(why, DG_ERR_UNSUPPORTED, "no quality estimator judges what %s translates: "
                                                             "ask without 'quality'", name);
}

static enum dg_err find_way(const struct dg_engine *engine, const struct dg_engine_request *asked,
                            struct dg_why *why, struct dg_way *way)
{
    struct dg_loaded *kept[DG_SCHED_MODELS_MAX];
    struct dg_way_map map = {.langid = engine->langid, .langid_why = engine->langid_why.text};
    list_translators(engine, kept, &map);
    enum dg_err err = dg_way_find(&map, asked, why, way);
    const struct dg_loaded *named = err == DG_ERR_NOT_FOUND && asked->model ? find_named(engine, asked->model) : NULL;
    if (named && is_lm(named) && !dg_loaded_translates(named))
        err = dg_why_set(why, DG_ERR_UNSUPPORTED, "%s is a language model: it goes on with a text and translates nothing, "
                         "unless a template is configured for it", asked->model);
    else if (named && dg_blueprint_is_reader(&named->blueprint))
        err = dg_why_set(why, DG_ERR_UNSUPPORTED, "%s says something of texts and translates nothing", asked->model);
    return !err && asked->quality ? check_estimator(engine, way, why) : err;
}

uint64_t dg_engine_models_version(const struct dg_engine *engine)
{
    return dg_registry_version(engine->registry);
}

bool dg_engine_leads(const struct dg_engine *engine, const char *source, const char *target)
{
    struct dg_way_map map = {.langid_why = ""};
    const struct dg_engine_request request = {.source = source, .target = target};
    struct dg_loaded *kept[DG_SCHED_MODELS_MAX];
    struct dg_way way;
    list_translators(engine, kept, &map);
    return dg_way_find(&map, &request, NULL, &way) == DG_OK;
}

enum dg_err dg_engine_can(struct dg_engine *engine, const struct dg_engine_request *request, struct dg_why *why)
{
    struct dg_way way;
    return find_way(engine, request, why, &way);
}

enum dg_err dg_engine_find(struct dg_engine *engine, const struct dg_engine_request *request,
                           struct dg_why *why, struct dg_loaded **loaded, struct dg_pair *pair)
{
    struct dg_way way;
    enum dg_err err = find_way(engine, request, why, &way);
    if (!err && way.is_copy)
        err = dg_why_set(why, DG_ERR_NOT_FOUND, "the text is in none of the languages that lead to the target");
    if (!err && way.n_legs > 1)
        err = dg_why_set(why, DG_ERR_NOT_FOUND, "no single model leads from %s to %s", way.pairs[0].source->code,
                         way.pairs[way.n_legs - 1].target->code);
    if (!err)
        err = dg_registry_want(engine->registry, way.legs[0], why);
    if (!err && !dg_loaded_is_at_hand(way.legs[0]))
        err = dg_why_set(why, DG_ERR_BUSY, "model %s is being loaded; try again in a moment", way.legs[0]->name);
    if (err)
        return err;
    *loaded = dg_loaded_ref(way.legs[0]);
    *pair = way.pairs[0];
    return DG_OK;
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
    return dg_registry_want(engine->registry, find_estimator(engine, name), why); /* find_way has found it */
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
        choose_beam(way->legs[way->n_legs - 1], &whole.search);
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
        wake(engine); /* there is something to show, and maybe no worker will call */
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

/* Room for a request's texts beside those under way. */
static enum dg_err check_room(const struct dg_engine *engine, size_t bytes, struct dg_why *why, uint64_t *retry_ms)
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
    enum dg_err err = check_room(engine, asked->text.len, why, retry_ms);
    if (!err)
        err = find_way(engine, asked, why, &way);
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
    enum dg_err err = find_way(engine, request, why, &way);
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
        wake(engine);
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
        wake(engine); /* for what waits for no worker */
        return true;
    }
    for (struct dg_list *at = engine->generations.next; at != &engine->generations; at = at->next) {
        struct dg_generation *generation = DG_LIST_ITEM(at, struct dg_generation, link);
        if (generation->id != id)
            continue;
        dg_generation_stop(generation, engine->tools.sched, DG_ERR_CANCELLED);
        wake(engine);
        return true;
    }
    if (dg_readings_cancel(&engine->readings, id)) {
        wake(engine);
        return true;
    }
    return cancel_waiting(engine, &engine->waiting, id) || cancel_waiting(engine, &engine->looked_at, id);
}

static void uncount(struct dg_engine *engine, size_t text_len)
{
    engine->n_requests--;
    engine->texts_bytes -= text_len;
}

/* ---- Generations -------------------------------------------------------------------------------- */

static bool fits_generation(const struct dg_loaded *model, const void *arg)
{
    (void)arg;
    return is_lm(model);
}

/* The language model that is meant. */
static enum dg_err find_lm(const struct dg_engine *engine, const struct dg_generate *ask, struct dg_why *why,
                           struct dg_loaded **found)
{
    const struct dg_registry_wish wish = {.name = ask->model, .only = ask->only, .n_only = ask->n_only,
                                          .fits = fits_generation, .one = "language model", .several = "language models"};
    enum dg_err err = dg_registry_choose(engine->registry, &wish, why, found);
    if (!err && !is_lm(*found))
        err = dg_why_set(why, DG_ERR_UNSUPPORTED, "%s translates; expected a language model", (*found)->name);
    return err;
}

/* Begins it when its model is at hand. DG_ERR_BUSY without a sentence: it waits for that. */
static enum dg_err begin_generation(struct dg_engine *engine, struct dg_generation *generation, struct dg_why *why,
                                    uint64_t *retry_ms)
{
    struct dg_loaded *model = NULL;
    if (dg_registry_is_coming(engine->registry, generation->model) || dg_generation_is_read(generation))
        return DG_ERR_BUSY;
    enum dg_err err = find_lm(engine, &generation->asked, why, &model);
    if (!err)
        err = dg_registry_want(engine->registry, model, why);
    if (err)
        return err;
    if (model != generation->model) {
        dg_loaded_unref(generation->model);
        generation->model = dg_loaded_ref(model);
    }
    if (!dg_loaded_is_at_hand(model))
        return DG_ERR_BUSY;
    return dg_generation_begin(generation, &engine->tools, why, retry_ms);
}

enum dg_err dg_engine_generate(struct dg_engine *engine, const struct dg_generate *ask,
                               const struct dg_generate_events *events, void *ctx, struct dg_why *why,
                               uint64_t *retry_ms, uint64_t *id)
{
    struct dg_generation *generation;
    struct dg_loaded *model = NULL;
    struct dg_why reason = DG_WHY_NONE;
    size_t bad_at;
    if (!dg_utf8_valid(ask->prompt, &bad_at))
        return dg_why_set(why, DG_ERR_UTF8, "the prompt is not valid UTF-8 at byte %zu", bad_at);
    enum dg_err err = check_room(engine, ask->prompt.len, why, retry_ms);
    if (!err)
        err = find_lm(engine, ask, why, &model);
    if (!err)
        err = dg_search_opts_check(&ask->search, model->blueprint.decoder.V, why);
    if (!err)
        err = dg_generation_new(&generation, ask, model, dg_clock_now(engine->tools.clock), why);
    if (err)
        return err;
    generation->events = events;
    generation->ctx = ctx;
    err = begin_generation(engine, generation, &reason, retry_ms);
    if (err == DG_ERR_BUSY && !*reason.text &&
        (dg_generation_is_read(generation) || engine->n_waiting < engine->waiting_max))
        err = DG_OK; /* its prompt is being read, or its model comes */
    if (err) {
        dg_generation_free(generation);
        return dg_why_set(why, err, "%s", dg_why_text(&reason, err));
    }
    generation->id = ++engine->last_id;
    dg_list_link_last(&engine->generations, &generation->link);
    engine->n_requests++;
    engine->texts_bytes += ask->prompt.len;
    if (id)
        *id = generation->id;
    return DG_OK;
}

/* Those that wait begin when their models are there, or are too late. */
static void tend_generation(struct dg_engine *engine, struct dg_generation *generation)
{
    if (generation->is_over || generation->is_open)
        return;
    struct dg_why reason = DG_WHY_NONE;
    if (generation->err) { /* it was stopped while its prompt was read */
        dg_generation_stop(generation, engine->tools.sched, generation->err);
        return;
    }
    enum dg_err err = begin_generation(engine, generation, &reason, NULL);
    if (err == DG_ERR_BUSY && generation->deadline_ns && dg_clock_now(engine->tools.clock) >= generation->deadline_ns)
        err = dg_why_set(&reason, DG_ERR_TIMEOUT, "the time allowed ran out before it began");
    if (!err || err == DG_ERR_BUSY)
        return;
    generation->why = reason;
    dg_generation_stop(generation, engine->tools.sched, err);
}

static void move_generations(struct dg_engine *engine)
{
    for (struct dg_list *at = engine->generations.next, *next; at != &engine->generations; at = next) {
        struct dg_generation *generation = DG_LIST_ITEM(at, struct dg_generation, link);
        tend_generation(engine, generation);
        next = at->next;
        if (!generation->is_over)
            continue;
        dg_list_unlink(at);
        uncount(engine, generation->asked.prompt.len);
        dg_generation_finish(generation, dg_clock_now(engine->tools.clock));
        dg_generation_free(generation);
        next = engine->generations.next; /* its end may have begun or stopped others */
    }
}

/* ---- Readings --------------------------------------------------------------------------------------- */

enum dg_err dg_engine_read(struct dg_engine *engine, const struct dg_engine_read *ask,
                           const struct dg_engine_read_events *events, void *ctx, struct dg_why *why, uint64_t *retry_ms,
                           uint64_t *id)
{
    const size_t bytes = dg_readings_bytes(ask);
    bool more = false;
    enum dg_err err = ask->waits ? DG_OK : check_room(engine, bytes, why, retry_ms);
    if (!err)
        err = dg_readings_add(&engine->readings, ask, events, ctx, ++engine->last_id,
                              engine->n_waiting < engine->waiting_max, why, retry_ms, &more);
    if (err)
        return err;
    engine->n_requests++;
    engine->texts_bytes += bytes;
    if (id)
        *id = engine->last_id;
    if (more)
        wake(engine);
    return DG_OK;
}

static void move_readings(struct dg_engine *engine, uint64_t began)
{
    size_t bytes;
    bool more = false;
    const size_t n = dg_readings_move(&engine->readings, began + POLL_NS, &bytes, &more);
    engine->n_requests -= n;
    engine->texts_bytes -= bytes;
    if (more)
        wake(engine);
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
    uncount(engine, waiting->asked.text.len);
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
    enum dg_err err = find_way(engine, &asked, why, &way);
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
static void begin_waiting(struct dg_engine *engine)
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
        wake(engine); /* when the scheduler is full, its news will */
}

/* ---- Judging -------------------------------------------------------------------------------------- */

/* All is translated: source and translation of each sentence go to the estimator. */
static enum dg_err ask_judgement(struct dg_engine *engine, struct dg_request *request)
{
    struct dg_judgement *judgement = request->judgement;
    const uint64_t now = dg_clock_now(engine->tools.clock);
    struct dg_judgement_how how = {.engine = engine, .estimator = find_estimator(engine, request->name),
                                   .priority = request->asked.priority};
    if (judgement->n == 0)
        return dg_judgement_ask(judgement, &how, &request->why);
    if (!how.estimator)
        return dg_why_set(&request->why, DG_ERR_UNSUPPORTED, "the quality estimator of what %s translates has left", request->name);
    if (request->deadline_ns)
        how.timeout_ms = request->deadline_ns > now + DG_CLOCK_MS ? (request->deadline_ns - now) / DG_CLOCK_MS : 1;
    judgement->wake = engine->wake;
    judgement->wake_arg = engine->wake_arg;
    dg_list_link_last(&engine->judgements, &judgement->link);
    return dg_judgement_ask(judgement, &how, &request->why);
}

/* Under the estimator's name, if it is still there. */
static void count_qualities(const struct dg_engine *engine, const struct dg_judgement *judgement)
{
    const struct dg_loaded *estimator = judgement->model ? find_named(engine, judgement->model) : NULL;
    for (size_t i = 0; estimator && i < judgement->n; i++) {
        struct dg_engine_quality_stats *counts = estimator->quality_counts;
        const double quality = (double)judgement->qualities[i];
        size_t bucket = 0;
        while (bucket + 1 < DG_QUALITY_BUCKETS && quality > (double)(bucket + 1) / DG_QUALITY_BUCKETS)
            bucket++;
        counts->buckets[bucket]++;
        counts->sum += quality;
    }
}

/* True while a request whose text is translated waits to be judged; what goes wrong with that becomes its error. */
static bool is_being_judged(struct dg_engine *engine, struct dg_request *request)
{
    struct dg_judgement *judgement = request->judgement;
    if (!judgement || request->err || request->is_told || request->is_copy)
        return false;
    if (!judgement->is_asked)
        request->err = ask_judgement(engine, request);
    else if (request->deadline_ns && !judgement->is_done &&
             dg_clock_now(engine->tools.clock) >= request->deadline_ns + DG_CLOCK_S)
        request->err = DG_ERR_TIMEOUT; /* its worker hangs */
    if (judgement->is_done && judgement->err) {
        request->err = judgement->err;
        request->why = judgement->why;
    }
    if (judgement->is_done && !judgement->err)
        count_qualities(engine, judgement);
    return !request->err && !judgement->is_done;
}

/* Nobody wants to know it any more. */
static void stop_judging(struct dg_engine *engine, const struct dg_request *request)
{
    const struct dg_judgement *judgement = request->judgement;
    if (judgement && judgement->is_asked && !judgement->is_done)
        dg_readings_cancel(&engine->readings, judgement->id);
}

/* ---- The poll ----------------------------------------------------------------------------------- */

/* The one who asked hears of the end, once. */
static void tell_end(struct dg_engine *engine, struct dg_request *request)
{
    request->is_told = true;
    uncount(engine, request->text_len); /* what was counted: with its markup */
    dg_request_finish(request, &engine->tools);
}

/* The next poll goes on with the request at `at`. */
static void leave_off(struct dg_engine *engine, struct dg_list *at)
{
    if (at != &engine->requests) {
        dg_list_unlink(&engine->requests);
        dg_list_link_last(at, &engine->requests);
    }
    wake(engine);
}

/* Moves every request on: more sentences into the window, and the end where it is reached. It stops early, to
 * be called again, when the poll took POLL_NS: texts to be cut are many, ends may begin others that end at once, since
 * the cache has them, and the thread has more to do. Each call moves one request at least, in turn. */
static void move_on(struct dg_engine *engine, uint64_t began)
{
    for (struct dg_list *at = engine->requests.next, *next; at != &engine->requests; at = next) {
        next = at->next;
        struct dg_request *request = DG_LIST_ITEM(at, struct dg_request, link);
        enum dg_err err = dg_request_pump(request, &engine->tools, NULL, NULL);
        dg_request_show(request, &engine->tools);
        if (!dg_request_is_over(request)) {
            if ((request->n_open == 0 || dg_request_wants_turn(request)) && err != DG_ERR_BUSY)
                wake(engine); /* no worker need call; when busy, the others' news will */
            if (dg_request_is_stuck(request, &engine->tools)) {
                tell_end(engine, request); /* it stays in the list until its worker lets go */
                next = request->link.next;
            }
        } else if (!is_being_judged(engine, request)) {
            stop_judging(engine, request);
            if (!request->is_told) {
                tell_end(engine, request);
                next = request->link.next; /* events may have submitted or cancelled */
            }
            dg_request_free(request);
        }
        if (dg_clock_now(engine->tools.clock) - began > POLL_NS) {
            leave_off(engine, next);
            return;
        }
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
    const uint64_t began = dg_clock_now(engine->tools.clock);
    dg_sched_listen(engine->tools.sched);
    while (dg_sched_next(engine->tools.sched, &ticket, &is_over)) {
        if (ticket->kind == DG_TICKET_READING && is_over)
            dg_readings_take(ticket);
        else if (ticket->kind == DG_TICKET_GENERATION)
            dg_generation_take(ticket->ctx, engine->tools.sched, is_over);
        else if (ticket->kind == DG_TICKET_SENTENCE)
            dg_request_take(&engine->tools, ticket, is_over);
        if (dg_clock_now(engine->tools.clock) - began > POLL_NS) {
            wake(engine); /* there may be more */
            break;
        }
    }
    take_remote(engine);
    dg_registry_tend(engine->registry);
    begin_waiting(engine);
    move_on(engine, began);
    move_generations(engine);
    move_readings(engine, began);
    if (!dg_list_is_empty(&engine->tools.asks.answered))
        wake(engine); /* dropped or answered meanwhile */
    return engine->n_requests;
}

void dg_engine_read_stats(struct dg_engine *engine, struct dg_sched_stats *stats)
{
    dg_sched_read_stats(engine->tools.sched, stats);
}

void dg_engine_read_memory(const struct dg_engine *engine, struct dg_engine_memory *memory)
{
    const struct dg_ledger *ledger = dg_registry_ledger(engine->registry);
    *memory = (struct dg_engine_memory){
        .models = atomic_load(&ledger->used),
        .models_max = ledger->max,
        .texts = engine->texts_bytes,
        .n_waiting = engine->n_waiting,
    };
}

void dg_engine_read_model_cache_stats(const struct dg_engine *engine, size_t index,
                                      struct dg_engine_cache_stats *stats)
{
    dg_registry_read_cache_counts(engine->registry, index, stats);
}

void dg_engine_read_quality_stats(const struct dg_engine *engine, size_t index, struct dg_engine_quality_stats *stats)
{
    dg_registry_read_quality_counts(engine->registry, index, stats);
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
    dg_registry_want_fingerprints(engine->registry, remote != NULL);
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
