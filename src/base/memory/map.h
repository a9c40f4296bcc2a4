/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A hash map from spans to numbers or pointers, with a keyed hash and a declared maximum of
 * entries.
 *
 *     struct dg_map map;
 *     dg_map_init(&map, 100000);                          nothing is allocated yet
 *     err = dg_map_put(&map, piece, id);                  DG_ERR_LIMIT past 100000 entries
 *     if (dg_map_get(&map, DG_SPAN("</s>"), &id)) ...
 *     dg_map_remove(&map, piece, NULL);
 *     for (size_t at = 0; dg_map_next(&map, &at, &key, &value);) ...
 *     dg_map_deinit(&map);
 *
 * Keys are borrowed: their bytes must outlive the entry and not change. A key may hold any bytes
 * and may be empty. For pointers see dg_map_put_ptr. Reading from several threads is fine while
 * nobody writes. */
#ifndef DG_BASE_MEMORY_MAP_H
#define DG_BASE_MEMORY_MAP_H

#include "base/memory/error.h"
#include "base/memory/hash.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_map_slot;

struct dg_map {
    struct dg_map_slot *slots; /* owned; NULL until the first entry */
    size_t n_slots;            /* 0 or a power of two */
    size_t len;                /* entries */
    size_t max;                /* `len` never passes this */
    struct dg_hash_key key;
};

/* Chooses a random hash key. */
void dg_map_init(struct dg_map *map, size_t max);
void dg_map_deinit(struct dg_map *map); /* does not free what pointer values point to */

/* Makes room for `n` entries in all, so that putting them does not allocate. */
enum dg_err dg_map_reserve(struct dg_map *map, size_t n) DG_MUST_CHECK;

/* Adds the entry. If the key is present already, the new value and the new key's bytes replace the
 * old ones. A failure leaves the map as it was. */
enum dg_err dg_map_put(struct dg_map *map, struct dg_span key, uint64_t value) DG_MUST_CHECK;

/* True when the key has an entry, whose value is then written to *value (unless NULL). */
bool dg_map_get(const struct dg_map *map, struct dg_span key, uint64_t *value);
bool dg_map_remove(struct dg_map *map, struct dg_span key, uint64_t *value);

/* Visits all entries in no particular order, starting with *at = 0. The map must not change
 * during the visit. */
bool dg_map_next(const struct dg_map *map, size_t *at, struct dg_span *key, uint64_t *value);

static inline enum dg_err dg_map_put_ptr(struct dg_map *map, struct dg_span key, void *ptr)
{
    return dg_map_put(map, key, (uint64_t)(uintptr_t)ptr);
}

/* NULL when absent. */
static inline void *dg_map_get_ptr(const struct dg_map *map, struct dg_span key)
{
    uint64_t value = 0;
    return dg_map_get(map, key, &value) ? (void *)(uintptr_t)value : NULL;
}

#endif
