/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The table for AVX-512: the vocabulary of simd_avx512.inc, spoken by ops_simd.inc. This file alone
 * is compiled with the flags of the instruction set; dispatch.c lets nobody in whose CPU lacks it.
 */
#define ONE_SMALL_PANEL
#define TILE_5_6
#include "tensor/forward/simd_avx512.inc"
#include "tensor/forward/ops_simd.inc"

const struct dg_kernels dg_kernels_avx512 = OPS_SIMD_TABLE("avx512");
