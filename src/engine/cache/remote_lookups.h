/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: flights that wait, for a limited time, for a remote cache's answer.
 *
 *     if (!dg_remote_lookups_begin(&lookups, now, flight, key)) ...            translate at once
 *     while ((flight = dg_remote_lookups_next(&lookups, now, &value))) ...     answered, late or
 *                                                                              dropped
 *
 * After LATE_MAX missing answers in a row the remote cache is not asked for a while. One thread:
 * the consumer's. */
#ifndef DG_ENGINE_CACHE_REMOTE_LOOKUPS_H
#define DG_ENGINE_CACHE_REMOTE_LOOKUPS_H

#include "engine/cache/cache.h"
#include "engine/cache/remote.h"

enum { DG_REMOTE_LOOKUPS_MAX = 1024 }; /* questions under way at once */

/* One question. It stays with its flight, for its key, until the flight is settled. */
struct dg_remote_lookup {
    /* linked in `asked` or `answered`; in neither once dg_remote_lookups_next has returned it */
    struct dg_list link;
    struct dg_flight *flight;
    uint64_t id, until_ns;
    char key[DG_REMOTE_KEY_MAX];
    char *value; /* owned; [len]; NULL: no value */
    size_t len;
    bool is_dropped, is_hit;
};

struct dg_remote_lookups {
    struct dg_remote remote; /* `get` is NULL if there is no remote cache */
    struct dg_list asked, answered;
    uint64_t last_id, rest_until_ns;
    size_t n_late_in_row;
    struct dg_engine_remote_stats stats;
};

void dg_remote_lookups_init(struct dg_remote_lookups *lookups);

/* Asks for `key`. Takes no reference to `flight`, which must stay until dg_remote_lookups_next has
 * given it back. */
bool dg_remote_lookups_begin(struct dg_remote_lookups *lookups, uint64_t now_ns,
                             struct dg_flight *flight, const char *key);

void dg_remote_lookups_answer(struct dg_remote_lookups *lookups, uint64_t id, struct dg_span value);

/* Abandons the question; dg_remote_lookups_next gives the flight back. */
void dg_remote_lookups_drop(struct dg_remote_lookups *lookups, struct dg_flight *flight);

/* Returns the next flight whose question was answered, and the answer (ptr NULL: none), which
 * flight->asking owns. NULL: there is no such flight at present. */
struct dg_flight *dg_remote_lookups_next(struct dg_remote_lookups *lookups, uint64_t now_ns,
                                         struct dg_span *value);

void dg_remote_lookup_free(struct dg_remote_lookup *asking); /* NULL is fine */

#endif
