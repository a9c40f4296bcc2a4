/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The models that an engine offers, by name: loaded, or only known and loaded on demand.
 *
 *     err = dg_registry_new(&opts, &error, &registry);
 *     err = dg_registry_open(registry, &ask, &error, &served);    any thread; takes long
 *     err = dg_registry_publish(registry, served, &error);        consumer's thread; quick
 *     ...
 *     err = dg_registry_want(registry, served, &error);           a request has come for the model
 *     dg_registry_tend(registry);                                 in every poll: loads and unloads
 *
 *                 want                  memory                  works
 *        KNOWN ---------> WANTED ------------------> LOADING ---------> READY
 *          ^                                            | does not        |
 *          |               FAILED <---------------------'                 |
 *          '------------------- idle, or room for another ----------------'
 *
 * Wanted models are loaded one after the other, in the order in which they were wanted, by a thread
 * of the registry's own. If the ledger has no room, the least recently used model makes room: one
 * that nobody uses, or else one that has served for a second, which finishes what it has begun and
 * is loaded again when its turn comes. So every model gets its turn, however many there are, and no
 * accepted request is lost.
 *
 * A model whose loading failed is tried again by the next request, but not within RETRY_NS.
 * One thread, the consumer's, except for the functions marked "any thread". */
#ifndef DG_ENGINE_MODELS_REGISTRY_H
#define DG_ENGINE_MODELS_REGISTRY_H

#include "base/memory/clock.h"
#include "engine/interface/engine_model.h"
#include "engine/models/served_model.h"

struct dg_registry;

struct dg_registry_opts {
    struct dg_sched *sched;
    struct dg_clock *clock;
    struct dg_decoder_limits limits;
    size_t bytes_max; /* the most bytes of all models; 0: no limit */
    uint64_t idle_ns; /* a model without requests for this long is unloaded; 0: never */
    /* called from any thread when dg_registry_tend has work; may be NULL */
    void (*wake)(void *arg);
    void *wake_arg;
    /* the model gets no new requests */
    void (*on_retired)(void *arg, const struct dg_served_model *served);
    void *on_retired_arg;
    enum dg_err (*admit)(void *arg, const char *name, const char *path,
                         struct dg_error *error); /* as of the engine */
    void (*on_model)(void *arg, const char *name, enum dg_engine_model_state state,
                     const char *error);
    void *model_arg;
};

enum dg_err dg_registry_new(const struct dg_registry_opts *opts, struct dg_error *error,
                            struct dg_registry **registry) DG_MUST_CHECK;

/* Frees the registry. Call it before the scheduler is freed, when no request refers to a model.
 * NULL is fine. */
void dg_registry_free(struct dg_registry *registry);

/* What to open: a directory under a name. */
struct dg_registry_ask {
    struct dg_engine_model model;
    bool is_stand_in; /* only checked and measured; the model is loaded on demand */
};

/* Opens a model that is not published yet; dg_served_model_unref closes it. DG_ERR_LIMIT: it can
 * never fit into memory; DG_ERR_BUSY: it does not fit at present. Any thread. */
enum dg_err dg_registry_open(struct dg_registry *registry, const struct dg_registry_ask *ask,
                             struct dg_error *error, struct dg_served_model **served) DG_MUST_CHECK;

/* Announces how many models will be offered: if memory is limited, models are sized accordingly
 * from now on. Any thread. */
void dg_registry_expect(struct dg_registry *registry, size_t n_models);

/* Sets whether models opened from now on compute the fingerprint of their files. Any thread. */
void dg_registry_want_fingerprints(struct dg_registry *registry, bool wanted);

/* Publishes the model in place of an earlier model of the same name, which finishes what it has
 * begun. Takes `served`, also on failure. */
enum dg_err dg_registry_publish(struct dg_registry *registry, struct dg_served_model *served,
                                struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_registry_remove(struct dg_registry *registry, const char *name,
                               struct dg_error *error) DG_MUST_CHECK;

/* Lists all models that are offered, loaded or not; they are borrowed until the next call here. */
size_t dg_registry_list(const struct dg_registry *registry, struct dg_served_model *const **models);

/* The model that a request asks for, by name or by what it must be able to do. */
struct dg_registry_wish {
    const char *name;        /* NULL: the model that fits */
    const char *const *only; /* [n_only] models that the client's key may use */
    size_t n_only;           /* 0: among all models */
    bool (*fits)(const struct dg_served_model *served, const void *arg);
    const void *arg;
    const char *one, *several; /* names for messages: "language model", "language models" */
};

/* Finds the model that is meant; it is borrowed. A named model is not checked with `fits`. An error
 * comes with a sentence: there is no such model, the client's key may not use it, or several
 * fit. */
enum dg_err dg_registry_choose(const struct dg_registry *registry,
                               const struct dg_registry_wish *wish, struct dg_error *error,
                               struct dg_served_model **found) DG_MUST_CHECK;

/* Notes that a request has come for `model`: its idle time starts again, and it will be loaded if
 * it is not loaded. DG_ERR_MODEL with a sentence: its loading failed recently. */
enum dg_err dg_registry_want(struct dg_registry *registry, const struct dg_served_model *model,
                             struct dg_error *error) DG_MUST_CHECK;

/* The same for a request that waits for `model`: until the model is loaded, `*kept` holds a
 * reference to it. DG_ERR_NOT_YET: it is not loaded yet. */
enum dg_err dg_registry_await(struct dg_registry *registry, struct dg_served_model *model,
                              struct dg_error *error, struct dg_served_model **kept) DG_MUST_CHECK;

/* Returns true while the stand-in `model` is published and its loading is wanted or under way. */
bool dg_registry_is_coming(const struct dg_registry *registry, const struct dg_served_model *model);

/* Unloads idle models, begins the next load and publishes what was loaded. */
void dg_registry_tend(struct dg_registry *registry);

/* Returns a number that increases whenever a model comes or goes, or its loading fails. */
uint64_t dg_registry_version(const struct dg_registry *registry);

enum dg_engine_model_state dg_registry_state(const struct dg_registry *registry, size_t at);

/* Returns why the loading of model `at` failed; "" when it did not. */
const char *dg_registry_failure(const struct dg_registry *registry, size_t at);

/* Reads the scheduler's counts for model `at`, under its name, since the start. */
void dg_registry_read_counts(struct dg_registry *registry, size_t at,
                             struct dg_sched_stats *counts);

/* Reads the cache's counts for model `at`: only hits, joined and misses. */
void dg_registry_read_cache_counts(const struct dg_registry *registry, size_t at,
                                   struct dg_engine_cache_stats *counts);

/* Reads the qualities that model `at` gave as an estimator. */
void dg_registry_read_quality_counts(const struct dg_registry *registry, size_t at,
                                     struct dg_engine_quality_stats *counts);

const struct dg_ledger *dg_registry_ledger(const struct dg_registry *registry);

#endif
