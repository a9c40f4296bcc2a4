/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The three products of a linear layer, forward and backward, by OpenBLAS. The caller must avoid
 * empty products (M, N or K of 0). */
#include "tensor/gradient/gemm.h"

#include <cblas.h>

void dg_gemm_init(void)
{
    openblas_set_num_threads(1);
}

static void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, float *c, size_t ld_c, const float *a,
                 size_t ld_a, const float *b, size_t ld_b, size_t M, size_t N, size_t K, float beta)
{
    cblas_sgemm(CblasRowMajor, ta, tb, (blasint)M, (blasint)N, (blasint)K, 1.0f, a, (blasint)ld_a,
                b, (blasint)ld_b, beta, c, (blasint)ld_c);
}

void dg_gemm_nt(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b, size_t ld_b,
                size_t M, size_t N, size_t K, float beta)
{
    gemm(CblasNoTrans, CblasTrans, c, ld_c, a, ld_a, b, ld_b, M, N, K, beta);
}

void dg_gemm_nn(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b, size_t ld_b,
                size_t M, size_t N, size_t K, float beta)
{
    gemm(CblasNoTrans, CblasNoTrans, c, ld_c, a, ld_a, b, ld_b, M, N, K, beta);
}

void dg_gemm_tn(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b, size_t ld_b,
                size_t M, size_t N, size_t K, float beta)
{
    gemm(CblasTrans, CblasNoTrans, c, ld_c, a, ld_a, b, ld_b, M, N, K, beta);
}
