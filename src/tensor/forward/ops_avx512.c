/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The tables for AVX-512, without and with AVX512_BF16 and AMX: the kernels of ops_simd.inc over
 * the vectors of simd_avx512.inc, and the products of gemm_bf16_avx512.inc and gemm_amx.inc. Only
 * this file is compiled with the flags of the instruction sets; dispatch.c checks that the CPU has
 * them. */
#define ONE_SMALL_PANEL
#define TILE_5_6
#define ATTEND_BYTES 512
#include "tensor/forward/simd_avx512.inc"
#include "tensor/forward/ops_simd.inc"

const struct dg_kernels dg_kernels_avx512 =
    OPS_SIMD_TABLE("avx512", linear, linear_begin, linear_columns, NULL, spin_i8);

#include "tensor/forward/gemm_bf16_avx512.inc"

const struct dg_kernels dg_kernels_avx512_bf16 = OPS_SIMD_TABLE(
    "avx512-bf16", linear_bf16, linear_begin_bf16, linear_columns_bf16, spin_bf16, spin_i8);

#ifdef DG_AMX
#include "tensor/forward/gemm_amx.inc"

static const struct dg_kernels amx = OPS_SIMD_TABLE("amx", linear_amx, linear_begin_amx,
                                                    linear_columns_amx, spin_amx_bf16, spin_amx_i8);

const struct dg_kernels *dg_kernels_amx(void)
{
    return &amx;
}
#else
const struct dg_kernels *dg_kernels_amx(void)
{
    return NULL;
}
#endif
