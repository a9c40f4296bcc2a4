/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Plural-Forms of gettext: how many forms a language has, and which one a number takes.
 *
 *     struct dg_plural plural;
 *     if (dg_plural_parse(DG_SPAN("nplurals=2; plural=(n != 1);"), &plural))
 *         form = dg_plural_form(&plural, 5);              1
 *     const char *usual = dg_plural_of("pl");             a language's usual rule; NULL: not known
 *
 * The expression is C's, over n. Any thread. */
#ifndef DG_MARKUP_PLURAL_H
#define DG_MARKUP_PLURAL_H

#include "base/memory/span.h"

#include <stdbool.h>

enum { DG_PLURALS_MAX = 8 };

struct dg_plural {
    int n_forms;               /* 1 to DG_PLURALS_MAX */
    struct dg_span expression; /* borrowed from the text that was parsed */
};

/* False when `rule` is not a valid rule, or gives a small number a form that does not exist. */
bool dg_plural_parse(struct dg_span rule, struct dg_plural *plural);

int dg_plural_form(const struct dg_plural *plural, unsigned long n);

/* True when the number 1 takes this form and no other small number does. */
bool dg_plural_is_one_alone(const struct dg_plural *plural, int form);

/* The usual rule of a language, given by a two- or three-letter code or a tag that begins with one.
 */
const char *dg_plural_of(struct dg_span language);

/* The plural categories of Unicode (CLDR) that a language has for whole numbers, besides
 * "other", which every language has: "one", "one few many". Empty if there are no more, or if
 * they are not known. */
const char *dg_plural_categories(struct dg_span language);

/* Whether a category is in such a list. */
bool dg_plural_has(const char *categories, const char *category);

#endif
