/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Memory through two doors, and arithmetic on sizes that cannot wrap.
 *
 *  - dg_xmalloc and friends: small sizes fixed by our own code. They abort when memory is gone.
 *  - dg_try_malloc and friends: any size that a client or a file can influence. They return NULL,
 * and the caller has an error path.
 *
 * Everything is released by dg_free. For tests, the nth allocation through the second door can be
 * made to fail (dg_mem_fail_after), and allocations are counted (dg_mem_count), which is how
 * "nothing is allocated per token" is asserted. Any thread may call anything here. */
#ifndef DG_BASE_MEMORY_MEM_H
#define DG_BASE_MEMORY_MEM_H

#include "base/memory/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Small and fixed: never NULL. */
void *dg_xmalloc(size_t size);
void *dg_xcalloc(size_t n, size_t size);
void *dg_xrealloc(void *ptr, size_t size);
char *dg_xstrdup(const char *text);

/* Influenced from outside: NULL when refused. n * size is checked. */
void *dg_try_malloc(size_t size) DG_MUST_CHECK;
void *dg_try_calloc(size_t n, size_t size) DG_MUST_CHECK;
void *dg_try_realloc(void *ptr, size_t size) DG_MUST_CHECK;

/* Like dg_try_malloc, aligned to 64 bytes (cache lines and vector loads). Released by dg_free. */
void *dg_try_aligned(size_t size) DG_MUST_CHECK;

void dg_free(void *ptr); /* NULL is fine */

/* Checked arithmetic: true when it fits and *out was written, false when it would wrap. */
static inline bool dg_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool dg_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* ---- For tests ---------------------------------------------------------------------------------
 */

/* The nth allocation from now (1 = the next) through the second door fails, once; 0 turns it off.
 */
void dg_mem_fail_after(uint64_t nth);

/* True when the failure asked for has happened. */
bool dg_mem_failed(void);

/* Allocations tried through the second door since the process started, refused ones included. */
uint64_t dg_mem_tries(void);

/* Allocations of both doors since the process started. */
uint64_t dg_mem_count(void);

#endif
