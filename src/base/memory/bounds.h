/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The larger and the smaller of two sizes. */
#ifndef DG_BASE_MEMORY_BOUNDS_H
#define DG_BASE_MEMORY_BOUNDS_H

#include <stdint.h>

static inline uint64_t dg_most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t dg_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif
