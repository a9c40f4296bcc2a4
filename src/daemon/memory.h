/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Divides the memory that the option memory-limit allows, once, at the start.
 *
 *     err = dg_memory_plan(limit, dg_memory_resident(), cache_wanted, &error, &plan);
 * The process gets what it takes at start, and a margin; requests and their texts get an eighth,
 * the queue a sixteenth, buffers (of connections, above all their bodies, of jobs and scores) a
 * sixteenth and at least 4 MiB, the cache of sentences at most an eighth, and models the rest: for
 * their weights, and the slots, workspaces and caches of their workers. Every share is enforced as
 * a bound. Plain values. */
#ifndef DG_DAEMON_MEMORY_H
#define DG_DAEMON_MEMORY_H

#include "base/memory/error.h"

#include <stddef.h>

struct dg_memory_plan {
    size_t process;
    size_t cache;
    size_t texts_bytes;  /* texts of all requests under way; 0: no limit */
    size_t queue_tokens; /* tokens of all waiting sentences; 0: no limit */
    size_t buffers;      /* buffers of connections, jobs and scores; 0: no limit */
    size_t models;       /* 0: no limit */
};

/* Returns the bytes of this process that are in memory now; 0 when the system does not say. */
size_t dg_memory_resident(void);

/* `limit` 0: no limit. DG_ERR_LIMIT: the limit is too small even for the process alone. */
enum dg_err dg_memory_plan(size_t limit, size_t resident, size_t cache_wanted,
                           struct dg_error *error, struct dg_memory_plan *plan) DG_MUST_CHECK;

/* Makes the allocator return large blocks when they are freed, and keep few arenas. Call it before
 * any thread is made. */
void dg_memory_tune(void);

#endif
