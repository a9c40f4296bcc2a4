/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The two kinds of allocation, with a counter and an injected failure for tests.
 *
 * Counter and failure cost one relaxed atomic addition per allocation. That is negligible next to
 * malloc, and so tests can run the very binary that ships. */
#include "base/memory/mem.h"
#include "base/memory/grow.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_uint_fast64_t n_allocations;
static atomic_uint_fast64_t fail_at; /* 0: off; otherwise the value of `n_tries` at which the
                                        allocation fails */
static atomic_uint_fast64_t n_tries;
static atomic_bool has_failed;

static void die(size_t size)
{
    fprintf(stderr, "dragoman: out of memory (%zu bytes)\n", size);
    abort();
}

static void count(void)
{
    atomic_fetch_add_explicit(&n_allocations, 1, memory_order_relaxed);
}

/* Counts one dg_try_* allocation; true when it must fail. */
static bool refused(void)
{
    count();
    uint_fast64_t now = atomic_fetch_add_explicit(&n_tries, 1, memory_order_relaxed) + 1;
    if (now != atomic_load_explicit(&fail_at, memory_order_relaxed))
        return false;
    atomic_store(&has_failed, true);
    return true;
}

void *dg_xmalloc(size_t size)
{
    count();
    void *ptr = malloc(size ? size : 1);
    if (!ptr)
        die(size);
    return ptr;
}

void *dg_xcalloc(size_t n, size_t size)
{
    count();
    void *ptr = calloc(n ? n : 1, size ? size : 1);
    if (!ptr)
        die(size);
    return ptr;
}

char *dg_xstrdup(const char *text)
{
    size_t len = strlen(text) + 1;
    return memcpy(dg_xmalloc(len), text, len);
}

void *dg_try_malloc(size_t size)
{
    return refused() ? NULL : malloc(size ? size : 1);
}

void *dg_try_calloc(size_t n, size_t size)
{
    return refused() ? NULL : calloc(n ? n : 1, size ? size : 1);
}

void *dg_try_realloc(void *ptr, size_t size)
{
    return refused() ? NULL : realloc(ptr, size ? size : 1);
}

void *dg_try_aligned(size_t size)
{
    size_t rounded;
    if (refused() || !dg_add(size ? size : 1, 63, &rounded))
        return NULL;
    return aligned_alloc(64, rounded & ~(size_t)63);
}

enum dg_err dg_reserve(void *items, size_t wanted, size_t *cap, size_t size, size_t first)
{
    void *old, *grown;
    size_t more = *cap ? *cap : first, bytes;
    if (wanted <= *cap)
        return DG_OK;
    while (more < wanted)
        if (!dg_mul(more, 2, &more))
            return DG_ERR_NOMEM;
    if (!dg_mul(more, size, &bytes))
        return DG_ERR_NOMEM;
    memcpy(&old, items, sizeof old);
    grown = dg_try_realloc(old, bytes);
    if (!grown)
        return DG_ERR_NOMEM;
    memcpy(items, &grown, sizeof grown);
    *cap = more;
    return DG_OK;
}

void dg_free(void *ptr)
{
    free(ptr);
}

void dg_mem_fail_after(uint64_t nth)
{
    atomic_store(&has_failed, false);
    atomic_store(&fail_at, nth ? atomic_load(&n_tries) + nth : 0);
}

bool dg_mem_failed(void)
{
    return atomic_load(&has_failed);
}

uint64_t dg_mem_tries(void)
{
    return atomic_load_explicit(&n_tries, memory_order_relaxed);
}

uint64_t dg_mem_count(void)
{
    return atomic_load_explicit(&n_allocations, memory_order_relaxed);
}
