/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A linear layer's weights, rearranged once for the kernels, which read them many times.
 *
 * W is [N, K] (one row per output channel). The channels are divided into panels of `panel`
 * columns, and a panel stores for each k its columns side by side, so that a product reads it from
 * front to back:
 *
 *     F32:  data[(n / panel) * K * panel + k * panel + n % panel]
 *     BF16: data[(n / panel) * K2 * panel + (k / 2) * panel * 2 + (n % panel) * 2 + k % 2]
 *     I8:   data[(n / panel) * K4 * panel + (k / 4) * panel * 4 + (n % panel) * 4 + k % 4]
 *
 * K2 and K4 are K rounded up to a multiple of 2 and 4. The last panel is filled with zeros.
 * panel == 1 (the reference) is plain row-major. Packing is exact: dg_packed_row reads a row back,
 * so that a tied embedding needs no second copy.
 *
 * BF16 is the upper half of a float. A word of 32 bits holds a pair of k; a shift and a mask turn
 * it into two floats, so that a product gives the bits of the F32 product of the same numbers.
 *
 * BF16_FAST has the same weights, but rounds each input row to BF16 (to nearest, ties to even) when
 * it arrives. The sums are of F32, in an order that differs between tables.
 *
 * I8: weight = scale[n] * q, q in -127..127. An input row is quantised when it arrives: a = max|x|
 * / 127, xq = round-half-even(x / a) + 128 as an unsigned byte (128 is zero); then out[n] = a *
 * scale[n] * (sum_k xq * q - 128 * sum[n]) + bias[n] with the sum in exact 32-bit integers (K up to
 * 65,536), `sum` being each channel's sum of q.
 *
 * The struct borrows all its memory, which network/net.c takes from one block. */
#ifndef DG_TENSOR_FORWARD_PACKED_H
#define DG_TENSOR_FORWARD_PACKED_H

#include "tensor/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_kernels;

/* In order of how much is rounded. */
enum dg_packed_type {
    DG_PACKED_F32,
    DG_PACKED_BF16,
    DG_PACKED_BF16_FAST, /* as BF16, but the input is rounded to BF16, too */
    DG_PACKED_I8,
};

enum { DG_PACKED_K_MAX = 65536 }; /* 65536 * 255 * 127 < 2^31 */

static inline bool dg_packed_has_bf16(enum dg_packed_type type)
{
    return type == DG_PACKED_BF16 || type == DG_PACKED_BF16_FAST;
}

struct dg_packed {
    enum dg_packed_type type;
    size_t N, K;
    size_t panel;
    void *data;   /* dg_packed_data_bytes bytes, aligned to 64 */
    float *bias;  /* [N rounded up to the panel]; NULL without a bias */
    float *scale; /* I8: [N rounded up to the panel] */
    int32_t *sum; /* I8: [N rounded up to the panel] */
};

/* Computes the bytes of `data` and of one per-channel array (bias, scale, sum), each a multiple of
 * 64; returns false when the sizes overflow. */
bool dg_packed_sizes(const struct dg_packed *packed, size_t *data_bytes, size_t *channel_bytes);

/* Stores the rows of the tensor `rows` [n, K] as rows [first, first + n) of the layer; a bias is a
 * vector [n]. F32 layers convert F16, BF16 and I8. BF16 and I8 layers take their own type as it is
 * and round or quantise the others. `scratch` holds K floats. The caller must zero `data` first if
 * it does not put every row. */
void dg_packed_put_rows(struct dg_packed *packed, size_t first, const struct dg_tensor *rows,
                        float *scratch);
void dg_packed_put_bias(struct dg_packed *packed, size_t first, const struct dg_tensor *bias);

/* Writes row n of W as floats [K]. */
void dg_packed_row(const struct dg_packed *packed, size_t n, float *out);

/* Copies channel `from_n` of `from` to channel `to_n` of `to`, with its bias. Both must have the
 * same type, K and panel. */
void dg_packed_copy_channel(struct dg_packed *to, size_t to_n, const struct dg_packed *from,
                            size_t from_n);

/* Returns the offset in bytes at which column `n` begins in `data`. */
size_t dg_packed_offset(const struct dg_packed *packed, size_t n);

/* Writes zeros to the columns of the last panel that no channel uses. */
void dg_packed_clear_tail(struct dg_packed *packed);

/* Returns the bytes of scratch that a product with M rows needs, a multiple of 64: for I8 the
 * quantised input, for BF16_FAST the rounded one, for a BLAS a whole tile of rows, for BF16
 * nothing. */
size_t dg_packed_scratch(const struct dg_packed *packed, size_t M);

#endif
