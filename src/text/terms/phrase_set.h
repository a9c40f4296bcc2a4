/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A set of phrases of any bytes. It finds the longest phrase at a place of a text, or tells whether
 * it contains a phrase.
 *
 *     struct dg_phrase_set set;
 *     err = dg_phrase_set_init(&set, phrases, n);
 *     size_t len = dg_phrase_set_longest(&set, text, at);    0: none begins there
 *     if (dg_phrase_set_has(&set, word)) ...
 *     dg_phrase_set_deinit(&set);
 *
 * A lookup takes a few comparisons, whatever the number of phrases and their common beginnings.
 * Immutable once it is made; any thread. */
#ifndef DG_TEXT_TERMS_PHRASE_SET_H
#define DG_TEXT_TERMS_PHRASE_SET_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_phrase_set {
    struct dg_span *items; /* owned; [n] sorted and distinct phrases, whose bytes are borrowed */
    uint32_t *parents; /* owned; [n] 1 + the index of the longest phrase that this one begins with;
                          0: none */
    size_t n;
};

/* Empty phrases are left out. DG_ERR_NOMEM; DG_ERR_LIMIT for more than 2^31. All zeros is an empty
 * set. */
enum dg_err dg_phrase_set_init(struct dg_phrase_set *set, const struct dg_span *phrases,
                               size_t n) DG_MUST_CHECK;

/* The same from a list of words with commas or white space between them. */
enum dg_err dg_phrase_set_init_list(struct dg_phrase_set *set, struct dg_span list) DG_MUST_CHECK;
void dg_phrase_set_deinit(struct dg_phrase_set *set);

/* The length of the longest phrase that begins at byte `at` of the text; 0: none. */
size_t dg_phrase_set_longest(const struct dg_phrase_set *set, struct dg_span text, size_t at);

bool dg_phrase_set_has(const struct dg_phrase_set *set, struct dg_span phrase);

#endif
