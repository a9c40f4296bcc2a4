/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Helpers: idle threads that take parts of the work of a busy one, the leader.
 *
 *     struct dg_helpers helpers;
 *     dg_helpers_init(&helpers, 3);
 *
 *     the leader, one thread at a time:
 *         dg_helpers_run(&helpers, multiply, &product, n_parts);
 *                             calls multiply(&product, i) once for each i from 0 to n_parts - 1
 *     helpers, any threads:
 *         dg_helpers_help(&helpers, &calls, seen);
 *                             returns when `calls` differs from `seen`, or after some idle time
 *
 * Leader and helpers each take the next part that nobody has begun. If no helper comes, the leader
 * does all parts; it waits only for parts that helpers have begun. Any thread may do any part, so
 * the result of a part must not depend on other parts or on the thread.
 *
 * Parts of a few microseconds are worth sharing: a part costs one atomic exchange on a shared cache
 * line. Nothing is allocated and no thread sleeps: helpers look for work for a few hundred
 * microseconds and yield the core meanwhile. */
#ifndef DG_BASE_THREAD_HELPERS_H
#define DG_BASE_THREAD_HELPERS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_HELPERS_PARTS_MAX = 4095 };

typedef void (*dg_helpers_fn)(void *ctx, size_t part);

enum { DG_HELPERS_LINE = 64 }; /* bytes of a cache line; padding keeps writers on separate lines */

struct dg_helpers {
    atomic_uint_fast64_t call;  /* round << 24 | number of parts << 12 | next part */
    dg_helpers_fn fn;           /* the round's function, and its */
    void *ctx;                  /* argument: written only while no part is open */
    uint64_t n_parts, n_helped; /* parts of all rounds, and those done by helpers; leader only */
    char apart[DG_HELPERS_LINE];
    atomic_size_t n_done; /* finished parts of the round */
    char apart_too[DG_HELPERS_LINE];
    atomic_size_t n_helpers; /* now inside dg_helpers_help */
    size_t most;             /* helpers at a time */
};

/* At most `most` helpers work at a time; others leave at once. There is nothing to release. */
void dg_helpers_init(struct dg_helpers *helpers, size_t most);

/* The present number of helpers; it may change at any moment. */
size_t dg_helpers_count(struct dg_helpers *helpers);

/* Does parts 0 to n_parts - 1 (at most DG_HELPERS_PARTS_MAX parts) together with the helpers, and
 * returns when all are done. Every part sees what the leader wrote before the call; the leader sees
 * afterwards what the parts wrote. */
void dg_helpers_run(struct dg_helpers *helpers, dg_helpers_fn fn, void *ctx, size_t n_parts);

/* Takes parts of whatever the leader runs, until *calls differs from `seen` or there has been no
 * part to take for some time. A part that was begun is finished first. */
void dg_helpers_help(struct dg_helpers *helpers, const atomic_uint_fast64_t *calls, uint64_t seen);

#endif
