/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The sentence cache. It keeps the finished tickets themselves, in a map by whole keys and in a
 * list in the order of use. A key holds everything that decides the answer, byte for byte, so a new
 * option of the search must be added to it (`dg_cache_key`). */
#include "engine/cache/cache.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "engine/cache/remote_lookups.h"

#include <string.h>

enum {
    SMALLEST = 256, /* every entry takes at least this much */
    UNDER_WAY_MAX = 1 << 20,
    OVERHEAD = 192, /* bytes of an entry in the map and the allocator */
};

struct dg_cache {
    struct dg_map map; /* maps keys to flights */
    struct dg_list kept;
    struct dg_engine_cache_stats stats;
};

/* ---- Flights --------------------------------------------------------------------------------- */

struct dg_flight *dg_flight_new(struct dg_ticket *ticket, uint64_t version)
{
    struct dg_flight *flight = dg_try_calloc(1, sizeof *flight);
    if (!flight)
        return NULL;
    flight->ticket = ticket;
    flight->version = version;
    flight->n_refs = 1;
    dg_list_init(&flight->sentences);
    dg_list_init(&flight->link);
    ticket->ctx = flight;
    return flight;
}

struct dg_flight *dg_flight_ref(struct dg_flight *flight)
{
    flight->n_refs++;
    return flight;
}

void dg_flight_unref(struct dg_flight *flight)
{
    if (!flight || --flight->n_refs > 0)
        return;
    dg_remote_lookup_free(flight->asking);
    dg_ticket_free(flight->ticket);
    dg_free((char *)flight->key.ptr);
    dg_free(flight);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static enum dg_err put(struct dg_buf *key, const void *bytes, size_t len)
{
    return len ? dg_buf_append(key, bytes, len) : DG_OK;
}

static enum dg_err put_ids(struct dg_buf *key, const int32_t *ids, size_t n)
{
    uint64_t len = n;
    enum dg_err err = put(key, &len, sizeof len);
    return err ? err : put(key, ids, n * sizeof *ids);
}

static enum dg_err put_constraints(struct dg_buf *key, const struct dg_search_opts *search)
{
    uint64_t head[2] = {search->n_constraints, search->in_order};
    enum dg_err err = put(key, head, sizeof head);
    for (size_t i = 0; !err && i < search->n_constraints; i++) {
        const struct dg_constraint *one = &search->constraints[i];
        uint64_t form[6] = {one->n_forms,   one->is_copy,  one->is_once,
                            one->is_placed, one->src_from, one->src_to};
        err = put(key, form, sizeof form);
        for (size_t j = 0; !err && j < one->n_forms; j++) {
            const uint64_t where = one->forms[j].where;
            err = put(key, &where, sizeof where);
            if (!err)
                err = put_ids(key, one->forms[j].ids, one->forms[j].n_ids);
        }
    }
    return err;
}

enum dg_err dg_cache_key(uint64_t version, uint64_t client, const struct dg_search_opts *s,
                         const int32_t *ids, size_t n_ids, struct dg_buf *key)
{
    const uint64_t numbers[] = {
        s->sample,       s->sample ? s->seed : 0, s->early_stop,
        s->suppress_unk, s->loop_guard,           s->want_alignment,
    };
    const int32_t counts[] = {
        s->beam,    s->n_best,    s->sample ? s->top_k : 0, s->min_len,
        s->max_len, s->max_extra, s->no_repeat_ngram,
    };
    const float reals[] = {
        s->length_penalty,
        s->coverage_penalty,
        s->patience,
        s->sample ? s->temperature : 0,
        s->sample ? s->top_p : 0,
        s->max_ratio,
        s->repetition_penalty,
    };
    enum dg_err err = put(key, &version, DG_CACHE_KEY_VERSION);
    if (!err)
        err = put(key, &client, sizeof client);
    if (!err)
        err = put(key, numbers, sizeof numbers);
    if (!err)
        err = put(key, counts, sizeof counts);
    if (!err)
        err = put(key, reals, sizeof reals);
    if (!err)
        err = put_ids(key, s->suppress, s->n_suppress);
    if (!err)
        err = put_ids(key, s->shortlist, s->n_shortlist);
    if (!err)
        err = put_ids(key, s->lead, s->n_lead);
    if (!err)
        err = put_ids(key, s->prefix, s->n_prefix);
    if (!err)
        err = put_constraints(key, s);
    return err ? err : put_ids(key, ids, n_ids);
}

/* ---- The cache ------------------------------------------------------------------------------- */

struct dg_cache *dg_cache_new(size_t bytes_max)
{
    struct dg_cache *cache = dg_xcalloc(1, sizeof *cache);
    dg_map_init(&cache->map, bytes_max / SMALLEST + UNDER_WAY_MAX);
    dg_list_init(&cache->kept);
    cache->stats.bytes_max = bytes_max;
    return cache;
}

static void drop(struct dg_cache *cache, struct dg_flight *flight)
{
    dg_map_remove(&cache->map, flight->key, NULL);
    dg_list_unlink(&flight->link);
    flight->is_kept = false;
    if (flight->bytes) {
        cache->stats.bytes -= flight->bytes;
        cache->stats.n_entries--;
    }
    dg_flight_unref(flight);
}

void dg_cache_free(struct dg_cache *cache)
{
    if (!cache)
        return;
    while (!dg_list_is_empty(&cache->kept))
        drop(cache, DG_LIST_ITEM(cache->kept.next, struct dg_flight, link));
    dg_map_deinit(&cache->map);
    dg_free(cache);
}

struct dg_flight *dg_cache_find(struct dg_cache *cache, struct dg_span key)
{
    struct dg_flight *flight = dg_map_get_ptr(&cache->map, key);
    if (flight) {
        dg_list_unlink(&flight->link);
        dg_list_link_last(&cache->kept, &flight->link);
    }
    return flight;
}

void dg_cache_enter(struct dg_cache *cache, struct dg_flight *flight, struct dg_span key)
{
    char *copy = dg_try_malloc(key.len);
    if (!copy)
        return;
    memcpy(copy, key.ptr, key.len);
    if (dg_map_get_ptr(&cache->map, key) ||
        dg_map_put_ptr(&cache->map, dg_span_make(copy, key.len), flight)) {
        dg_free(copy);
        return;
    }
    flight->key = dg_span_make(copy, key.len);
    flight->is_kept = true;
    dg_list_link_last(&cache->kept, &dg_flight_ref(flight)->link);
}

static size_t bytes_of(const struct dg_flight *flight)
{
    const struct dg_ticket *ticket = flight->ticket;
    size_t bytes = OVERHEAD + sizeof *flight + sizeof *ticket + flight->key.len +
                   (ticket->n_src + 2 * ticket->shown_cap) * sizeof(int32_t);
    for (size_t i = 0; i < ticket->n_answers; i++) {
        size_t n = ticket->answers[i].n_ids;
        bytes += sizeof ticket->answers[i] + 2 * n * sizeof(int32_t) +
                 (ticket->answers[i].alignment ? n * ticket->n_src * sizeof(float) : 0);
    }
    return bytes;
}

/* Makes room; flights still under way are skipped. */
static void evict(struct dg_cache *cache)
{
    struct dg_list *at = cache->kept.next;
    while (cache->stats.bytes > cache->stats.bytes_max && at != &cache->kept) {
        struct dg_flight *flight = DG_LIST_ITEM(at, struct dg_flight, link);
        at = at->next;
        if (!flight->is_over)
            continue;
        drop(cache, flight);
        cache->stats.n_evicted++;
    }
}

void dg_cache_settle(struct dg_cache *cache, struct dg_flight *flight)
{
    if (!flight->is_kept)
        return;
    if (flight->ticket->err || flight->ticket->n_answers == 0 ||
        flight->ticket->answers[0].finish == DG_FINISH_FAILED) {
        drop(cache, flight);
        return;
    }
    flight->bytes = bytes_of(flight);
    cache->stats.bytes += flight->bytes;
    cache->stats.n_entries++;
    evict(cache);
}

void dg_cache_forget(struct dg_cache *cache, uint64_t version)
{
    struct dg_list *at = cache->kept.next;
    while (at != &cache->kept) {
        struct dg_flight *flight = DG_LIST_ITEM(at, struct dg_flight, link);
        at = at->next;
        if (flight->is_over && flight->version == version)
            drop(cache, flight);
    }
}

struct dg_engine_cache_stats *dg_cache_stats(struct dg_cache *cache)
{
    return &cache->stats;
}
