/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A crew: threads that have nothing to do take parts of the work of one that has.
 *
 *     struct dg_helpers crew;
 *     dg_helpers_init(&crew, 3);
 *
 *     the leader, one thread at a time:
 *         dg_helpers_run(&crew, multiply, &product, n_parts);       multiply(&product, 0 .. n_parts
 * - 1), each once helpers, any threads: dg_helpers_help(&crew, &calls, seen); until `calls` is
 * another number than `seen`, or for some time no part was to be had
 *
 * Nobody is waited for who has not begun: whoever comes takes the next part, the leader too, and
 * where no helper comes the leader does all of them. So the leader waits only for the parts that
 * others are at. Which thread does a part is chance: parts must not depend on each other, nor on
 * who does them.
 *
 * A run of parts of microseconds is worth it: a part costs one exchange on a shared line. Nothing
 * is allocated and nobody sleeps: helpers look for work for a few hundred microseconds, letting
 * others have the core meanwhile. */
#ifndef DG_BASE_THREAD_HELPERS_H
#define DG_BASE_THREAD_HELPERS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_HELPERS_PARTS_MAX = 4095 };

typedef void (*dg_helpers_fn)(void *ctx, size_t part);

enum { DG_HELPERS_LINE = 64 }; /* bytes that keep what different threads write on different lines */

struct dg_helpers {
    atomic_uint_fast64_t call;  /* round << 24 | its parts << 12 | the next one */
    dg_helpers_fn fn;           /* of the round; */
    void *ctx;                  /* written only while all its parts are done */
    uint64_t n_parts, n_helped; /* of all rounds, and those that helpers did; the leader's */
    char apart[DG_HELPERS_LINE];
    atomic_size_t n_done; /* parts of the round */
    char apart_too[DG_HELPERS_LINE];
    atomic_size_t n_helpers; /* at it now */
    size_t most;             /* of them */
};

/* At most `most` helpers at a time; others leave at once. Nothing is to be released. */
void dg_helpers_init(struct dg_helpers *helpers, size_t most);

/* Helpers that are there just now; it may be another number a moment later. */
size_t dg_helpers_count(struct dg_helpers *helpers);

/* All parts of [0, n_parts), n_parts up to DG_HELPERS_PARTS_MAX, by this thread and those that
 * help; returns when they are done. What was written before is seen by all parts, and what they
 * wrote is seen behind. */
void dg_helpers_run(struct dg_helpers *helpers, dg_helpers_fn fn, void *ctx, size_t n_parts);

/* Takes parts of whatever the leader runs, until *calls is not `seen`, or there was nothing to take
 * for long. A part that was begun is ended first. */
void dg_helpers_help(struct dg_helpers *helpers, const atomic_uint_fast64_t *calls, uint64_t seen);

#endif
