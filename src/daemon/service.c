/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Start and reload go the same way: list the models that the options name, open all of them, and
 * only then publish them. At the start the loop's thread opens them; at a reload a libuv worker
 * does, so that the loop can serve meanwhile. A model for which the memory-limit leaves no room in
 * addition to the loaded ones is listed but loaded only on demand. At a reload this may happen to a
 * new version of a model that serves. */
#include "daemon/service.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/thread/cpu.h"
#include "daemon/memory.h"
#include "daemon/options.h"
#include "daemon/shared.h"
#include "daemon/systemd.h"
#include "daemon/signed_models.h"
#include "engine/engine.h"
#include "engine/models/translation_prompt.h"
#include "engine/models/langs.h"
#include "engine/models/model_folders.h"
#include "model/calibration.h"
#include "net/loop/waker.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NAME_MAX_LEN = 64,
    LANGS_MAX_LEN = DG_LANGS_TEXT_MAX + 1,
    MANNER_MAX_LEN = DG_MANNER_TEXT_MAX + 1,
    PATH_MAX_LEN = 4096,
    LAST_POLLS = 5000,
    TICK_MS = 250
};

/* How long one model may take to load, even from a slow disk, before systemd gives up on us. */
enum { LOAD_LIMIT_MS = 5 * 60 * 1000 };

/* One model to open, and the outcome. */
struct entry {
    char name[NAME_MAX_LEN];
    char path[PATH_MAX_LEN];
    /* "": taken from the vocabulary or the name */
    char source[LANGS_MAX_LEN], target[LANGS_MAX_LEN];
    char formal[MANNER_MAX_LEN], informal[MANNER_MAX_LEN]; /* "": none */
    char template[DG_TRANSLATION_PROMPT_TEXT_MAX + 1],
        stop[DG_TRANSLATION_PROMPT_STOP_MAX + 1]; /* "": none */
    char judges[DG_JUDGES_MAX + 1];               /* "": as the model's directory has it */
    bool is_found; /* the model lies in a folder of models; otherwise a section names it */
    bool is_later; /* there was no room for the model, or it is to be loaded later */
    struct dg_served_model *loaded;
};

struct list {
    struct dg_service *service;
    uv_work_t work;
    struct dg_signed_models trust;
    bool preload;
    struct entry *entries; /* [n] owned */
    size_t n, cap;
    enum dg_err err;
    struct dg_error error;
    void (*on_over)(void *user, enum dg_err err); /* called at the end of a reload; or NULL */
    dg_service_loaded_fn on_loaded; /* called at the end of loading a single model, while the others
                                       stay; or NULL */
    void *user;
};

struct dg_service {
    uv_loop_t *loop;
    struct dg_log *log;
    size_t buffers; /* the share of memory-limit that the buffers have */
    struct dg_engine *engine;
    pthread_mutex_t lock;
    struct dg_waker *waker; /* guarded, because workers use it, and it closes before they end */
    /* guarded; it follows the options in force, because it checks models that are loaded later */
    struct dg_signed_models trust;
    struct list *reloading;         /* the reload that is under way */
    const struct dg_opt_set *again; /* options of a reload that was asked for meanwhile; borrowed;
                                       NULL: none */
    void (*on_again)(void *user, enum dg_err err);
    void *again_user;
    struct list known; /* what was published, and from where; its models are not loaded */
    uv_timer_t *tick;  /* frees itself when it is closed */
    size_t n_stalled;  /* the number that the log last reported */
    bool is_closed;
    struct dg_turn *turn;             /* borrowed */
    struct dg_turn_work poll, follow; /* poll the engine; call on_turn */
    void (*on_turn)(void *user);      /* called after each turn; or NULL */
    void *turn_user;
};

/* ---- The list -------------------------------------------------------------------------------- */

static struct dg_engine_model model_of(const struct entry *entry)
{
    return (struct dg_engine_model){.name = entry->name,
                                    .path = entry->path,
                                    .source = entry->source,
                                    .target = entry->target,
                                    .formal = entry->formal,
                                    .informal = entry->informal,
                                    .template = entry->template,
                                    .stop = entry->stop,
                                    .judges = entry->judges};
}

static enum dg_err copy_text(char *to, size_t cap, const char *text, const char *what,
                             struct dg_error *error)
{
    if (snprintf(to, cap, "%s", text) >= (int)cap)
        return dg_error_set(error, DG_ERR_RANGE,
                            "%s '%.60s...' is too long, expected at most %zu bytes", what, text,
                            cap - 1);
    return DG_OK;
}

static enum dg_err add(struct list *list, const struct dg_engine_model *model,
                       struct dg_error *error)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->entries[i].name, model->name) == 0)
            return DG_OK;
    if (DG_GROW(list->entries, list->n, list->cap, 8))
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for %zu models", 2 * list->cap);
    struct entry *entry = &list->entries[list->n];
    *entry = (struct entry){.loaded = NULL};
    enum dg_err err =
        copy_text(entry->name, sizeof entry->name, model->name, "the model name", error);
    if (!err)
        err = copy_text(entry->path, sizeof entry->path, model->path, "the model path", error);
    if (!err)
        err = copy_text(entry->source, sizeof entry->source, model->source, "the language", error);
    if (!err)
        err = copy_text(entry->target, sizeof entry->target, model->target, "the language", error);
    if (!err)
        err = copy_text(entry->formal, sizeof entry->formal, model->formal ? model->formal : "",
                        "the formal word", error);
    if (!err)
        err = copy_text(entry->informal, sizeof entry->informal,
                        model->informal ? model->informal : "", "the informal word", error);
    if (!err)
        err = copy_text(entry->template, sizeof entry->template,
                        model->template ? model->template : "", "the template", error);
    if (!err)
        err = copy_text(entry->stop, sizeof entry->stop, model->stop ? model->stop : "",
                        "template-stop", error);
    if (!err)
        err = copy_text(entry->judges, sizeof entry->judges, model->judges ? model->judges : "",
                        "judges", error);
    list->n += err == DG_OK;
    return err;
}

static size_t find_entry(const struct list *list, const char *name)
{
    size_t i = 0;
    while (i < list->n && strcmp(list->entries[i].name, name) != 0)
        i++;
    return i;
}

static bool is_same_folder(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* Two models of the same name cannot both be served. If two folders have one, the first counts; a
 * folder and a section with the same name are an error, because it is unclear which is meant. */
static enum dg_err add_found(void *ctx, const char *name, const char *path, struct dg_error *error)
{
    struct list *list = ctx;
    const size_t at = find_entry(list, name);
    if (at < list->n && !list->entries[at].is_found &&
        !is_same_folder(list->entries[at].path, path))
        return dg_error_set(error, DG_ERR_EXISTS,
                            "two models are called %s: %s in models-dir, and %s of the section "
                            "[model %s]; remove one",
                            name, path, list->entries[at].path, name);
    if (at < list->n)
        return DG_OK;
    enum dg_err err =
        add(list, &(struct dg_engine_model){.name = name, .path = path, .source = "", .target = ""},
            error);
    if (!err)
        list->entries[list->n - 1].is_found = true;
    return err;
}

static void free_list(struct list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->n; i++)
        dg_engine_close(list->entries[i].loaded);
    dg_free(list->entries);
    dg_free(list);
}

/* Returns true when nothing says where models are: no configuration file was read, and models-dir
 * was not given. */
static bool is_unconfigured(const struct dg_opt_set *set)
{
    const struct dg_options *options = dg_opt_values(set);
    return !dg_opt_given(set, "models-dir") && dg_opt_n_sections(set, "model") == 0 &&
           (!*options->config || access(options->config, F_OK) != 0);
}

/* Lists what sections and folders name. */
static enum dg_err list_models(struct list *list, const struct dg_opt_set *set,
                               struct dg_error *error)
{
    const struct dg_options *options = dg_opt_values(set);
    enum dg_err err = DG_OK;
    for (size_t i = 0; !err && i < dg_opt_n_sections(set, "model"); i++) {
        const char *name;
        const struct dg_model_options *model = dg_opt_section(set, "model", i, &name);
        const struct dg_engine_model wanted = {
            name,          model->path,     model->source,   model->target,
            model->formal, model->informal, model->template, model->stop,
            model->judges};
        err = add(list, &wanted, error);
    }
    for (size_t i = 0; !err && i < options->models_dir.n; i++) {
        err = dg_model_folders_each_in(options->models_dir.items[i], add_found, list, error);
        if (err && err != DG_ERR_EXISTS)
            err = dg_error_wrap(error, err, "models-dir");
    }
    if (!err && is_unconfigured(set)) {
        struct dg_model_folders places;
        dg_model_folders_find(&places);
        err = dg_model_folders_each(&places, add_found, list, error);
    }
    return err;
}

static enum dg_err make_list(struct dg_service *service, const struct dg_opt_set *set,
                             struct dg_error *error, struct list **out)
{
    const struct dg_options *options = dg_opt_values(set);
    struct list *list = dg_try_calloc(1, sizeof *list);
    if (!list)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for the list of models");
    list->service = service;
    list->preload = options->preload;
    enum dg_err err = dg_signed_models_read(&list->trust, options, error);
    if (!err)
        err = list_models(list, set, error);
    if (err) {
        free_list(list);
        return err;
    }
    *out = list;
    return DG_OK;
}

enum dg_err dg_service_check(const struct dg_opt_set *set, struct dg_error *error)
{
    struct list list = {.n = 0};
    enum dg_err err = list_models(&list, set, error);
    dg_free(list.entries);
    return err == DG_ERR_EXISTS ? err : DG_OK;
}

enum dg_err dg_service_check_files(const struct dg_opt_set *set, struct dg_error *error)
{
    static const char *const names[] = {"config.json", "model.safetensors"};
    struct list list = {.n = 0};
    enum dg_err err = dg_signed_models_read(&list.trust, dg_opt_values(set), error);
    if (!err)
        err = list_models(&list, set, error);
    for (size_t i = 0; !err && i < list.n; i++) {
        for (size_t k = 0; !err && k < sizeof names / sizeof names[0]; k++) {
            char path[PATH_MAX_LEN + 32];
            snprintf(path, sizeof path, "%s/%s", list.entries[i].path, names[k]);
            if (access(path, R_OK) != 0)
                err = dg_error_errno(error, "model %s: cannot open %s", list.entries[i].name, path);
        }
    }
    dg_free(list.entries);
    return err;
}

/* Opens a model of the list: loads it if that is wanted and there is room; otherwise only checks
 * it, so that it can be offered. */
static enum dg_err open_entry(struct list *list, struct entry *entry)
{
    struct dg_engine *engine = list->service->engine;
    const struct dg_engine_model model = model_of(entry);
    enum dg_err err =
        list->preload ? dg_engine_open(engine, &model, &list->error, &entry->loaded) : DG_ERR_BUSY;
    if (err != DG_ERR_BUSY)
        return err;
    entry->is_later = true;
    return dg_engine_offer(engine, &model, &list->error, &entry->loaded);
}

/* Opens all models of the list. Any thread. */
static void open_list(struct list *list)
{
    if (!list->on_loaded)
        dg_engine_expect(list->service->engine, list->n);
    for (size_t i = 0; !list->err && i < list->n; i++) {
        struct entry *entry = &list->entries[i];
        char status[NAME_MAX_LEN + 64];
        snprintf(status, sizeof status, "loading %s, model %zu of %zu", entry->name, i + 1,
                 list->n);
        dg_systemd_extend(status, LOAD_LIMIT_MS);
        list->err = dg_signed_models_check(&list->trust, entry->name, entry->path, &list->error);
        if (list->err)
            return;
        list->err = open_entry(list, entry);
    }
}

static bool is_listed(const struct list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->entries[i].name, name) == 0)
            return true;
    return false;
}

static void forget(struct dg_service *service, const char *name)
{
    struct list *known = &service->known;
    size_t at = find_entry(known, name);
    if (at < known->n)
        known->entries[at] = known->entries[--known->n];
}

/* Remembers what was published, with its path: a model for which there is no memory now is loaded
 * later. */
static void remember(struct dg_service *service, const struct entry *entry)
{
    forget(service, entry->name);
    const struct dg_engine_model model = model_of(entry);
    enum dg_err err = add(&service->known, &model, NULL);
    (void)err;
}

static enum dg_err let_go(struct dg_service *service, const char *name, struct dg_error *error)
{
    char copy[NAME_MAX_LEN]; /* a copy, because `name` may be the model's own */
    snprintf(copy, sizeof copy, "%s", name);
    enum dg_err err = dg_engine_unload(service->engine, copy, error);
    if (!err)
        dg_log_event(service->log, DG_LOG_NOTICE, "service",
                     DG_LOG_FIELDS(dg_log_str("model", copy)), "model unloaded");
    forget(service, copy);
    return err;
}

/* Publishes the opened models, and removes those that are not in the list. */
static void publish_list(struct list *list)
{
    struct dg_engine *engine = list->service->engine;
    for (size_t i = dg_engine_n_models(engine); i-- > 0 && !list->on_loaded;) {
        struct dg_engine_model_info info = dg_engine_model_info(engine, i);
        enum dg_err err =
            is_listed(list, info.name) ? DG_OK : let_go(list->service, info.name, NULL);
        (void)err; /* the model is there */
    }
    for (size_t i = 0; !list->err && i < list->n; i++) {
        struct entry *entry = &list->entries[i];
        list->err = dg_engine_publish(engine, entry->loaded, &list->error);
        entry->loaded = NULL;
        if (!list->err)
            remember(list->service, entry);
        if (!list->err)
            dg_log_event(
                list->service->log, DG_LOG_NOTICE, "service",
                DG_LOG_FIELDS(dg_log_str("model", entry->name), dg_log_str("path", entry->path)),
                entry->is_later ? "model offered; it will be loaded when it is first asked for"
                                : "model ready");
    }
    pthread_mutex_lock(&list->service->lock);
    list->service->trust = list->trust;
    pthread_mutex_unlock(&list->service->lock);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void poll_engine(struct dg_turn_work *poll)
{
    struct dg_service *service = DG_LIST_ITEM(poll, struct dg_service, poll);
    dg_engine_poll(service->engine);
    dg_turn_add(service->turn, &service->follow);
}

static void follow_poll(struct dg_turn_work *follow)
{
    struct dg_service *service = DG_LIST_ITEM(follow, struct dg_service, follow);
    if (service->on_turn)
        service->on_turn(service->turn_user);
}

static void on_wake(void *user)
{
    struct dg_service *service = user;
    dg_turn_add(service->turn, &service->poll);
}

/* Called by workers. */
static void ring(void *user)
{
    struct dg_service *service = user;
    pthread_mutex_lock(&service->lock);
    if (service->waker)
        dg_waker_wake(service->waker);
    pthread_mutex_unlock(&service->lock);
}

/* Called on the thread that loads an offered model. */
static enum dg_err admit(void *arg, const char *name, const char *path, struct dg_error *error)
{
    struct dg_service *service = arg;
    pthread_mutex_lock(&service->lock);
    const struct dg_signed_models trust = service->trust;
    pthread_mutex_unlock(&service->lock);
    return dg_signed_models_check(&trust, name, path, error);
}

static void on_model(void *arg, const char *name, enum dg_engine_model_state state,
                     const char *error)
{
    struct dg_service *service = arg;
    const struct dg_log_field model = dg_log_str("model", name);
    if (state == DG_ENGINE_MODEL_FAILED)
        dg_log_event(service->log, DG_LOG_ERROR, "service", &model, 1,
                     "a model cannot be loaded: %s", error);
    else
        dg_log_event(service->log, DG_LOG_NOTICE, "service", &model, 1, "%s",
                     state == DG_ENGINE_MODEL_READY ? "model ready" : "model removed from memory");
}

/* Logs when workers hang, and when they work again. */
static void watch_workers(struct dg_service *service)
{
    struct dg_sched_stats stats;
    dg_engine_read_stats(service->engine, &stats);
    if (stats.n_stalled == service->n_stalled)
        return;
    dg_log_event(service->log, stats.n_stalled > service->n_stalled ? DG_LOG_ERROR : DG_LOG_NOTICE,
                 "service",
                 DG_LOG_FIELDS(dg_log_uint("stalled", stats.n_stalled),
                               dg_log_uint("workers", stats.n_workers),
                               dg_log_uint("stalled_ms", stats.stalled_ns / DG_CLOCK_MS)),
                 stats.n_stalled > service->n_stalled
                     ? "a worker hangs at one step; the others go on"
                     : "a worker that hung goes on");
    service->n_stalled = stats.n_stalled;
}

/* Called a few times a second, for work without a wake-up. */
static void on_tick(uv_timer_t *tick)
{
    struct dg_service *service = tick->data;
    watch_workers(service);
    on_wake(service);
}

static void on_tick_closed(uv_handle_t *tick)
{
    dg_free(tick);
}

static enum dg_err open_tick(struct dg_service *service)
{
    service->tick = dg_xcalloc(1, sizeof *service->tick);
    service->tick->data = service;
    uv_timer_init(service->loop, service->tick);
    return dg_err_from_errno(-uv_timer_start(service->tick, on_tick, TICK_MS, TICK_MS));
}

/* Warns if there are no data for detecting languages: the server works without them, but refuses
 * requests for which a language must be detected. Only the log names the file. */
static void warn_of_langid(const struct dg_service *service)
{
    struct dg_error error = DG_ERROR_NONE;
    if (dg_engine_take_langid_error(service->engine, &error))
        dg_log_event(service->log, DG_LOG_WARNING, "service", DG_LOG_NO_FIELDS,
                     "languages cannot be detected: %s", dg_error_text(&error, DG_ERR_UNSUPPORTED));
}

/* Warns if the system would refuse to pin the workers. */
static void warn_of_pins(const struct dg_service *service, const struct dg_options *options)
{
    if (options->pin_workers && !dg_cpu_may_pin())
        dg_log_event(service->log, DG_LOG_WARNING, "service", DG_LOG_NO_FIELDS,
                     "pin-workers has no effect: the system refuses it (%s)", strerror(errno));
}

/* Says so if the workers are bound to several memory nodes. */
static void tell_nodes(const struct dg_service *service)
{
    struct dg_sched_stats stats;
    dg_engine_read_stats(service->engine, &stats);
    if (stats.n_nodes > 1)
        dg_log_event(service->log, DG_LOG_NOTICE, "service",
                     DG_LOG_FIELDS(dg_log_uint("nodes", stats.n_nodes),
                                   dg_log_uint("workers", stats.n_workers)),
                     "the workers are bound to memory nodes, which have copies of the weights");
}

enum dg_err dg_service_open(struct dg_service **out, uv_loop_t *loop, struct dg_turn *turn,
                            const struct dg_opt_set *set, struct dg_shared *shared,
                            struct dg_log *log, struct dg_error *error)
{
    const struct dg_options *options = dg_opt_values(set);
    struct dg_service *service = dg_xcalloc(1, sizeof *service);
    struct list *list = NULL;
    pthread_mutex_init(&service->lock, NULL);
    service->loop = loop;
    service->turn = turn;
    dg_turn_work_init(&service->poll, poll_engine);
    dg_turn_work_init(&service->follow, follow_poll);
    service->log = log;
    struct dg_model_folders places;
    dg_model_folders_find(&places);
    struct dg_memory_plan plan;
    enum dg_err err = dg_memory_plan((size_t)options->memory_limit, dg_memory_resident(),
                                     (size_t)options->cache_size, error, &plan);
    if (err) {
        *out = service;
        return err;
    }
    service->buffers = plan.buffers;
    err = dg_waker_open(loop, on_wake, service, error, &service->waker);
    if (!err)
        err = open_tick(service);
    struct dg_engine_opts opts = {
        .n_threads = (size_t)options->threads,
        .pins_workers = options->pin_workers,
        .nodes_root = options->numa ? "" : NULL,
        .n_helpers = (size_t)options->helpers,
        .max_sentences = (size_t)options->max_sentences,
        .slots = (size_t)options->slots,
        .source_max = (size_t)options->source_max,
        .target_max = (size_t)options->target_max,
        .prompt_max = (size_t)options->prompt_max,
        .beam_max = (size_t)options->max_beam,
        .min_len_max = (size_t)options->max_min_length,
        .batch_delay_ns = (uint64_t)options->batch_delay_ms * DG_CLOCK_MS,
        .whole_vocabulary = !options->shortlist,
        .kv = (enum dg_net_kv)options->kv_type,
        .compute = (enum dg_net_type)options->compute_type,
        .cache_bytes = plan.cache,
        .cache_per_client = options->cache_scope == DG_CACHE_SCOPE_KEY,
        .models_bytes = plan.models,
        .texts_bytes = plan.texts_bytes,
        .max_tokens = plan.queue_tokens,
        .stall_ns = (uint64_t)options->stall_limit_ms * DG_CLOCK_MS,
        .model_idle_ns = (uint64_t)options->model_idle_ms * DG_CLOCK_MS,
        .langid_path = *options->language_data ? options->language_data : places.langid,
        .turn = turn,
        .wake = ring,
        .wake_arg = service,
        .admit = admit,
        .on_model = on_model,
        .model_arg = service,
    };
    if (!err)
        err = dg_engine_new(&opts, error, &service->engine);
    if (!err)
        err = dg_shared_attach(shared, service->engine, error);
    if (!err)
        warn_of_langid(service);
    if (!err)
        warn_of_pins(service, options);
    if (!err)
        tell_nodes(service);
    if (!err)
        err = make_list(service, set, error, &list);
    if (!err) {
        open_list(list);
        if (!list->err)
            publish_list(list);
        err = list->err;
        if (err)
            dg_error_set(error, err, "%s", dg_error_text(&list->error, err));
        else if (list->n == 0)
            dg_log_event(log, DG_LOG_WARNING, "service", DG_LOG_NO_FIELDS,
                         "no model is configured; set models-dir or add a [model NAME] section");
    }
    free_list(list);
    *out = service; /* set also on failure, so that one clean-up serves both cases */
    return err;
}

void dg_service_on_turn(struct dg_service *service, void (*on_turn)(void *user), void *user)
{
    service->on_turn = on_turn;
    service->turn_user = user;
}

struct dg_engine *dg_service_engine(const struct dg_service *service)
{
    return service->engine;
}

size_t dg_service_buffers(const struct dg_service *service)
{
    return service->buffers;
}

uint64_t dg_service_stalled_ns(const struct dg_service *service)
{
    struct dg_sched_stats stats;
    dg_engine_read_stats(service->engine, &stats);
    return stats.stalled_ns;
}

void dg_service_close(struct dg_service *service)
{
    if (!service || service->is_closed)
        return;
    service->is_closed = true;
    pthread_mutex_lock(&service->lock);
    struct dg_waker *waker = service->waker;
    service->waker = NULL;
    pthread_mutex_unlock(&service->lock);
    dg_waker_close(waker);
    dg_turn_remove(&service->poll);
    dg_turn_remove(&service->follow);
    if (service->tick)
        uv_close((uv_handle_t *)service->tick, on_tick_closed);
    service->tick = NULL;
    if (service->reloading)
        /* if it cannot be cancelled, it ends by itself */
        uv_cancel((uv_req_t *)&service->reloading->work);
}

void dg_service_free(struct dg_service *service)
{
    if (!service)
        return;
    /* Sentences that were cancelled when the connections closed still have to be delivered. */
    for (int i = 0; service->engine && dg_engine_poll(service->engine) > 0 && i < LAST_POLLS; i++)
        uv_sleep(1);
    dg_engine_free(service->engine);
    dg_free(service->known.entries);
    pthread_mutex_destroy(&service->lock);
    dg_free(service);
}

/* ---- Reload ---------------------------------------------------------------------------------- */

static void on_work(uv_work_t *work)
{
    open_list(work->data);
}

static void reload_again(struct dg_service *service)
{
    const struct dg_opt_set *options = service->again;
    service->again = NULL;
    enum dg_err err = dg_service_reload(service, options, service->on_again, service->again_user);
    if (err && service->on_again)
        service->on_again(service->again_user, err);
}

static void on_worked(uv_work_t *work, int status)
{
    struct list *list = work->data;
    struct dg_service *service = list->service;
    service->reloading = NULL;
    if (status == 0 && !service->is_closed) {
        if (!list->err)
            publish_list(list);
        if (list->err)
            dg_log_event(service->log, DG_LOG_ERROR, "service",
                         DG_LOG_FIELDS(dg_log_err(list->err)), "the old models stay in use: %s",
                         dg_error_text(&list->error, list->err));
        if (list->on_over)
            list->on_over(list->user, list->err);
    } else {
        list->err = DG_ERR_CLOSED;
    }
    if (list->on_loaded)
        list->on_loaded(list->user, list->err, &list->error);
    free_list(list);
    if (service->again && !service->reloading && !service->is_closed)
        reload_again(service);
}

/* Opens the list on a libuv worker. Takes it, also on failure. */
static enum dg_err begin(struct dg_service *service, struct list *list)
{
    list->work.data = list;
    enum dg_err err =
        dg_err_from_errno(-uv_queue_work(service->loop, &list->work, on_work, on_worked));
    if (err)
        free_list(list);
    else
        service->reloading = list;
    return err;
}

bool dg_service_is_reloading(const struct dg_service *service)
{
    return service->again || (service->reloading && !service->reloading->on_loaded);
}

enum dg_err dg_service_reload(struct dg_service *service, const struct dg_opt_set *options,
                              void (*on_over)(void *user, enum dg_err err), void *user)
{
    struct dg_error error = DG_ERROR_NONE;
    struct list *list;
    if (service->reloading) {
        service->again = options;
        service->on_again = on_over;
        service->again_user = user;
        dg_log_event(service->log, DG_LOG_NOTICE, "service", DG_LOG_NO_FIELDS,
                     "models are already being loaded; they will be loaded again after that");
        return DG_OK;
    }
    enum dg_err err = make_list(service, options, &error, &list);
    if (!err) {
        list->on_over = on_over;
        list->user = user;
        err = begin(service, list);
    }
    if (err)
        dg_log_event(service->log, DG_LOG_ERROR, "service", DG_LOG_FIELDS(dg_log_err(err)),
                     "the old models stay in use: %s", dg_error_text(&error, err));
    return err;
}

/* ---- One model ------------------------------------------------------------------------------- */

static enum dg_err list_one(struct list *list, const struct dg_opt_set *options,
                            const struct dg_service_model *model, struct dg_error *error)
{
    const struct list *known = &list->service->known;
    size_t at = find_entry(known, model->name);
    enum dg_err err = dg_signed_models_read(&list->trust, dg_opt_values(options), error);
    if (err)
        return err;
    const struct dg_engine_model given = {
        .name = model->name, .path = model->path, .source = model->source, .target = model->target};
    if (model->path)
        return add(list, &given, error);
    if (at == known->n)
        return dg_error_set(error, DG_ERR_NOT_FOUND, "no model is called %s", model->name);
    const struct dg_engine_model again = model_of(&known->entries[at]);
    return add(list, &again, error);
}

enum dg_err dg_service_load(struct dg_service *service, const struct dg_opt_set *options,
                            const struct dg_service_model *model, dg_service_loaded_fn on_loaded,
                            void *user, struct dg_error *error)
{
    if (service->reloading || service->is_closed)
        return dg_error_set(error, DG_ERR_BUSY,
                            "models are being loaded at the moment; try again later");
    struct list *list = dg_try_calloc(1, sizeof *list);
    if (!list)
        return DG_ERR_NOMEM;
    list->service = service;
    list->preload = true;
    list->on_loaded = on_loaded;
    list->user = user;
    enum dg_err err = list_one(list, options, model, error);
    if (err) {
        free_list(list);
        return err;
    }
    return begin(service, list);
}

enum dg_err dg_service_unload(struct dg_service *service, const char *name, struct dg_error *error)
{
    return let_go(service, name, error);
}
