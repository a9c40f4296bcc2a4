/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Models by name. The registry's thread opens models that are wanted and frees those that have
 * left; finished loads wait in `landed` until the next dg_registry_tend. The ledger promises memory
 * before anything is read into it. */
#include "engine/models/registry.h"
#include "base/memory/mem.h"
#include "base/thread/pool.h"

#include <pthread.h>
#include <string.h>

enum {
    /* if memory is limited, this many models should fit into it together, if there are that many */
    RESIDENT = 4,
    JOBS_MAX = 4096, /* loads run one at a time; all other jobs free models */
};

/* a busy model serves this long before it makes room */
static const uint64_t QUANTUM_NS = DG_CLOCK_S;
static const uint64_t RETRY_NS = 2 * DG_CLOCK_S;

/* A model's name and its state. */
struct entry {
    struct dg_list wanted; /* linked in the order in which models were wanted, while WANTED */
    enum dg_engine_model_state state;
    uint64_t used_ns, ready_ns, failed_ns;
    struct dg_error failure; /* why loading failed */
};

/* Counts of a name: they outlive its models, so that the counts shown never decrease. */
struct tally {
    struct tally *next;
    char *name;
    struct dg_sched_stats sched;        /* guarded by the scheduler */
    struct dg_engine_cache_stats cache; /* the consumer's, only the counts that are kept by model */
    struct dg_engine_quality_stats quality; /* owned by the consumer's thread */
};

/* A load under way. */
struct load {
    struct dg_registry *registry;
    struct dg_served_model *stand_in; /* one reference */
    struct dg_served_model *served;
    enum dg_err err;
    struct dg_error error;
};

struct dg_registry {
    struct dg_registry_opts opts;
    struct dg_ledger ledger;
    struct dg_served_model *models[DG_SCHED_MODELS_MAX]; /* one reference each */
    /* the entry of the model at the same index */
    struct entry *entries[DG_SCHED_MODELS_MAX];
    size_t n_models;
    struct dg_list wanted;
    struct dg_pool *pool; /* NULL until something is to be loaded or freed */
    struct load *loading; /* the load under way; NULL: none */
    pthread_mutex_t lock;
    struct load *landed;   /* guarded: the same load once it has finished */
    struct tally *tallies; /* guarded: counts for every name that was ever offered */
    uint64_t version, last_model_version;
    atomic_bool wants_fingerprints;
    atomic_size_t n_expected; /* models that will be offered */
};

/* ---- Life ------------------------------------------------------------------------------------ */

enum dg_err dg_registry_new(const struct dg_registry_opts *opts, struct dg_error *error,
                            struct dg_registry **out)
{
    struct dg_registry *registry = dg_try_calloc(1, sizeof *registry);
    if (!registry)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for the list of models");
    registry->opts = *opts;
    registry->ledger.max = opts->bytes_max;
    dg_list_init(&registry->wanted);
    pthread_mutex_init(&registry->lock, NULL);
    *out = registry;
    return DG_OK;
}

static void free_load(struct load *load)
{
    if (!load)
        return;
    dg_served_model_unref(load->served);
    dg_served_model_unref(load->stand_in);
    dg_free(load);
}

void dg_registry_free(struct dg_registry *registry)
{
    if (!registry)
        return;
    dg_pool_free(registry->pool); /* finishes loads and the freeing of models */
    registry->pool = NULL;
    free_load(registry->landed);
    for (size_t i = 0; i < registry->n_models; i++) {
        dg_served_model_unref(registry->models[i]);
        dg_free(registry->entries[i]);
    }
    for (struct tally *tally = registry->tallies, *next; tally; tally = next) {
        next = tally->next;
        dg_free(tally->name);
        dg_free(tally);
    }
    pthread_mutex_destroy(&registry->lock);
    dg_free(registry);
}

/* Returns the counts of a name, which are made at the first call. Any thread. NULL: no memory. */
static struct tally *tally_of(struct dg_registry *registry, const char *name)
{
    pthread_mutex_lock(&registry->lock);
    struct tally *tally = registry->tallies;
    while (tally && strcmp(tally->name, name) != 0)
        tally = tally->next;
    if (!tally && (tally = dg_try_calloc(1, sizeof *tally))) {
        tally->name = dg_xstrdup(name);
        tally->next = registry->tallies;
        registry->tallies = tally;
    }
    pthread_mutex_unlock(&registry->lock);
    return tally;
}

static uint64_t now_ns(const struct dg_registry *registry)
{
    return dg_clock_now(registry->opts.clock);
}

static void wake(const struct dg_registry *registry)
{
    if (registry->opts.wake)
        registry->opts.wake(registry->opts.wake_arg);
}

/* Reports the state of the model at `at`. */
static void tell(const struct dg_registry *registry, size_t at)
{
    const struct entry *entry = registry->entries[at];
    if (registry->opts.on_model)
        registry->opts.on_model(registry->opts.model_arg, registry->models[at]->name, entry->state,
                                entry->failure.text);
}

static enum dg_err need_pool(struct dg_registry *registry)
{
    const struct dg_pool_opts opts = {.n_threads = 1, .max_jobs = JOBS_MAX, .name = "dg-models"};
    return registry->pool ? DG_OK : dg_pool_new(&opts, &registry->pool);
}

/* ---- Leaving --------------------------------------------------------------------------------- */

static void run_burial(void *arg)
{
    struct dg_served_model *served = arg;
    struct dg_registry *registry = served->bury_arg;
    dg_served_model_free(served);
    wake(registry); /* somebody may wait for the memory */
}

/* Frees a model on the registry's thread, because freeing waits for workers that look at the model,
 * and releases much memory. Without that thread the model is freed on the consumer's. */
static void bury(void *arg, struct dg_served_model *served)
{
    struct dg_registry *registry = arg;
    if (!registry->pool || dg_pool_submit(registry->pool, run_burial, served) != DG_OK)
        dg_served_model_free(served);
}

/* Gives `served` no new requests; its memory is expected back. */
static void retire(struct dg_registry *registry, struct dg_served_model *served)
{
    enum dg_err err = need_pool(registry);
    (void)err; /* without a thread the model is freed at once */
    if (dg_served_model_is_at_hand(served)) {
        if (registry->opts.on_retired)
            registry->opts.on_retired(registry->opts.on_retired_arg, served);
        served->is_leaving = true;
        atomic_fetch_add(&registry->ledger.leaving, served->bytes);
    }
    dg_served_model_unref(served);
    registry->version++;
}

/* Unloads the model at `at`, which then is only known. */
static void put_away(struct dg_registry *registry, size_t at)
{
    struct dg_served_model *stand_in = dg_served_model_stand_in(registry->models[at]);
    if (!stand_in)
        return; /* the model stays; the next call may succeed */
    stand_in->bury = NULL;
    retire(registry, registry->models[at]);
    registry->models[at] = stand_in;
    registry->entries[at]->state = DG_ENGINE_MODEL_KNOWN;
    tell(registry, at);
}

/* ---- Coming ---------------------------------------------------------------------------------- */

static size_t find_name(const struct dg_registry *registry, const char *name)
{
    size_t i = 0;
    while (i < registry->n_models && strcmp(registry->models[i]->name, name) != 0)
        i++;
    return i;
}

/* Returns how much memory one model should take: if there are several models, so that some fit
 * together; if there is one, so that at a reload a new version fits besides it. */
static size_t share_of_one(struct dg_registry *registry)
{
    size_t n = atomic_load(&registry->n_expected);
    return registry->opts.bytes_max / (n < 2 ? 2 : n < RESIDENT ? n : RESIDENT);
}

void dg_registry_expect(struct dg_registry *registry, size_t n_models)
{
    atomic_store(&registry->n_expected, n_models);
}

enum dg_err dg_registry_open(struct dg_registry *registry, const struct dg_registry_ask *ask,
                             struct dg_error *error, struct dg_served_model **served)
{
    struct dg_served_model_opts opts = {
        .sched = registry->opts.sched,
        .ledger = &registry->ledger,
        .limits = registry->opts.limits,
        .bytes_each = share_of_one(registry),
        .is_stand_in = ask->is_stand_in,
        .wants_fingerprint = atomic_load(&registry->wants_fingerprints),
    };
    struct tally *tally = tally_of(registry, ask->model.name);
    if (!tally)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for model %s", ask->model.name);
    opts.counts = &tally->sched;
    opts.cache_counts = &tally->cache;
    opts.quality_counts = &tally->quality;
    return dg_served_model_open(served, &opts, &ask->model, error);
}

void dg_registry_want_fingerprints(struct dg_registry *registry, bool wanted)
{
    atomic_store(&registry->wants_fingerprints, wanted);
}

/* Adds a new name. */
static enum dg_err add_entry(struct dg_registry *registry, struct dg_error *error)
{
    if (registry->n_models == DG_SCHED_MODELS_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "%d models are offered, which is the limit",
                            DG_SCHED_MODELS_MAX);
    struct entry *entry = dg_try_calloc(1, sizeof *entry);
    if (!entry)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a model");
    dg_list_init(&entry->wanted);
    entry->used_ns = now_ns(registry);
    registry->entries[registry->n_models++] = entry;
    return DG_OK;
}

enum dg_err dg_registry_publish(struct dg_registry *registry, struct dg_served_model *served,
                                struct dg_error *error)
{
    size_t at = find_name(registry, served->name);
    if (at == registry->n_models) {
        enum dg_err err = add_entry(registry, error);
        if (err) {
            dg_served_model_unref(served);
            return err;
        }
    } else {
        retire(registry, registry->models[at]);
    }
    struct entry *entry = registry->entries[at];
    served->version = ++registry->last_model_version;
    registry->models[at] = served;
    registry->version++;
    entry->failure = (struct dg_error)DG_ERROR_NONE;
    if (dg_served_model_is_at_hand(served)) {
        served->bury = bury;
        served->bury_arg = registry;
        dg_list_unlink(&entry->wanted);
        entry->state = DG_ENGINE_MODEL_READY;
        entry->ready_ns = entry->used_ns = now_ns(registry);
    } else if (entry->state != DG_ENGINE_MODEL_WANTED) {
        /* a load under way is of the model's earlier version */
        entry->state = DG_ENGINE_MODEL_KNOWN;
    }
    return DG_OK;
}

enum dg_err dg_registry_remove(struct dg_registry *registry, const char *name,
                               struct dg_error *error)
{
    size_t at = find_name(registry, name), last = registry->n_models - 1;
    if (at == registry->n_models)
        return dg_error_set(error, DG_ERR_NOT_FOUND, "no model is called %s", name);
    retire(registry, registry->models[at]);
    dg_list_unlink(&registry->entries[at]->wanted);
    dg_free(registry->entries[at]);
    registry->models[at] = registry->models[last];
    registry->entries[at] = registry->entries[last];
    registry->n_models--;
    return DG_OK;
}

/* ---- Loads ----------------------------------------------------------------------------------- */

enum dg_err dg_registry_want(struct dg_registry *registry, const struct dg_served_model *model,
                             struct dg_error *error)
{
    size_t at = find_name(registry, model->name);
    uint64_t now = now_ns(registry);
    if (at == registry->n_models)
        return DG_OK; /* removed meanwhile; requests that hold it may still use it */
    struct entry *entry = registry->entries[at];
    entry->used_ns = now;
    if (dg_served_model_is_at_hand(model))
        return DG_OK;
    if (entry->state == DG_ENGINE_MODEL_FAILED && now - entry->failed_ns < RETRY_NS)
        return dg_error_set(error, DG_ERR_MODEL,
                            "model %s could not be loaded; the server's log says why", model->name);
    if (entry->state != DG_ENGINE_MODEL_KNOWN && entry->state != DG_ENGINE_MODEL_FAILED)
        return DG_OK;
    entry->state = DG_ENGINE_MODEL_WANTED;
    dg_list_link_last(&registry->wanted, &entry->wanted);
    wake(registry);
    return DG_OK;
}

enum dg_err dg_registry_await(struct dg_registry *registry, struct dg_served_model *model,
                              struct dg_error *error, struct dg_served_model **kept)
{
    enum dg_err err = dg_registry_want(registry, model, error);
    if (err)
        return err;
    if (model != *kept) {
        dg_served_model_unref(*kept);
        *kept = dg_served_model_ref(model);
    }
    return dg_served_model_is_at_hand(model) ? DG_OK : DG_ERR_NOT_YET;
}

/* Runs on the registry's thread. */
static void run_load(void *arg)
{
    struct load *load = arg;
    struct dg_registry *registry = load->registry;
    const struct dg_served_model *known = load->stand_in;
    const struct dg_registry_ask ask = {dg_served_model_describe(known), false};
    if (registry->opts.admit)
        load->err =
            registry->opts.admit(registry->opts.model_arg, known->name, known->path, &load->error);
    if (!load->err)
        load->err = dg_registry_open(registry, &ask, &load->error, &load->served);
    pthread_mutex_lock(&registry->lock);
    registry->landed = load;
    pthread_mutex_unlock(&registry->lock);
    wake(registry);
}

static void fail(struct dg_registry *registry, size_t at, const struct dg_error *error,
                 enum dg_err err)
{
    struct entry *entry = registry->entries[at];
    dg_list_unlink(&entry->wanted);
    entry->state = DG_ENGINE_MODEL_FAILED;
    entry->failed_ns = now_ns(registry);
    dg_error_set(&entry->failure, err, "%s", dg_error_text(error, err));
    registry->version++;
    tell(registry, at);
}

/* Begins to load the model at `at`, whose memory was promised already, or will be taken. */
static void begin(struct dg_registry *registry, size_t at)
{
    struct entry *entry = registry->entries[at];
    struct dg_error error = DG_ERROR_NONE;
    struct load *load = dg_try_calloc(1, sizeof *load);
    enum dg_err err = load ? need_pool(registry) : DG_ERR_NOMEM;
    if (!err) {
        *load = (struct load){.registry = registry,
                              .stand_in = dg_served_model_ref(registry->models[at])};
        err = dg_pool_submit(registry->pool, run_load, load);
    }
    if (err) {
        free_load(load);
        fail(registry, at, &error, err);
        return;
    }
    registry->loading = load;
    dg_list_unlink(&entry->wanted);
    entry->state = DG_ENGINE_MODEL_LOADING;
}

/* Publishes a loaded model in its place, unless another has taken that place meanwhile. */
static void land(struct dg_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    struct load *load = registry->landed;
    registry->landed = NULL;
    pthread_mutex_unlock(&registry->lock);
    if (!load)
        return;
    registry->loading = NULL;
    if (!dg_list_is_empty(&registry->wanted))
        wake(registry); /* it is the next model's turn */
    size_t at = find_name(registry, load->stand_in->name);
    bool is_ours = at < registry->n_models && registry->models[at] == load->stand_in;
    if (is_ours && !load->err) {
        load->err = dg_registry_publish(registry, load->served, &load->error);
        load->served = NULL;
        if (!load->err)
            tell(registry, at);
    }
    if (is_ours && load->err == DG_ERR_BUSY) { /* a reload took its memory: it is tried again */
        struct entry *entry = registry->entries[at];
        entry->state = DG_ENGINE_MODEL_WANTED;
        dg_list_link_last(&registry->wanted, &entry->wanted);
        wake(registry);
    } else if (is_ours && load->err) {
        fail(registry, at, &load->error, load->err);
    }
    free_load(load);
}

/* Returns true when model `a` should make room rather than `b`. Unused models come first, in the
 * order of their last use; then models in use, those that have served longest first. */
static bool goes_before(const struct dg_registry *registry, size_t a, size_t b)
{
    const struct entry *one = registry->entries[a], *two = registry->entries[b];
    bool one_idle = registry->models[a]->n_refs == 1, two_idle = registry->models[b]->n_refs == 1;
    if (one_idle != two_idle)
        return one_idle;
    return one_idle ? one->used_ns < two->used_ns : one->ready_ns < two->ready_ns;
}

/* Returns the index of the model that should make room; n_models: there is none. */
static size_t find_victim(const struct dg_registry *registry)
{
    size_t best = registry->n_models;
    uint64_t now = now_ns(registry);
    for (size_t i = 0; i < registry->n_models; i++) {
        const struct entry *entry = registry->entries[i];
        bool is_idle = registry->models[i]->n_refs == 1;
        if (entry->state != DG_ENGINE_MODEL_READY ||
            (!is_idle && now - entry->ready_ns < QUANTUM_NS))
            continue;
        if (best == registry->n_models || goes_before(registry, i, best))
            best = i;
    }
    return best;
}

/* Makes room for the first model that is wanted, and begins to load it when there is room. */
static void advance(struct dg_registry *registry)
{
    if (registry->loading || dg_list_is_empty(&registry->wanted))
        return;
    const struct entry *entry = DG_LIST_ITEM(registry->wanted.next, struct entry, wanted);
    size_t at = 0;
    while (registry->entries[at] != entry)
        at++;
    size_t bytes = registry->models[at]->bytes;
    while (!dg_ledger_will_fit(&registry->ledger, bytes)) {
        size_t victim = find_victim(registry);
        if (victim == registry->n_models)
            /* tried again when a request finishes, or when models have served for a while */
            return;
        put_away(registry, victim);
        if (registry->entries[victim]->state == DG_ENGINE_MODEL_READY)
            return;
    }
    const struct dg_ledger *ledger = &registry->ledger;
    if (ledger->max == 0 || atomic_load(&ledger->used) <= ledger->max - bytes)
        begin(registry, at);
}

static void let_idle_go(struct dg_registry *registry)
{
    uint64_t now = now_ns(registry);
    for (size_t i = 0; i < registry->n_models; i++) {
        struct entry *entry = registry->entries[i];
        if (entry->state != DG_ENGINE_MODEL_READY)
            continue;
        if (registry->models[i]->n_refs > 1)
            entry->used_ns = now;
        else if (registry->opts.idle_ns && now - entry->used_ns >= registry->opts.idle_ns)
            put_away(registry, i);
    }
}

/* Publishes landed models last, so that the requests that waited for such a model begin before it
 * may have to make room. */
void dg_registry_tend(struct dg_registry *registry)
{
    let_idle_go(registry);
    advance(registry);
    land(registry);
}

bool dg_registry_is_coming(const struct dg_registry *registry, const struct dg_served_model *model)
{
    for (size_t i = 0; i < registry->n_models; i++)
        if (registry->models[i] == model)
            return registry->entries[i]->state == DG_ENGINE_MODEL_WANTED ||
                   registry->entries[i]->state == DG_ENGINE_MODEL_LOADING;
    return false;
}

/* ---- Looking --------------------------------------------------------------------------------- */

size_t dg_registry_list(const struct dg_registry *registry, struct dg_served_model *const **models)
{
    *models = registry->models;
    return registry->n_models;
}

static bool may_use(const struct dg_registry_wish *wish, const struct dg_served_model *model)
{
    for (size_t i = 0; i < wish->n_only; i++)
        if (strcmp(wish->only[i], model->name) == 0)
            return true;
    return wish->n_only == 0;
}

enum dg_err dg_registry_choose(const struct dg_registry *registry,
                               const struct dg_registry_wish *wish, struct dg_error *error,
                               struct dg_served_model **found)
{
    struct dg_served_model *const *models;
    const size_t n = dg_registry_list(registry, &models);
    size_t n_meant = 0, n_allowed = 0;
    for (size_t i = 0; i < n; i++) {
        if (wish->name ? strcmp(models[i]->name, wish->name) != 0
                       : !wish->fits(models[i], wish->arg))
            continue;
        n_meant++;
        if (!may_use(wish, models[i]))
            continue;
        n_allowed++;
        *found = models[i];
    }
    if (n_meant == 0 && wish->name)
        return dg_error_set(error, DG_ERR_NOT_FOUND, "there is no model called %s", wish->name);
    if (n_meant == 0)
        return dg_error_set(error, DG_ERR_NOT_FOUND, "this server has no %s", wish->one);
    if (n_allowed == 0)
        return dg_error_set(error, DG_ERR_DENIED, "the key may not use this model");
    if (n_allowed > 1)
        return dg_error_set(error, DG_ERR_INVALID, "there are %zu %s: name one", n_allowed,
                            wish->several);
    return DG_OK;
}

uint64_t dg_registry_version(const struct dg_registry *registry)
{
    return registry->version;
}

enum dg_engine_model_state dg_registry_state(const struct dg_registry *registry, size_t at)
{
    return registry->entries[at]->state;
}

const char *dg_registry_failure(const struct dg_registry *registry, size_t at)
{
    const struct entry *entry = registry->entries[at];
    return entry->state == DG_ENGINE_MODEL_FAILED ? entry->failure.text : "";
}

void dg_registry_read_counts(struct dg_registry *registry, size_t at, struct dg_sched_stats *counts)
{
    const struct tally *tally = tally_of(registry, registry->models[at]->name);
    *counts = (struct dg_sched_stats){.n_done = 0};
    if (tally)
        dg_sched_read_counts(registry->opts.sched, &tally->sched, counts);
}

void dg_registry_read_quality_counts(const struct dg_registry *registry, size_t at,
                                     struct dg_engine_quality_stats *counts)
{
    *counts = *registry->models[at]->quality_counts;
}

void dg_registry_read_cache_counts(const struct dg_registry *registry, size_t at,
                                   struct dg_engine_cache_stats *counts)
{
    *counts = *registry->models[at]->cache_counts;
}

const struct dg_ledger *dg_registry_ledger(const struct dg_registry *registry)
{
    return &registry->ledger;
}
