/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The languages that this server translates, for APIs to list and check.
 *
 *     struct dg_languages langs;
 *     err = dg_languages_read(&api->languages, engine, &arena, &langs);
 *     const struct dg_language *from = dg_languages_find(&langs, code, DG_LANGUAGE_SOURCE);
 *     if (from && to && !dg_languages_lead(&langs, from, to)) ... not this pair
 *
 * Codes may be in any spelling; the list is sorted by code. It is a snapshot that lives in the
 * arena and borrows nothing, copied from one that is kept until models come or go. One thread. */
#ifndef DG_API_V1_LANGUAGES_H
#define DG_API_V1_LANGUAGES_H

#include "base/memory/arena.h"
#include "engine/engine.h"
#include "engine/models/langs.h"
#include "text/language/langtag.h"

enum { DG_LANGUAGE_SOURCE = 1, DG_LANGUAGE_TARGET = 2, DG_LANGUAGE_ANY = 3 };

struct dg_language {
    struct dg_langtag tag;
    char code[DG_LANGTAG_TEXT]; /* "en", "pt-BR", "zh-Hans"; Chinese always has its script */
    char name[DG_LANG_NAME];    /* in English */
    unsigned sides;             /* DG_LANGUAGE_SOURCE, _TARGET or both */
    /* as a target language: some model can translate in that manner */
    bool has_formal, has_informal;
};

struct dg_languages {
    struct dg_language *items; /* [n] */
    size_t n;
    uint64_t *leads; /* [n] rows of bits, one for each source, in whole words: bit `to` is set when
                      it leads to that target; a language leads to itself */
};

/* Zeroed at birth. */
struct dg_languages_cache {
    struct dg_languages langs; /* owned, with its arrays */
    uint64_t version;          /* the version of the engine's list of models */
    bool is_read;
};

void dg_languages_cache_deinit(struct dg_languages_cache *cache);

enum dg_err dg_languages_read(struct dg_languages_cache *cache, const struct dg_engine *engine,
                              struct dg_arena *arena, struct dg_languages *langs) DG_MUST_CHECK;

/* Like dg_languages_read, but without a copy: the result is borrowed until the next call of this
 * function; NULL: memory ran out. */
const struct dg_languages *dg_languages_now(struct dg_languages_cache *cache,
                                            const struct dg_engine *engine);

/* Returns the language that fits a code best, among those with one of the sides; NULL when none
 * does. */
const struct dg_language *dg_languages_find(const struct dg_languages *langs, struct dg_span code,
                                            unsigned sides);

bool dg_languages_lead(const struct dg_languages *langs, const struct dg_language *from,
                       const struct dg_language *to);

#endif
