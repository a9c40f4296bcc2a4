/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Two kinds of memory allocation, and arithmetic on sizes that cannot wrap.
 *
 *  - dg_xmalloc and friends: small sizes fixed by our own code. They abort when memory runs out.
 *  - dg_try_malloc and friends: any size that a client or a file can influence. They return NULL
 *    when memory runs out, and the caller handles the error.
 *
 * dg_free releases either kind. Tests can make the nth dg_try_* allocation fail (dg_mem_fail_after)
 * and can count allocations (dg_mem_count), for instance to prove that none happens per token. Any
 * thread may call anything here. */
#ifndef DG_BASE_MEMORY_MEM_H
#define DG_BASE_MEMORY_MEM_H

#include "base/memory/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For small, fixed sizes: never NULL. */
void *dg_xmalloc(size_t size);
void *dg_xcalloc(size_t n, size_t size);
char *dg_xstrdup(const char *text);

/* For sizes influenced from outside: NULL when refused. n * size may not wrap. */
void *dg_try_malloc(size_t size) DG_MUST_CHECK;
void *dg_try_calloc(size_t n, size_t size) DG_MUST_CHECK;
void *dg_try_realloc(void *ptr, size_t size) DG_MUST_CHECK;

/* Like dg_try_malloc, aligned to 64 bytes (cache lines and vector loads). Released by dg_free. */
void *dg_try_aligned(size_t size) DG_MUST_CHECK;

void dg_free(void *ptr); /* NULL is fine */

/* Checked arithmetic: true when the result fits and was written to *out, false when it would wrap.
 */
static inline bool dg_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool dg_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* ---- For tests ------------------------------------------------------------------------------- */

/* Makes the nth dg_try_* allocation from now fail, once; 1 is the next one, 0 turns this off. */
void dg_mem_fail_after(uint64_t nth);

/* True when the failure that dg_mem_fail_after requested has happened. */
bool dg_mem_failed(void);

/* dg_try_* allocations since the process started, refused ones included. */
uint64_t dg_mem_tries(void);

/* Allocations of both kinds since the process started. */
uint64_t dg_mem_count(void);

#endif
