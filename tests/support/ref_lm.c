/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Weights are F32, as training has them. */
#include "ref_lm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double at(const struct dg_tensor *tensor, size_t i)
{
    return tensor->data ? (double)((const float *)tensor->data)[i] : 0.0;
}

static double *zeros(size_t n)
{
    double *x = calloc(n ? n : 1, sizeof *x);
    if (!x)
        abort();
    return x;
}

/* y = x W^T + b */
static double *linear(const double *x, size_t n, size_t in, const struct dg_linear_weights *w,
                      size_t out)
{
    double *y = zeros(n * out);
    for (size_t r = 0; r < n; r++)
        for (size_t o = 0; o < out; o++) {
            y[r * out + o] = at(&w->bias, o);
            for (size_t i = 0; i < in; i++)
                y[r * out + o] += x[r * in + i] * at(&w->weight, o * in + i);
        }
    return y;
}

static double *norm(const struct dg_blueprint *bp, const double *x, size_t n,
                    const struct dg_norm_weights *w)
{
    const size_t D = bp->D;
    double *y = zeros(n * D);
    for (size_t r = 0; r < n; r++) {
        double mean = 0.0, square = 0.0;
        for (size_t d = 0; d < D; d++)
            mean += x[r * D + d] / (double)D;
        if (bp->norm_kind == DG_NORM_RMS)
            mean = 0.0;
        for (size_t d = 0; d < D; d++)
            square += (x[r * D + d] - mean) * (x[r * D + d] - mean) / (double)D;
        for (size_t d = 0; d < D; d++)
            y[r * D + d] =
                (x[r * D + d] - mean) / sqrt(square + (double)bp->norm_epsilon) * at(&w->gain, d) +
                at(&w->bias, d);
    }
    return y;
}

static double act(enum dg_activation activation, double x)
{
    switch (activation) {
    case DG_ACT_RELU:
        return x > 0.0 ? x : 0.0;
    case DG_ACT_SILU:
        return x / (1.0 + exp(-x));
    case DG_ACT_GELU_ERF:
        return 0.5 * x * (1.0 + erf(x / sqrt(2.0)));
    case DG_ACT_GELU_TANH:
        return 0.5 * x *
               (1.0 + tanh(sqrt(2.0 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case DG_ACT_GELU_QUICK:
        return x / (1.0 + exp(-1.702 * x));
    }
    abort();
}

/* The angle as in the code of Llama 3's paper, and the plain and the linear ones. */
static double angle(const struct dg_lm *lm, size_t k, size_t position)
{
    const double plain = 1.0 / pow(lm->rope.theta, (double)(2 * k) / (double)lm->head);
    double step = plain;
    if (lm->rope.scaling == DG_ROPE_LINEAR)
        step = plain / lm->rope.factor;
    if (lm->rope.scaling == DG_ROPE_LLAMA3) {
        const double wave = 2.0 * 3.14159265358979323846 / plain,
                     original = (double)lm->rope.original;
        const double smooth = (original / wave - lm->rope.low) / (lm->rope.high - lm->rope.low);
        if (wave > original / lm->rope.low)
            step = plain / lm->rope.factor;
        else if (wave >= original / lm->rope.high)
            step = (1.0 - smooth) * plain / lm->rope.factor + smooth * plain;
    }
    return step * (double)position;
}

static void turn(const struct dg_lm *lm, double *x, size_t n, size_t heads)
{
    for (size_t r = 0; r < n; r++)
        for (size_t h = 0; h < heads; h++)
            for (size_t k = 0; k < lm->head / 2; k++) {
                double *a = x + (r * heads + h) * lm->head + k, *b = a + lm->head / 2;
                const double c = cos(angle(lm, k, r)), s = sin(angle(lm, k, r)), was = *a;
                *a = was * c - *b * s;
                *b = *b * c + was * s;
            }
}

static double *attend(const struct dg_blueprint *bp, const double *q, const double *k,
                      const double *v, size_t n)
{
    const size_t H = bp->decoder.H, KV = bp->lm.kv_heads, d = bp->lm.head;
    double *z = zeros(n * H * d), *p = zeros(n);
    for (size_t h = 0; h < H; h++)
        for (size_t t = 0; t < n; t++) {
            const size_t g = h * KV / H;
            double sum = 0.0;
            for (size_t s = 0; s <= t; s++) {
                double dot = 0.0;
                for (size_t i = 0; i < d; i++)
                    dot += q[(t * H + h) * d + i] * k[(s * KV + g) * d + i];
                sum += p[s] = exp(dot / sqrt((double)d));
            }
            for (size_t s = 0; s <= t; s++)
                for (size_t i = 0; i < d; i++)
                    z[(t * H + h) * d + i] += p[s] / sum * v[(s * KV + g) * d + i];
        }
    free(p);
    return z;
}

static void add(double *x, double *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
    free(y);
}

static void layer(const struct dg_blueprint *bp, const struct dg_lm_layer *w, double *x, size_t n)
{
    const struct dg_lm *lm = &bp->lm;
    const size_t D = bp->D, F = bp->decoder.F, A = bp->decoder.H * lm->head,
                 K = lm->kv_heads * lm->head;
    double *in = norm(bp, x, n, &w->attention_norm);
    double *q = linear(in, n, D, &w->q, A), *k = linear(in, n, D, &w->k, K),
           *v = linear(in, n, D, &w->v, K);
    if (bp->positions == DG_POS_ROTARY) {
        turn(lm, q, n, bp->decoder.H);
        turn(lm, k, n, lm->kv_heads);
    }
    double *z = attend(bp, q, k, v, n);
    add(x, linear(z, n, A, &w->o, D), n * D);
    free(in);
    free(q);
    free(k);
    free(v);
    free(z);
    in = norm(bp, x, n, &w->ffn_norm);
    double *up = linear(in, n, D, &w->up, F),
           *gate = lm->gated ? linear(in, n, D, &w->gate, F) : NULL;
    for (size_t i = 0; i < n * F; i++)
        up[i] = gate ? act(bp->activation, gate[i]) * up[i] : act(bp->activation, up[i]);
    add(x, linear(up, n, F, &w->down, D), n * D);
    free(in);
    free(up);
    free(gate);
}

double *ref_lm(const struct dg_blueprint *bp, const struct dg_lm_weights *w, const int32_t *ids,
               size_t n)
{
    const size_t D = bp->D;
    const struct dg_linear_weights output = {.weight = w->output};
    double *x = zeros(n * D);
    for (size_t t = 0; t < n; t++)
        for (size_t d = 0; d < D; d++)
            x[t * D + d] = at(&w->embedding, (size_t)ids[t] * D + d) +
                           (bp->positions == DG_POS_LEARNED
                                ? at(&w->positions, (t + bp->position_offset) * D + d)
                                : 0.0);
    for (size_t i = 0; i < bp->decoder.n_layers; i++)
        layer(bp, &w->layers[i], x, n);
    double *last = norm(bp, x, n, &w->norm), *logits = linear(last, n, D, &output, bp->decoder.V);
    free(x);
    free(last);
    return logits;
}
