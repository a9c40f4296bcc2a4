/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The table for AVX-512: the kernels of ops_simd.inc over the vectors of simd_avx512.inc. Only this
 * file is compiled with the flags of the instruction set; dispatch.c checks that the CPU has it. */
#define ONE_SMALL_PANEL
#define TILE_5_6
#include "tensor/forward/simd_avx512.inc"
#include "tensor/forward/ops_simd.inc"

const struct dg_kernels dg_kernels_avx512 = OPS_SIMD_TABLE("avx512");
