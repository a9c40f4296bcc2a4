/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The order of merges for spm_bpe.c: pairs by rank (0 first), pairs of one rank from left to right.
 *
 *     struct dg_bpe_queue queue = {0};
 *     err = dg_bpe_queue_start(&queue, places, len, n_ranks);  all places whose rank is not NONE
 *     while (dg_bpe_queue_pop(&queue, &rank, &at, &err))
 *         err = dg_bpe_queue_push(&queue, new_rank, new_at);
 *     dg_bpe_queue_deinit(&queue);                             start again reuses the memory
 *
 * Entries are never removed: the caller must check whether a popped entry is still valid. */
#ifndef DG_TOKENIZE_SPM_BPE_QUEUE_H
#define DG_TOKENIZE_SPM_BPE_QUEUE_H

#include "base/memory/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_BPE_QUEUE_LONG = 4096 }; /* places from which buckets are faster, as measured */

static const uint32_t DG_BPE_QUEUE_NONE = UINT32_MAX;

/* What belongs to one byte of the text; kept together because it is used together. */
struct dg_bpe_place {
    uint32_t rank; /* the rank of the pair whose left symbol begins here; NONE: the pair is not a
                      piece */
    uint16_t len;  /* the length of the symbol that begins here, perhaps marked as frozen; 0: none
                      begins */
    uint16_t len_before; /* the length of the symbol that ends before this byte */
};

struct dg_bpe_queue_late {
    uint32_t at, next; /* 1 + the next entry of the same rank; 0: none */
};

struct dg_bpe_queue {
    uint64_t *heap; /* owned; rank << 32 | place, with the smallest on top */
    size_t n_heap, heap_cap;
    const struct dg_bpe_place *places; /* borrowed until the queue is empty */
    uint32_t n_ranks;
    uint32_t open;    /* lower ranks are on the heap or done */
    uint32_t *first;  /* owned; the places of rank r are early[first[r] .. first[r + 1]) */
    uint32_t *early;  /* owned; the places known at the start, sorted by rank */
    uint32_t *newest; /* owned; for each rank 1 + its newest late entry; 0: none */
    struct dg_bpe_queue_late *late; /* owned; entries pushed after the start */
    size_t first_cap, early_cap, newest_cap, n_late, late_cap;
};

enum dg_err dg_bpe_queue_start(struct dg_bpe_queue *queue, const struct dg_bpe_place *places,
                               uint32_t len, uint32_t n_ranks) DG_MUST_CHECK;
enum dg_err dg_bpe_queue_push(struct dg_bpe_queue *queue, uint32_t rank, uint32_t at) DG_MUST_CHECK;

/* False when it is empty. DG_ERR_NOMEM goes to *err. */
bool dg_bpe_queue_pop(struct dg_bpe_queue *queue, uint32_t *rank, uint32_t *at, enum dg_err *err);
void dg_bpe_queue_deinit(struct dg_bpe_queue *queue);

#endif
