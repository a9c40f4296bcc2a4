/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What a full stop means after certain words, by language. The lists are our own, one file for each
 * language (abbrev_en.c ...); to add a language, write its file and add it to `tables` in abbrev.c.
 *
 *     const struct dg_abbrev *abbrev = dg_abbrev_for("de");
 *     if (dg_abbrev_has(abbrev->never, word)) ...
 *
 * Words are lower case, without the last full stop, sorted by bytes (a test checks), NULL at the
 * end. */
#ifndef DG_TEXT_SENTENCE_ABBREV_H
#define DG_TEXT_SENTENCE_ABBREV_H

#include "base/memory/span.h"

#include <stdbool.h>

struct dg_abbrev {
    const char *language;
    const char *const *never;    /* never end a sentence: "dr", "z.b" */
    const char *const *number;   /* do not end a sentence before a digit or a Roman number: "no",
                                    "fig", "art" */
    const char *const *perhaps;  /* end a sentence only before a usual first word: "u.s", "inc",
                                    "p.m" */
    const char *const *unit;     /* end a sentence only after a number: Russian "г" */
    const char *const *starters; /* usual first words of sentences: "the", "he" */
    bool ordinals; /* a stop after a number of one or two digits does not end a sentence: "3.
                      Oktober" */
    /* capitals that follow an ordinal at the start of a line: "oktober" */
    const char *const *ordinal;
};

/* The table of a language (two letters), or a general one. Never NULL. */
const struct dg_abbrev *dg_abbrev_for(const char *language);

/* True when `word` (lower case) is in the list; NULL is an empty list. */
bool dg_abbrev_has(const char *const *list, struct dg_span word);

/* True when a line that starts with "3. " and goes on with `rest` starts with an ordinal, not with
 * the number of a list's item. */
bool dg_abbrev_is_ordinal(const struct dg_abbrev *abbrev, struct dg_span rest);

extern const struct dg_abbrev dg_abbrev_de, dg_abbrev_en, dg_abbrev_es, dg_abbrev_fr, dg_abbrev_it,
    dg_abbrev_ja, dg_abbrev_ko, dg_abbrev_pt, dg_abbrev_ru, dg_abbrev_zh;

#endif
