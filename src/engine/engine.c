/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Makes and frees the engine, polls it, which passes news from workers to requests, and reads its
 * figures. Requests come in elsewhere: engine_submit.c (translations), generation.c, reading.c;
 * other files of the engine are engine_quality.c (quality estimates), engine_models.c (the models,
 * and how a request's model is chosen). */
#include "engine/engine.h"
#include "base/memory/mem.h"
#include "base/thread/cpu.h"
#include "engine/engine_int.h"
#include "engine/generate/generation.h"
#include "engine/read/quality_estimate.h"
#include "engine/read/reading.h"
#include "engine/request/request.h"

enum {
    SENTENCES = 10000,
    SLOTS = 32,
    ROWS_PER_SLOT = 4,
    SOURCE_MAX = 256,
    TARGET_MAX = 512,
    PROMPT_MAX = 2048,
    KV_PER_SLOT = 256,
};

_Static_assert((int)DG_CPU_CORES_MAX <= (int)DG_SCHED_WORKERS_MAX,
               "a worker for each core has room");

/* What to do with tickets, by their kind. */
static const struct dg_task_ops *const kinds[] = {
    [DG_TICKET_SENTENCE] = &dg_engine_request_ops,
    [DG_TICKET_GENERATION] = &dg_generation_ops,
    [DG_TICKET_READING] = &dg_reading_ops,
};

/* ---- Life ------------------------------------------------------------------------------------ */

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
        .kv = opts->kv,
        .compute = opts->compute,
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

static void lack_langid(struct dg_engine *engine)
{
    dg_error_set(&engine->langid_error, DG_ERR_UNSUPPORTED,
                 "this server has no data to tell languages apart");
}

/* Opens the data of language identification. Without the data a server still translates; a request
 * that needs detection is refused with the reason. */
static void open_langid(struct dg_engine *engine, const char *path)
{
    if (!path || !*path)
        lack_langid(engine);
    else if (dg_langid_open(&engine->langid, path, &engine->langid_error))
        engine->langid = NULL;
}

bool dg_engine_take_langid_error(struct dg_engine *engine, struct dg_error *error)
{
    if (engine->langid)
        return false;
    *error = engine->langid_error;
    lack_langid(engine);
    return true;
}

/* Drops the cached answers of a model that gets no new requests. */
static void on_retired(void *arg, const struct dg_served_model *served)
{
    struct dg_engine *engine = arg;
    if (engine->tools.cache)
        dg_cache_forget(engine->tools.cache, served->version);
}

static enum dg_err open_registry(struct dg_engine *engine, const struct dg_engine_opts *opts,
                                 struct dg_error *error)
{
    const struct dg_registry_opts how = {
        .sched = engine->tasks.sched,
        .clock = engine->tasks.clock,
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
    return dg_registry_new(&how, error, &engine->registry);
}

enum dg_err dg_engine_new(const struct dg_engine_opts *opts, struct dg_error *error,
                          struct dg_engine **out)
{
    struct dg_engine *engine = dg_xcalloc(1, sizeof *engine);
    dg_tasks_init(&engine->tasks);
    engine->tools.tasks = &engine->tasks;
    dg_list_init(&engine->judgements);
    dg_protect_list_init(&engine->tools.protected);
    dg_glossary_scan_init(&engine->tools.scan);
    dg_remote_lookups_init(&engine->tools.lookups);
    engine->own_clock = (struct dg_clock)DG_CLOCK_REAL;
    engine->tasks.wake = opts->wake;
    engine->tasks.wake_arg = opts->wake_arg;
    engine->tasks.background =
        (struct dg_background){.wake = opts->wake, .wake_arg = opts->wake_arg};
    engine->tasks.bytes_max = opts->texts_bytes;
    engine->tasks.beam_max = opts->beam_max;
    engine->tasks.min_len_max = opts->min_len_max;
    engine->tasks.waiting_max = or_default(opts->max_sentences, SENTENCES);
    engine->tasks.clock = opts->clock ? opts->clock : &engine->own_clock;
    dg_turn_init(&engine->own_turn, engine->tasks.clock);
    engine->tasks.turn = opts->turn ? opts->turn : &engine->own_turn;
    struct dg_sched_opts sched = {
        .n_workers = or_default(opts->n_threads, dg_cpu_cores()),
        .max_tickets = or_default(opts->max_sentences, SENTENCES),
        .max_tokens = opts->max_tokens,
        .pins = opts->pins_workers,
        .nodes_root = opts->nodes_root,
        .n_helpers = opts->n_helpers,
        .stall_ns = opts->stall_ns,
        .on_turn = opts->on_turn,
        .on_turn_arg = opts->on_turn_arg,
        .batch_delay_ns = opts->batch_delay_ns,
        .clock = engine->tasks.clock,
        .wake = opts->wake,
        .wake_arg = opts->wake_arg,
    };
    enum dg_err err = dg_sched_new(&sched, error, &engine->tasks.sched);
    if (!err)
        err = open_registry(engine, opts, error);
    engine->tasks.registry = engine->registry;
    if (!err)
        err = dg_segmenter_new(&engine->tools.segmenter, error);
    if (!err && !(engine->tasks.work = dg_tokenizer_work_new()))
        err = dg_error_set(error, DG_ERR_NOMEM, "no memory for the engine");
    if (err) {
        dg_engine_free(engine);
        return err;
    }
    open_langid(engine, opts->langid_path);
    if (opts->cache_bytes)
        engine->tools.cache = dg_cache_new(opts->cache_bytes);
    engine->tools.cache_per_client = opts->cache_per_client;
    *out = engine;
    return DG_OK;
}

static void take_remote(struct dg_engine *engine)
{
    struct dg_span value;
    uint64_t now = dg_clock_now(engine->tasks.clock);
    for (struct dg_flight *flight;
         (flight = dg_remote_lookups_next(&engine->tools.lookups, now, &value));)
        dg_request_take_remote(&engine->tools, flight, value);
}

static void take_news(struct dg_engine *engine, bool takes_all)
{
    struct dg_ticket *ticket;
    bool is_over;
    dg_sched_listen(engine->tasks.sched);
    while (dg_sched_next(engine->tasks.sched, &ticket, &is_over)) {
        kinds[ticket->kind]->take(&engine->tasks, ticket, is_over);
        if (!takes_all && !dg_turn_has_time(engine->tasks.turn)) {
            dg_engine_wake(engine); /* there may be more */
            break;
        }
    }
    take_remote(engine);
}

static void take_last_news(void *engine)
{
    take_news(engine, true);
}

void dg_engine_free(struct dg_engine *engine)
{
    if (!engine)
        return;
    dg_background_close(&engine->tasks.background);
    engine->tools.lookups.remote = (struct dg_remote){.get = NULL};
    dg_tasks_drain(&engine->tasks, take_last_news, engine);
    dg_subword_work_free(engine->tasks.subword);
    while (!dg_list_is_empty(&engine->judgements)) /* the end of these will not be reported */
        dg_quality_estimate_free(
            DG_LIST_ITEM(engine->judgements.next, struct dg_quality_estimate, link));
    dg_registry_free(engine->registry);
    dg_sched_free(engine->tasks.sched);
    dg_cache_free(engine->tools.cache);
    dg_langid_close(engine->langid);
    dg_segmenter_free(engine->tools.segmenter);
    dg_tokenizer_work_free(engine->tasks.work);
    dg_protect_list_deinit(&engine->tools.protected);
    dg_glossary_scan_deinit(&engine->tools.scan);
    dg_free(engine);
}

/* ---- The poll -------------------------------------------------------------------------------- */

size_t dg_engine_poll(struct dg_engine *engine)
{
    if (engine->tasks.turn == &engine->own_turn)
        dg_turn_end(engine->tasks.turn);
    dg_turn_begin(engine->tasks.turn);
    take_news(engine, false);
    dg_registry_tend(engine->registry);
    /* After news that took all of the turn's time, tasks wait for the next poll, but no longer. */
    engine->is_behind = !engine->is_behind && !dg_turn_has_time(engine->tasks.turn);
    if (engine->is_behind)
        dg_engine_wake(engine);
    else
        dg_tasks_move(&engine->tasks);
    if (!dg_list_is_empty(&engine->tools.lookups.answered))
        dg_engine_wake(engine); /* dropped or answered meanwhile */
    return engine->tasks.n;
}

enum dg_err dg_engine_generate(struct dg_engine *engine, const struct dg_generate *ask,
                               const struct dg_generate_events *events, void *ctx,
                               struct dg_error *error, uint64_t *retry_ms, uint64_t *id)
{
    return dg_generation_submit(&engine->tasks, ask, events, ctx, error, retry_ms, id);
}

enum dg_err dg_engine_read(struct dg_engine *engine, const struct dg_engine_read *ask,
                           const struct dg_engine_read_events *events, void *ctx,
                           struct dg_error *error, uint64_t *retry_ms, uint64_t *id)
{
    return dg_reading_submit(&engine->tasks, ask, events, ctx, error, retry_ms, id);
}

struct dg_turn *dg_engine_turn(const struct dg_engine *engine)
{
    return engine ? engine->tasks.turn : NULL;
}

size_t dg_engine_n_workers(const struct dg_engine *engine)
{
    return dg_sched_n_workers(engine->tasks.sched);
}

void dg_engine_read_stats(struct dg_engine *engine, struct dg_sched_stats *stats)
{
    dg_sched_read_stats(engine->tasks.sched, stats);
}

void dg_engine_read_memory(const struct dg_engine *engine, struct dg_engine_memory *memory)
{
    const struct dg_ledger *ledger = dg_registry_ledger(engine->registry);
    *memory = (struct dg_engine_memory){
        .models = atomic_load(&ledger->used),
        .models_max = ledger->max,
        .texts = engine->tasks.n_bytes,
        .n_waiting = engine->tasks.n_waiting,
    };
}

void dg_engine_read_model_cache_stats(const struct dg_engine *engine, size_t index,
                                      struct dg_engine_cache_stats *stats)
{
    dg_registry_read_cache_counts(engine->registry, index, stats);
}

void dg_engine_read_quality_stats(const struct dg_engine *engine, size_t index,
                                  struct dg_engine_quality_stats *stats)
{
    dg_registry_read_quality_counts(engine->registry, index, stats);
}

void dg_engine_read_cache_stats(const struct dg_engine *engine, struct dg_engine_cache_stats *stats)
{
    *stats = (struct dg_engine_cache_stats){.n_hits = 0};
    if (engine->tools.cache)
        *stats = *dg_cache_stats(engine->tools.cache);
}

/* ---- Remote cache ---------------------------------------------------------------------------- */

enum dg_err dg_engine_set_remote(struct dg_engine *engine, const struct dg_remote *remote,
                                 struct dg_error *error)
{
    struct dg_remote_lookups *lookups = &engine->tools.lookups;
    if (remote && (!remote->get || !remote->put))
        return dg_error_set(error, DG_ERR_INVALID, "a remote cache needs both get and put");
    lookups->remote = remote ? *remote : (struct dg_remote){.get = NULL};
    dg_registry_want_fingerprints(engine->registry, remote != NULL);
    if (lookups->remote.wait_ms == 0)
        lookups->remote.wait_ms = DG_REMOTE_WAIT_MS;
    return DG_OK;
}

void dg_engine_remote_answer(struct dg_engine *engine, uint64_t id, struct dg_span value)
{
    dg_remote_lookups_answer(&engine->tools.lookups, id, value);
    dg_engine_wake(engine);
}

void dg_engine_read_remote_stats(const struct dg_engine *engine,
                                 struct dg_engine_remote_stats *stats)
{
    *stats = engine->tools.lookups.stats;
}
