/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Asks the kernel for huge pages. Large blocks of weights are read from front to back again and
 * again, and huge pages avoid most of the address translation.
 *
 *     block = dg_try_aligned(bytes);
 *     dg_huge_pages_wish(block, bytes);        before the first write, which decides the page size
 */
#ifndef DG_TENSOR_HUGE_PAGES_H
#define DG_TENSOR_HUGE_PAGES_H

#include <stddef.h>

/* Gives the kernel a hint: if it refuses, everything works, but more slowly. */
void dg_huge_pages_wish(void *block, size_t bytes);

#endif
