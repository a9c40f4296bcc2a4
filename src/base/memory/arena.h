/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* An arena: many small allocations with one lifetime, released in one call. Each request has one:
 * everything that is parsed and produced for the request lives in its arena.
 *
 *     struct dg_arena arena;
 *     dg_arena_init(&arena, 1 << 20);                     at most 1 MiB; nothing is allocated yet
 *     struct item *items = dg_arena_calloc(&arena, n, sizeof *items);     NULL past the maximum
 *     struct dg_span kept = dg_arena_copy(&arena, text);
 *     dg_arena_reset(&arena);                             releases everything but the first block
 *     dg_arena_deinit(&arena);                            mirror of init
 *
 * Memory is aligned for any type. One thread at a time. */
#ifndef DG_BASE_MEMORY_ARENA_H
#define DG_BASE_MEMORY_ARENA_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stddef.h>

struct dg_arena_block;

struct dg_arena {
    struct dg_arena_block *blocks; /* owned; newest first */
    size_t used;                   /* bytes handed out, alignment included */
    size_t max;                    /* `used` never passes this */
};

void dg_arena_init(struct dg_arena *arena, size_t max);
void dg_arena_deinit(struct dg_arena *arena);
void dg_arena_reset(struct dg_arena *arena);

/* NULL when the arena's maximum is reached or memory runs out. */
void *dg_arena_alloc(struct dg_arena *arena, size_t size) DG_MUST_CHECK;
void *dg_arena_calloc(struct dg_arena *arena, size_t n, size_t size) DG_MUST_CHECK;

/* A copy of `text` followed by a NUL; ptr is NULL when there is no room. */
struct dg_span dg_arena_copy(struct dg_arena *arena, struct dg_span text) DG_MUST_CHECK;

#endif
