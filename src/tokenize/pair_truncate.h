/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Two texts in the room of one, the longer one cut first: the same where a network learns from them
 * and where it reads them. */
#ifndef DG_TOKENIZE_PAIR_TRUNCATE_H
#define DG_TOKENIZE_PAIR_TRUNCATE_H

#include <stdbool.h>
#include <stddef.h>

/* Lowers the tokens of each, so that together they are at most `most`. Whether something was cut.
 */
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
