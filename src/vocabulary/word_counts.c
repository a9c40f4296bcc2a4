/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A map from texts to their counts. */
#include "vocabulary/word_counts.h"
#include "base/memory/mem.h"

#include <stdlib.h>
#include <string.h>

enum dg_err dg_word_count_add(struct dg_arena *arena, struct dg_map *map, struct dg_span text)
{
    uint64_t *n = text.len ? dg_map_get_ptr(map, text) : NULL;
    if (n)
        ++*n;
    if (n || !text.len)
        return DG_OK;
    const struct dg_span kept = dg_arena_copy(arena, text);
    n = dg_arena_alloc(arena, sizeof *n);
    if (!kept.ptr || !n)
        return DG_ERR_NOMEM;
    *n = 1;
    return dg_map_put_ptr(map, kept, n);
}

int dg_word_count_by_bytes(const void *a, const void *b)
{
    const struct dg_span x = ((const struct dg_word_count *)a)->text,
                         y = ((const struct dg_word_count *)b)->text;
    const size_t shorter = x.len < y.len ? x.len : y.len;
    const int order = shorter ? memcmp(x.ptr, y.ptr, shorter) : 0;
    return order ? order : (x.len > y.len) - (x.len < y.len);
}

int dg_word_count_by_count(const void *a, const void *b)
{
    const uint64_t x = ((const struct dg_word_count *)a)->count,
                   y = ((const struct dg_word_count *)b)->count;
    return x != y ? (x < y ? 1 : -1) : dg_word_count_by_bytes(a, b);
}

enum dg_err dg_word_count_list(const struct dg_map *map, bool are_pointers,
                               int (*compare)(const void *, const void *),
                               struct dg_word_count **list)
{
    struct dg_word_count *made = dg_try_calloc(map->len + 1, sizeof *made);
    struct dg_span text;
    uint64_t value;
    size_t n = 0;
    if (!made)
        return DG_ERR_NOMEM;
    for (size_t at = 0; dg_map_next(map, &at, &text, &value);)
        made[n++] = (struct dg_word_count){text, are_pointers ? *(const uint64_t *)(uintptr_t)value
                                                              : value};
    qsort(made, n, sizeof *made, compare);
    *list = made;
    return DG_OK;
}
