/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The sentence cache: sentences that were translated or are being translated. Its keys hold
 * everything that decides the answer: the version of the model, every option of the search, the ids
 * of the source.
 *
 *     err = dg_cache_key(version, client, &search, ids, n_ids, &key);
 *     flight = dg_cache_find(cache, span_of_key);
 *     if (!flight) {                           else: is_over, an answer; or wait for it as well
 *         flight = dg_flight_new(ticket, version);
 *         dg_cache_enter(cache, flight, span_of_key);
 *         ...                                  when its ticket has ended:
 *         dg_cache_settle(cache, flight);
 *     }
 *     dg_flight_unref(flight);
 * A flight is a ticket together with the sentences that wait for it. The cache compares whole keys,
 * its hash is keyed (base/memory/map.h), and it drops the least recently used answers when
 * `bytes_max` is reached; the scheduler limits how much waits for a worker. One thread: the
 * engine's consumer. */
#ifndef DG_ENGINE_CACHE_CACHE_H
#define DG_ENGINE_CACHE_CACHE_H

#include "base/memory/buf.h"
#include "base/memory/list.h"
#include "engine/interface/engine_model.h"
#include "sched/ticket.h"

struct dg_flight {
    struct dg_ticket *ticket;   /* owned; it is with the scheduler until is_over */
    struct dg_sentence *leader; /* the sentence whose request submitted the ticket; NULL once the
                                   flight is over */
    struct dg_list sentences;   /* sentences that wait for news, including the leader */
    uint64_t version;           /* the version of the model */
    size_t n_refs;
    bool is_over;
    bool is_kept;        /* in the cache */
    struct dg_span key;  /* owned; empty if the flight is not in a cache */
    struct dg_list link; /* linked among all kept flights, the least recently used first */
    struct dg_remote_lookup *asking; /* Owned; the question to a remote cache, if one was asked
                                        first (remote_lookups.h); else NULL. */
    size_t bytes;                    /* bytes that count for the cache once the flight is over */
};

/* Takes the ticket and returns one reference. NULL: there is no memory, and the ticket stays the
 * caller's. */
struct dg_flight *dg_flight_new(struct dg_ticket *ticket, uint64_t version);
struct dg_flight *dg_flight_ref(struct dg_flight *flight);
void dg_flight_unref(struct dg_flight *flight); /* NULL is fine */

/* Appends everything that decides the answer, the version first, and the client that the answer
 * belongs to: `client` is 0 where all clients share answers. Options of sampling count only when
 * the search samples. */
enum { DG_CACHE_KEY_VERSION = sizeof(uint64_t) }; /* bytes of the version */
enum dg_err dg_cache_key(uint64_t version, uint64_t client, const struct dg_search_opts *search,
                         const int32_t *ids, size_t n_ids, struct dg_buf *key) DG_MUST_CHECK;

struct dg_cache;

struct dg_cache *dg_cache_new(size_t bytes_max);
void dg_cache_free(struct dg_cache *cache); /* NULL is fine */

/* Returns the flight of this key, borrowed; NULL: the cache does not have it. */
struct dg_flight *dg_cache_find(struct dg_cache *cache, struct dg_span key);

/* Enters a flight that has begun, with a copy of the key. If that fails, no other request shares
 * the flight. */
void dg_cache_enter(struct dg_cache *cache, struct dg_flight *flight, struct dg_span key);

/* Says that the flight's ticket has ended: a complete answer is kept, anything else is dropped. */
void dg_cache_settle(struct dg_cache *cache, struct dg_flight *flight);

/* Drops the answers of a model that was removed. */
void dg_cache_forget(struct dg_cache *cache, uint64_t version);

/* Returns the cache's counters; the caller counts hits, joined and misses into them. */
struct dg_engine_cache_stats *dg_cache_stats(struct dg_cache *cache);

#endif
