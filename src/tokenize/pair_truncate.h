/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Fits two texts into the space of one by cutting the longer text first. Training and inference
 * both use this rule. */
#ifndef DG_TOKENIZE_PAIR_TRUNCATE_H
#define DG_TOKENIZE_PAIR_TRUNCATE_H

#include <stdbool.h>
#include <stddef.h>

/* Lowers the two token counts so that their sum is at most `most`. True when something was cut. */
static inline bool dg_pair_truncate(size_t most, size_t *first, size_t *second)
{
    const size_t half = most / 2;
    if (*first + *second <= most)
        return false;
    if (*second <= half)
        *first = most - *second;
    else if (*first <= most - half)
        *second = most - *first;
    else {
        *second = half;
        *first = most - half;
    }
    return true;
}

#endif
