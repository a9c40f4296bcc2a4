/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The languages that this server translates, as the compatible APIs want to list and check them.
 *
 *     struct dg_languages langs;
 *     err = dg_languages_read(engine, &arena, &langs);
 *     const struct dg_language *from = dg_languages_find(&langs, code, DG_LANGUAGE_SOURCE);     any spelling
 *     if (from && to && !dg_languages_lead(&langs, from, to)) ... not this pair
 *
 * Sorted by code. A snapshot: it lives in the arena and borrows nothing. One thread. */
#ifndef DG_API_LANGUAGES_H
#define DG_API_LANGUAGES_H

#include "base/arena.h"
#include "engine/engine.h"
#include "text/langtag.h"

enum { DG_LANGUAGE_SOURCE = 1, DG_LANGUAGE_TARGET = 2, DG_LANGUAGE_ANY = 3 };

struct dg_language {
    struct dg_langtag tag;
    const char *code; /* "en", "pt-BR", "zh-Hans": Chinese always with its script */
    const char *name; /* in English */
    unsigned sides;   /* DG_LANGUAGE_SOURCE, _TARGET or both */
};

struct dg_languages {
    struct dg_language *items; /* [n] */
    size_t n;
    bool *leads; /* [n, n] from, to; a language leads to itself */
};

enum dg_err dg_languages_read(const struct dg_engine *engine, struct dg_arena *arena,
                              struct dg_languages *langs) DG_MUST_CHECK;

/* The language that fits a code best, among those with one of the sides; NULL when none does. */
const struct dg_language *dg_languages_find(const struct dg_languages *langs, struct dg_span code,
                                            unsigned sides);

bool dg_languages_lead(const struct dg_languages *langs, const struct dg_language *from,
                       const struct dg_language *to);

#endif
