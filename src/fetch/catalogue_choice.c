/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A linear search: the catalogue has some hundred models. */
#include "fetch/catalogue_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Gzip makes these weights about a third smaller. */
#define GZIP_FACTOR 1.35

/* ---- Languages ------------------------------------------------------------------------------- */

static bool is_same(struct dg_span asked, const char *have)
{
    static const char hans[] = "zh-Hans";
    const struct dg_span tag = dg_span_cstr(have);
    if (asked.len == tag.len && strncasecmp(asked.ptr, have, asked.len) == 0)
        return true;
    return asked.len == 2 && strncasecmp(asked.ptr, "zh", 2) == 0 && strcasecmp(have, hans) == 0;
}

static bool is_wanted(const char *wanted, const char *have)
{
    return !wanted || !*wanted || strcasecmp(wanted, have) == 0;
}

/* ---- The best of several --------------------------------------------------------------------- */

bool dg_catalogue_choice_is_trial(const struct dg_catalogue_model *model)
{
    for (const char *at = model->version; *at; at++)
        if ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z'))
            return true;
    return strstr(model->filter, "env.channel") != NULL;
}

static bool is_for_telephones(const struct dg_catalogue_model *model)
{
    return strstr(model->filter, "OS == 'Android'") != NULL;
}

static int rank_of_source(const struct dg_catalogue_model *model)
{
    return strcmp(model->from->name, "firefox") == 0           ? 2
           : strcmp(model->from->name, "firefox-archive") == 0 ? 1
                                                               : 0;
}

/* Returns the number, 3.1 for "3.1"; a model without a number comes after all models with one. */
static double number_of(const struct dg_catalogue_model *model)
{
    char *end;
    const double number = strtod(model->version, &end);
    return number >= 0 && number < 1e6 ? number : 0;
}

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

/* Compares two models; above 0: `a` is the better one. */
static int better(const struct dg_catalogue_model *a, const struct dg_catalogue_model *b,
                  bool small)
{
    /* A model without published hashes is not preferred to a trial version that has them. */
    int order = compare(rank_of_source(a) > 0, rank_of_source(b) > 0);
    if (!order)
        order = compare(dg_catalogue_choice_is_trial(b), dg_catalogue_choice_is_trial(a));
    if (!order && small)
        order =
            compare((double)dg_catalogue_choice_packed(b), (double)dg_catalogue_choice_packed(a));
    if (!order)
        order = compare(is_for_telephones(b), is_for_telephones(a));
    if (!order)
        order = compare(rank_of_source(a), rank_of_source(b));
    if (!order && a->bleu >= 0 && b->bleu >= 0)
        order = compare(a->bleu, b->bleu);
    if (!order)
        order = compare(number_of(a), number_of(b));
    if (!order)
        order =
            compare((double)dg_catalogue_choice_packed(a), (double)dg_catalogue_choice_packed(b));
    return order;
}

const struct dg_catalogue_model *
dg_catalogue_choice_best(const struct dg_catalogue *catalogue, struct dg_span source,
                         struct dg_span target, const struct dg_catalogue_choice_opts *opts)
{
    const struct dg_catalogue_model *best = NULL;
    for (size_t i = 0; i < catalogue->n_models; i++) {
        const struct dg_catalogue_model *model = &catalogue->models[i];
        if (is_same(source, model->source) && is_same(target, model->target) &&
            is_wanted(opts->source, model->from->name) && is_wanted(opts->kind, model->kind) &&
            is_wanted(opts->version, model->version) &&
            (!best || better(model, best, opts->small) > 0))
            best = model;
    }
    return best;
}

const struct dg_catalogue_model *dg_catalogue_choice_scored(const struct dg_catalogue *catalogue,
                                                            const struct dg_catalogue_model *model)
{
    const struct dg_catalogue_model *best = NULL;
    if (model->bleu >= 0 || model->comet >= 0)
        return model;
    if (strcmp(model->from->name, "firefox") != 0)
        return NULL;
    for (size_t i = 0; i < catalogue->n_models; i++) {
        const struct dg_catalogue_model *other = &catalogue->models[i];
        if (strcmp(other->from->name, "firefox-archive") == 0 && other->bleu >= 0 &&
            strcmp(other->kind, model->kind) == 0 &&
            strcasecmp(other->source, model->source) == 0 &&
            strcasecmp(other->target, model->target) == 0 &&
            (!best || better(other, best, false) > 0))
            best = other;
    }
    return best;
}

/* ---- Sizes and names ------------------------------------------------------------------------- */

uint64_t dg_catalogue_choice_packed(const struct dg_catalogue_model *model)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < model->n_files; i++)
        sum += model->files[i].size;
    return sum;
}

uint64_t dg_catalogue_choice_unpacked(const struct dg_catalogue_model *model)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < model->n_files; i++) {
        const struct dg_catalogue_file *file = &model->files[i];
        const bool is_packed = dg_span_ends(dg_span_cstr(file->place), DG_SPAN(".gz"));
        sum += file->raw_size ? file->raw_size
                              : (uint64_t)((double)file->size * (is_packed ? GZIP_FACTOR : 1));
    }
    return sum;
}

void dg_catalogue_choice_name(const struct dg_catalogue_model *model,
                              char name[DG_CATALOGUE_CHOICE_NAME])
{
    snprintf(name, DG_CATALOGUE_CHOICE_NAME, "%s-%s", model->source, model->target);
}

/* ---- A pair ---------------------------------------------------------------------------------- */

static bool has_language(const struct dg_catalogue *catalogue, struct dg_span tag)
{
    for (size_t i = 0; i < catalogue->n_models; i++)
        if (is_same(tag, catalogue->models[i].source) || is_same(tag, catalogue->models[i].target))
            return true;
    return false;
}

static bool find(const struct dg_catalogue *catalogue, struct dg_span source, struct dg_span target,
                 const struct dg_catalogue_choice_opts *opts, struct dg_model_choice *choice)
{
    const struct dg_span english = DG_SPAN("en");
    choice->models[0] = dg_catalogue_choice_best(catalogue, source, target, opts);
    choice->n = choice->models[0] ? 1 : 0;
    if (choice->n || is_same(source, "en") || is_same(target, "en") || dg_span_eq(source, target))
        return choice->n > 0;
    choice->models[0] = dg_catalogue_choice_best(catalogue, source, english, opts);
    choice->models[1] = dg_catalogue_choice_best(catalogue, english, target, opts);
    choice->n = choice->models[0] && choice->models[1] ? 2 : 0;
    return choice->n > 0;
}

static bool is_narrowed(const struct dg_catalogue_choice_opts *opts)
{
    return (opts->source && *opts->source) || (opts->kind && *opts->kind) ||
           (opts->version && *opts->version);
}

static enum dg_err refuse(const struct dg_catalogue *catalogue, const char *pair,
                          const struct dg_catalogue_choice_opts *opts, struct dg_error *error)
{
    const struct dg_catalogue_choice_opts any = {0};
    struct dg_model_choice choice;
    const char *dash = strchr(pair, '-');
    const struct dg_span first = dg_span_make(pair, (size_t)(dash - pair));
    if (is_narrowed(opts) &&
        dg_catalogue_choice_find(catalogue, pair, &any, &choice, NULL) == DG_OK)
        return dg_error_set(error, DG_ERR_NOT_FOUND,
                            "there is no %s with this --source, --kind or --version; 'dragoman "
                            "models --available %.*s' lists what there is",
                            pair, DG_SPAN_FMT(first));
    return dg_error_set(error, DG_ERR_NOT_FOUND,
                        "the catalogue (of %s) has no %s, nor a route through English; 'dragoman "
                        "models --available%s%.*s' lists what there is, and opus:%s asks for the "
                        "OPUS-MT model of that name",
                        *catalogue->date ? catalogue->date : "an unknown date", pair,
                        has_language(catalogue, first) ? " " : "",
                        has_language(catalogue, first) ? (int)first.len : 0, pair, pair);
}

enum dg_err dg_catalogue_choice_find(const struct dg_catalogue *catalogue, const char *pair,
                                     const struct dg_catalogue_choice_opts *opts,
                                     struct dg_model_choice *choice, struct dg_error *error)
{
    bool is_pair = false;
    for (const char *dash = strchr(pair, '-'); dash; dash = strchr(dash + 1, '-')) {
        const struct dg_span source = dg_span_make(pair, (size_t)(dash - pair));
        const struct dg_span target = dg_span_cstr(dash + 1);
        if (!dg_catalogue_is_language(source) || !dg_catalogue_is_language(target))
            continue;
        is_pair = true;
        if (find(catalogue, source, target, opts, choice))
            return DG_OK;
    }
    if (!is_pair)
        return dg_error_set(error, DG_ERR_INVALID,
                            "'%s' is not a language pair; expected one such as de-en", pair);
    return refuse(catalogue, pair, opts, error);
}
