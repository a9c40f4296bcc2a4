/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How memory-limit is shared out, once, at start.
 *
 *     err = dg_memory_plan(limit, dg_memory_resident(), cache_wanted, &error, &plan);
 *
 * What the process takes as it is, and a margin; an eighth for requests and their texts; a
 * sixteenth for the queue; at most an eighth for the cache of sentences; the rest for models: their
 * weights, and the slots, workspaces and caches of their workers. Every share is a bound that
 * somebody keeps to. Plain values. */
#ifndef DG_DAEMON_MEMORY_H
#define DG_DAEMON_MEMORY_H

#include "base/memory/err.h"
#include "base/memory/error.h"

#include <stddef.h>

struct dg_memory_plan {
    size_t process;
    size_t cache;
    size_t texts_bytes;  /* of all requests under way; 0: no limit */
    size_t queue_tokens; /* of all sentences waiting; 0: no limit */
    size_t models;       /* 0: no limit */
};

/* Bytes of this process that are in memory now; 0 when the system does not tell. */
size_t dg_memory_resident(void);

/* `limit` 0: there is none. DG_ERR_LIMIT: it does not even hold the process. */
enum dg_err dg_memory_plan(size_t limit, size_t resident, size_t cache_wanted,
                           struct dg_error *error, struct dg_memory_plan *plan) DG_MUST_CHECK;

/* Has the allocator give large blocks back when they are freed, and keep few arenas: before any
 * thread. */
void dg_memory_tune(void);

#endif
