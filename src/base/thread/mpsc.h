/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A bounded queue from many threads to one consumer, with a function that wakes the consumer.
 *
 *     err = dg_mpsc_new(1024, sizeof(struct event), wake, &async, &queue);
 *
 *     any thread:      err = dg_mpsc_push(queue, &event);         copies; DG_ERR_LIMIT when full
 *     the consumer:    dg_mpsc_listen(queue);           later pushes will wake it again
 *                      while (dg_mpsc_pop(queue, &event)) ...
 *
 * A pushing thread calls the wake-up function, at most once between two calls of dg_mpsc_listen, so
 * that a thousand pushes cost one uv_async_send. The function must be quick and thread-safe and
 * must not push. The consumer sees, after a wake-up, every item whose push returned before it.
 * Items of one thread stay in order. No thread ever waits for a lock. */
#ifndef DG_BASE_THREAD_MPSC_H
#define DG_BASE_THREAD_MPSC_H

#include "base/memory/error.h"

#include <stdbool.h>
#include <stddef.h>

struct dg_mpsc;

typedef void (*dg_mpsc_wake_fn)(void *arg);

/* `cap` is rounded up to a power of two. `wake` may be NULL. */
enum dg_err dg_mpsc_new(size_t cap, size_t item_size, dg_mpsc_wake_fn wake, void *arg,
                        struct dg_mpsc **out) DG_MUST_CHECK;
void dg_mpsc_free(struct dg_mpsc *queue); /* mirror of new; no thread may push any more */

enum dg_err dg_mpsc_push(struct dg_mpsc *queue, const void *item) DG_MUST_CHECK;

/* Consumer only. False when nothing is ready. */
bool dg_mpsc_pop(struct dg_mpsc *queue, void *item);
void dg_mpsc_listen(struct dg_mpsc *queue);

#endif
