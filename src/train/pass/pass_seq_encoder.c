/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The encoder of a plain recurrent network, layer by layer, direction by direction. */
#include "train/pass/pass_seq.h"

#include <string.h>

/* A direction of a layer, on its way through the sentences. */
struct walk {
    struct seq_run *run;
    const struct dg_seq_cell *w;
    const struct seq_layer *layer;
    bool is_backward;
};

/* Returns the row of `order` for step t of the sentence at place j. */
static size_t row_at(const struct seq_order *order, const struct walk *walk, size_t t, size_t j)
{
    return order->first[walk->is_backward ? order->len[j] - 1 - t : t] + j;
}

static float *start_of(const struct dg_pass *pass, float *start, size_t layer, bool is_c)
{
    const struct seq_pass *seq = pass->seq;
    return start + (2 * layer + is_c) * seq->source.B * seq->D;
}

static void add(float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

static void run_direction(struct dg_pass *pass, const struct walk *walk, size_t at)
{
    struct seq_pass *seq = pass->seq;
    const struct seq_order *order = &seq->source;
    const size_t D = seq->D, C = seq->C;
    dg_seq_nt(pass, seq->product_x, walk->layer->in, &walk->w->input, order->M, C, D);
    dg_seq_add_bias(seq->product_x, &walk->w->input_bias, order->M, C);
    memset(seq->h, 0, order->B * D * sizeof(float));
    memset(seq->c, 0, order->B * D * sizeof(float));
    for (size_t t = 0; t < order->longest; t++) {
        const size_t n = seq_live(order, t);
        memcpy(walk->run->before + order->first[t] * D, seq->h, n * D * sizeof(float));
        dg_seq_nt(pass, seq->product_s, seq->h, &walk->w->state, n, C, D);
        dg_seq_add_bias(seq->product_s, &walk->w->state_bias, n, C);
        for (size_t j = 0; j < n; j++) {
            const size_t row = row_at(order, walk, t, j);
            dg_seq_cell(pass, seq->h + j * D, seq->c + j * D,
                        walk->run->gates + row * seq->kept * D, seq->product_x + row * C,
                        seq->product_s + j * C);
            add(walk->layer->out + row * D, seq->h + j * D, D);
        }
    }
    add(start_of(pass, seq->start, at, false), seq->h, order->B * D);
    add(start_of(pass, seq->start, at, true), seq->c, order->B * D);
}

/* din [M, D] += the gradient that dout gives through this direction. */
static void run_direction_back(struct dg_pass *pass, const struct walk *walk, size_t at, float *din,
                               const float *dout)
{
    struct seq_pass *seq = pass->seq;
    const struct seq_order *order = &seq->source;
    const size_t D = seq->D, C = seq->C;
    memcpy(seq->h, start_of(pass, seq->dstart, at, false), order->B * D * sizeof(float));
    memcpy(seq->c, start_of(pass, seq->dstart, at, true), order->B * D * sizeof(float));
    for (size_t t = order->longest; t-- > 0;) {
        const size_t n = seq_live(order, t), first = order->first[t];
        for (size_t j = 0; j < n; j++) {
            const size_t row = row_at(order, walk, t, j);
            add(seq->h + j * D, dout + row * D, D);
            dg_seq_cell_back(pass, seq->h + j * D, seq->c + j * D, seq->dx + row * C,
                             seq->ds + (first + j) * C, walk->run->gates + row * seq->kept * D,
                             walk->run->before + (first + j) * D);
        }
        dg_seq_nn(pass, seq->h, seq->ds + first * C, &walk->w->state, n, D, C, 1.0f);
    }
    dg_seq_nn(pass, din, seq->dx, &walk->w->input, order->M, D, C, 1.0f);
    dg_seq_grad(pass, &walk->w->state, &walk->w->state_bias, seq->ds, walk->run->before, order->M,
                C, D);
    dg_seq_grad(pass, &walk->w->input, &walk->w->input_bias, seq->dx, walk->layer->in, order->M, C,
                D);
}

static uint64_t site_of(size_t layer)
{
    return 2 + layer;
}

static void drop_all(const struct dg_pass *pass, float *x, size_t layer)
{
    const struct seq_order *order = &pass->seq->source;
    for (size_t t = 0; layer > 0 && t < order->longest; t++)
        dg_seq_drop(pass, x + order->first[t] * pass->seq->D, order, t, site_of(layer));
}

static void embed(struct dg_pass *pass)
{
    const struct seq_pass *seq = pass->seq;
    const float *table = pass_weight(&pass->params->weights.seq.source_embedding);
    for (size_t t = 0; t < seq->source.longest; t++)
        for (size_t j = 0; j < seq_live(&seq->source, t); j++) {
            const int32_t id = pass->batch->examples[seq->source.example[j]].source[t];
            memcpy(seq->encoder[0].in + (seq->source.first[t] + j) * seq->D,
                   table + (size_t)id * seq->D, seq->D * sizeof(float));
        }
}

static void embed_back(struct dg_pass *pass, const float *dwords)
{
    const struct seq_pass *seq = pass->seq;
    float *table = pass_gradient(pass, &pass->params->weights.seq.source_embedding);
    for (size_t t = 0; t < seq->source.longest; t++)
        for (size_t j = 0; j < seq_live(&seq->source, t); j++) {
            const int32_t id = pass->batch->examples[seq->source.example[j]].source[t];
            pass->k->axpy(table + (size_t)id * seq->D, dwords + (seq->source.first[t] + j) * seq->D,
                          1.0f, seq->D);
        }
}

void dg_seq_encode(struct dg_pass *pass)
{
    struct seq_pass *seq = pass->seq;
    const struct dg_blueprint *bp = &pass->params->bp;
    const size_t bytes = seq->source.M * seq->D * sizeof(float);
    memset(seq->start, 0, bp->encoder.n_layers * 2 * seq->source.B * seq->D * sizeof(float));
    embed(pass);
    for (size_t i = 0; i < bp->encoder.n_layers; i++) {
        struct seq_layer *layer = &seq->encoder[i];
        const struct dg_seq_layer *w = &pass->params->weights.seq.encoder[i];
        if (i > 0)
            memcpy(layer->in, seq->encoder[i - 1].out, bytes);
        drop_all(pass, layer->in, i);
        memset(layer->out, 0, bytes);
        run_direction(pass, &(struct walk){&layer->forward, &w->forward, layer, false}, i);
        if (bp->seq.is_bidirectional)
            run_direction(pass, &(struct walk){&layer->backward, &w->backward, layer, true}, i);
    }
}

void dg_seq_encode_back(struct dg_pass *pass)
{
    struct seq_pass *seq = pass->seq;
    const struct dg_blueprint *bp = &pass->params->bp;
    const size_t bytes = seq->source.M * seq->D * sizeof(float);
    for (size_t i = bp->encoder.n_layers; i-- > 0;) {
        struct seq_layer *layer = &seq->encoder[i];
        const struct dg_seq_layer *w = &pass->params->weights.seq.encoder[i];
        float *din = layer->out; /* free for reuse: the output is no longer read */
        memset(din, 0, bytes);
        run_direction_back(pass, &(struct walk){&layer->forward, &w->forward, layer, false}, i, din,
                           seq->dencoded);
        if (bp->seq.is_bidirectional)
            run_direction_back(pass, &(struct walk){&layer->backward, &w->backward, layer, true}, i,
                               din, seq->dencoded);
        drop_all(pass, din, i);
        memcpy(seq->dencoded, din, bytes);
    }
    embed_back(pass, seq->dencoded);
}
