/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Hash map with open addressing and linear probing: an entry takes the first free slot at or after
 * its hash. Removal shifts later entries of the run back, so there are no tombstones and a lookup
 * ends at the first free slot. At most three quarters of the slots are in use. */
#include "base/memory/map.h"
#include "base/memory/mem.h"

enum { SMALLEST = 16 };

struct dg_map_slot {
    uint64_t hash; /* 0: the slot is free */
    struct dg_span key;
    uint64_t value;
};

void dg_map_init(struct dg_map *map, size_t max)
{
    *map = (struct dg_map){.max = max, .key = dg_hash_key_random()};
}

void dg_map_deinit(struct dg_map *map)
{
    dg_free(map->slots);
    *map = (struct dg_map){.max = map->max, .key = map->key};
}

static uint64_t hash_of(const struct dg_map *map, struct dg_span key)
{
    uint64_t hash = dg_hash_bytes(&map->key, key);
    return hash ? hash : 1;
}

/* The slot that holds `key`, or the free one where it belongs. There is always a free one. */
static struct dg_map_slot *find(const struct dg_map *map, struct dg_span key, uint64_t hash)
{
    size_t mask = map->n_slots - 1;
    size_t i = (size_t)hash & mask;
    while (map->slots[i].hash != 0 &&
           !(map->slots[i].hash == hash && dg_span_eq(map->slots[i].key, key)))
        i = (i + 1) & mask;
    return &map->slots[i];
}

/* Moves everything into `n_slots` slots, a power of two. */
static enum dg_err resize(struct dg_map *map, size_t n_slots)
{
    struct dg_map_slot *slots = dg_try_calloc(n_slots, sizeof *slots);
    if (!slots)
        return DG_ERR_NOMEM;
    struct dg_map bigger = *map;
    bigger.slots = slots;
    bigger.n_slots = n_slots;
    for (size_t i = 0; i < map->n_slots; i++)
        if (map->slots[i].hash)
            *find(&bigger, map->slots[i].key, map->slots[i].hash) = map->slots[i];
    dg_free(map->slots);
    *map = bigger;
    return DG_OK;
}

enum dg_err dg_map_reserve(struct dg_map *map, size_t n)
{
    if (n > map->max)
        return DG_ERR_LIMIT;
    size_t n_slots = map->n_slots ? map->n_slots : SMALLEST;
    while (n_slots / 4 * 3 < n)
        if (!dg_mul(n_slots, 2, &n_slots))
            return DG_ERR_NOMEM;
    return n_slots == map->n_slots ? DG_OK : resize(map, n_slots);
}

enum dg_err dg_map_put(struct dg_map *map, struct dg_span key, uint64_t value)
{
    uint64_t hash = hash_of(map, key);
    struct dg_map_slot *slot = map->n_slots ? find(map, key, hash) : NULL;
    if (!slot || slot->hash == 0) {
        enum dg_err err = dg_map_reserve(map, map->len + 1);
        if (err)
            return err;
        slot = find(map, key, hash);
        map->len++;
    }
    *slot = (struct dg_map_slot){hash, key, value};
    return DG_OK;
}

bool dg_map_get(const struct dg_map *map, struct dg_span key, uint64_t *value)
{
    if (map->len == 0)
        return false;
    const struct dg_map_slot *slot = find(map, key, hash_of(map, key));
    if (slot->hash == 0)
        return false;
    if (value)
        *value = slot->value;
    return true;
}

bool dg_map_remove(struct dg_map *map, struct dg_span key, uint64_t *value)
{
    if (map->len == 0)
        return false;
    struct dg_map_slot *slot = find(map, key, hash_of(map, key));
    if (slot->hash == 0)
        return false;
    if (value)
        *value = slot->value;
    size_t mask = map->n_slots - 1;
    size_t hole = (size_t)(slot - map->slots);
    for (size_t i = (hole + 1) & mask; map->slots[i].hash != 0; i = (i + 1) & mask) {
        /* The entry may move back unless its own slot lies after the hole. */
        size_t home = (size_t)map->slots[i].hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole] = (struct dg_map_slot){0};
    map->len--;
    return true;
}

bool dg_map_next(const struct dg_map *map, size_t *at, struct dg_span *key, uint64_t *value)
{
    while (*at < map->n_slots && map->slots[*at].hash == 0)
        ++*at;
    if (*at >= map->n_slots)
        return false;
    *key = map->slots[*at].key;
    if (value)
        *value = map->slots[*at].value;
    ++*at;
    return true;
}
