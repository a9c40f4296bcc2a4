/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Products of unpacked matrices, for training: weights change with every step, so packing them does
 * not pay, and transposes of both factors are needed. Row-major; `ld` is the distance between rows
 * in elements.
 *
 *     dg_gemm_init();                                              once, before threads start
 *     dg_gemm_nt(y, N, x, K, w, K, M, N, K, 0.0f);                 y = x w^T          forward
 *     dg_gemm_nn(dx, K, dy, N, w, K, M, K, N, 1.0f);               dx += dy w         to the input
 *     dg_gemm_tn(dw, K, dy, N, x, K, N, K, M, 1.0f);               dw += dy^T x       to the weight
 *
 * Unlike the kernels of kernels.h, these may sum a row in an order that depends on the shape of the
 * whole call; the same call on the same numbers gives the same bits. Each call uses one thread;
 * callers work in parallel. OpenBLAS computes the products. */
#ifndef DG_TENSOR_GRADIENT_GEMM_H
#define DG_TENSOR_GRADIENT_GEMM_H

#include <stddef.h>

/* Makes OpenBLAS use only the calling thread. It may be called again. */
void dg_gemm_init(void);

/* c[M][N] = a[M][K] b[N][K]^T + beta c */
void dg_gemm_nt(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b, size_t ld_b,
                size_t M, size_t N, size_t K, float beta);

/* c[M][N] = a[M][K] b[K][N] + beta c */
void dg_gemm_nn(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b, size_t ld_b,
                size_t M, size_t N, size_t K, float beta);

/* c[M][N] = a[K][M]^T b[K][N] + beta c */
void dg_gemm_tn(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b, size_t ld_b,
                size_t M, size_t N, size_t K, float beta);

#endif
