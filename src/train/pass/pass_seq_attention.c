/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Attention of a plain recurrent decoder, row by row, forward and backward. With a the weights,
 * e_s the encoder's outputs, c = sum of a_s e_s:
 *
 *     da_s = dc . e_s;  de_s += a_s dc;  dscore_s = a_s (da_s - sum of a da)
 *     location   dscores go to [w, h] and Wa (dg_seq_ask_back, dg_seq_keys_back)
 *     dot        dh += dscore_s k_s;  dk_s += dscore_s h          with k_s = e_s
 *     general    the same with k_s = W e_s
 *     additive   u = tanh(k_s + q);  dv += dscore_s u;  du = dscore_s v (1 - u^2);
 *                dk_s += du;  dq += du */
#include "train/pass/pass_seq.h"
#include "base/memory/bounds.h"

#include <string.h>

static enum dg_seq_attention kind_of(const struct dg_pass *pass)
{
    return pass->params->bp.seq.attention;
}

static const float *encoded(const struct dg_pass *pass)
{
    return pass->seq->encoder[pass->params->bp.encoder.n_layers - 1].out;
}

/* Returns the number of weights of a row: places, or tokens of its source. */
static size_t n_weights(const struct dg_pass *pass, size_t S)
{
    return kind_of(pass) == DG_SEQ_LOCATION ? pass->params->bp.seq.places : S;
}

/* Returns the row of source position j for a target. */
static size_t source_place(const struct seq_pass *seq, size_t j)
{
    return seq->source.place[seq->target.example[j]];
}

void dg_seq_keys(struct dg_pass *pass)
{
    const struct dg_seq_weights *w = &pass->params->weights.seq;
    struct seq_pass *seq = pass->seq;
    uint32_t at = 0;
    for (size_t t = 0, m = 0; t < seq->target.longest; t++)
        for (size_t j = 0; j < seq_live(&seq->target, t); j++, m++) {
            seq->weights_at[m] = at;
            at += (uint32_t)n_weights(pass, seq->source.len[source_place(seq, j)]);
        }
    if (!seq->keys)
        return;
    dg_seq_nt(pass, seq->keys, encoded(pass), &w->key.weight, seq->source.M, seq->D, seq->D);
    if (dg_tensor_present(&w->key.bias))
        dg_seq_add_bias(seq->keys, &w->key.bias, seq->source.M, seq->D);
}

void dg_seq_ask(struct dg_pass *pass, size_t first, size_t n, const float *h)
{
    const struct dg_seq_weights *w = &pass->params->weights.seq;
    struct seq_pass *seq = pass->seq;
    const size_t D = seq->D, places = pass->params->bp.seq.places;
    if (kind_of(pass) == DG_SEQ_ADDITIVE)
        dg_seq_nt(pass, seq->query + first * D, h, &w->query.weight, n, D, D);
    if (kind_of(pass) != DG_SEQ_LOCATION)
        return;
    float *both = seq->both + first * 2 * D; /* the context is written later to the place that holds
                                                h now */
    for (size_t j = 0; j < n; j++)
        memcpy(both + j * 2 * D + D, h + j * D, D * sizeof *both);
    dg_seq_nt(pass, seq->weights + first * places, both, &w->location.weight, n, places, 2 * D);
    dg_seq_add_bias(seq->weights + first * places, &w->location.bias, n, places);
}

static void score(struct dg_pass *pass, float *weights, size_t m, size_t place, const float *h)
{
    struct seq_pass *seq = pass->seq;
    const size_t D = seq->D, S = seq->source.len[place];
    const float *keys = seq->keys ? seq->keys : encoded(pass),
                *v = pass_weight(&pass->params->weights.seq.score);
    for (size_t s = 0; s < S; s++) {
        const float *key = keys + (seq->source.first[s] + place) * D;
        if (kind_of(pass) == DG_SEQ_ADDITIVE) {
            pass->k->tanh_sum(seq->row, key, seq->query + m * D, D);
            weights[s] = pass->k->dot(v, seq->row, D);
        } else {
            weights[s] = pass->k->dot(h, key, D);
        }
    }
}

void dg_seq_look(struct dg_pass *pass, size_t m, size_t j, const float *h)
{
    struct seq_pass *seq = pass->seq;
    const size_t D = seq->D, place = source_place(seq, j), S = seq->source.len[place],
                 n = n_weights(pass, S);
    float *weights = seq->weights + seq->weights_at[m], *context = seq->both + m * 2 * D + D;
    if (kind_of(pass) != DG_SEQ_LOCATION)
        score(pass, weights, m, place, h);
    pass->k->softmax(weights, n);
    memset(context, 0, D * sizeof *context);
    for (size_t s = 0; s < dg_least(S, n); s++)
        pass->k->axpy(context, encoded(pass) + (seq->source.first[s] + place) * D, weights[s], D);
}

static void score_back(struct dg_pass *pass, const float *dscores, size_t m, size_t place,
                       const float *h, float *dh)
{
    struct seq_pass *seq = pass->seq;
    const size_t D = seq->D, S = seq->source.len[place];
    const float *keys = seq->keys ? seq->keys : encoded(pass),
                *v = pass_weight(&pass->params->weights.seq.score);
    float *dq = seq->dquery + m * D, *u = seq->row;
    for (size_t s = 0; s < S; s++) {
        const size_t at = (seq->source.first[s] + place) * D;
        const float d = dscores[s];
        if (kind_of(pass) != DG_SEQ_ADDITIVE) {
            pass->k->axpy(dh, keys + at, d, D);
            pass->k->axpy(seq->dkeys + at, h, d, D);
            continue;
        }
        pass->k->tanh_sum(u, keys + at, seq->query + m * D, D);
        for (size_t i = 0; i < D; i++) {
            const float du = d * v[i] * (1.0f - u[i] * u[i]);
            seq->dscore[i] += d * u[i];
            seq->dkeys[at + i] += du;
            dq[i] += du;
        }
    }
}

void dg_seq_look_back(struct dg_pass *pass, size_t m, size_t j, const float *h, float *dh)
{
    struct seq_pass *seq = pass->seq;
    const size_t D = seq->D, place = source_place(seq, j), S = seq->source.len[place],
                 n = n_weights(pass, S);
    const float *dcontext = seq->dboth + m * 2 * D + D;
    float *weights = seq->weights + seq->weights_at[m], mean = 0.0f;
    float *dweights = pass->scratch;
    for (size_t s = 0; s < n; s++) {
        const size_t at = (seq->source.first[s < S ? s : 0] + place) * D;
        dweights[s] = s < S ? pass->k->dot(dcontext, encoded(pass) + at, D) : 0.0f;
        if (s < S)
            pass->k->axpy(seq->dencoded + at, dcontext, weights[s], D);
        mean += weights[s] * dweights[s];
    }
    for (size_t s = 0; s < n; s++)
        weights[s] *= dweights[s] - mean;
    memset(seq->dquery + m * D, 0, D * sizeof(float));
    if (kind_of(pass) != DG_SEQ_LOCATION)
        score_back(pass, weights, m, place, h, dh);
}

void dg_seq_ask_back(struct dg_pass *pass, size_t first, size_t n, float *dh)
{
    const struct dg_seq_weights *w = &pass->params->weights.seq;
    struct seq_pass *seq = pass->seq;
    const size_t D = seq->D, places = pass->params->bp.seq.places;
    if (kind_of(pass) == DG_SEQ_ADDITIVE)
        dg_seq_nn(pass, dh, seq->dquery + first * D, &w->query.weight, n, D, D, 1.0f);
    if (kind_of(pass) != DG_SEQ_LOCATION)
        return;
    float *dboth = seq->dboth + first * 2 * D; /* free for reuse: the combining layer's own gradient
                                                  lies elsewhere */
    dg_seq_nn(pass, dboth, seq->weights + first * places, &w->location.weight, n, 2 * D, places,
              0.0f);
    for (size_t j = 0; j < n; j++) {
        pass->k->axpy(seq->dword + (first + j) * D, dboth + j * 2 * D, 1.0f, D);
        pass->k->axpy(dh + j * D, dboth + j * 2 * D + D, 1.0f, D);
    }
}

/* Returns [word, state before] of every row, in dboth, which is no longer needed. */
static const float *asked(struct dg_pass *pass, const float *before, size_t M)
{
    struct seq_pass *seq = pass->seq;
    const size_t D = seq->D;
    for (size_t m = 0; m < M; m++) {
        memcpy(seq->dboth + m * 2 * D, seq->word + m * D, D * sizeof(float));
        memcpy(seq->dboth + m * 2 * D + D, before + m * D, D * sizeof(float));
    }
    return seq->dboth;
}

void dg_seq_keys_back(struct dg_pass *pass)
{
    const struct dg_seq_weights *w = &pass->params->weights.seq;
    struct seq_pass *seq = pass->seq;
    const size_t D = seq->D, M = seq->target.first[seq->steps],
                 places = pass->params->bp.seq.places;
    const float *before = seq->decoder[pass->params->bp.decoder.n_layers - 1].forward.before;
    switch (kind_of(pass)) {
    case DG_SEQ_NONE:
        return;
    case DG_SEQ_LOCATION:
        dg_seq_grad(pass, &w->location.weight, &w->location.bias, seq->weights,
                    asked(pass, before, M), M, places, 2 * D);
        return;
    case DG_SEQ_DOT:
        pass->k->axpy(seq->dencoded, seq->dkeys, 1.0f, seq->source.M * D);
        return;
    case DG_SEQ_ADDITIVE:
        dg_seq_grad(pass, &w->query.weight, NULL, seq->dquery, before, M, D, D);
        pass->k->axpy(pass_gradient(pass, &w->score), seq->dscore, 1.0f, D);
        break;
    case DG_SEQ_GENERAL:
        break;
    }
    dg_seq_nn(pass, seq->dencoded, seq->dkeys, &w->key.weight, seq->source.M, D, D, 1.0f);
    dg_seq_grad(pass, &w->key.weight, &w->key.bias, seq->dkeys, encoded(pass), seq->source.M, D, D);
}
