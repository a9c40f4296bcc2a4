/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Models are only listed here: the first request for a model loads it. */
#include "tools/installed_models.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LIST_CAP = 400 };

static enum dg_err offer(void *ctx, const char *name, const char *path, struct dg_error *error)
{
    struct dg_engine *engine = ctx;
    const struct dg_engine_model model = {.name = name, .path = path, .source = "", .target = ""};
    struct dg_served_model *loaded;
    struct dg_error own = DG_ERROR_NONE;
    enum dg_err err = dg_engine_offer(engine, &model, &own, &loaded);
    if (!err)
        err = dg_engine_publish(engine, loaded, &own);
    if (err == DG_ERR_NOMEM)
        return dg_error_set(error, err, "%s", dg_error_text(&own, err));
    if (err)
        fprintf(stderr, "dragoman: the model %s is left out: %s\n", path, dg_error_text(&own, err));
    return DG_OK;
}

/* A model that translates between two languages, or among many. */
static bool is_translator(const struct dg_engine_model_info *info)
{
    return !info->is_language_model && !info->is_reader;
}

enum dg_err installed_offer(const struct dg_model_folders *places, struct dg_engine *engine,
                            struct dg_error *error)
{
    enum dg_err err = dg_model_folders_each(places, offer, engine, error);
    if (err)
        return err;
    for (size_t i = 0; i < dg_engine_n_models(engine); i++) {
        const struct dg_engine_model_info info = dg_engine_model_info(engine, i);
        if (is_translator(&info))
            return DG_OK;
    }
    return dg_error_set(
        error, DG_ERR_NOT_FOUND,
        "no model is installed; 'dragoman get de-en' fetches one, --model DIR names "
        "another, and they are looked for in %s",
        *places->own ? places->own : "a place that dragoman(1) names");
}

/* Writes a list such as "en-fr (en to fr), fr-en (fr to en)". */
static void list_models(const struct dg_engine *engine, char text[LIST_CAP])
{
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < dg_engine_n_models(engine); i++) {
        const struct dg_engine_model_info info = dg_engine_model_info(engine, i);
        char one[160];
        if (!is_translator(&info))
            continue;
        if (*info.source && *info.target)
            snprintf(one, sizeof one, "%s%s (%s to %s)", len ? ", " : "", info.name, info.source,
                     info.target);
        else
            snprintf(one, sizeof one, "%s%s (many languages)", len ? ", " : "", info.name);
        const size_t n = strlen(one);
        if (len + n + sizeof ", ..." > LIST_CAP) {
            memcpy(text + len, ", ...", sizeof ", ...");
            return;
        }
        memcpy(text + len, one, n + 1);
        len += n;
    }
}

enum dg_err installed_check_target(const struct dg_engine *engine, const char *target,
                                   struct dg_error *error)
{
    char list[LIST_CAP];
    size_t n = 0;
    for (size_t i = 0; i < dg_engine_n_models(engine); i++) {
        const struct dg_engine_model_info info = dg_engine_model_info(engine, i);
        n += is_translator(&info);
    }
    if (n < 2 || *target)
        return DG_OK;
    list_models(engine, list);
    return dg_error_set(error, DG_ERR_USAGE,
                        "the target language is missing, expected --to LANGUAGE; installed: %s",
                        list);
}

enum dg_err installed_explain(const struct dg_engine *engine, enum dg_err err,
                              struct dg_error *error)
{
    char list[LIST_CAP], said[sizeof error->text];
    if (err != DG_ERR_NOT_FOUND)
        return err;
    list_models(engine, list);
    snprintf(said, sizeof said, "%s", dg_error_text(error, err));
    return dg_error_set(error, err,
                        "%s; installed: %s; 'dragoman models --available' lists what is available",
                        said, list);
}

void installed_tell_foreign(const char *who, const char *language, float confidence,
                            const char *target)
{
    const bool is_sure = confidence >= DG_ENGINE_SURE;
    fprintf(stderr,
            "dragoman %s stays as it is: it is in %s%s%s, and no installed model translates from "
            "that to %s",
            who, language && is_sure ? "" : "another language",
            !language || is_sure ? "" : ", perhaps ", language ? language : "", target);
    if (language && *target && is_sure)
        fprintf(stderr, "; 'dragoman get %s-%s' fetches one", language, target);
    fputc('\n', stderr);
}
