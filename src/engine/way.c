/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* From what a request says about languages to a model. */
#include "engine/way.h"

#include <stdio.h>
#include <string.h>

enum { SAMPLE_BYTES = 16 * 1024 /* of a text whose language is looked for */ };

/* What a request wants; a side that is not named fits everything. */
struct want {
    const struct dg_way_map *map;
    struct dg_langtag source, target;
    bool has_source, has_target;
};

static enum dg_err read_tag(const char *text, const char *side, struct dg_langtag *tag, bool *has,
                            struct dg_why *why)
{
    *has = text && *text;
    if (!*has)
        return DG_OK;
    enum dg_err err = dg_langtag_parse(dg_span_cstr(text), tag, why);
    return err ? dg_why_wrap(why, err, "%s", side) : DG_OK;
}

static enum dg_langtag_fit fit(bool has, const struct dg_langtag *want, const struct dg_langtag *offered)
{
    return has ? dg_langtag_compare(want, offered) : DG_LANGTAG_SAME;
}

static bool leads_to_target(const struct want *want, const struct dg_loaded *model)
{
    return fit(want->has_target, &want->target, &model->target_tag) != DG_LANGTAG_NONE;
}

static bool reads_source(const struct want *want, const struct dg_loaded *model)
{
    return fit(want->has_source, &want->source, &model->source_tag) != DG_LANGTAG_NONE;
}

/* Narrows `picked` [*n] to those whose tag on one side is the best match of `wanted`. */
static void narrow(const struct dg_langtag *wanted, bool by_target, struct dg_loaded **picked, size_t *n)
{
    struct dg_langtag offered[DG_SCHED_MODELS_MAX];
    size_t best = 0, kept = 0;
    for (size_t i = 0; i < *n; i++)
        offered[i] = by_target ? picked[i]->target_tag : picked[i]->source_tag;
    if (dg_langtag_match(wanted, offered, *n, &best) == DG_LANGTAG_NONE)
        return;
    for (size_t i = 0; i < *n; i++)
        if (strcmp(offered[i].text, offered[best].text) == 0)
            picked[kept++] = picked[i];
    *n = kept;
}

/* The model that fits best, target before source; the first loaded of equals. NULL when none fits. */
static struct dg_loaded *best_of(const struct want *want)
{
    struct dg_loaded *picked[DG_SCHED_MODELS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < want->map->n_models; i++)
        if (reads_source(want, want->map->models[i]) && leads_to_target(want, want->map->models[i]))
            picked[n++] = want->map->models[i];
    if (n > 1 && want->has_target)
        narrow(&want->target, true, picked, &n);
    if (n > 1 && want->has_source)
        narrow(&want->source, false, picked, &n);
    return n ? picked[0] : NULL;
}

/* ---- Two legs ----------------------------------------------------------------------------------- */

/* How well two models go together, target before source before what is between, English between if it can be
 * chosen; 0: not at all. A way never returns to the language that it comes from. */
static unsigned rate(const struct want *want, const struct dg_loaded *first, const struct dg_loaded *last)
{
    enum dg_langtag_fit between = dg_langtag_compare(&first->target_tag, &last->source_tag);
    if (between == DG_LANGTAG_NONE || !*first->source_tag.text || !*last->target_tag.text ||
        strcmp(first->source_tag.language, last->target_tag.language) == 0 ||
        strcmp(first->source_tag.language, first->target_tag.language) == 0 ||
        strcmp(last->source_tag.language, last->target_tag.language) == 0)
        return 0;
    return (unsigned)fit(want->has_target, &want->target, &last->target_tag) << 12 |
           (unsigned)fit(want->has_source, &want->source, &first->source_tag) << 8 | (unsigned)between << 4 |
           (strcmp(last->source_tag.language, "en") == 0 ? 2 : 1);
}

/* The best way through a third language; of equals that of the models loaded first. False: there is none. */
static bool find_pivot(const struct want *want, struct dg_way *way)
{
    unsigned best = 0;
    for (size_t i = 0; want->has_target && i < want->map->n_models; i++) {
        if (!leads_to_target(want, want->map->models[i]))
            continue;
        for (size_t j = 0; j < want->map->n_models; j++) {
            unsigned rating = reads_source(want, want->map->models[j])
                                  ? rate(want, want->map->models[j], want->map->models[i])
                                  : 0;
            if (rating <= best)
                continue;
            best = rating;
            way->legs[0] = want->map->models[j];
            way->legs[1] = want->map->models[i];
            way->n_legs = 2;
        }
    }
    return best > 0;
}

/* True when a model's language can become the target, in one leg or two. */
static bool reaches_target(const struct want *want, const struct dg_loaded *model)
{
    if (leads_to_target(want, model))
        return true;
    for (size_t i = 0; want->has_target && i < want->map->n_models; i++)
        if (leads_to_target(want, want->map->models[i]) && rate(want, model, want->map->models[i]))
            return true;
    return false;
}

/* ---- Detection ---------------------------------------------------------------------------------- */

/* True when the languages that can become the target are more than one. Where no language can be detected,
 * those of direct models only. */
static bool is_ambiguous(const struct want *want)
{
    const struct dg_loaded *first = NULL;
    for (size_t i = 0; i < want->map->n_models; i++) {
        const struct dg_loaded *model = want->map->models[i];
        if (want->map->langid ? !reaches_target(want, model) : !leads_to_target(want, model))
            continue;
        if (first && strcmp(first->source_tag.language, model->source_tag.language) != 0)
            return true;
        first = model;
    }
    return false;
}

/* Names the source by what the text is written in, among the languages that lead to the target. */
static enum dg_err detect(struct want *want, struct dg_span text, enum dg_doc_format format,
                          const char *target, struct dg_why *why, struct dg_way *way)
{
    const struct dg_langid *langid = want->map->langid;
    struct dg_langid_set set;
    struct dg_langid_guess guess;
    if (!langid)
        return dg_why_set(why, DG_ERR_UNSUPPORTED,
                          "models of several languages lead to %s; name the source language, because %s",
                          target && *target ? target : "the target", want->map->langid_why);
    dg_langid_set_clear(&set);
    for (size_t i = 0; i < want->map->n_models; i++)
        if (reaches_target(want, want->map->models[i]))
            dg_langid_set_add(langid, &set, want->map->models[i]->source_tag.text);
    struct dg_buf plain;
    dg_buf_init(&plain, 8 * SAMPLE_BYTES);
    enum dg_err err = dg_doc_sample(text, format, SAMPLE_BYTES, &plain);
    size_t n_found = err ? 0 : dg_langid_detect(langid, dg_buf_span(&plain), &set, &guess, 1);
    dg_buf_deinit(&plain);
    if (err)
        return dg_why_set(why, err, "no memory to detect a language");
    if (n_found == 0) {
        way->is_copy = true;
        return DG_OK;
    }
    way->detected = guess.tag;
    way->confidence = guess.confidence;
    return read_tag(guess.tag, "the detected language", &want->source, &want->has_source, why);
}

/* ---- A way -------------------------------------------------------------------------------------- */

static struct dg_loaded *find_name(const struct dg_way_map *map, struct dg_span name)
{
    for (size_t i = 0; i < map->n_models; i++)
        if (dg_span_eq(dg_span_cstr(map->models[i]->name), name))
            return map->models[i];
    return NULL;
}

/* "fr-en", or two models in a row, as answers name them: "fr-en+en-de". */
static enum dg_err by_name(const struct dg_way_map *map, const char *name, struct dg_why *why,
                           struct dg_way *way)
{
    const char *plus = strchr(name, '+');
    struct dg_loaded *whole = find_name(map, dg_span_cstr(name)), *first = NULL, *last = NULL;
    const struct want any = {.map = map};
    if (whole) {
        way->legs[way->n_legs++] = whole;
        return DG_OK;
    }
    if (plus) {
        first = find_name(map, dg_span_make(name, (size_t)(plus - name)));
        last = find_name(map, dg_span_cstr(plus + 1));
    }
    if (first && last && rate(&any, first, last)) {
        way->legs[way->n_legs++] = first;
        way->legs[way->n_legs++] = last;
        return DG_OK;
    }
    if (first && last)
        return dg_why_set(why, DG_ERR_INVALID, "%s says %s and %s reads %s: one cannot follow the other", first->name,
                          first->target, last->name, last->source);
    return dg_why_set(why, DG_ERR_NOT_FOUND, "no model is called %s", name);
}

/* Among the map's models, without asking which of them the request may use. */
static enum dg_err find(const struct dg_way_map *map, const struct dg_engine_request *request,
                        struct dg_why *why, struct dg_way *way)
{
    struct want want = {.map = map};
    *way = (struct dg_way){.n_legs = 0};
    if (request->copy && map->n_models > 0) {
        way->legs[0] = map->models[0];
        way->n_legs = 1;
        way->is_copy = true;
        return DG_OK;
    }
    if (request->model)
        return by_name(map, request->model, why, way);
    const char *source = request->source;
    if (source && strcmp(source, "auto") == 0)
        source = NULL;
    enum dg_err err = read_tag(source, "source", &want.source, &want.has_source, why);
    if (!err)
        err = read_tag(request->target, "target", &want.target, &want.has_target, why);
    if (!err && !want.has_source && is_ambiguous(&want))
        err = detect(&want, request->text, request->format, request->target, why, way);
    if (err)
        return err;
    way->legs[0] = best_of(&want);
    way->n_legs = 1;
    if (!way->legs[0] && !find_pivot(&want, way))
        return dg_why_set(why, DG_ERR_NOT_FOUND, "no model translates from %s to %s",
                          want.has_source ? want.source.text : "any language",
                          want.has_target ? want.target.text : "any language");
    return DG_OK;
}

static bool may_use(const struct dg_engine_request *request, const struct dg_loaded *model)
{
    for (size_t i = 0; i < request->n_only; i++)
        if (strcmp(request->only[i], model->name) == 0)
            return true;
    return false;
}

enum dg_err dg_way_find(const struct dg_way_map *map, const struct dg_engine_request *request,
                        struct dg_why *why, struct dg_way *way)
{
    if (request->n_only == 0)
        return find(map, request, why, way);
    struct dg_loaded *allowed[DG_SCHED_MODELS_MAX];
    struct dg_way_map part = *map;
    struct dg_way other;
    part.models = allowed;
    part.n_models = 0;
    for (size_t i = 0; i < map->n_models; i++)
        if (may_use(request, map->models[i]))
            allowed[part.n_models++] = map->models[i];
    enum dg_err err = find(&part, request, why, way);
    if (err == DG_ERR_NOT_FOUND && find(map, request, NULL, &other) == DG_OK)
        err = dg_why_set(why, DG_ERR_DENIED, "the key may not use %s", request->model ? "this model" : "a model for these languages");
    return err;
}

void dg_way_name(const struct dg_way *way, char name[DG_WAY_NAME])
{
    size_t len = 0;
    for (size_t i = 0; i < way->n_legs && len < DG_WAY_NAME; i++)
        len += (size_t)snprintf(name + len, DG_WAY_NAME - len, "%s%s", i ? "+" : "", way->legs[i]->name);
}
