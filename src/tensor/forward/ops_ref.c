/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Defines every kernel in plain C: loops only, one element after the other. The panel is one column
 * wide, so packed weights are row-major here. Faster kernels are tested against these. */
#include "tensor/forward/ops.h"

#include "tensor/convert.h"
#include "tensor/narrow.h"

#include <math.h>

static float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

static float apply(float x, enum dg_op_act act)
{
    switch (act) {
    case DG_OP_NONE:
        return x;
    case DG_OP_RELU:
        return x < 0.0f ? 0.0f : x;
    case DG_OP_SILU:
        return x * sigmoid(x);
    case DG_OP_GELU_ERF:
        return 0.5f * x * (1.0f + erff(x * 0.70710678f));
    case DG_OP_GELU_TANH:
        return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    case DG_OP_GELU_QUICK:
        return x * sigmoid(1.702f * x);
    case DG_OP_SIGMOID:
        return sigmoid(x);
    case DG_OP_TANH:
        return tanhf(x);
    }
    return x;
}

void dg_ops_activate_ref(float *x, size_t n, enum dg_op_act act)
{
    for (size_t i = 0; i < n; i++)
        x[i] = apply(x[i], act);
}

/* xq[m][k] = round-half-even(x / a) + 128, a = max|x[m]| / 127; a row of zeros, or one with a NaN
 * or an infinity, has a scale that carries it through the product: 0 or NaN. */
void dg_ops_quantize_ref(uint8_t *q, size_t ld_q, float *scale, const float *x, size_t ld_x,
                         size_t M, size_t K)
{
    for (size_t m = 0; m < M; m++) {
        const float *row = x + m * ld_x;
        float most = 0.0f;
        bool finite = true;
        for (size_t k = 0; k < K; k++) {
            most = fmaxf(most, fabsf(row[k]));
            finite = finite && isfinite(row[k]);
        }
        const float inverse = finite && most > 1e-30f ? 127.0f / most : 0.0f;
        for (size_t k = 0; k < K; k++)
            q[m * ld_q + k] = (uint8_t)(finite ? (int)nearbyintf(row[k] * inverse) + 128 : 128);
        scale[m] = finite ? most / 127.0f : NAN;
    }
}

void dg_ops_round_ref(float *to, const float *x, size_t ld_x, size_t M, size_t K)
{
    for (size_t m = 0; m < M; m++)
        for (size_t k = 0; k < K; k++)
            to[m * K + k] = dg_convert_bf16(dg_narrow_bf16(x[m * ld_x + k]));
}

/* An I8 product reads its rows as they lie in the scratch: quantised, then their scales. A product
 * of BF16_FAST reads them rounded. */
static void linear_begin(const float *x, size_t ld_x, size_t M, const struct dg_packed *w,
                         void *scratch)
{
    if (w->type == DG_PACKED_I8)
        dg_ops_quantize_ref(scratch, dg_ops_quantized_ld(w->K),
                            dg_ops_quantized_scale(scratch, M, w->K), x, ld_x, M, w->K);
    else if (w->type == DG_PACKED_BF16_FAST)
        dg_ops_round_ref(scratch, x, ld_x, M, w->K);
}

static void columns_i8(float *out, size_t ld_out, size_t M, const struct dg_packed *w,
                       enum dg_op_act act, const float *residual, size_t ld_residual, void *scratch,
                       size_t first, size_t end)
{
    const size_t K = w->K, ld_q = dg_ops_quantized_ld(K);
    const uint8_t *q = scratch;
    const float *scale = dg_ops_quantized_scale(scratch, M, K);
    const int8_t *data = w->data;
    const size_t ld_w = (K + 3) / 4 * 4;
    for (size_t m = 0; m < M; m++)
        for (size_t n = first; n < end; n++) {
            int32_t sum = 0;
            for (size_t k = 0; k < K; k++)
                sum += (int32_t)q[m * ld_q + k] * data[n * ld_w + k];
            float y = (float)(sum - 128 * w->sum[n]) * (scale[m] * w->scale[n]);
            y = apply(w->bias ? y + w->bias[n] : y, act);
            out[m * ld_out + n] = residual ? y + residual[m * ld_residual + n] : y;
        }
}

static float dot_f32(const float *x, const float *w, size_t K)
{
    float y = 0.0f;
    for (size_t k = 0; k < K; k++)
        y += x[k] * w[k];
    return y;
}

static float dot_bf16(const float *x, const uint16_t *w, size_t K)
{
    float y = 0.0f;
    for (size_t k = 0; k < K; k++)
        y += x[k] * dg_convert_bf16(w[k]);
    return y;
}

static void linear_columns(float *out, size_t ld_out, const float *x, size_t ld_x, size_t M,
                           const struct dg_packed *w, enum dg_op_act act, const float *residual,
                           size_t ld_residual, void *scratch, size_t first, size_t end)
{
    if (w->type == DG_PACKED_I8) {
        columns_i8(out, ld_out, M, w, act, residual, ld_residual, scratch, first, end);
        return;
    }
    if (w->type == DG_PACKED_BF16_FAST) {
        x = scratch;
        ld_x = w->K;
    }
    const bool is_bf16 = dg_packed_has_bf16(w->type);
    const size_t K = w->K, ld_w = is_bf16 ? (K + 1) / 2 * 2 : K;
    for (size_t m = 0; m < M; m++)
        for (size_t n = first; n < end; n++) {
            float y = is_bf16 ? dot_bf16(x + m * ld_x, (const uint16_t *)w->data + n * ld_w, K)
                              : dot_f32(x + m * ld_x, (const float *)w->data + n * ld_w, K);
            y = apply(w->bias ? y + w->bias[n] : y, act);
            out[m * ld_out + n] = residual ? y + residual[m * ld_residual + n] : y;
        }
}

void dg_ops_linear_ref(float *out, size_t ld_out, const float *x, size_t ld_x, size_t M,
                       const struct dg_packed *w, enum dg_op_act act, const float *residual,
                       size_t ld_residual, void *scratch)
{
    linear_begin(x, ld_x, M, w, scratch);
    linear_columns(out, ld_out, x, ld_x, M, w, act, residual, ld_residual, scratch, 0, w->N);
}

void dg_ops_norm_ref(float *out, const float *x, const float *gain, const float *bias, size_t M,
                     size_t D, float eps)
{
    for (size_t m = 0; m < M; m++, x += D, out += D) {
        float mean = 0.0f, square = 0.0f;
        if (bias) {
            for (size_t i = 0; i < D; i++)
                mean += x[i];
            mean /= (float)D;
        }
        for (size_t i = 0; i < D; i++)
            square += (x[i] - mean) * (x[i] - mean);
        const float scale = 1.0f / sqrtf(square / (float)D + eps);
        for (size_t i = 0; i < D; i++)
            out[i] = (x[i] - mean) * scale * gain[i] + (bias ? bias[i] : 0.0f);
    }
}

void dg_ops_embed_ref(float *out, const float *row, float scale, const float *position, size_t D)
{
    for (size_t i = 0; i < D; i++)
        out[i] = position ? row[i] * scale + position[i] : row[i] * scale;
}

void dg_ops_softmax_ref(float *x, size_t n)
{
    float most = x[0], sum = 0.0f;
    for (size_t i = 1; i < n; i++)
        most = fmaxf(most, x[i]);
    for (size_t i = 0; i < n; i++)
        sum += x[i] = expf(x[i] - most);
    for (size_t i = 0; i < n; i++)
        x[i] /= sum;
}

void dg_ops_store_f16_ref(uint16_t *out, const float *x, size_t n)
{
    const float most = 65504.0f;
    for (size_t i = 0; i < n; i++)
        out[i] = dg_narrow_f16(x[i] > most ? most : x[i] < -most ? -most : x[i]);
}

void dg_ops_ssru_ref(float *y, float *c_out, const float *c_in, const float *candidate,
                     const float *forget, size_t D)
{
    for (size_t i = 0; i < D; i++) {
        const float f = sigmoid(forget[i]);
        const float c = f * c_in[i] + (1.0f - f) * candidate[i];
        c_out[i] = c;
        y[i] = c < 0.0f ? 0.0f : c;
    }
}

void dg_ops_gate_ref(float *out, const float *a, const float *x, const float *b, const float *y,
                     size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = sigmoid(a[i]) * x[i] + sigmoid(b[i]) * y[i];
}

const struct dg_log_sum_exp dg_log_sum_exp_none = {.most = -INFINITY, .centre = -INFINITY};

float dg_log_sum_exp_result(const struct dg_log_sum_exp *all)
{
    const float result = all->centre + logf(all->sum);
    return all->sum == 0.0f || result < all->most ? all->most : result;
}

/* The centre is always the largest so far. */
void dg_ops_log_sum_exp_block_ref(struct dg_log_sum_exp *so_far, const float *x, size_t first,
                                  size_t n, size_t k, struct dg_top *top)
{
    for (size_t i = 0; i < n; i++) {
        so_far->most = fmaxf(so_far->most, x[i]);
        dg_ops_top_insert(top, &so_far->n_top, k, x[i], (uint32_t)(first + i));
        if (isnan(x[i]) || x[i] == INFINITY)
            so_far->sum = NAN;
    }
    if (so_far->most == -INFINITY || isnan(so_far->sum))
        return;
    so_far->sum *= expf(so_far->centre - so_far->most);
    so_far->centre = so_far->most;
    for (size_t i = 0; i < n; i++)
        so_far->sum += expf(x[i] - so_far->centre);
}

float dg_ops_log_sum_exp_top_ref(const float *x, size_t n, size_t k, struct dg_top *top,
                                 size_t *n_top)
{
    struct dg_log_sum_exp all = dg_log_sum_exp_none;
    for (size_t first = 0; first < n; first += DG_VOCABULARY_BLOCK) {
        const size_t left = n - first;
        dg_ops_log_sum_exp_block_ref(&all, x + first, first,
                                     left < DG_VOCABULARY_BLOCK ? left : DG_VOCABULARY_BLOCK, k,
                                     top);
    }
    if (n_top)
        *n_top = all.n_top;
    return dg_log_sum_exp_result(&all);
}

static float spin_f32_ref(size_t rounds)
{
    volatile float step = 1e-9f;
    float chain[DG_OPS_CHAINS] = {0.0f}, x = step, sum = 0.0f;
    for (size_t i = 0; i < rounds; i++)
        for (int c = 0; c < DG_OPS_CHAINS; c++)
            chain[c] = chain[c] * x + x;
    for (int c = 0; c < DG_OPS_CHAINS; c++)
        sum += chain[c];
    return sum;
}

static int32_t spin_i8_ref(size_t rounds)
{
    volatile int8_t step = 3;
    int32_t chain[DG_OPS_CHAINS] = {0}, sum = 0;
    const int32_t x = step;
    for (size_t i = 0; i < rounds; i++)
        for (int c = 0; c < DG_OPS_CHAINS; c++)
            for (int k = 0; k < 4; k++)
                chain[c] = (chain[c] & 0xff) * x + k;
    for (int c = 0; c < DG_OPS_CHAINS; c++)
        sum += chain[c];
    return sum;
}

static float read_ref(const float *x, size_t n)
{
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (size_t i = 0; i < n; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += x[i + k];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

const struct dg_kernels dg_kernels_ref = {
    .name = "ref",
    .panel = 1,
    .panel_bf16 = 1,
    .panel_i8 = 1,
    .linear = dg_ops_linear_ref,
    .linear_begin = linear_begin,
    .linear_columns = linear_columns,
    .norm = dg_ops_norm_ref,
    .embed = dg_ops_embed_ref,
    .attend = dg_ops_attend_ref,
    .attend_rows = dg_ops_attend_rows_ref,
    .store_f16 = dg_ops_store_f16_ref,
    .store_i8 = dg_ops_store_i8_ref,
    .ssru = dg_ops_ssru_ref,
    .activate = dg_ops_activate_ref,
    .gate = dg_ops_gate_ref,
    .softmax = dg_ops_softmax_ref,
    .log_sum_exp_top = dg_ops_log_sum_exp_top_ref,
    .log_sum_exp_block = dg_ops_log_sum_exp_block_ref,
    .quantize = dg_ops_quantize_ref,
    .lanes = 1,
    .spin_f32 = spin_f32_ref,
    .spin_i8 = spin_i8_ref,
    .read = read_ref,
};
