/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Converts floats to stored numbers, the mirror of convert.h: to the nearest value, ties to even.
 */
#ifndef DG_TENSOR_NARROW_H
#define DG_TENSOR_NARROW_H

#include <stddef.h>
#include <stdint.h>

/* Past the largest F16 (65504, or 65520 before rounding) the result is infinity; NaN stays NaN. */
uint16_t dg_narrow_f16(float value);
uint16_t dg_narrow_bf16(float value);

/* Converts one row to I8 and returns its scale: q = nearest(row / scale), scale = max|row| / 127,
 * so that row is about scale * q. A row of zeros has scale 1. The row must be finite. */
float dg_narrow_row_i8(int8_t *q, const float *row, size_t n);

/* Returns only the scale. */
float dg_narrow_scale_i8(const float *row, size_t n);

#endif
