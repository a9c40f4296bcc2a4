/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The list is made when models have come or gone, and copied for each caller: one model may have
 * two hundred languages, too many for looking up forty thousand pairs one by one. Whether one
 * language leads to another depends only on the two (dg_langtag_compare), so the pairs are a matrix
 * of bits:
 *
 *     direct[from]  |= what a model says that reads `from`
 *     leads[from]    = direct[from] | direct[between] for every `between` in direct[from]
 *
 * Variants of one language (zh-Hans to zh-Hant) are few; for them the engine is asked. */
#include "api/v1/languages.h"
#include "base/memory/mem.h"
#include "engine/models/langs.h"

#include <stdlib.h>

/* ---- The list -------------------------------------------------------------------------------- */

static void code_it(struct dg_language *language)
{
    const struct dg_langtag *tag = &language->tag;
    const char *code = tag->text;
    if (strcmp(code, "zh") == 0)
        code = strcmp(tag->likely_script, "Hant") == 0 ? "zh-Hant" : "zh-Hans";
    memcpy(language->code, code, strlen(code) + 1);
}

static void add_manners(struct dg_language *language, const struct dg_lang *of, unsigned side)
{
    language->has_formal |= side == DG_LANGUAGE_TARGET && of->formal.id >= 0;
    language->has_informal |= side == DG_LANGUAGE_TARGET && of->informal.id >= 0;
}

/* Adds a side to the language of a model. A model without a known language can only be requested by
 * its name. */
static void add(struct dg_languages *langs, const struct dg_lang *lang, unsigned side)
{
    if (!*lang->tag.text)
        return;
    for (size_t i = 0; i < langs->n; i++) {
        if (strcmp(langs->items[i].tag.text, lang->tag.text) == 0) {
            langs->items[i].sides |= side;
            add_manners(&langs->items[i], lang, side);
            return;
        }
    }
    struct dg_language *language = &langs->items[langs->n++];
    *language = (struct dg_language){.tag = lang->tag, .sides = side};
    add_manners(language, lang, side);
    code_it(language);
    memcpy(language->name, *lang->name ? lang->name : language->code,
           strlen(*lang->name ? lang->name : language->code) + 1);
}

static int by_code(const void *a, const void *b)
{
    return strcmp(((const struct dg_language *)a)->code, ((const struct dg_language *)b)->code);
}

/* Returns the languages of model `i`; NULL: it translates nothing. */
static const struct dg_langs *langs_of(const struct dg_engine *engine, size_t i)
{
    const struct dg_engine_model_info info = dg_engine_model_info(engine, i);
    return info.is_language_model || info.is_reader ? NULL : info.langs;
}

static enum dg_err list_languages(struct dg_languages *langs, const struct dg_engine *engine)
{
    size_t n_models = dg_engine_n_models(engine), n = 0;
    for (size_t i = 0; i < n_models; i++) {
        const struct dg_langs *of = langs_of(engine, i);
        n += of ? of->n_sources + of->n_targets : 0;
    }
    langs->items = dg_try_calloc(n + 1, sizeof *langs->items);
    if (!langs->items)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < n_models; i++) {
        const struct dg_langs *of = langs_of(engine, i);
        for (size_t k = 0; of && k < of->n_sources; k++)
            add(langs, &of->sources[k], DG_LANGUAGE_SOURCE);
        for (size_t k = 0; of && k < of->n_targets; k++)
            add(langs, &of->targets[k], DG_LANGUAGE_TARGET);
    }
    qsort(langs->items, langs->n, sizeof *langs->items, by_code);
    return DG_OK;
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static size_t row_words(size_t n)
{
    return (n + 63) / 64;
}

static bool has_bit(const uint64_t *row, size_t i)
{
    return row[i / 64] >> (i % 64) & 1;
}

static void set_bit(uint64_t *row, size_t i)
{
    row[i / 64] |= (uint64_t)1 << (i % 64);
}

/* Sets the bits of all list items that are variants of the language. */
static void set_language(uint64_t *row, const struct dg_languages *langs, const char *language)
{
    for (size_t i = 0; i < langs->n; i++)
        if (strcmp(langs->items[i].tag.language, language) == 0)
            set_bit(row, i);
}

/* Fills the rows of `direct` [n]: the languages that each language can be translated to by one
 * model. */
static void set_direct(uint64_t *direct, uint64_t *mask, const struct dg_languages *langs,
                       const struct dg_langs *of)
{
    const size_t words = row_words(langs->n);
    uint64_t *sources = mask + words;
    memset(mask, 0, 2 * words * sizeof *mask);
    for (size_t k = 0; k < of->n_targets; k++)
        set_language(mask, langs, of->targets[k].tag.language);
    for (size_t k = 0; k < of->n_sources; k++)
        set_language(sources, langs, of->sources[k].tag.language);
    for (size_t i = 0; i < langs->n; i++)
        for (size_t w = 0; has_bit(sources, i) && w < words; w++)
            direct[i * words + w] |= mask[w];
}

static bool is_variant(const struct dg_languages *langs, size_t i, size_t j)
{
    return strcmp(langs->items[i].tag.language, langs->items[j].tag.language) == 0;
}

/* leads = direct, or by way of one language between, except between variants of the same
 * language. */
static void join(struct dg_languages *langs, const uint64_t *direct, const struct dg_engine *engine)
{
    const size_t n = langs->n, words = row_words(n);
    for (size_t i = 0; i < n; i++) {
        uint64_t *leads = langs->leads + i * words;
        memcpy(leads, direct + i * words, words * sizeof *leads);
        for (size_t k = 0; k < n; k++)
            for (size_t w = 0;
                 has_bit(direct + i * words, k) && !is_variant(langs, i, k) && w < words; w++)
                leads[w] |= direct[k * words + w];
        for (size_t j = 0; j < n; j++) {
            if (!is_variant(langs, i, j))
                continue;
            leads[j / 64] &= ~((uint64_t)1 << (j % 64));
            if (i == j ||
                dg_engine_leads(engine, langs->items[i].tag.text, langs->items[j].tag.text))
                set_bit(leads, j);
        }
    }
}

static enum dg_err link_pairs(struct dg_languages *langs, const struct dg_engine *engine)
{
    const size_t words = row_words(langs->n), n_models = dg_engine_n_models(engine);
    uint64_t *direct = dg_try_calloc((langs->n + 2) * words + 1, sizeof *direct);
    langs->leads = dg_try_calloc(langs->n * words + 1, sizeof *langs->leads);
    if (direct && langs->leads) {
        for (size_t i = 0; i < n_models; i++)
            if (langs_of(engine, i))
                set_direct(direct, direct + langs->n * words, langs, langs_of(engine, i));
        join(langs, direct, engine);
    }
    enum dg_err err = direct && langs->leads ? DG_OK : DG_ERR_NOMEM;
    dg_free(direct);
    return err;
}

/* ---- The cache ------------------------------------------------------------------------------- */

void dg_languages_cache_deinit(struct dg_languages_cache *cache)
{
    dg_free(cache->langs.items);
    dg_free(cache->langs.leads);
    *cache = (struct dg_languages_cache){.is_read = false};
}

static enum dg_err refresh(struct dg_languages_cache *cache, const struct dg_engine *engine)
{
    if (cache->is_read && cache->version == dg_engine_models_version(engine))
        return DG_OK;
    dg_languages_cache_deinit(cache);
    enum dg_err err = list_languages(&cache->langs, engine);
    if (!err)
        err = link_pairs(&cache->langs, engine);
    if (err) {
        dg_languages_cache_deinit(cache);
        return err;
    }
    cache->is_read = true;
    cache->version = dg_engine_models_version(engine);
    return DG_OK;
}

const struct dg_languages *dg_languages_now(struct dg_languages_cache *cache,
                                            const struct dg_engine *engine)
{
    return refresh(cache, engine) ? NULL : &cache->langs;
}

enum dg_err dg_languages_read(struct dg_languages_cache *cache, const struct dg_engine *engine,
                              struct dg_arena *arena, struct dg_languages *langs)
{
    enum dg_err err = refresh(cache, engine);
    *langs = (struct dg_languages){.n = 0};
    if (err)
        return err;
    const struct dg_languages *now = &cache->langs;
    const size_t n_words = now->n * row_words(now->n);
    struct dg_language *items = dg_arena_calloc(arena, now->n + 1, sizeof *items);
    uint64_t *leads = dg_arena_calloc(arena, n_words + 1, sizeof *leads);
    if (!items || !leads)
        return DG_ERR_NOMEM;
    if (now->n) {
        memcpy(items, now->items, now->n * sizeof *items);
        memcpy(leads, now->leads, n_words * sizeof *leads);
    }
    *langs = (struct dg_languages){items, now->n, leads};
    return DG_OK;
}

/* ---- Questions ------------------------------------------------------------------------------- */

/* Finds what dg_languages_find finds for a code that is written like the language's own, without
 * memory. */
static const struct dg_language *find_text(const struct dg_languages *langs, struct dg_span code,
                                           unsigned sides)
{
    for (size_t i = 0; i < langs->n; i++) {
        const char *text = langs->items[i].tag.text;
        if ((langs->items[i].sides & sides) && strlen(text) == code.len &&
            strncasecmp(text, code.ptr, code.len) == 0)
            return &langs->items[i];
    }
    return NULL;
}

const struct dg_language *dg_languages_find(const struct dg_languages *langs, struct dg_span code,
                                            unsigned sides)
{
    struct dg_langtag want;
    const struct dg_language *best = NULL;
    enum dg_langtag_fit best_fit = DG_LANGTAG_SCRIPT; /* a language in another script is another
                                                         language here */
    const enum dg_err err = dg_langtag_parse(code, &want, NULL);
    if (err)
        return err == DG_ERR_NOMEM ? find_text(langs, code, sides) : NULL;
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

bool dg_languages_lead(const struct dg_languages *langs, const struct dg_language *from,
                       const struct dg_language *to)
{
    size_t i = (size_t)(from - langs->items), j = (size_t)(to - langs->items);
    return has_bit(langs->leads + i * row_words(langs->n), j);
}
