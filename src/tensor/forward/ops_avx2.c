/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The table for AVX2: the vocabulary of simd_avx2.inc, spoken by ops_simd.inc. This file alone is
 * compiled with the flags of the instruction set; dispatch.c lets nobody in whose CPU lacks it. */
#include "tensor/forward/simd_avx2.inc"
#include "tensor/forward/ops_simd.inc"

const struct dg_kernels dg_kernels_avx2 = OPS_SIMD_TABLE("avx2");
