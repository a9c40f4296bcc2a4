/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How often each text was seen, for who learns a vocabulary:
 *
 *     err = dg_counted_add(&arena, &words, word);                 any number of times
 *     err = dg_counted_list(&words, true, dg_counted_by_count, &list);     [words.len]; dg_free()
 * it
 */
#ifndef DG_VOCABULARY_COUNTED_H
#define DG_VOCABULARY_COUNTED_H

#include "base/memory/arena.h"
#include "base/memory/map.h"

struct dg_counted {
    struct dg_span text;
    uint64_t count;
};

/* Once more `text`, unless it is empty; new ones are kept in the arena, and the map has where their
 * counts are. */
enum dg_err dg_counted_add(struct dg_arena *arena, struct dg_map *map,
                           struct dg_span text) DG_MUST_CHECK;

/* For qsort. The most frequent first; of equally frequent ones in the order of their bytes. */
int dg_counted_by_count(const void *a, const void *b);
int dg_counted_by_bytes(const void *a, const void *b);

/* The entries of a map in the order of `compare`. Values are counts, or point to them. */
enum dg_err dg_counted_list(const struct dg_map *map, bool are_pointers,
                            int (*compare)(const void *, const void *),
                            struct dg_counted **list) DG_MUST_CHECK;

#endif
