/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The table for AVX2: the kernels of ops_simd.inc over the vectors of simd_avx2.inc. Only this file
 * is compiled with the flags of the instruction set; dispatch.c checks that the CPU has it. */
#define ATTEND_BYTES 256
#include "tensor/forward/simd_avx2.inc"
#include "tensor/forward/ops_simd.inc"

const struct dg_kernels dg_kernels_avx2 =
    OPS_SIMD_TABLE("avx2", linear, linear_begin, linear_columns, NULL, spin_i8);
