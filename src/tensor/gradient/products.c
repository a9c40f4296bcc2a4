/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Chooses the products of training, and defines those of BF16 by plain loops. */
#include "tensor/gradient/products.h"
#include "base/thread/cpu.h"
#include "tensor/convert.h"
#include "tensor/gradient/gemm.h"
#include "tensor/narrow.h"

#include <stdlib.h>
#include <string.h>

/* ---- F32 ------------------------------------------------------------------------------------- */

static void nt_f32(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b, size_t ld_b,
                   size_t M, size_t N, size_t K, float beta, void *scratch)
{
    (void)scratch;
    dg_gemm_nt(c, ld_c, a, ld_a, b, ld_b, M, N, K, beta);
}

static void nn_f32(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b, size_t ld_b,
                   size_t M, size_t N, size_t K, float beta, void *scratch)
{
    (void)scratch;
    dg_gemm_nn(c, ld_c, a, ld_a, b, ld_b, M, N, K, beta);
}

static void tn_f32(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b, size_t ld_b,
                   size_t M, size_t N, size_t K, float beta, void *scratch)
{
    (void)scratch;
    dg_gemm_tn(c, ld_c, a, ld_a, b, ld_b, M, N, K, beta);
}

const struct dg_products dg_products_f32 = {
    .name = "f32", .nt = nt_f32, .nn = nn_f32, .tn = tn_f32};

/* ---- BF16, plain ----------------------------------------------------------------------------- */

static float rounded(float value)
{
    return dg_convert_bf16(dg_narrow_bf16(value));
}

/* Element (m, k) of a is a[m * a_m + k * a_k], (k, n) of b is b[k * b_k + n * b_n]. */
static void multiply(float *c, size_t ld_c, const float *a, size_t a_m, size_t a_k, const float *b,
                     size_t b_k, size_t b_n, size_t M, size_t N, size_t K, float beta)
{
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++) {
            float sum = 0.0f;
            for (size_t k = 0; k < K; k++)
                sum += rounded(a[m * a_m + k * a_k]) * rounded(b[k * b_k + n * b_n]);
            float *to = &c[m * ld_c + n];
            *to = beta == 0.0f ? sum : beta * *to + sum;
        }
}

static void nt_plain(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b,
                     size_t ld_b, size_t M, size_t N, size_t K, float beta, void *scratch)
{
    (void)scratch;
    multiply(c, ld_c, a, ld_a, 1, b, 1, ld_b, M, N, K, beta);
}

static void nn_plain(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b,
                     size_t ld_b, size_t M, size_t N, size_t K, float beta, void *scratch)
{
    (void)scratch;
    multiply(c, ld_c, a, ld_a, 1, b, ld_b, 1, M, N, K, beta);
}

static void tn_plain(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b,
                     size_t ld_b, size_t M, size_t N, size_t K, float beta, void *scratch)
{
    (void)scratch;
    multiply(c, ld_c, a, 1, ld_a, b, ld_b, 1, M, N, K, beta);
}

const struct dg_products dg_products_bf16_ref = {
    .name = "bf16-ref", .nt = nt_plain, .nn = nn_plain, .tn = tn_plain};

/* ---- Choice ---------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static const struct dg_products *bf16(const char *kernels)
{
    const uint32_t wanted =
        DG_CPU_AVX512F | DG_CPU_AVX512BW | DG_CPU_AVX512VL | DG_CPU_AVX512DQ | DG_CPU_AVX512BF16;
    const uint32_t features = dg_cpu_features();
    if ((features & wanted) != wanted)
        return &dg_products_f32;
    const bool tiles = features & DG_CPU_AMX_BF16 && dg_products_amx() &&
                       strncmp(kernels, "avx512", 6) != 0 && dg_cpu_allow_tiles();
    return tiles ? dg_products_amx() : &dg_products_bf16;
}
#else
static const struct dg_products *bf16(const char *kernels)
{
    (void)kernels;
    return &dg_products_f32;
}
#endif

const struct dg_products *dg_products_find(enum dg_products_kind kind)
{
    const char *kernels = getenv("DRAGOMAN_KERNELS");
    if (!kernels)
        kernels = "";
    return kind == DG_PRODUCTS_BF16 && strcmp(kernels, "ref") != 0 ? bf16(kernels)
                                                                   : &dg_products_f32;
}
