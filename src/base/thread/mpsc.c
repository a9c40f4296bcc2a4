/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Bounded queue with a turn number in every cell (after Dmitry Vyukov's bounded MPMC queue). A cell
 * is its turn, then its item; so writing the first turns touches all memory of the queue, which
 * otherwise would seem to grow until as many items as it has cells have passed.
 *
 *     cell i, initially          turn = i            free for the push number i
 *     push number p, p & mask=i  turn = p + 1        filled; free for the pop number p
 *     pop number p               turn = p + cap      free for the push number p + cap
 *
 * A producer claims number p by moving `tail` from p to p + 1, copies its item, then publishes it
 * by storing the turn with release; the consumer reads the turn with acquire, so the item is
 * complete. A producer that is interrupted between claim and publication hides later items from the
 * consumer but never blocks it: pop reports "nothing ready", and the producer wakes the consumer
 * when it resumes.
 *
 * Wake-ups: `is_asleep` is true from dg_mpsc_listen until the next push. Publication, the load, and
 * the store in dg_mpsc_listen are sequentially consistent: a push that finds `is_asleep` false
 * was published before the next dg_mpsc_listen, so the pops after that see its item. */
#include "base/thread/mpsc.h"
#include "base/memory/mem.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>

enum { CACHE_LINE = 64 };

struct dg_mpsc {
    alignas(CACHE_LINE) _Atomic size_t tail; /* next push; all producers */
    alignas(CACHE_LINE) _Atomic size_t head; /* next pop; the consumer */
    alignas(CACHE_LINE) atomic_bool is_asleep;
    size_t mask; /* cap - 1 */
    size_t item_size, cell_size;
    dg_mpsc_wake_fn wake;
    void *arg;
    unsigned char *cells; /* owned */
};

static _Atomic size_t *turn_of(const struct dg_mpsc *queue, size_t number)
{
    return (_Atomic size_t *)(void *)(queue->cells + (number & queue->mask) * queue->cell_size);
}

static void *item_of(const struct dg_mpsc *queue, size_t number)
{
    return turn_of(queue, number) + 1;
}

static bool round_up(size_t cap, size_t *out)
{
    size_t rounded = 1;
    while (rounded < cap)
        if (!dg_mul(rounded, 2, &rounded))
            return false;
    *out = rounded;
    return true;
}

enum dg_err dg_mpsc_new(size_t cap, size_t item_size, dg_mpsc_wake_fn wake, void *arg,
                        struct dg_mpsc **out)
{
    /* With one cell, "filled" (p + 1) and "free again" (p + cap) would be the same number. */
    size_t n_cells, cell_size;
    if (!round_up(cap < 2 ? 2 : cap, &n_cells) ||
        !dg_add(item_size, 2 * sizeof(size_t) - 1, &cell_size))
        return DG_ERR_NOMEM;
    struct dg_mpsc *queue = dg_try_aligned(sizeof *queue);
    if (!queue)
        return DG_ERR_NOMEM;
    memset(queue, 0, sizeof *queue);
    queue->mask = n_cells - 1;
    queue->item_size = item_size;
    queue->cell_size = cell_size / sizeof(size_t) * sizeof(size_t);
    queue->cells = dg_try_calloc(n_cells, queue->cell_size);
    if (!queue->cells) {
        dg_mpsc_free(queue);
        return DG_ERR_NOMEM;
    }
    for (size_t i = 0; i < n_cells; i++)
        atomic_init(turn_of(queue, i), i);
    queue->wake = wake;
    queue->arg = arg;
    atomic_init(&queue->is_asleep, true);
    *out = queue;
    return DG_OK;
}

void dg_mpsc_free(struct dg_mpsc *queue)
{
    if (!queue)
        return;
    dg_free(queue->cells);
    dg_free(queue);
}

/* Claims the number of a push; false when the queue is full. */
static bool claim(struct dg_mpsc *queue, size_t *number)
{
    size_t at = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    for (;;) {
        size_t turn = atomic_load_explicit(turn_of(queue, at), memory_order_acquire);
        if (turn == at) {
            if (atomic_compare_exchange_weak_explicit(&queue->tail, &at, at + 1,
                                                      memory_order_relaxed, memory_order_relaxed))
                break;
        } else if ((ptrdiff_t)(turn - at) < 0) {
            return false; /* still filled from the last time round */
        } else {
            /* another thread was faster */
            at = atomic_load_explicit(&queue->tail, memory_order_relaxed);
        }
    }
    *number = at;
    return true;
}

enum dg_err dg_mpsc_push(struct dg_mpsc *queue, const void *item)
{
    size_t number;
    if (!claim(queue, &number))
        return DG_ERR_LIMIT;
    memcpy(item_of(queue, number), item, queue->item_size);
    atomic_store(turn_of(queue, number), number + 1);
    /* the load leaves the line in the other producers' caches */
    if (atomic_load(&queue->is_asleep) && atomic_exchange(&queue->is_asleep, false) && queue->wake)
        queue->wake(queue->arg);
    return DG_OK;
}

bool dg_mpsc_pop(struct dg_mpsc *queue, void *item)
{
    size_t number = atomic_load_explicit(&queue->head, memory_order_relaxed);
    if (atomic_load(turn_of(queue, number)) != number + 1)
        return false;
    memcpy(item, item_of(queue, number), queue->item_size);
    atomic_store_explicit(turn_of(queue, number), number + queue->mask + 1, memory_order_release);
    atomic_store_explicit(&queue->head, number + 1, memory_order_relaxed);
    return true;
}

void dg_mpsc_listen(struct dg_mpsc *queue)
{
    atomic_store(&queue->is_asleep, true);
}
