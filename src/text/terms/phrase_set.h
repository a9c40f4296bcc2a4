/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A set of phrases, any bytes: which of them stands at a place of a text, or whether it has one.
 *
 *     struct dg_phrase_set set;
 *     err = dg_phrase_set_init(&set, phrases, n);
 *     size_t len = dg_phrase_set_longest(&set, text, at);    0: none begins there
 *     if (dg_phrase_set_has(&set, word)) ...
 *     dg_phrase_set_deinit(&set);
 *
 * A look costs a few comparisons however many phrases there are, and whatever they have in common.
 * Immutable once it was made; any thread. */
#ifndef DG_TEXT_TERMS_PHRASE_SET_H
#define DG_TEXT_TERMS_PHRASE_SET_H

#include "base/memory/err.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_phrase_set {
    struct dg_span *items; /* owned; [n] in order, each once; what they point to is borrowed */
    uint32_t *parents; /* owned; [n] 1 + the place of the longest phrase that this one begins with;
                          0: none */
    size_t n;
};

/* Empty phrases are left out. DG_ERR_NOMEM; DG_ERR_LIMIT for more than 2^31. All zeros is an empty
 * set. */
enum dg_err dg_phrase_set_init(struct dg_phrase_set *set, const struct dg_span *phrases,
                               size_t n) DG_MUST_CHECK;

/* The words of a list that has commas or white space between them. */
enum dg_err dg_phrase_set_init_list(struct dg_phrase_set *set, struct dg_span list) DG_MUST_CHECK;
void dg_phrase_set_deinit(struct dg_phrase_set *set);

/* The length of the longest phrase that stands in the text at byte `at`; 0: none. */
size_t dg_phrase_set_longest(const struct dg_phrase_set *set, struct dg_span text, size_t at);

bool dg_phrase_set_has(const struct dg_phrase_set *set, struct dg_span phrase);

#endif
