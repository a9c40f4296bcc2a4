/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The table for NEON: the vocabulary of simd_neon.inc, spoken by ops_simd.inc. This file alone is
 * compiled with the flags of the instruction set; dispatch.c lets nobody in whose CPU lacks it. */
#define TILE_5_6
#include "tensor/forward/simd_neon.inc"
#include "tensor/forward/ops_simd.inc"

const struct dg_kernels dg_kernels_neon = OPS_SIMD_TABLE("neon");
