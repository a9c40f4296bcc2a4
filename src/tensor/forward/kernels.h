/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The kernels: small operations over arrays of float, in one table that is chosen at run time.
 *
 * ops_ref.c defines them, in plain loops that are written to be read. The other tables (AVX2,
 * AVX-512, AMX, NEON, OpenBLAS) must agree with it within rounding. Every table also promises that
 * the result of a row depends, to the bit, only on that row and the weights: not on the number of
 * other rows, on its place among them, or on the memory around it. Sums run in an order fixed by
 * the length of the row; each product of a row with a column of weights is summed over k from 0 up,
 * in one chain. BF16 weights give the same bits as the same numbers in F32 (except in "blas", whose
 * F32 products are OpenBLAS's). BF16_FAST sums pairs of k in the order of the instruction that the
 * table uses.
 *
 *     const struct dg_kernels *kernels;
 *     err = dg_kernels_default(&kernels, &error);   (DRAGOMAN_KERNELS, else the best of this CPU)
 *     kernels->linear(out, N, x, K, M, &packed, DG_OP_RELU, NULL, 0, scratch);
 *
 * Letters: M rows, K inputs, N outputs of a linear layer; D model width; H heads; dh = D / H. `ld`
 * is the distance between rows in elements. A table is immutable; any thread may use it. Kernels
 * allocate nothing and read nothing beyond the sizes given. */
#ifndef DG_TENSOR_FORWARD_KERNELS_H
#define DG_TENSOR_FORWARD_KERNELS_H

#include "base/memory/error.h"
#include "tensor/forward/packed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dg_op_act {
    DG_OP_NONE,
    DG_OP_RELU,
    DG_OP_SILU,
    DG_OP_GELU_ERF,
    DG_OP_GELU_TANH,
    DG_OP_GELU_QUICK,
    DG_OP_SIGMOID,
    DG_OP_TANH,
};

/* One candidate of a top-k: a value and its index. */
struct dg_top {
    float value;
    uint32_t index;
};

/* The state between blocks of logits: see log_sum_exp_block. The centre stays where it is while the
 * largest is at most 40 above it, so that one pass over a block is enough. */
struct dg_log_sum_exp {
    float most;   /* the largest so far */
    float centre; /* near the largest */
    float sum;    /* of e^(x - centre) */
    size_t n_top; /* the length of the list of the best */
};

enum { DG_VOCABULARY_BLOCK = 1024 }; /* values: they stay in the first cache while they are used */

enum { DG_ATTEND_QUERIES = 4 };
enum { DG_ATTEND_ROWS = 12 }; /* queries of attend_rows whose scores are in `scratch` */

enum { DG_RELATIVE_REACH_MAX = 256 };

/* Vectors for the distance between a key and its query, as Shaw et al. (2018) add them: row `reach`
 * is for the query's own position, the rows before it are for keys to its left, the rows after it
 * for keys to its right. Keys farther away use the outermost row. All heads use the same
 * vectors. */
struct dg_relative {
    const float *keys, *values; /* [2 reach + 1, dh] */
    size_t reach;               /* 1 to DG_RELATIVE_REACH_MAX */
};

/* How a key and its value are stored, one behind the other: a record. F16 and I8 records take 2 and
 * about 1 byte a number. An I8 record begins with the scales of the key's heads and of the value's
 * heads, F32 [2][H]; then come the numbers, -127 to 127, of both. */
enum dg_kv_type { DG_KV_F32, DG_KV_F16, DG_KV_I8 };

/* Returns the bytes of a record. */
static inline size_t dg_kv_bytes(enum dg_kv_type type, size_t H, size_t dh)
{
    return type == DG_KV_I8    ? 2 * H * sizeof(float) + (2 * H * dh + 3) / 4 * 4
           : type == DG_KV_F16 ? 2 * H * dh * sizeof(uint16_t)
                               : 2 * H * dh * sizeof(float);
}

/* Attention of Q queries, 1 to DG_ATTEND_QUERIES, over n keys each: for each head, scores = (q . k)
 * * scale, softmax over the keys, out = weighted values. Query i has the n records of the list
 * at[i]; the first n_shared places of all lists are the same, and are read once for all queries as
 * far as that pays. A query's result has the same bits as if it were alone.
 *
 * With relative positions, Q is 1 and the query has the position of key `self`: key t becomes k +
 * keys[clip(t - self)], and its value v + values[clip(t - self)]. */
struct dg_attention {
    enum dg_kv_type type;
    const void *kv; /* the records, `stride` bytes apart */
    size_t stride;
    const uint32_t *const *at; /* [Q][n]; NULL: records 0, 1, 2, ... for all */
    size_t n, n_shared;        /* n >= 1 */
    size_t Q, H, dh;
    const float *q; /* query i lies at q + i * ld_q */
    size_t ld_q;
    float *out; /* its result at out + i * ld_out */
    size_t ld_out;
    float scale;
    float *weights; /* [Q][H][n]: the probabilities stay here */
    float *scratch; /* for I8: dg_attention_scratch numbers, at a multiple of 64 bytes */
    const struct dg_relative *relative; /* NULL: none */
    size_t self;
    size_t G;       /* for attend_rows only, as is the next */
    bool is_causal; /* query i has only the first n - Q + 1 + i keys */
};

/* Returns the numbers of `scratch`. */
static inline size_t dg_attention_scratch(enum dg_kv_type type, size_t n, size_t H, size_t dh)
{
    return type == DG_KV_I8 ? H * (2 * n + 4 * dh + 16) : 0;
}

/* The same for attend_rows. Panels of keys are at most 64 wide, vectors 16. */
static inline size_t dg_attend_rows_scratch(size_t n, size_t dh)
{
    return (n + 64) * (dh + DG_ATTEND_ROWS) + n * (dh + 16) + 4 * dh;
}

struct dg_kernels {
    const char *name;  /* "ref", "avx2", ... */
    size_t panel;      /* columns of one packed panel of F32 weights (packed.h) */
    size_t panel_bf16; /* the same for BF16 */
    size_t panel_i8;   /* the same for I8 */

    /* out[m][n] = act(sum_k x[m][k] * w[n][k] + bias[n]) + residual[m][n]. `w` carries its bias;
     * residual may be NULL and may be `out` itself. `scratch`: dg_packed_scratch(w, M) bytes,
     * 64-byte aligned. */
    void (*linear)(float *out, size_t ld_out, const float *x, size_t ld_x, size_t M,
                   const struct dg_packed *w, enum dg_op_act act, const float *residual,
                   size_t ld_residual, void *scratch);

    /* `linear` in two steps, for threads that share one product. linear_begin prepares the input in
     * `scratch` for all threads; linear_columns computes the columns [first, end) of all rows.
     * `first` is a multiple of the panel, and so is `end`, unless it is N. In whatever order and by
     * whatever threads they are computed, the columns have the bits that `linear` gives. Both
     * functions are NULL in a table that cannot do this. */
    void (*linear_begin)(const float *x, size_t ld_x, size_t M, const struct dg_packed *w,
                         void *scratch);
    void (*linear_columns)(float *out, size_t ld_out, const float *x, size_t ld_x, size_t M,
                           const struct dg_packed *w, enum dg_op_act act, const float *residual,
                           size_t ld_residual, void *scratch, size_t first, size_t end);

    /* Layer norm (bias != NULL: gain * (x - mean) / sqrt(var + eps) + bias) or RMS norm (bias ==
     * NULL: gain * x / sqrt(mean(x^2) + eps)) of M rows of length D, rows D apart. In place is
     * fine. */
    void (*norm)(float *out, const float *x, const float *gain, const float *bias, size_t M,
                 size_t D, float eps);

    /* out = row * scale + position; `position` may be NULL. */
    void (*embed)(float *out, const float *row, float scale, const float *position, size_t D);

    /* Attention, as struct dg_attention says. */
    void (*attend)(const struct dg_attention *of);

    /* The same for many rows that read the same keys, such as an encoder's or a prompt's: for any
     * number Q of queries over the same n records, those of at[0]. Each head of the keys serves G
     * heads, one behind the other, of the queries [H][G][dh] and of the results. `relative` is
     * NULL, and `weights` is not used; `scratch`: dg_attend_rows_scratch numbers, at a multiple of
     * 64 bytes. A query's bits depend only on itself and its keys, not on Q, but they are not those
     * of `attend`, which sums in another order. */
    void (*attend_rows)(const struct dg_attention *of);

    /* out = x as F16, nearest-even; numbers too large for F16 become its largest. NaN stays NaN. */
    void (*store_f16)(uint16_t *out, const float *x, size_t n);

    /* Makes the I8 record of one key and value, x [2][H][dh]; see enum dg_kv_type. The vector of a
     * head that has a NaN or an infinity gets a scale of NaN. */
    void (*store_i8)(void *record, const float *x, size_t H, size_t dh);

    /* One step of the simple recurrent unit:
     * f = sigmoid(forget); c_out = f * c_in + (1 - f) * candidate; y = relu(c_out). c_out may be
     * c_in. */
    void (*ssru)(float *y, float *c_out, const float *c_in, const float *candidate,
                 const float *forget, size_t D);

    /* x = act(x), n values. */
    void (*activate)(float *x, size_t n, enum dg_op_act act);

    /* out[i] = sigmoid(a[i]) * x[i] + sigmoid(b[i]) * y[i]: the gates of an averaging decoder. */
    void (*gate)(float *out, const float *a, const float *x, const float *b, const float *y,
                 size_t n);

    /* x = softmax(x), n >= 1 values. */
    void (*softmax)(float *x, size_t n);

    /* One pass over n logits: returns log(sum(exp(x))), which is never below the largest of them,
     * and in `top` the k largest, best first, equal values by smaller index; *n_top is min(k, n)
     * less the NaN and -infinity values, which are never taken. k may be 0. A NaN or +infinity
     * makes the result NaN; all -infinity gives -infinity. */
    float (*log_sum_exp_top)(const float *x, size_t n, size_t k, struct dg_top *top, size_t *n_top);

    /* The same in parts, for logits that are never all in memory. A part holds the n columns from
     * `first` on; parts come from left to right, and all but the last have DG_VOCABULARY_BLOCK
     * columns. `so_far` begins as dg_log_sum_exp_none, and dg_log_sum_exp_result gives what
     * log_sum_exp_top returns, to the bit. `top` [k] has so_far->n_top values. */
    void (*log_sum_exp_block)(struct dg_log_sum_exp *so_far, const float *x, size_t first, size_t n,
                              size_t k, struct dg_top *top);

    /* I8 only: quantises M rows (see packed.h) into bytes and scales; ld_q is K up to a multiple
     * of 64. */
    void (*quantize)(uint8_t *q, size_t ld_q, float *scale, const float *x, size_t ld_x, size_t M,
                     size_t K);

    /* For limits.c: the spins do `rounds` times DG_OPS_CHAINS independent multiply-adds of `lanes`
     * numbers (BF16: twice as many, I8: four times) in registers; `read` reads n floats once (n a
     * multiple of 256). They return something only to keep the compiler from removing the work.
     * spin_bf16 is NULL in a table whose BF16_FAST products are multiply-adds of F32. */
    size_t lanes;
    float (*spin_f32)(size_t rounds);
    float (*spin_bf16)(size_t rounds);
    int32_t (*spin_i8)(size_t rounds);
    float (*read)(const float *x, size_t n);
};

enum { DG_OPS_CHAINS = 10 }; /* enough to hide the latency, few enough for 16 registers */

extern const struct dg_log_sum_exp dg_log_sum_exp_none;
float dg_log_sum_exp_result(const struct dg_log_sum_exp *all);

/* Columns in one panel of weights of this type. */
static inline size_t dg_kernels_panel(const struct dg_kernels *kernels, enum dg_packed_type type)
{
    return type == DG_PACKED_I8       ? kernels->panel_i8
           : dg_packed_has_bf16(type) ? kernels->panel_bf16
                                      : kernels->panel;
}

/* Finds the table called `name` ("ref", "amx", "avx512-bf16", "avx512", "avx2", "neon", "neon-dot",
 * "blas").
 * DG_ERR_NOT_FOUND: the name is unknown; DG_ERR_UNSUPPORTED: this CPU or build cannot run the
 * table. The sentence names the tables that it can run. */
enum dg_err dg_kernels_find(const struct dg_kernels **kernels, const char *name,
                            struct dg_error *error) DG_MUST_CHECK;

/* Finds the table that DRAGOMAN_KERNELS names, else the fastest that this CPU runs. */
enum dg_err dg_kernels_default(const struct dg_kernels **kernels,
                               struct dg_error *error) DG_MUST_CHECK;

/* All tables that this CPU and build can run, NULL after the last; for tests and `inspect`. */
enum { DG_KERNELS_MAX = 8 };
size_t dg_kernels_all(const struct dg_kernels *all[DG_KERNELS_MAX]);

#endif
