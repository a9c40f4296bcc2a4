/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Large blocks of weights are read front to back for ever: huge pages spare the translation of
 * addresses.
 *
 *     block = dg_try_aligned(bytes);
 *     dg_huge_wish(block, bytes);        before it is written: a page becomes one or the other when
 * it is first touched */
#ifndef DG_TENSOR_HUGE_H
#define DG_TENSOR_HUGE_H

#include <stddef.h>

/* A wish only; refused, all is the same but slower. */
void dg_huge_wish(void *block, size_t bytes);

#endif
