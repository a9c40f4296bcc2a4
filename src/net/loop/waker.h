/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Lets any thread have a function called on the loop's thread. Several wake-ups since the last call
 * cause only one call.
 *
 *     err = dg_waker_open(loop, on_wake, user, &error, &waker);
 *     dg_waker_wake(waker);              any thread
 *     dg_waker_close(waker);             loop's thread; no thread may wake it any more */
#ifndef DG_NET_LOOP_WAKER_H
#define DG_NET_LOOP_WAKER_H

#include "base/memory/error.h"

#include <uv.h>

struct dg_waker;

enum dg_err dg_waker_open(uv_loop_t *loop, void (*on_wake)(void *user), void *user,
                          struct dg_error *error, struct dg_waker **waker) DG_MUST_CHECK;
/* Freed when the loop has closed its handle. NULL is fine. */
void dg_waker_close(struct dg_waker *waker);
void dg_waker_wake(void *waker); /* a struct dg_waker; void so that it fits callbacks */

#endif
