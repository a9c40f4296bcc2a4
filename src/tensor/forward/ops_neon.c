/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The table for NEON: the kernels of ops_simd.inc over the vectors of simd_neon.inc. Only this file
 * is compiled with the flags of the instruction set; dispatch.c checks that the CPU has it. */
#define TILE_5_6
#include "tensor/forward/simd_neon.inc"
#include "tensor/forward/ops_simd.inc"

const struct dg_kernels dg_kernels_neon =
    OPS_SIMD_TABLE("neon", linear, linear_begin, linear_columns, NULL, spin_i8);
