/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Walks a double array whose node positions are combined by exclusive or. A unit is
 *
 *     bits 0-7    the byte that leads here (a value has bit 31 set, so that it never equals a byte)
 *     bit  8      a key ends here; its value is the unit at the node's offset
 *     bit  9      the offset is shifted left by 8
 *     bits 10-31  offset
 *
 * The original library never checks positions. Here a position outside the array ends the walk, and
 * an offset outside the pool is an empty replacement, so that a forged file can only give wrong
 * text. */
#include "tokenize/spm/charsmap.h"

#include <string.h>

enum {
    KEYS_MAX = 32
}; /* the original looks at this many keys that begin the text, the shortest first */

static uint32_t unit_at(const struct dg_charsmap *map, size_t pos)
{
    const uint8_t *p = map->units + 4 * pos;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 0x200) >> 6);
}

enum dg_err dg_charsmap_init(struct dg_charsmap *map, const uint8_t *blob, size_t len,
                             struct dg_error *error)
{
    *map = (struct dg_charsmap){0};
    if (len == 0)
        return DG_OK;
    if (len <= 4)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "precompiled_charsmap has %zu bytes, expected more than 4", len);
    size_t trie_len =
        (size_t)blob[0] | (size_t)blob[1] << 8 | (size_t)blob[2] << 16 | (size_t)blob[3] << 24;
    if (trie_len >= len - 4)
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "precompiled_charsmap says its trie has %zu bytes, only %zu are left with the "
            "replacements",
            trie_len, len - 4);
    if (trie_len < 4 || trie_len % 4 != 0)
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "precompiled_charsmap says its trie has %zu bytes, expected a multiple of 4", trie_len);
    map->units = blob + 4;
    map->n_units = trie_len / 4;
    map->pool = blob + 4 + trie_len;
    map->pool_len = len - 4 - trie_len;
    return DG_OK;
}

static void set_replacement(const struct dg_charsmap *map, size_t value_pos,
                            struct dg_charsmap_hit *hit)
{
    size_t value = value_pos < map->n_units ? unit_at(map, value_pos) & 0x7FFFFFFF : map->pool_len;
    hit->ptr = map->pool;
    hit->len = 0;
    if (value < map->pool_len) {
        hit->ptr = map->pool + value;
        hit->len = strnlen((const char *)hit->ptr, map->pool_len - value);
    }
}

struct dg_charsmap_hit dg_charsmap_find(const struct dg_charsmap *map, const uint8_t *at,
                                        const uint8_t *end)
{
    struct dg_charsmap_hit hit = {0};
    if (map->n_units == 0)
        return hit;
    size_t pos = offset_of(unit_at(map, 0));
    size_t value_pos = 0;
    unsigned n_keys = 0;
    for (const uint8_t *p = at;; p++) {
        if (p == end) {
            hit.open = true;
            break;
        }
        pos ^= *p;
        if (pos >= map->n_units)
            break;
        uint32_t unit = unit_at(map, pos);
        if ((unit & 0x800000FF) != *p)
            break;
        pos ^= offset_of(unit);
        if ((unit & 0x100) && n_keys < KEYS_MAX) {
            n_keys++;
            hit.key_len = (size_t)(p - at) + 1;
            value_pos = pos;
        }
    }
    if (hit.key_len)
        set_replacement(map, value_pos, &hit);
    return hit;
}

struct dg_charsmap_hit dg_charsmap_find_first(const struct dg_charsmap *map, const uint8_t *at,
                                              const uint8_t *end)
{
    struct dg_charsmap_hit hit = {0};
    size_t pos = map->n_units ? offset_of(unit_at(map, 0)) : 0;
    for (const uint8_t *p = at; map->n_units && p < end && *p; p++) {
        pos ^= *p;
        if (pos >= map->n_units)
            break;
        const uint32_t unit = unit_at(map, pos);
        if ((unit & 0x800000FF) != *p)
            break;
        pos ^= offset_of(unit);
        if (unit & 0x100) {
            hit.key_len = (size_t)(p - at) + 1;
            set_replacement(map, pos, &hit);
            break;
        }
    }
    return hit;
}

bool dg_charsmap_touches(const struct dg_charsmap *map, const uint8_t *character, size_t len)
{
    if (map->n_units == 0)
        return false;
    size_t pos = offset_of(unit_at(map, 0));
    for (size_t i = 0; i < len; i++) {
        pos ^= character[i];
        if (pos >= map->n_units || (unit_at(map, pos) & 0x800000FF) != character[i])
            return false;
        if (unit_at(map, pos) & 0x100)
            return true;
        pos ^= offset_of(unit_at(map, pos));
    }
    for (size_t next = 0; next < 0x80; next++)
        if ((pos ^ next) < map->n_units && (unit_at(map, pos ^ next) & 0x800000FF) == next)
            return true;
    return false;
}
