/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Straight from the formulas of docs/MODEL.md; every vector has its own array. */
#include "ref_seq.h"
#include "tensor/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *zeros(size_t n)
{
    double *x = calloc(n ? n : 1, sizeof *x);
    if (!x)
        abort();
    return x;
}

/* out [N] = W x + b; b may be absent. */
static void linear(double *out, const struct dg_tensor *w, const struct dg_tensor *b,
                   const double *x, size_t K)
{
    const size_t N = dg_tensor_count(w) / K;
    float *row = malloc((K > N ? K : N) * sizeof *row);
    if (!row)
        abort();
    for (size_t n = 0; n < N; n++) {
        dg_convert_tensor(row, w, n * K, K);
        out[n] = 0.0;
        for (size_t k = 0; k < K; k++)
            out[n] += (double)row[k] * x[k];
    }
    if (b && dg_tensor_present(b)) {
        dg_convert_tensor(row, b, 0, N);
        for (size_t n = 0; n < N; n++)
            out[n] += (double)row[n];
    }
    free(row);
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static void embed(double *out, const struct dg_tensor *table, int32_t id, size_t D)
{
    float *row = calloc(D, sizeof *row);
    if (!row)
        abort();
    if (id >= 0)
        dg_convert_tensor(row, table, (size_t)id * D, D);
    for (size_t i = 0; i < D; i++)
        out[i] = (double)row[i];
    free(row);
}

/* Advances the state h, and for an LSTM the state c that is stored after it. */
static void cell(const struct dg_blueprint *bp, const struct dg_seq_cell *w, const double *x,
                 double *h)
{
    const size_t D = bp->D, G = dg_blueprint_gates(bp);
    double *X = zeros(G * D), *S = zeros(G * D), *c = h + D;
    linear(X, &w->input, &w->input_bias, x, D);
    linear(S, &w->state, &w->state_bias, h, D);
    for (size_t i = 0; i < D; i++) {
        if (bp->decoder_kind == DG_DECODER_TANH) {
            h[i] = tanh(X[i] + S[i]);
        } else if (bp->decoder_kind == DG_DECODER_GRU) {
            const double r = sigmoid(X[i] + S[i]), z = sigmoid(X[D + i] + S[D + i]);
            h[i] = (1.0 - z) * tanh(X[2 * D + i] + r * S[2 * D + i]) + z * h[i];
        } else {
            c[i] = sigmoid(X[D + i] + S[D + i]) * c[i] +
                   sigmoid(X[i] + S[i]) * tanh(X[2 * D + i] + S[2 * D + i]);
            h[i] = sigmoid(X[3 * D + i] + S[3 * D + i]) * tanh(c[i]);
        }
    }
    free(X);
    free(S);
}

/* Encoded [S, D]; last [encoder.n_layers, 2D] the layers' last states. */
static double *encode(const struct dg_blueprint *bp, const struct dg_seq_weights *w,
                      const int32_t *ids, size_t S, double *last)
{
    const size_t D = bp->D;
    double *in = zeros(S * D);
    for (size_t s = 0; s < S; s++)
        embed(in + s * D, &w->source_embedding, ids[s], D);
    for (size_t layer = 0; layer < bp->encoder.n_layers; layer++) {
        double *out = zeros(S * D);
        for (int backward = 0; backward <= bp->seq.is_bidirectional; backward++) {
            double *h = zeros(2 * D);
            for (size_t t = 0; t < S; t++) {
                const size_t s = backward ? S - 1 - t : t;
                cell(bp, backward ? &w->encoder[layer].backward : &w->encoder[layer].forward,
                     in + s * D, h);
                for (size_t i = 0; i < D; i++)
                    out[s * D + i] += h[i];
            }
            for (size_t i = 0; i < 2 * D; i++)
                last[layer * 2 * D + i] += h[i];
            free(h);
        }
        free(in);
        in = out;
    }
    return in;
}

static void softmax(double *x, size_t n)
{
    double sum = 0.0, most = x[0];
    for (size_t i = 1; i < n; i++)
        most = fmax(most, x[i]);
    for (size_t i = 0; i < n; i++)
        sum += x[i] = exp(x[i] - most);
    for (size_t i = 0; i < n; i++)
        x[i] /= sum;
}

static double dot(const double *x, const double *y, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Scores of the source's tokens, or of the positions. */
static void scores(const struct dg_blueprint *bp, const struct dg_seq_weights *w,
                   const double *word, const double *h, const double *encoded, size_t S, double *a)
{
    const size_t D = bp->D;
    double *both = zeros(2 * D), *key = zeros(D), *query = zeros(D);
    memcpy(both, word, D * sizeof *both);
    memcpy(both + D, h, D * sizeof *both);
    if (bp->seq.attention == DG_SEQ_LOCATION)
        linear(a, &w->location.weight, &w->location.bias, both, 2 * D);
    for (size_t s = 0; s < S && bp->seq.attention != DG_SEQ_LOCATION; s++) {
        const double *e = encoded + s * D;
        if (bp->seq.attention == DG_SEQ_DOT) {
            a[s] = dot(h, e, D);
            continue;
        }
        linear(key, &w->key.weight, &w->key.bias, e, D);
        if (bp->seq.attention == DG_SEQ_GENERAL) {
            a[s] = dot(h, key, D);
            continue;
        }
        linear(query, &w->query.weight, NULL, h, D);
        for (size_t i = 0; i < D; i++)
            key[i] = tanh(key[i] + query[i]);
        linear(&a[s], &w->score, NULL, key, D);
    }
    free(both);
    free(key);
    free(query);
}

/* x [D]: what the decoder's first layer reads. */
static void look(const struct dg_blueprint *bp, const struct dg_seq_weights *w, const double *word,
                 const double *h, const double *encoded, size_t S, double *x)
{
    const size_t D = bp->D, P = bp->seq.attention == DG_SEQ_LOCATION ? bp->seq.places : S;
    double *a = zeros(P), *both = zeros(2 * D);
    memcpy(both, word, D * sizeof *both);
    memcpy(x, word, D * sizeof *x);
    if (bp->seq.attention != DG_SEQ_NONE) {
        scores(bp, w, word, h, encoded, S, a);
        softmax(a, P);
        for (size_t s = 0; s < S && s < P; s++)
            for (size_t i = 0; i < D; i++)
                both[D + i] += a[s] * encoded[s * D + i];
        linear(x, &w->combine.weight, &w->combine.bias, both, 2 * D);
    }
    for (size_t i = 0; i < D; i++)
        x[i] = x[i] > 0.0 ? x[i] : 0.0;
    free(a);
    free(both);
}

double *ref_seq(const struct dg_blueprint *bp, const struct dg_seq_weights *w, const int32_t *ids,
                size_t S, const int32_t *inputs, size_t T)
{
    const size_t D = bp->D, V = bp->decoder.V, n = bp->decoder.n_layers,
                 top = bp->encoder.n_layers - 1;
    double *last = zeros((top + 1) * 2 * D), *states = zeros(n * 2 * D), *logits = zeros(T * V);
    double *encoded = encode(bp, w, ids, S, last), *word = zeros(D), *x = zeros(D);
    if (bp->seq.is_classifier)
        linear(logits, &w->output, &w->output_bias, last + top * 2 * D, D);
    for (size_t i = 0; i < n; i++)
        memcpy(states + i * 2 * D, last + (i < top ? i : top) * 2 * D, 2 * D * sizeof *states);
    for (size_t t = 0; t < T && !bp->seq.is_classifier; t++) {
        embed(word, &w->target_embedding, inputs[t], D);
        look(bp, w, word, states + (n - 1) * 2 * D, encoded, S, x);
        for (size_t i = 0; i < n; i++) {
            cell(bp, &w->decoder[i].forward, x, states + i * 2 * D);
            memcpy(x, states + i * 2 * D, D * sizeof *x);
        }
        linear(logits + t * V, &w->output, &w->output_bias, x, D);
    }
    free(last);
    free(states);
    free(encoded);
    free(word);
    free(x);
    return logits;
}
