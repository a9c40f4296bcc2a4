/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The table for arm64 CPUs with the dot-product instructions (ARMv8.2 and later, optional there):
 * NEON's, with I8 products four times as dense. dispatch.c asks the system whether the CPU has
 * them. */
#define TILE_5_6
#include "tensor/forward/simd_neon.inc"
#include "tensor/forward/ops_simd.inc"

const struct dg_kernels dg_kernels_neon_dot =
    OPS_SIMD_TABLE("neon-dot", linear, linear_begin, linear_columns, NULL, spin_i8);
