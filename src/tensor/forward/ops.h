/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Private to the folder: the tables, the reference functions that other tables fall back to, and
 * the few helpers that all tables share. */
#ifndef DG_TENSOR_FORWARD_OPS_H
#define DG_TENSOR_FORWARD_OPS_H

#include "tensor/forward/kernels.h"

#include <math.h>

extern const struct dg_kernels dg_kernels_ref;
extern const struct dg_kernels dg_kernels_avx2;   /* x86-64 builds */
extern const struct dg_kernels dg_kernels_avx512; /* x86-64 builds */
extern const struct dg_kernels dg_kernels_avx512_bf16;
extern const struct dg_kernels dg_kernels_neon; /* arm64 builds */
extern const struct dg_kernels dg_kernels_neon_dot;
const struct dg_kernels *dg_kernels_amx(void); /* x86-64 builds; NULL: the compiler lacks AMX */
const struct dg_kernels *dg_kernels_blas(void);

/* Returns the best table for this CPU except "blas". */
const struct dg_kernels *dg_kernels_without_blas(void);

enum {
    DG_OPS_BLAS_ROWS_MAX = 24
}; /* rows in one call of a BLAS; packed.c reserves scratch for them */

void dg_ops_activate_ref(float *x, size_t n, enum dg_op_act act);
void dg_ops_quantize_ref(uint8_t *q, size_t ld_q, float *scale, const float *x, size_t ld_x,
                         size_t M, size_t K);
/* The input of a BF16_FAST product in tables whose processor does not multiply BF16: to[M][K] are
 * the rows, rounded. */
void dg_ops_round_ref(float *to, const float *x, size_t ld_x, size_t M, size_t K);
void dg_ops_linear_ref(float *out, size_t ld_out, const float *x, size_t ld_x, size_t M,
                       const struct dg_packed *w, enum dg_op_act act, const float *residual,
                       size_t ld_residual, void *scratch);
void dg_ops_norm_ref(float *out, const float *x, const float *gain, const float *bias, size_t M,
                     size_t D, float eps);
void dg_ops_embed_ref(float *out, const float *row, float scale, const float *position, size_t D);
void dg_ops_softmax_ref(float *x, size_t n);
void dg_ops_attend_ref(const struct dg_attention *of);
void dg_ops_attend_rows_ref(const struct dg_attention *of);
void dg_ops_store_f16_ref(uint16_t *out, const float *x, size_t n);
void dg_ops_store_i8_ref(void *record, const float *x, size_t H, size_t dh);
void dg_ops_ssru_ref(float *y, float *c_out, const float *c_in, const float *candidate,
                     const float *forget, size_t D);
void dg_ops_gate_ref(float *out, const float *a, const float *x, const float *b, const float *y,
                     size_t n);
void dg_ops_log_sum_exp_block_ref(struct dg_log_sum_exp *so_far, const float *x, size_t first,
                                  size_t n, size_t k, struct dg_top *top);
float dg_ops_log_sum_exp_top_ref(const float *x, size_t n, size_t k, struct dg_top *top,
                                 size_t *n_top);

enum {
    DG_OPS_PRODUCT = 128
}; /* bytes before the scratch below, for what threads that share a product read */

/* Scratch of an I8 product (dg_packed_scratch returns its size): M quantised rows, one or two bytes
 * per number; their scales; for each row the number of its groups of four that are not all zeros;
 * the lists of these groups. */
static inline size_t dg_ops_quantized_ld(size_t K)
{
    return (K + 63) & ~(size_t)63;
}

static inline float *dg_ops_quantized_scale(void *scratch, size_t M, size_t K)
{
    return (float *)((char *)scratch + M * dg_ops_quantized_ld(K) * sizeof(int16_t));
}

static inline uint32_t *dg_ops_quantized_listed(void *scratch, size_t M, size_t K)
{
    return (uint32_t *)(void *)(dg_ops_quantized_scale(scratch, M, K) + M);
}

static inline uint16_t *dg_ops_quantized_lists(void *scratch, size_t M, size_t K)
{
    return (uint16_t *)(void *)(dg_ops_quantized_listed(scratch, M, K) + M);
}

/* Offers one value to a list of the k best, sorted best first. Values must come in the order of
 * their indices, so that of equal values the one with the smaller index is first. NaN and -infinity
 * are never taken. */
static inline void dg_ops_top_insert(struct dg_top *top, size_t *held, size_t k, float value,
                                     uint32_t index)
{
    if (!(value > -INFINITY) || k == 0 || (*held == k && !(value > top[k - 1].value)))
        return;
    size_t at = *held < k ? (*held)++ : k - 1;
    for (; at > 0 && top[at - 1].value < value; at--)
        top[at] = top[at - 1];
    top[at] = (struct dg_top){value, index};
}

#endif
