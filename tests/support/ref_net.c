/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Plain loops over doubles. Every function returns a new array that its caller frees; speed does
 * not matter. */
#include "ref_net.h"

#include "tensor/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *array(size_t n)
{
    double *x = calloc(n ? n : 1, sizeof *x);
    if (!x)
        abort();
    return x;
}

static double *load(const struct dg_tensor *tensor)
{
    const size_t n = dg_tensor_count(tensor);
    float *stored = calloc(n, sizeof *stored);
    double *x = array(n);
    if (!stored)
        abort();
    dg_convert_tensor(stored, tensor, 0, n);
    for (size_t i = 0; i < n; i++)
        x[i] = stored[i];
    free(stored);
    return x;
}

static double *linear(const double *x, size_t M, const struct dg_linear_weights *w)
{
    const size_t N = w->weight.shape[0], K = w->weight.shape[1];
    double *W = load(&w->weight), *y = array(M * N);
    double *b = dg_tensor_present(&w->bias) ? load(&w->bias) : NULL;
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++) {
            y[m * N + n] = b ? b[n] : 0.0;
            for (size_t k = 0; k < K; k++)
                y[m * N + n] += x[m * K + k] * W[n * K + k];
        }
    free(W);
    free(b);
    return y;
}

/* In place. */
static void norm(const struct ref *ref, double *x, size_t M, const struct dg_norm_weights *w)
{
    const size_t D = ref->bp->D;
    const bool is_rms = ref->bp->norm_kind == DG_NORM_RMS;
    double *gain = load(&w->gain), *bias = is_rms ? array(D) : load(&w->bias);
    for (size_t m = 0; m < M; m++) {
        double mean = 0.0, variance = 0.0, *row = x + m * D;
        for (size_t i = 0; i < D && !is_rms; i++)
            mean += row[i] / (double)D;
        for (size_t i = 0; i < D; i++)
            variance += (row[i] - mean) * (row[i] - mean) / (double)D;
        for (size_t i = 0; i < D; i++)
            row[i] = gain[i] * (row[i] - mean) / sqrt(variance + (double)ref->bp->norm_epsilon) +
                     bias[i];
    }
    free(gain);
    free(bias);
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static void activate(const struct ref *ref, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (ref->bp->activation) {
        case DG_ACT_RELU:
            x[i] = fmax(x[i], 0.0);
            break;
        case DG_ACT_SILU:
            x[i] *= sigmoid(x[i]);
            break;
        case DG_ACT_GELU_ERF:
            x[i] *= 0.5 * (1.0 + erf(x[i] / sqrt(2.0)));
            break;
        case DG_ACT_GELU_TANH:
            x[i] *= 0.5 * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x[i] + 0.044715 * pow(x[i], 3.0))));
            break;
        case DG_ACT_GELU_QUICK:
            x[i] *= sigmoid(1.702 * x[i]);
            break;
        }
}

static double *copy(const double *x, size_t n)
{
    return memcpy(array(n), x, n * sizeof *x);
}

/* The input of a sub-layer: x, or its norm. */
static double *enter(const struct ref *ref, const double *x, size_t M,
                     const struct dg_norm_weights *w)
{
    double *in = copy(x, M * ref->bp->D);
    if (ref->bp->norm_place == DG_NORM_PRE)
        norm(ref, in, M, w);
    return in;
}

/* x = x + f, or its norm. Frees f. */
static void leave(const struct ref *ref, double *x, double *f, size_t M,
                  const struct dg_norm_weights *w)
{
    for (size_t i = 0; i < M * ref->bp->D; i++)
        x[i] += f[i];
    if (ref->bp->norm_place == DG_NORM_POST)
        norm(ref, x, M, w);
    free(f);
}

/* The row of the tables of relative positions for query m and key s. */
static size_t distance(const struct ref *ref, size_t m, size_t s)
{
    const double reach = (double)ref->bp->relative_reach;
    return (size_t)(fmin(fmax((double)s - (double)m, -reach), reach) + reach);
}

static double *attention(const struct ref *ref, const double *in, size_t M, const double *source,
                         size_t S, const struct dg_attention_weights *w, size_t H, bool causal)
{
    const size_t D = ref->bp->D, dh = D / H;
    double *q = linear(in, M, &w->q), *k = linear(source, S, &w->k), *v = linear(source, S, &w->v);
    double *z = array(M * D), *p = array(S);
    double *rk = dg_tensor_present(&w->relative_keys) ? load(&w->relative_keys) : NULL;
    double *rv = dg_tensor_present(&w->relative_values) ? load(&w->relative_values) : NULL;
    for (size_t m = 0; m < M; m++)
        for (size_t h = 0; h < H; h++) {
            double sum = 0.0;
            for (size_t s = 0; s < S; s++) {
                double dot = 0.0;
                for (size_t i = 0; i < dh; i++)
                    dot += q[m * D + h * dh + i] *
                           (k[s * D + h * dh + i] + (rk ? rk[distance(ref, m, s) * dh + i] : 0.0));
                p[s] = causal && s > m ? 0.0 : exp(dot / sqrt((double)dh));
                sum += p[s];
            }
            for (size_t s = 0; s < S; s++)
                for (size_t i = 0; i < dh; i++)
                    z[m * D + h * dh + i] +=
                        p[s] / sum *
                        (v[s * D + h * dh + i] + (rv ? rv[distance(ref, m, s) * dh + i] : 0.0));
        }
    double *y = linear(z, M, &w->o);
    free(rk);
    free(rv);
    free(q);
    free(k);
    free(v);
    free(z);
    free(p);
    return y;
}

static void ffn(const struct ref *ref, double *x, size_t M, const struct dg_ffn_weights *w)
{
    double *in = enter(ref, x, M, &w->norm), *hidden = linear(in, M, &w->fc1);
    activate(ref, hidden, M * w->fc1.weight.shape[0]);
    leave(ref, x, linear(hidden, M, &w->fc2), M, &w->norm);
    free(in);
    free(hidden);
}

static double angle(const struct dg_blueprint *bp, size_t position, size_t k)
{
    const double half = (double)(bp->D / 2);
    const double n = bp->positions == DG_POS_HALVES_CLOSED ? half - 1.0 : half;
    return (double)(position + bp->position_offset) / pow(10000.0, (double)k / n);
}

/* `types`: a segment's row for each token, the second's from token `second` on; NULL: none. */
static double *embed(const struct ref *ref, const struct dg_tensor *table,
                     const struct dg_tensor *learned, const struct dg_norm_weights *w,
                     const struct dg_tensor *types, size_t second, const int32_t *ids, size_t M)
{
    const struct dg_blueprint *bp = ref->bp;
    const size_t D = bp->D;
    double *rows = load(table), *x = array(M * D);
    double *positions = bp->positions == DG_POS_LEARNED ? load(learned) : NULL;
    double *segments = types ? load(types) : NULL;
    for (size_t m = 0; m < M; m++) {
        for (size_t i = 0; i < D && ids[m] >= 0; i++)
            x[m * D + i] = rows[(size_t)ids[m] * D + i] * (double)bp->embedding_scale;
        for (size_t i = 0; i < D && segments; i++)
            x[m * D + i] += segments[(types->shape[0] > 1 && second && m >= second ? D : 0) + i];
        const size_t row = m + bp->position_offset;
        for (size_t i = 0; i < D && positions; i++)
            x[m * D + i] += positions[(row < bp->n_positions ? row : bp->n_positions - 1) * D + i];
        for (size_t k = 0; k < D / 2 && bp->positions != DG_POS_NONE && !positions; k++) {
            const bool interleaved = bp->positions == DG_POS_INTERLEAVED;
            x[m * D + (interleaved ? 2 * k : k)] += sin(angle(bp, m, k));
            x[m * D + (interleaved ? 2 * k + 1 : D / 2 + k)] += cos(angle(bp, m, k));
        }
    }
    if (bp->embedding_norm)
        norm(ref, x, M, w);
    free(rows);
    free(positions);
    free(segments);
    return x;
}

static void layers(const struct ref *ref, const struct dg_encoder_layer *list,
                   const struct dg_norm_weights *final, double *x, size_t S)
{
    for (size_t l = 0; l < ref->bp->encoder.n_layers; l++) {
        const struct dg_encoder_layer *layer = &list[l];
        double *in = enter(ref, x, S, &layer->self.norm);
        const double *kv = ref->bp->norm_queries_only ? x : in;
        leave(ref, x, attention(ref, in, S, kv, S, &layer->self, ref->bp->encoder.H, false), S,
              &layer->self.norm);
        ffn(ref, x, S, &layer->ffn);
        free(in);
    }
    if (ref->bp->final_norm)
        norm(ref, x, S, final);
}

double *ref_encode(const struct ref *ref, const int32_t *ids, size_t S)
{
    const struct dg_transformer_weights *w = ref->w;
    double *x = embed(ref, &w->source_embedding, &w->source_positions, &w->source_embedding_norm,
                      NULL, 0, ids, S);
    layers(ref, w->encoder_layers, &w->encoder_norm, x, S);
    return x;
}

double *ref_read(const struct dg_blueprint *bp, const struct dg_enc_weights *w, const int32_t *ids,
                 size_t second, size_t S)
{
    const struct ref ref = {.bp = bp};
    double *x = embed(&ref, &w->embedding, &w->positions, &w->embedding_norm,
                      bp->enc.n_types ? &w->types : NULL, second, ids, S);
    const struct dg_linear_weights out = {w->output, w->output_bias};
    layers(&ref, w->layers, &w->norm, x, S);
    if (bp->enc.head == DG_HEAD_WORDS || bp->enc.head == DG_HEAD_POOLED) {
        double *dense = linear(x, S, &w->dense);
        struct dg_blueprint as_head = *bp;
        const struct ref head = {.bp = &as_head};
        const bool is_tanh = bp->enc.head == DG_HEAD_POOLED && bp->enc.pooler == DG_POOLER_TANH;
        as_head.activation = bp->enc.head == DG_HEAD_WORDS      ? bp->enc.head_activation
                             : bp->enc.pooler == DG_POOLER_RELU ? DG_ACT_RELU
                                                                : DG_ACT_GELU_ERF;
        for (size_t i = 0; i < S * bp->D && is_tanh; i++)
            dense[i] = tanh(dense[i]);
        if (!is_tanh)
            activate(&head, dense, S * bp->D);
        if (bp->enc.head == DG_HEAD_WORDS)
            norm(&ref, dense, S, &w->dense_norm);
        free(x);
        x = dense;
    }
    double *outputs = linear(x, S, &out);
    free(x);
    return outputs;
}

static double *ssru(const struct ref *ref, const double *in, size_t T,
                    const struct dg_ssru_weights *w)
{
    const size_t D = ref->bp->D;
    double *v = linear(in, T, &w->candidate), *g = linear(in, T, &w->forget), *y = array(T * D);
    for (size_t i = 0; i < D; i++) {
        double c = 0.0;
        for (size_t t = 0; t < T; t++) {
            const double f = sigmoid(g[t * D + i]);
            c = f * c + (1.0 - f) * v[t * D + i];
            y[t * D + i] = fmax(c, 0.0);
        }
    }
    free(v);
    free(g);
    return y;
}

static double *aan(const struct ref *ref, const double *x, size_t T, const struct dg_aan_weights *w)
{
    const struct dg_blueprint *bp = ref->bp;
    const size_t D = bp->D;
    double *mean = array(T * D);
    for (size_t i = 0; i < D; i++) {
        double sum = 0.0;
        for (size_t t = 0; t < T; t++) {
            sum += x[t * D + i];
            mean[t * D + i] = sum / (double)(t + 1);
        }
    }
    double *y = enter(ref, mean, T, &w->norm);
    for (size_t i = 0; i < bp->aan_depth; i++) {
        double *next = linear(y, T, &w->fc[i]);
        if (i + 1 < bp->aan_depth)
            activate(ref, next, T * w->fc[i].weight.shape[0]);
        free(y);
        y = next;
    }
    if (bp->aan_gate) {
        double *a = linear(x, T, &w->input_gate), *b = linear(y, T, &w->forget_gate);
        for (size_t i = 0; i < T * D; i++)
            y[i] = sigmoid(a[i]) * x[i] + sigmoid(b[i]) * y[i];
        free(a);
        free(b);
    }
    free(mean);
    return y;
}

static void autoregression(const struct ref *ref, double *x, size_t T,
                           const struct dg_decoder_layer *layer)
{
    const struct dg_norm_weights *w = ref->bp->decoder_kind == DG_DECODER_ATTENTION
                                          ? &layer->self.norm
                                      : ref->bp->decoder_kind == DG_DECODER_SSRU ? &layer->ssru.norm
                                                                                 : &layer->aan.norm;
    double *in = enter(ref, x, T, w), *f = NULL;
    switch (ref->bp->decoder_kind) {
    case DG_DECODER_ATTENTION:
        f = attention(ref, in, T, ref->bp->norm_queries_only ? x : in, T, &layer->self,
                      ref->bp->decoder.H, true);
        break;
    case DG_DECODER_SSRU:
        f = ssru(ref, in, T, &layer->ssru);
        break;
    case DG_DECODER_AAN:
        f = aan(ref, x, T, &layer->aan);
        break;
    case DG_DECODER_GRU:
    case DG_DECODER_LSTM:
    case DG_DECODER_TANH: /* not in this family of networks */
        abort();
    }
    leave(ref, x, f, T, w);
    free(in);
}

double *ref_decode(const struct ref *ref, const double *encoded, size_t S, const int32_t *inputs,
                   size_t T)
{
    const struct dg_transformer_weights *w = ref->w;
    double *x = embed(ref, &w->target_embedding, &w->target_positions, &w->target_embedding_norm,
                      NULL, 0, inputs, T);
    for (size_t l = 0; l < ref->bp->decoder.n_layers; l++) {
        const struct dg_decoder_layer *layer = &w->decoder_layers[l];
        autoregression(ref, x, T, layer);
        double *in = enter(ref, x, T, &layer->cross.norm);
        leave(ref, x, attention(ref, in, T, encoded, S, &layer->cross, ref->bp->decoder.H, false),
              T, &layer->cross.norm);
        ffn(ref, x, T, &layer->ffn);
        free(in);
    }
    if (ref->bp->final_norm)
        norm(ref, x, T, &w->decoder_norm);
    double *logits = linear(x, T, &(struct dg_linear_weights){w->output, w->output_bias});
    free(x);
    return logits;
}
