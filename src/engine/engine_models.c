/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The models of an engine: which there are, how they are loaded and unloaded (registry.h), what is
 * known about them, and which of them a request means (routing.h). The functions are those of
 * engine.h, and some for engine_submit.c. */
#include "engine/engine_int.h"

#include <string.h>

/* ---- Models ---------------------------------------------------------------------------------- */

enum dg_err dg_engine_open(struct dg_engine *engine, const struct dg_engine_model *model,
                           struct dg_error *error, struct dg_served_model **served)
{
    const struct dg_registry_ask ask = {*model, false};
    return dg_registry_open(engine->registry, &ask, error, served);
}

void dg_engine_expect(struct dg_engine *engine, size_t n_models)
{
    dg_registry_expect(engine->registry, n_models);
}

enum dg_err dg_engine_offer(struct dg_engine *engine, const struct dg_engine_model *model,
                            struct dg_error *error, struct dg_served_model **served)
{
    const struct dg_registry_ask ask = {*model, true};
    return dg_registry_open(engine->registry, &ask, error, served);
}

void dg_engine_close(struct dg_served_model *served)
{
    dg_served_model_unref(served);
}

enum dg_err dg_engine_publish(struct dg_engine *engine, struct dg_served_model *served,
                              struct dg_error *error)
{
    enum dg_err err = dg_registry_publish(engine->registry, served, error);
    if (!err && engine->tasks.n_waiting > 0)
        dg_engine_wake(engine);
    return err;
}

enum dg_err dg_engine_load(struct dg_engine *engine, const char *name, const char *path,
                           const char *source, const char *target, struct dg_error *error)
{
    struct dg_served_model *served;
    const struct dg_engine_model model = {
        .name = name, .path = path, .source = source, .target = target};
    enum dg_err err = dg_engine_open(engine, &model, error, &served);
    return err ? err : dg_engine_publish(engine, served, error);
}

enum dg_err dg_engine_unload(struct dg_engine *engine, const char *name, struct dg_error *error)
{
    return dg_registry_remove(engine->registry, name, error);
}

void dg_engine_read_model_stats(struct dg_engine *engine, size_t index,
                                struct dg_sched_stats *stats)
{
    dg_registry_read_counts(engine->registry, index, stats);
}

size_t dg_engine_n_models(const struct dg_engine *engine)
{
    struct dg_served_model *const *models;
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

/* Returns what a model that reads texts can do, a bit for each task. */
static unsigned tasks_of(const struct dg_blueprint *bp)
{
    unsigned can = 0;
    for (int task = 0; task < DG_N_TASKS; task++)
        can |= dg_reading_fits(bp, (enum dg_read_task)task) ? 1u << task : 0;
    return can;
}

/* Returns the name in the API. */
static const char *labels_of(const struct dg_blueprint *bp)
{
    if (!dg_reading_fits(bp, DG_TASK_CLASSIFY))
        return NULL;
    return !dg_blueprint_family(bp)->has_head || bp->enc.rule == DG_LABELS_ONE ? "one"
           : bp->enc.rule == DG_LABELS_EACH                                    ? "any"
                                                                               : "number";
}

struct dg_engine_model_info dg_engine_model_info(const struct dg_engine *engine, size_t index)
{
    struct dg_served_model *const *models;
    dg_registry_list(engine->registry, &models);
    const struct dg_served_model *served = models[index];
    const struct dg_langs *langs = served->langs;
    return (struct dg_engine_model_info){
        .name = served->name,
        .source = langs->n_sources == 1 ? langs->sources[0].code : "",
        .target = langs->n_targets == 1 ? langs->targets[0].code : "",
        .langs = langs,
        .state = dg_registry_state(engine->registry, index),
        .failure = dg_registry_failure(engine->registry, index),
        .bytes = served->bytes,
        .n_source_words = served->blueprint.encoder.V,
        .n_target_words = served->blueprint.decoder.V,
        .n_beams = served->blueprint.n_beams,
        .length_penalty = (double)dg_search_usual_length_penalty(&served->blueprint, false),
        .source_max = served->limits.source_max,
        .target_max = served->limits.target_max,
        .slots = served->limits.sentences,
        .is_language_model = dg_blueprint_family(&served->blueprint)->has_prompt &&
                             !dg_served_model_translates(served),
        .is_reader = dg_blueprint_is_reader(&served->blueprint),
        .can = tasks_of(&served->blueprint),
        .labels = labels_of(&served->blueprint),
        .says_number = dg_served_model_says_number(&served->blueprint),
        .judges = dg_served_model_judges(served),
        .good_for = dg_good_for_name(served->good_for),
    };
}

enum dg_err dg_engine_detect(const struct dg_engine *engine, struct dg_span text,
                             const struct dg_engine_languages *among,
                             struct dg_langid_guess *guesses, size_t max, struct dg_error *error,
                             size_t *n)
{
    struct dg_langid_set set;
    if (!engine->langid)
        return dg_error_set(error, DG_ERR_UNSUPPORTED, "%s",
                            dg_error_text(&engine->langid_error, DG_ERR_UNSUPPORTED));
    dg_langid_set_clear(&set);
    for (size_t i = 0; among && i < among->n; i++)
        dg_langid_set_add(engine->langid, &set, among->tags[i]);
    *n = dg_langid_detect(engine->langid, text, among ? &set : NULL, guesses, max);
    return DG_OK;
}

/* ---- Which of them is meant ------------------------------------------------------------------ */

/* Lists the models that translate: all but readers and language models without a template. `kept`
 * has room for all models. */
static void list_translators(const struct dg_engine *engine, struct dg_served_model **kept,
                             struct dg_routing_map *map)
{
    struct dg_served_model *const *models;
    const size_t n = dg_registry_list(engine->registry, &models);
    map->n_models = 0;
    for (size_t i = 0; i < n; i++)
        if (dg_served_model_translates(models[i]))
            kept[map->n_models++] = models[i];
    map->models = kept;
}

const struct dg_served_model *dg_engine_find_named(const struct dg_engine *engine, const char *name)
{
    struct dg_served_model *const *models;
    const size_t n = dg_registry_list(engine->registry, &models);
    for (size_t i = 0; i < n; i++)
        if (strcmp(models[i]->name, name) == 0)
            return models[i];
    return NULL;
}

/* Finds the estimator for translations by this routing; NULL: there is none. */
const struct dg_served_model *dg_engine_find_estimator(const struct dg_engine *engine,
                                                       const char *name)
{
    struct dg_served_model *const *models;
    const size_t n = dg_registry_list(engine->registry, &models);
    for (size_t i = 0; i < n; i++) {
        const char *judges = dg_served_model_judges(models[i]);
        if (judges && dg_judges_has(judges, name))
            return models[i];
    }
    return NULL;
}

/* A copied text gets no quality estimate. */
static enum dg_err check_estimator(const struct dg_engine *engine, const struct dg_routing *routing,
                                   struct dg_error *error)
{
    char name[DG_ROUTING_NAME];
    if (routing->is_copy)
        return DG_OK;
    dg_routing_name(routing, name);
    return dg_engine_find_estimator(engine, name)
               ? DG_OK
               : dg_error_set(
                     error, DG_ERR_UNSUPPORTED,
                     "no quality estimator judges what %s translates: ask without 'quality'", name);
}

/* `langid` NULL: the source must be named or be the only one. */
static enum dg_err find_way(const struct dg_engine *engine, const struct dg_langid *langid,
                            const struct dg_engine_request *asked, struct dg_error *error,
                            struct dg_routing *routing)
{
    struct dg_served_model *kept[DG_SCHED_MODELS_MAX];
    struct dg_routing_map map = {.langid = langid, .langid_error = engine->langid_error.text};
    list_translators(engine, kept, &map);
    enum dg_err err = dg_routing_find(&map, asked, error, routing);
    const struct dg_served_model *named =
        err == DG_ERR_NOT_FOUND && asked->model ? dg_engine_find_named(engine, asked->model) : NULL;
    if (named && dg_engine_is_lm(named) && !dg_served_model_translates(named))
        err = dg_error_set(error, DG_ERR_UNSUPPORTED,
                           "%s is a language model: it continues a text, and translates only if a "
                           "template is configured for it",
                           asked->model);
    else if (named && dg_blueprint_is_reader(&named->blueprint))
        err = dg_error_set(error, DG_ERR_UNSUPPORTED, "%s reads texts and does not translate",
                           asked->model);
    return !err && asked->quality ? check_estimator(engine, routing, error) : err;
}

enum dg_err dg_engine_find_way(const struct dg_engine *engine,
                               const struct dg_engine_request *asked, struct dg_error *error,
                               struct dg_routing *routing)
{
    return find_way(engine, engine->langid, asked, error, routing);
}

uint64_t dg_engine_models_version(const struct dg_engine *engine)
{
    return dg_registry_version(engine->registry);
}

bool dg_engine_leads(const struct dg_engine *engine, const char *source, const char *target)
{
    struct dg_routing_map map = {.langid_error = ""};
    const struct dg_engine_request request = {.source = source, .target = target};
    struct dg_served_model *kept[DG_SCHED_MODELS_MAX];
    struct dg_routing routing;
    list_translators(engine, kept, &map);
    return dg_routing_find(&map, &request, NULL, &routing) == DG_OK && !routing.is_copy;
}

enum dg_err dg_engine_can(struct dg_engine *engine, const struct dg_engine_request *request,
                          struct dg_error *error)
{
    struct dg_routing routing;
    enum dg_err err = dg_tasks_check_search(&engine->tasks, &request->search, error);
    return err ? err : dg_engine_find_way(engine, request, error, &routing);
}

enum dg_err dg_engine_find(struct dg_engine *engine, const struct dg_engine_request *request,
                           struct dg_error *error, struct dg_served_model **served,
                           struct dg_lang_pair *pair)
{
    struct dg_routing routing;
    enum dg_err err = find_way(engine, NULL, request, error, &routing);
    if (err == DG_ERR_UNSUPPORTED) /* several languages lead to the target */
        err = dg_engine_find_way(engine, request, error, &routing);
    if (!err && routing.is_copy)
        err = dg_error_set(
            error, DG_ERR_NOT_FOUND,
            "the text is in none of the languages that can be translated to the target");
    if (!err && routing.n_hops > 1)
        err = dg_error_set(error, DG_ERR_NOT_FOUND, "no single model translates from %s to %s",
                           routing.pairs[0].source->code,
                           routing.pairs[routing.n_hops - 1].target->code);
    if (!err)
        err = dg_registry_want(engine->registry, routing.hops[0], error);
    if (!err && !dg_served_model_is_at_hand(routing.hops[0]))
        err = dg_error_set(error, DG_ERR_BUSY, "model %s is being loaded; try again in a moment",
                           routing.hops[0]->name);
    if (err)
        return err;
    *served = dg_served_model_ref(routing.hops[0]);
    *pair = routing.pairs[0];
    return DG_OK;
}
