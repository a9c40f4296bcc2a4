/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The inside of an engine, for its own files (engine.c, engine_*.c), and what it offers to the
 * other files of its folder. Consumer thread. */
#ifndef DG_ENGINE_ENGINE_INT_H
#define DG_ENGINE_ENGINE_INT_H

#include "base/memory/clock.h"
#include "base/memory/list.h"
#include "engine/engine.h"
#include "engine/read/reading.h"
#include "engine/request/request.h"
#include "engine/models/registry.h"
#include "engine/route/routing.h"
#include "engine/models/served_model.h"
#include "text/language/langid.h"

/* Finds the model that would serve the request, with a reference for the caller, and the languages,
 * borrowed from the model. Errors are those of dg_engine_submit; DG_ERR_BUSY also when the model is
 * not loaded: its loading has then been requested. */
enum dg_err dg_engine_find(struct dg_engine *engine, const struct dg_engine_request *request,
                           struct dg_error *error, struct dg_served_model **served,
                           struct dg_lang_pair *pair) DG_MUST_CHECK;

/* Submits an empty text for the model that would serve the request. The empty text is done once the
 * model is loaded. */
enum dg_err dg_engine_await(struct dg_engine *engine, const struct dg_engine_request *request,
                            const struct dg_engine_events *events, void *ctx,
                            struct dg_error *error, uint64_t *id) DG_MUST_CHECK;

/* ---- Inside ---------------------------------------------------------------------------------- */

struct dg_engine {
    struct dg_clock own_clock;
    struct dg_turn own_turn; /* where nobody gave one */
    struct dg_tasks tasks;   /* all requests under way, and what they share */
    struct dg_request_tools tools;
    struct dg_registry *registry;
    struct dg_langid *langid;     /* NULL: languages are not detected */
    struct dg_error langid_error; /* says why `langid` is NULL */
    bool is_behind;               /* the last poll had no time to move tasks */
    struct dg_list judgements;    /* quality estimates under way; those that were dropped are linked
                                     only here */
};

static inline void dg_engine_wake(const struct dg_engine *engine)
{
    dg_tasks_wake(&engine->tasks);
}

static inline bool dg_engine_is_lm(const struct dg_served_model *model)
{
    return dg_blueprint_family(&model->blueprint)->has_prompt;
}

/* Models (engine_models.c). find_estimator returns the estimator that judges the translations of
 * `name`, which is a routing's name; NULL: there is none. */
const struct dg_served_model *dg_engine_find_named(const struct dg_engine *engine,
                                                   const char *name);
const struct dg_served_model *dg_engine_find_estimator(const struct dg_engine *engine,
                                                       const char *name);
enum dg_err dg_engine_find_way(const struct dg_engine *engine,
                               const struct dg_engine_request *asked, struct dg_error *error,
                               struct dg_routing *routing) DG_MUST_CHECK;

/* How translations begin and end; their tickets are of kind DG_TICKET_SENTENCE (engine_submit.c).
 */
extern const struct dg_task_ops dg_engine_request_ops;

/* Returns true while a translated request waits for its quality estimate; an error of the estimate
 * becomes the request's error. */
bool dg_engine_is_being_judged(struct dg_engine *engine, struct dg_request *request);

/* Abandons the estimate of a request whose result is no longer wanted. */
void dg_engine_stop_judging(struct dg_engine *engine, const struct dg_request *request);

#endif
