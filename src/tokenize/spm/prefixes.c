/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The walk is a range of the sorted list. For each byte two binary searches find the first string
 * of the range that has this byte at the current depth, and the end of those that do. A string that
 * ends at this depth sorts before longer ones. */
#include "tokenize/spm/prefixes.h"

#include "base/memory/mem.h"

#include <stdlib.h>

struct entry {
    struct dg_span text;
    uint32_t which;
};

static int by_bytes(const void *a, const void *b)
{
    const struct dg_span x = ((const struct entry *)a)->text, y = ((const struct entry *)b)->text;
    const int order = memcmp(x.ptr, y.ptr, x.len < y.len ? x.len : y.len);
    if (order)
        return order;
    return x.len < y.len ? -1 : x.len > y.len;
}

enum dg_err dg_prefixes_init(struct dg_prefixes *list, const struct dg_span *texts, uint32_t *order,
                             size_t n)
{
    struct entry *entries = dg_try_calloc(n + 1, sizeof *entries);
    *list = (struct dg_prefixes){.texts = texts, .order = order, .n = n};
    if (!entries)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        entries[i] = (struct entry){texts[order[i]], order[i]};
    if (n > 1)
        qsort(entries, n, sizeof *entries, by_bytes);
    for (size_t i = 0; i < n; i++)
        order[i] = entries[i].which;
    dg_free(entries);
    return DG_OK;
}

void dg_prefixes_deinit(struct dg_prefixes *list)
{
    dg_free(list->order);
    *list = (struct dg_prefixes){.n = 0};
}

struct dg_prefixes_walk dg_prefixes_start(const struct dg_prefixes *list)
{
    return (struct dg_prefixes_walk){.low = 0, .high = list->n};
}

/* The first place of [low, high) whose string has at least `byte` at `depth`. */
static size_t lower_bound(const struct dg_prefixes *list, size_t low, size_t high, size_t depth,
                          unsigned byte)
{
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct dg_span text = list->texts[list->order[middle]];
        if (text.len <= depth || (uint8_t)text.ptr[depth] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool dg_prefixes_step(const struct dg_prefixes *list, struct dg_prefixes_walk *walk, uint8_t byte)
{
    walk->low = lower_bound(list, walk->low, walk->high, walk->depth, byte);
    walk->high = lower_bound(list, walk->low, walk->high, walk->depth, byte + 1u);
    walk->depth++;
    return walk->low < walk->high;
}

bool dg_prefixes_here(const struct dg_prefixes *list, const struct dg_prefixes_walk *walk,
                      uint32_t *which)
{
    if (walk->low == walk->high || list->texts[list->order[walk->low]].len != walk->depth)
        return false;
    *which = list->order[walk->low];
    return true;
}
