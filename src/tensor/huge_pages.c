/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Asks for the huge pages that lie whole within the block. */
#include "tensor/huge_pages.h"

#include <stdint.h>
#include <sys/mman.h>

void dg_huge_pages_wish(void *block, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t huge = (uintptr_t)2 << 20;
    uintptr_t from = ((uintptr_t)block + huge - 1) & ~(huge - 1);
    uintptr_t to = ((uintptr_t)block + bytes) & ~(huge - 1);
    if (to > from)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
    (void)block, (void)bytes;
#endif
}
