/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The models that an engine offers, by name: at hand, or only known and loaded when somebody asks.
 *
 *     err = dg_registry_new(&opts, &error, &registry);
 *     err = dg_registry_open(registry, &how, &error, &loaded);         any thread; takes its time
 *     err = dg_registry_publish(registry, loaded, &error);             consumer's thread, quick
 *     ...
 *     dg_registry_want(registry, i);              a request for a model that is not at hand
 *     dg_registry_tend(registry);                 in every poll: loads go on, idle models leave
 *
 *                 want                  memory                  works
 *        KNOWN ---------> WANTED ------------------> LOADING ---------> READY
 *          ^                                            | does not        |
 *          |               FAILED <---------------------'                 |
 *          '------------------- idle, or room for another ----------------'
 *
 * Wanted models are loaded one after the other, in the order in which they were wanted, by a thread
 * of the registry's own. Where the ledger has no room, the model least recently used makes it: one
 * that nobody uses, or else, once it has served for a second, one that finishes what it has begun
 * and comes back in its turn. So every model is served, however many there are; nothing that was
 * accepted is lost.
 *
 * A model whose loading failed is tried again by the next request, but not within RETRY_NS.
 *
 * One thread, the consumer's, but for what is said to be any thread's. */
#ifndef DG_ENGINE_ROUTE_REGISTRY_H
#define DG_ENGINE_ROUTE_REGISTRY_H

#include "base/memory/clock.h"
#include "engine/engine.h"
#include "engine/route/served_model.h"

struct dg_registry;

struct dg_registry_opts {
    struct dg_sched *sched;
    struct dg_clock *clock;
    struct dg_decoder_limits limits;
    size_t bytes_max;        /* of all models; 0: no limit */
    uint64_t idle_ns;        /* without a request for so long a model leaves; 0: never */
    void (*wake)(void *arg); /* somebody should tend; may be NULL; any thread */
    void *wake_arg;
    void (*on_retired)(void *arg, const struct dg_served_model *served); /* no new request gets it
                                                                          */
    void *on_retired_arg;
    enum dg_err (*admit)(void *arg, const char *name, const char *path,
                         struct dg_error *error); /* as of the engine */
    void (*on_model)(void *arg, const char *name, enum dg_engine_model_state state,
                     const char *error);
    void *model_arg;
};

enum dg_err dg_registry_new(const struct dg_registry_opts *opts, struct dg_error *error,
                            struct dg_registry **registry) DG_MUST_CHECK;

/* No request may refer to a model. Before the scheduler. NULL is fine. */
void dg_registry_free(struct dg_registry *registry);

/* What to open: a directory under a name. */
struct dg_registry_ask {
    struct dg_engine_model model;
    bool is_stand_in; /* check and measure only; it is loaded when somebody asks for it */
};

/* Opens a model that is not published yet; dg_served_model_unref closes it. DG_ERR_LIMIT: it can
 * never fit into memory; DG_ERR_BUSY: not beside what is there now. Any thread. */
enum dg_err dg_registry_open(struct dg_registry *registry, const struct dg_registry_ask *ask,
                             struct dg_error *error, struct dg_served_model **served) DG_MUST_CHECK;

/* So many models will be offered: where memory is limited, they are sized accordingly from now on.
 * Any thread. */
void dg_registry_expect(struct dg_registry *registry, size_t n_models);

/* Models opened from now on know the fingerprint of their files. Any thread. */
void dg_registry_want_fingerprints(struct dg_registry *registry, bool wanted);

/* Puts it in the place of what has its name, which finishes what it has begun. Takes `loaded`, also
 * on failure. */
enum dg_err dg_registry_publish(struct dg_registry *registry, struct dg_served_model *served,
                                struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_registry_remove(struct dg_registry *registry, const char *name,
                               struct dg_error *error) DG_MUST_CHECK;

/* All that are offered, at hand or not; borrowed until the next call here. */
size_t dg_registry_list(const struct dg_registry *registry, struct dg_served_model *const **models);

/* What a request wants that names a model or leaves it to us. */
struct dg_registry_wish {
    const char *name;        /* NULL: the one that fits */
    const char *const *only; /* [n_only] models that its key may use */
    size_t n_only;           /* 0: all */
    bool (*fits)(const struct dg_served_model *served, const void *arg);
    const void *arg;
    const char *one, *several; /* for sentences: "language model", "language models" */
};

/* The model that is meant, borrowed; one that is named need not fit. Else a sentence: there is
 * none, it is not for this key, or several fit. */
enum dg_err dg_registry_choose(const struct dg_registry *registry,
                               const struct dg_registry_wish *wish, struct dg_error *error,
                               struct dg_served_model **found) DG_MUST_CHECK;

/* A request has come for model `at`: its time of idleness begins anew, and if it is not at hand it
 * is to be loaded. DG_ERR_MODEL with a sentence: it could not be, lately. */
enum dg_err dg_registry_want(struct dg_registry *registry, const struct dg_served_model *model,
                             struct dg_error *error) DG_MUST_CHECK;

/* The same for a request that keeps `*kept`, which becomes `model`, until that is at hand:
 * DG_ERR_BUSY without a sentence when it is not yet. */
enum dg_err dg_registry_await(struct dg_registry *registry, struct dg_served_model *model,
                              struct dg_error *error, struct dg_served_model **kept) DG_MUST_CHECK;

/* True while the stand-in `model` is published and its loading wanted or under way. */
bool dg_registry_is_coming(const struct dg_registry *registry, const struct dg_served_model *model);

/* Lets idle models go, begins the next load, publishes what was loaded. */
void dg_registry_tend(struct dg_registry *registry);

/* Counts up whenever a model comes or goes, or its loading fails. */
uint64_t dg_registry_version(const struct dg_registry *registry);

enum dg_engine_model_state dg_registry_state(const struct dg_registry *registry, size_t at);

/* Why the loading of model `at` failed; "" when it did not. */
const char *dg_registry_failure(const struct dg_registry *registry, size_t at);

/* What the scheduler has counted for model `at`, under its name, since the start. */
void dg_registry_read_counts(struct dg_registry *registry, size_t at,
                             struct dg_sched_stats *counts);

/* Likewise for the cache: only hits, joined and misses. */
void dg_registry_read_cache_counts(const struct dg_registry *registry, size_t at,
                                   struct dg_engine_cache_stats *counts);

/* And of what it said as a quality estimator. */
void dg_registry_read_quality_counts(const struct dg_registry *registry, size_t at,
                                     struct dg_engine_quality_stats *counts);

const struct dg_ledger *dg_registry_ledger(const struct dg_registry *registry);

#endif
