/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Stored numbers to float, exactly: F16 and BF16 widen without loss, I8 is q * scale rounded once.
 */
#ifndef DG_TENSOR_CONVERT_H
#define DG_TENSOR_CONVERT_H

#include "tensor/tensor.h"

#include <stddef.h>
#include <stdint.h>

float dg_convert_f16(uint16_t bits);
float dg_convert_bf16(uint16_t bits);

/* Elements [first, first + n) of a weight tensor (F32, F16, BF16, or a matrix of I8), in memory
 * order. */
void dg_convert_tensor(float *out, const struct dg_tensor *tensor, size_t first, size_t n);

#endif
