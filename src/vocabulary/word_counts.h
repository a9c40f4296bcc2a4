/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Counts how often each text occurs. The trainers of vocabularies use it.
 *
 *     err = dg_word_count_add(&arena, &words, word);                       any number of times
 *     err = dg_word_count_list(&words, true, dg_word_count_by_count, &list);
 *     ...
 *     dg_free(list); */
#ifndef DG_VOCABULARY_WORD_COUNTS_H
#define DG_VOCABULARY_WORD_COUNTS_H

#include "base/memory/arena.h"
#include "base/memory/map.h"

struct dg_word_count {
    struct dg_span text;
    uint64_t count;
};

/* Counts `text` once more, unless it is empty. The arena keeps a copy of a new text, and the map's
 * value points to its count. */
enum dg_err dg_word_count_add(struct dg_arena *arena, struct dg_map *map,
                              struct dg_span text) DG_MUST_CHECK;

/* For qsort: puts the most frequent text first, and equally frequent texts in the order of their
 * bytes. */
int dg_word_count_by_count(const void *a, const void *b);
int dg_word_count_by_bytes(const void *a, const void *b);

/* Lists the entries of a map in the order of `compare`. The map's values are counts, or point to
 * counts. */
enum dg_err dg_word_count_list(const struct dg_map *map, bool are_pointers,
                               int (*compare)(const void *, const void *),
                               struct dg_word_count **list) DG_MUST_CHECK;

#endif
