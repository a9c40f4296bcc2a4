/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Arena over a list of blocks, newest first. A request that does not fit the newest block starts
 * another one, at least twice as large up to BLOCK_LARGEST, so a big request costs few mallocs. */
#include "base/memory/arena.h"
#include "base/memory/mem.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK_SMALLEST = 4096, BLOCK_LARGEST = 1 << 20, ALIGN = alignof(max_align_t) };

struct dg_arena_block {
    struct dg_arena_block *next; /* older */
    size_t used;
    size_t cap;
    alignas(max_align_t) unsigned char bytes[];
};

void dg_arena_init(struct dg_arena *arena, size_t max)
{
    *arena = (struct dg_arena){.max = max};
}

/* Releases `block` and all older ones. */
static void release(struct dg_arena_block *block)
{
    while (block) {
        struct dg_arena_block *next = block->next;
        dg_free(block);
        block = next;
    }
}

void dg_arena_deinit(struct dg_arena *arena)
{
    release(arena->blocks);
    *arena = (struct dg_arena){.max = arena->max};
}

void dg_arena_reset(struct dg_arena *arena)
{
    struct dg_arena_block *kept = arena->blocks;
    if (kept) {
        release(kept->next);
        kept->next = NULL;
        kept->used = 0;
    }
    arena->used = 0;
}

/* A new newest block that holds at least `size` bytes; NULL when there is no memory. */
static struct dg_arena_block *add_block(struct dg_arena *arena, size_t size)
{
    size_t cap = arena->blocks ? arena->blocks->cap * 2 : BLOCK_SMALLEST;
    if (cap > BLOCK_LARGEST)
        cap = BLOCK_LARGEST;
    if (cap < size)
        cap = size;
    size_t total;
    if (!dg_add(cap, sizeof(struct dg_arena_block), &total))
        return NULL;
    struct dg_arena_block *block = dg_try_malloc(total);
    if (!block)
        return NULL;
    *block = (struct dg_arena_block){.next = arena->blocks, .cap = cap};
    arena->blocks = block;
    return block;
}

void *dg_arena_alloc(struct dg_arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGN)
        return NULL;
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (size == 0)
        size = ALIGN;
    if (size > arena->max - arena->used)
        return NULL;
    struct dg_arena_block *block = arena->blocks;
    if (!block || size > block->cap - block->used)
        block = add_block(arena, size);
    if (!block)
        return NULL;
    void *ptr = block->bytes + block->used;
    block->used += size;
    arena->used += size;
    return ptr;
}

void *dg_arena_calloc(struct dg_arena *arena, size_t n, size_t size)
{
    size_t total;
    if (!dg_mul(n, size, &total))
        return NULL;
    void *ptr = dg_arena_alloc(arena, total);
    if (ptr)
        memset(ptr, 0, total);
    return ptr;
}

struct dg_span dg_arena_copy(struct dg_arena *arena, struct dg_span text)
{
    char *copy = text.len == SIZE_MAX ? NULL : dg_arena_alloc(arena, text.len + 1);
    if (!copy)
        return (struct dg_span){NULL, 0};
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return (struct dg_span){copy, text.len};
}
