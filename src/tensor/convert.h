/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Converts stored numbers to float: F16 and BF16 without loss, I8 as q * scale, rounded once. */
#ifndef DG_TENSOR_CONVERT_H
#define DG_TENSOR_CONVERT_H

#include "tensor/tensor.h"

#include <stddef.h>
#include <stdint.h>

float dg_convert_f16(uint16_t bits);
float dg_convert_bf16(uint16_t bits);

/* Converts elements [first, first + n), in memory order, of a weight tensor (F32, F16, BF16, or a
 * matrix of I8). */
void dg_convert_tensor(float *out, const struct dg_tensor *tensor, size_t first, size_t n);

#endif
