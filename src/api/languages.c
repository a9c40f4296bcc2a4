/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Built anew for each request that needs it: models come and go, and there are few. */
#include "api/languages.h"

#include <stdlib.h>

enum { NAME_MAX_BYTES = 256 };

static enum dg_err name_it(struct dg_language *language, struct dg_arena *arena)
{
    struct dg_buf name;
    dg_buf_init(&name, NAME_MAX_BYTES);
    bool is_named = dg_langtag_name(&language->tag, "en", &name) == DG_OK && name.len > 0;
    struct dg_span kept = dg_arena_copy(arena, is_named ? dg_buf_span(&name) : dg_span_cstr(language->code));
    dg_buf_deinit(&name);
    language->name = kept.ptr;
    return kept.ptr ? DG_OK : DG_ERR_NOMEM;
}

static enum dg_err code_it(struct dg_language *language, struct dg_arena *arena)
{
    const struct dg_langtag *tag = &language->tag;
    struct dg_span code = dg_span_cstr(tag->text);
    if (strcmp(tag->text, "zh") == 0)
        code = strcmp(tag->likely_script, "Hant") == 0 ? DG_SPAN("zh-Hant") : DG_SPAN("zh-Hans");
    struct dg_span kept = dg_arena_copy(arena, code);
    language->code = kept.ptr;
    return kept.ptr ? DG_OK : DG_ERR_NOMEM;
}

/* Adds a side to the language of a tag; a new language when there is none. */
static enum dg_err add(struct dg_languages *langs, struct dg_arena *arena, const char *text, unsigned side)
{
    struct dg_language language = {.sides = side};
    if (!text || !*text || dg_langtag_parse(dg_span_cstr(text), &language.tag, NULL) != DG_OK)
        return DG_OK; /* a model of no known language is reached by its name only */
    for (size_t i = 0; i < langs->n; i++) {
        if (strcmp(langs->items[i].tag.text, language.tag.text) == 0) {
            langs->items[i].sides |= side;
            return DG_OK;
        }
    }
    enum dg_err err = code_it(&language, arena);
    if (!err)
        err = name_it(&language, arena);
    if (!err)
        langs->items[langs->n++] = language;
    return err;
}

static int by_code(const void *a, const void *b)
{
    return strcmp(((const struct dg_language *)a)->code, ((const struct dg_language *)b)->code);
}

static void link_pairs(struct dg_languages *langs, const struct dg_engine *engine)
{
    for (size_t i = 0; i < langs->n; i++) {
        for (size_t j = 0; j < langs->n; j++) {
            const struct dg_language *from = &langs->items[i], *to = &langs->items[j];
            langs->leads[i * langs->n + j] = i == j || dg_engine_leads(engine, from->tag.text, to->tag.text);
        }
    }
}

enum dg_err dg_languages_read(const struct dg_engine *engine, struct dg_arena *arena, struct dg_languages *langs)
{
    size_t n_models = dg_engine_n_models(engine);
    *langs = (struct dg_languages){.n = 0};
    langs->items = dg_arena_calloc(arena, 2 * n_models + 1, sizeof *langs->items);
    enum dg_err err = langs->items ? DG_OK : DG_ERR_NOMEM;
    for (size_t i = 0; !err && i < n_models; i++) {
        struct dg_engine_model_info info = dg_engine_model_info(engine, i);
        err = add(langs, arena, info.source, DG_LANGUAGE_SOURCE);
        if (!err)
            err = add(langs, arena, info.target, DG_LANGUAGE_TARGET);
    }
    if (err)
        return err;
    qsort(langs->items, langs->n, sizeof *langs->items, by_code);
    langs->leads = dg_arena_calloc(arena, langs->n * langs->n + 1, sizeof *langs->leads);
    if (!langs->leads)
        return DG_ERR_NOMEM;
    link_pairs(langs, engine);
    return DG_OK;
}

const struct dg_language *dg_languages_find(const struct dg_languages *langs, struct dg_span code, unsigned sides)
{
    struct dg_langtag want;
    const struct dg_language *best = NULL;
    enum dg_langtag_fit best_fit = DG_LANGTAG_SCRIPT; /* another script is another language here */
    if (dg_langtag_parse(code, &want, NULL) != DG_OK)
        return NULL;
    for (size_t i = 0; i < langs->n; i++) {
        const struct dg_language *language = &langs->items[i];
        enum dg_langtag_fit fit = dg_langtag_compare(&want, &language->tag);
        if ((language->sides & sides) && fit > best_fit) {
            best = language;
            best_fit = fit;
        }
    }
    return best;
}

bool dg_languages_lead(const struct dg_languages *langs, const struct dg_language *from, const struct dg_language *to)
{
    size_t i = (size_t)(from - langs->items), j = (size_t)(to - langs->items);
    return langs->leads[i * langs->n + j];
}
