/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The products of training (gemm.h), in F32 or with factors rounded to BF16. BF16 products keep
 * eight bits of each factor, sum in F32, and take a third of the time or less where the
 * processor multiplies BF16 (AVX512_BF16, AMX).
 *
 *     const struct dg_products *products = dg_products_find(DG_PRODUCTS_BF16);
 *     void *scratch = ... products->scratch bytes ...
 *     products->nt(y, N, x, K, w, K, M, N, K, 0.0f, scratch);      y = x w^T
 *
 * The same call on the same numbers gives the same bits. Tables are immutable; any thread may use
 * them with a scratch of its own. M, N and K are 1 or more. */
#ifndef DG_TENSOR_GRADIENT_PRODUCTS_H
#define DG_TENSOR_GRADIENT_PRODUCTS_H

#include <stddef.h>

typedef void dg_product_fn(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b,
                           size_t ld_b, size_t M, size_t N, size_t K, float beta, void *scratch);

struct dg_products {
    const char *name;
    size_t scratch;    /* bytes of scratch memory */
    dg_product_fn *nt; /* c[M][N] = a[M][K] b[N][K]^T + beta c */
    dg_product_fn *nn; /* c[M][N] = a[M][K] b[K][N] + beta c */
    dg_product_fn *tn; /* c[M][N] = a[K][M]^T b[K][N] + beta c */
};

enum dg_products_kind { DG_PRODUCTS_F32, DG_PRODUCTS_BF16 };

/* Returns BF16 products where this processor multiplies BF16, by AMX if it has that and
 * DRAGOMAN_KERNELS is not "avx512-bf16" or "avx512"; else, and where DRAGOMAN_KERNELS is "ref", F32
 * products. */
const struct dg_products *dg_products_find(enum dg_products_kind kind);

extern const struct dg_products dg_products_f32;      /* OpenBLAS */
extern const struct dg_products dg_products_bf16_ref; /* plain loops: defines BF16 products */
extern const struct dg_products dg_products_bf16;     /* x86-64 builds: needs AVX512_BF16 */

/* x86-64 builds: the same by AMX, which they need as well; NULL if the compiler does not know AMX.
 */
const struct dg_products *dg_products_amx(void);

#endif
