/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The kernels of training besides products (gemm.h): for each operation of the network a forward
 * pass, which keeps what the backward pass needs, and the backward pass. One source, grad.inc,
 * written as plain loops that compilers vectorise, is compiled once for each instruction set and
 * chosen at run time.
 *
 *     const struct dg_grad_kernels *kernels = dg_grad_kernels_default();
 *     kernels->norm(y, stats, x, gain, bias, M, D, eps);
 *     kernels->norm_back(dx, false, dgain, dbias, dy, x, stats, gain, M, D);
 *
 * Gradients are called d + name. "+=" in a comment means that the call adds to what is there. The
 * same call on the same numbers gives the same bits. Matrices without an `ld` are dense. Tables are
 * immutable; any thread may use them. */
#ifndef DG_TENSOR_GRADIENT_GRAD_H
#define DG_TENSOR_GRADIENT_GRAD_H

#include "tensor/forward/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which values a dropout drops depends only on (key, row, column). So nothing is stored: the
 * backward pass computes the choice again, and a resumed run drops the same values. */
struct dg_grad_drop {
    uint64_t key;       /* says which place in the network, at which step */
    uint64_t row;       /* the number of the first row in the whole batch */
    uint32_t threshold; /* a value is dropped if its random 32-bit number is below this; 0: no
                           dropout */
    float scale;        /* the factor of the values that remain: 1 / (1 - p) */
};

/* One attention over one sentence. Rows of q, z lie ld_q, ld_z apart; k and v share ld_kv. */
struct dg_grad_attention {
    const float *q, *k, *v;
    size_t ld_q, ld_kv;
    size_t T, S; /* numbers of queries and of keys */
    size_t H, dh;
    bool causal; /* query t sees keys 0 .. t */
};

static inline size_t dg_grad_attention_scratch(size_t S, size_t dh)
{
    return ((S + 7) & ~(size_t)7) * (dh + 1);
}

struct dg_adam {
    float rate; /* with Adam's bias corrections */
    float beta1, beta2;
    float epsilon;    /* with Adam's bias corrections */
    float decay;      /* decoupled weight decay times the rate; 0: plain Adam */
    float grad_scale; /* gradients are multiplied by this first, for the mean over tokens and for
                         clipping */
};

struct dg_grad_kernels {
    const char *name;

    /* x[m] += bias, then y = act(x). `x` [M][N] is overwritten with the sum only when y != x. */
    void (*bias_act)(float *y, float *x, const float *bias, size_t M, size_t N, enum dg_op_act act);

    /* dx = dy * act'(x). With RELU `x` may be the activation's output. In place is fine. */
    void (*act_back)(float *dx, const float *dy, const float *x, size_t n, enum dg_op_act act);

    /* sum[n] += columns of x[M][N] */
    void (*column_sum)(float *sum, const float *x, size_t M, size_t N);

    /* y = norm(x); stats [M][2] keeps mean and 1/deviation. bias NULL: RMS norm. In place is fine,
     * but the backward pass needs x. */
    void (*norm)(float *y, float *stats, const float *x, const float *gain, const float *bias,
                 size_t M, size_t D, float eps);

    /* The backward pass of `norm`: writes dx, or adds to it with `add`; adds to dgain and dbias.
     * dbias NULL: RMS norm. Without `add`, dx may be dy. */
    void (*norm_back)(float *dx, bool add, float *dgain, float *dbias, const float *dy,
                      const float *x, const float *stats, const float *gain, size_t M, size_t D);

    /* y = base + drop(x); base NULL: 0. Any of the three may be the same array. */
    void (*drop)(float *y, const float *base, const float *x, size_t M, size_t D,
                 const struct dg_grad_drop *drop);

    /* z[t] = softmax(q k^T / sqrt(dh)) v for each head; probabilities stay in p [H][T][S].
     * `scratch`: dg_grad_attention_scratch floats. */
    void (*attend)(float *z, size_t ld_z, float *p, const struct dg_grad_attention *a,
                   float *scratch);

    /* The backward pass of `attend`: writes dq, dk and dv, and overwrites p. */
    void (*attend_back)(float *dq, float *dk, float *dv, const float *dz, size_t ld_z, float *p,
                        const struct dg_grad_attention *a, float *scratch);

    /* Cross entropy of one row against the target, smoothed by `smoothing` (a mass spread over all
     * V). Turns the logits into their gradient times `scale`. Returns the smoothed loss; *plain is
     * -log p(target). */
    double (*loss)(float *logits, size_t V, size_t target, float smoothing, float scale,
                   double *plain);

    /* Computes only the loss; the logits are kept. */
    double (*loss_only)(const float *logits, size_t V, size_t target, float smoothing,
                        double *plain);

    /* y += scale * x */
    void (*axpy)(float *y, const float *x, float scale, size_t n);

    /* y += share * (x - y) */
    void (*approach)(float *y, const float *x, float share, size_t n);

    /* Sum of squares. */
    double (*norm2)(const float *x, size_t n);

    /* One step of Adam(W) over n parameters w with gradient g and moments m, v. */
    void (*adam)(float *w, float *m, float *v, const float *g, size_t n,
                 const struct dg_adam *adam);

    /* The products of gemm.h, in functions that are faster for up to DG_GRAD_FEW rows. few_tn is
     * for one row (K 1). */
    void (*few_nt)(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b, size_t ld_b,
                   size_t M, size_t N, size_t K, float beta);
    void (*few_nn)(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b, size_t ld_b,
                   size_t M, size_t N, size_t K, float beta);
    void (*few_tn)(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b, size_t ld_b,
                   size_t M, size_t N, size_t K, float beta);

    /* One step of the cells of plain recurrent networks (docs/MODEL.md). The state h [D], and c [D]
     * of an LSTM, is updated in place from the products x and s [G D] of input and state, which
     * include their biases. `kept` is for the backward pass: GRU [4 D], LSTM [6 D], tanh [D]. */
    void (*gru)(float *h, float *kept, const float *x, const float *s, size_t D);
    void (*lstm)(float *h, float *c, float *kept, const float *x, const float *s, size_t D);
    void (*tanh)(float *h, float *kept, const float *x, const float *s, size_t D);

    /* The backward passes write dx and ds [G D] from dh (and dc). dh becomes the part of the
     * gradient that reaches the previous state directly, not through the products. `before` [D] is
     * the GRU's previous state. */
    void (*gru_back)(float *dh, float *dx, float *ds, const float *kept, const float *before,
                     size_t D);
    void (*lstm_back)(float *dh, float *dc, float *dx, float *ds, const float *kept, size_t D);
    void (*tanh_back)(float *dh, float *dx, float *ds, const float *kept, size_t D);

    float (*dot)(const float *x, const float *y, size_t n);
    void (*tanh_sum)(float *u, const float *x, const float *y, size_t n); /* u = tanh(x + y) */
    void (*softmax)(float *x, size_t n);
};

/* Measured: docs/speed-log.md, 2026-11-22 train: the textbook's recurrent run. */
enum { DG_GRAD_FEW = 12 };

/* Returns the best table for this CPU; with DRAGOMAN_KERNELS=ref, the plain one. */
const struct dg_grad_kernels *dg_grad_kernels_default(void);

/* All tables that this CPU and build can run, NULL after the last. */
enum { DG_GRAD_KERNELS_MAX = 4 };
size_t dg_grad_kernels_all(const struct dg_grad_kernels *all[DG_GRAD_KERNELS_MAX]);

extern const struct dg_grad_kernels dg_grad_kernels_ref;
extern const struct dg_grad_kernels dg_grad_kernels_avx2;   /* x86-64 builds */
extern const struct dg_grad_kernels dg_grad_kernels_avx512; /* x86-64 builds */

#endif
