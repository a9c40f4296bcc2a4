/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A heap with four children for each node. For a line of a megabyte it would hold half a million
 * entries, and every pop would wait for memory. So for long lines, the places given at the start
 * are sorted into one bucket for each rank, later ones are chained to their rank, and the heap
 * holds only the ranks up to the current one, usually a hundred places. When a bucket is opened,
 * the places in it are prefetched. */
#include "tokenize/spm/bpe_queue.h"

#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "tokenize/spm/spm_int.h"

#include <string.h>

/* ---- Heap ------------------------------------------------------------------------------------ */

static enum dg_err heap_push(struct dg_bpe_queue *queue, uint64_t entry)
{
    enum dg_err err = DG_RESERVE(queue->heap, queue->n_heap + 1, queue->heap_cap, 64);
    if (err)
        return err;
    size_t at = queue->n_heap++;
    for (; at > 0 && entry < queue->heap[(at - 1) / 4]; at = (at - 1) / 4)
        queue->heap[at] = queue->heap[(at - 1) / 4];
    queue->heap[at] = entry;
    return DG_OK;
}

static uint64_t heap_pop(struct dg_bpe_queue *queue)
{
    const uint64_t top = queue->heap[0], last = queue->heap[--queue->n_heap];
    size_t at = 0;
    for (size_t child; (child = 4 * at + 1) < queue->n_heap;) {
        size_t best = child;
        const size_t end = child + 4 < queue->n_heap ? child + 4 : queue->n_heap;
        for (size_t i = child + 1; i < end; i++)
            best = queue->heap[i] < queue->heap[best] ? i : best;
        if (last < queue->heap[best])
            break;
        queue->heap[at] = queue->heap[best];
        at = best;
    }
    queue->heap[at] = last;
    return top;
}

/* ---- Buckets --------------------------------------------------------------------------------- */

static enum dg_err reserve_buckets(struct dg_bpe_queue *queue, uint32_t len)
{
    enum dg_err err = DG_RESERVE(queue->first, (size_t)queue->n_ranks + 2, queue->first_cap, 64);
    if (!err)
        err = DG_RESERVE(queue->newest, queue->n_ranks, queue->newest_cap, 64);
    if (!err)
        err = DG_RESERVE(queue->early, len, queue->early_cap, 64);
    return err;
}

/* A counting sort; places stay in order within a rank. */
static enum dg_err sort_early(struct dg_bpe_queue *queue, const struct dg_bpe_place *places,
                              uint32_t len)
{
    enum dg_err err = reserve_buckets(queue, len);
    if (err)
        return err;
    memset(queue->first, 0, ((size_t)queue->n_ranks + 2) * sizeof *queue->first);
    memset(queue->newest, 0, queue->n_ranks * sizeof *queue->newest);
    for (uint32_t at = 0; at < len; at++)
        if (places[at].rank != DG_BPE_QUEUE_NONE)
            queue->first[places[at].rank + 2]++;
    for (uint32_t r = 1; r < queue->n_ranks + 2; r++)
        queue->first[r] += queue->first[r - 1];
    for (uint32_t at = 0; at < len; at++)
        if (places[at].rank != DG_BPE_QUEUE_NONE)
            queue->early[queue->first[places[at].rank + 1]++] = at;
    return DG_OK;
}

static enum dg_err open_next(struct dg_bpe_queue *queue)
{
    enum dg_err err = DG_OK;
    const uint32_t r = queue->open++;
    for (uint32_t i = queue->first[r]; i < queue->first[r + 1] && !err; i++) {
        __builtin_prefetch(queue->places + queue->early[i]);
        err = heap_push(queue, (uint64_t)r << 32 | queue->early[i]);
    }
    for (uint32_t i = queue->newest[r]; i != 0 && !err; i = queue->late[i - 1].next) {
        __builtin_prefetch(queue->places + queue->late[i - 1].at);
        err = heap_push(queue, (uint64_t)r << 32 | queue->late[i - 1].at);
    }
    return err;
}

/* ---- Queue ----------------------------------------------------------------------------------- */

enum dg_err dg_bpe_queue_start(struct dg_bpe_queue *queue, const struct dg_bpe_place *places,
                               uint32_t len, uint32_t n_ranks)
{
    queue->n_heap = queue->n_late = 0;
    queue->open = 0;
    queue->places = places;
    queue->n_ranks = len < DG_BPE_QUEUE_LONG ? 0 : n_ranks;
    if (queue->n_ranks)
        return sort_early(queue, places, len);
    enum dg_err err = DG_OK;
    for (uint32_t at = 0; at < len && !err; at++)
        if (places[at].rank != DG_BPE_QUEUE_NONE)
            err = heap_push(queue, (uint64_t)places[at].rank << 32 | at);
    return err;
}

enum dg_err dg_bpe_queue_push(struct dg_bpe_queue *queue, uint32_t rank, uint32_t at)
{
    if (queue->n_ranks == 0 || rank < queue->open)
        return heap_push(queue, (uint64_t)rank << 32 | at);
    enum dg_err err = DG_RESERVE(queue->late, queue->n_late + 1, queue->late_cap, 64);
    if (err)
        return err;
    queue->late[queue->n_late++] = (struct dg_bpe_queue_late){at, queue->newest[rank]};
    queue->newest[rank] = (uint32_t)queue->n_late;
    return DG_OK;
}

bool dg_bpe_queue_pop(struct dg_bpe_queue *queue, uint32_t *rank, uint32_t *at, enum dg_err *err)
{
    while (queue->n_heap == 0 && queue->open < queue->n_ranks) {
        *err = open_next(queue);
        if (*err)
            return false;
    }
    if (queue->n_heap == 0)
        return false;
    const uint64_t entry = heap_pop(queue);
    *rank = (uint32_t)(entry >> 32);
    *at = (uint32_t)entry;
    return true;
}

void dg_bpe_queue_deinit(struct dg_bpe_queue *queue)
{
    dg_free(queue->heap);
    dg_free(queue->first);
    dg_free(queue->early);
    dg_free(queue->newest);
    dg_free(queue->late);
    *queue = (struct dg_bpe_queue){0};
}
