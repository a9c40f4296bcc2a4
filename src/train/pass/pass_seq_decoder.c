/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The decoder of a plain recurrent network, one time step after the other, forward and backward. */
#include "train/pass/pass_seq.h"

#include <string.h>

enum { SITE_WORDS = 1 };

static uint64_t site_of(size_t layer)
{
    return UINT64_C(1) << 32 | layer;
}

size_t dg_seq_start_layer(const struct dg_blueprint *bp, size_t i)
{
    return i < bp->encoder.n_layers ? i : bp->encoder.n_layers - 1;
}

/* Returns the state of a decoder layer (with is_c, an LSTM's cell state): [B, D] in the target's
 * order. */
static float *state_of(const struct dg_pass *pass, float *states, size_t layer, bool is_c)
{
    const struct seq_pass *seq = pass->seq;
    return states + (2 * layer + is_c) * seq->target.B * seq->D;
}

/* Converts between the source's order and the target's: copies the encoder's last states to the
 * decoder; on the way back, adds the gradients. */
static void cross_over(struct dg_pass *pass, bool is_back)
{
    struct seq_pass *seq = pass->seq;
    const struct dg_blueprint *bp = &pass->params->bp;
    const size_t D = seq->D;
    for (size_t i = 0; i < bp->decoder.n_layers; i++)
        for (int is_c = 0; is_c < 2; is_c++) {
            const size_t from = (2 * dg_seq_start_layer(bp, i) + (size_t)is_c) * seq->source.B * D;
            for (size_t j = 0; j < seq->target.B; j++) {
                const size_t at = from + seq->source.place[seq->target.example[j]] * D;
                if (is_back)
                    pass->k->axpy(seq->dstart + at, state_of(pass, seq->dstates, i, is_c) + j * D,
                                  1.0f, D);
                else
                    memcpy(state_of(pass, seq->states, i, is_c) + j * D, seq->start + at,
                           D * sizeof(float));
            }
        }
}

static void embed(struct dg_pass *pass, size_t t)
{
    const struct seq_pass *seq = pass->seq;
    const float *table = pass_weight(&pass->params->weights.seq.target_embedding);
    float *word = seq->word + seq->target.first[t] * seq->D;
    for (size_t j = 0; j < seq_live(&seq->target, t); j++) {
        if (seq->input[j] == DG_ID_NONE)
            memset(word + j * seq->D, 0, seq->D * sizeof *word);
        else
            memcpy(word + j * seq->D, table + (size_t)seq->input[j] * seq->D,
                   seq->D * sizeof *word);
    }
    dg_seq_drop(pass, word, &seq->target, t, SITE_WORDS);
}

/* The input of the first layer at time t. */
static void mix(struct dg_pass *pass, size_t t)
{
    const struct dg_seq_weights *w = &pass->params->weights.seq;
    struct seq_pass *seq = pass->seq;
    const size_t D = seq->D, first = seq->target.first[t], n = seq_live(&seq->target, t);
    const size_t top = pass->params->bp.decoder.n_layers - 1;
    const float *h = state_of(pass, seq->states, top, false);
    float *mixed = seq->mixed + first * D;
    if (pass->params->bp.seq.attention == DG_SEQ_NONE) {
        memcpy(mixed, seq->word + first * D, n * D * sizeof *mixed);
    } else {
        for (size_t j = 0; j < n; j++)
            memcpy(seq->both + (first + j) * 2 * D, seq->word + (first + j) * D, D * sizeof *mixed);
        dg_seq_ask(pass, first, n, h);
        for (size_t j = 0; j < n; j++)
            dg_seq_look(pass, first + j, j, h + j * D);
        dg_seq_nt(pass, mixed, seq->both + first * 2 * D, &w->combine.weight, n, D, 2 * D);
        dg_seq_add_bias(mixed, &w->combine.bias, n, D);
    }
    for (size_t i = 0; i < n * D; i++)
        mixed[i] = mixed[i] > 0.0f ? mixed[i] : 0.0f;
}

static void run_layer(struct dg_pass *pass, size_t i, size_t t)
{
    const struct dg_seq_cell *w = &pass->params->weights.seq.decoder[i].forward;
    struct seq_pass *seq = pass->seq;
    struct seq_layer *layer = &seq->decoder[i];
    const size_t D = seq->D, C = seq->C, first = seq->target.first[t],
                 n = seq_live(&seq->target, t);
    float *h = state_of(pass, seq->states, i, false), *c = state_of(pass, seq->states, i, true);
    const float *below = i ? seq->decoder[i - 1].out : seq->mixed;
    memcpy(layer->in + first * D, below + first * D, n * D * sizeof(float));
    if (i > 0)
        dg_seq_drop(pass, layer->in + first * D, &seq->target, t, site_of(i));
    memcpy(layer->forward.before + first * D, h, n * D * sizeof(float));
    dg_seq_nt(pass, seq->product_x, layer->in + first * D, &w->input, n, C, D);
    dg_seq_add_bias(seq->product_x, &w->input_bias, n, C);
    dg_seq_nt(pass, seq->product_s, h, &w->state, n, C, D);
    dg_seq_add_bias(seq->product_s, &w->state_bias, n, C);
    for (size_t j = 0; j < n; j++)
        dg_seq_cell(pass, h + j * D, c + j * D, layer->forward.gates + (first + j) * seq->kept * D,
                    seq->product_x + j * C, seq->product_s + j * C);
    memcpy(layer->out + first * D, h, n * D * sizeof(float));
}

/* Computes the next words of the sentences that read their own output at time t, and whether they
 * have ended too early. */
static void speak(struct dg_pass *pass, size_t t)
{
    const struct dg_seq_weights *w = &pass->params->weights.seq;
    struct seq_pass *seq = pass->seq;
    const size_t D = seq->D, V = pass->params->bp.decoder.V, n = seq_live(&seq->target, t);
    const float *tops =
        seq->decoder[pass->params->bp.decoder.n_layers - 1].out + seq->target.first[t] * D;
    float *logits = pass->logits + (seq->has_logits ? seq->target.first[t] * V : 0);
    for (size_t j = 0; j < n; j++) {
        if (seq->is_forced[j] || seq->is_over[j])
            continue;
        float *row = seq->has_logits ? logits + j * V : logits;
        dg_seq_nt(pass, row, tops + j * D, &w->output, 1, V, D);
        if (dg_tensor_present(&w->output_bias))
            dg_seq_add_bias(row, &w->output_bias, 1, V);
        size_t best = 0;
        for (size_t v = 1; v < V; v++)
            if (row[v] > row[best])
                best = v;
        seq->input[j] = (int32_t)best;
        if ((int32_t)best == pass->params->bp.eos_id) {
            seq->is_over[j] = true;
            seq->said[j] = (uint32_t)t + 1;
        }
    }
}

/* Prepares the next inputs; true when some sentence continues. */
static bool next_inputs(struct dg_pass *pass, size_t t)
{
    struct seq_pass *seq = pass->seq;
    bool goes_on = false;
    for (size_t j = 0; j < seq_live(&seq->target, t); j++) {
        if (seq->is_forced[j])
            seq->input[j] = pass->batch->examples[seq->target.example[j]].target[t];
        goes_on = goes_on || (!seq->is_over[j] && t + 1 < seq->target.len[j]);
    }
    return goes_on;
}

static bool has_own_ways(const struct seq_pass *seq)
{
    for (size_t j = 0; j < seq->target.B; j++)
        if (!seq->is_forced[j])
            return true;
    return false;
}

void dg_seq_decode(struct dg_pass *pass)
{
    struct seq_pass *seq = pass->seq;
    const bool speaks = has_own_ways(seq);
    cross_over(pass, false);
    if (pass->params->bp.seq.attention != DG_SEQ_NONE)
        dg_seq_keys(pass);
    bool goes_on = true;
    for (seq->steps = 0; goes_on; seq->steps++) {
        embed(pass, seq->steps);
        memcpy(seq->fed + seq->target.first[seq->steps], seq->input,
               seq_live(&seq->target, seq->steps) * sizeof *seq->input);
        mix(pass, seq->steps);
        for (size_t i = 0; i < pass->params->bp.decoder.n_layers; i++)
            run_layer(pass, i, seq->steps);
        if (speaks)
            speak(pass, seq->steps);
        goes_on = next_inputs(pass, seq->steps);
    }
}

/* ---- Backward -------------------------------------------------------------------------------- */

/* Layer i at time t: moves the gradient of its state to the step before, and returns the gradient
 * of its input in product_x [n, D]. */
static float *run_layer_back(struct dg_pass *pass, size_t i, size_t t)
{
    const struct dg_seq_cell *w = &pass->params->weights.seq.decoder[i].forward;
    struct seq_pass *seq = pass->seq;
    struct seq_layer *layer = &seq->decoder[i];
    const size_t D = seq->D, C = seq->C, first = seq->target.first[t],
                 n = seq_live(&seq->target, t);
    float *dh = state_of(pass, seq->dstates, i, false), *dc = state_of(pass, seq->dstates, i, true);
    float *dx = layer->dx + first * C, *ds = layer->ds + first * C, *din = seq->product_x;
    for (size_t j = 0; j < n; j++)
        dg_seq_cell_back(pass, dh + j * D, dc + j * D, dx + j * C, ds + j * C,
                         layer->forward.gates + (first + j) * seq->kept * D,
                         layer->forward.before + (first + j) * D);
    dg_seq_nn(pass, dh, ds, &w->state, n, D, C, 1.0f);
    dg_seq_nn(pass, din, dx, &w->input, n, D, C, 0.0f);
    if (i > 0)
        dg_seq_drop(pass, din, &seq->target, t, site_of(i));
    return din;
}

/* Carries the gradient `din` [n, D] of the first layer's input to words, states and source. */
static void mix_back(struct dg_pass *pass, size_t t, const float *din)
{
    const struct dg_seq_weights *w = &pass->params->weights.seq;
    struct seq_pass *seq = pass->seq;
    const size_t D = seq->D, first = seq->target.first[t], n = seq_live(&seq->target, t);
    const size_t top = pass->params->bp.decoder.n_layers - 1;
    const float *h = seq->decoder[top].forward.before + first * D;
    float *dh = state_of(pass, seq->dstates, top, false), *dmixed = seq->dmixed + first * D;
    for (size_t i = 0; i < n * D; i++)
        dmixed[i] = seq->mixed[first * D + i] > 0.0f ? din[i] : 0.0f;
    if (pass->params->bp.seq.attention == DG_SEQ_NONE) {
        memcpy(seq->dword + first * D, dmixed, n * D * sizeof *dmixed);
        return;
    }
    dg_seq_nn(pass, seq->dboth + first * 2 * D, dmixed, &w->combine.weight, n, 2 * D, D, 0.0f);
    for (size_t j = 0; j < n; j++) {
        memcpy(seq->dword + (first + j) * D, seq->dboth + (first + j) * 2 * D, D * sizeof(float));
        dg_seq_look_back(pass, first + j, j, h + j * D, dh + j * D);
    }
    dg_seq_ask_back(pass, first, n, dh);
}

static void embed_back(struct dg_pass *pass, size_t t)
{
    const struct seq_pass *seq = pass->seq;
    const size_t D = seq->D, first = seq->target.first[t];
    float *table = pass_gradient(pass, &pass->params->weights.seq.target_embedding);
    dg_seq_drop(pass, seq->dword + first * D, &seq->target, t, SITE_WORDS);
    for (size_t j = 0; j < seq_live(&seq->target, t); j++)
        if (seq->fed[first + j] != DG_ID_NONE)
            pass->k->axpy(table + (size_t)seq->fed[first + j] * D, seq->dword + (first + j) * D,
                          1.0f, D);
}

/* Computes the gradients of the weights, each in one product over all rows. */
static void collect(struct dg_pass *pass)
{
    const struct dg_seq_weights *w = &pass->params->weights.seq;
    const struct seq_pass *seq = pass->seq;
    const size_t D = seq->D, C = seq->C, M = seq->target.first[seq->steps];
    for (size_t i = 0; i < pass->params->bp.decoder.n_layers; i++) {
        const struct seq_layer *layer = &seq->decoder[i];
        const struct dg_seq_cell *cell = &w->decoder[i].forward;
        dg_seq_grad(pass, &cell->state, &cell->state_bias, layer->ds, layer->forward.before, M, C,
                    D);
        dg_seq_grad(pass, &cell->input, &cell->input_bias, layer->dx, layer->in, M, C, D);
    }
    if (pass->params->bp.seq.attention == DG_SEQ_NONE)
        return;
    dg_seq_grad(pass, &w->combine.weight, &w->combine.bias, seq->dmixed, seq->both, M, D, 2 * D);
    dg_seq_keys_back(pass);
}

void dg_seq_decode_back(struct dg_pass *pass)
{
    struct seq_pass *seq = pass->seq;
    const struct dg_blueprint *bp = &pass->params->bp;
    const size_t D = seq->D, top = bp->decoder.n_layers - 1;
    memset(seq->dstates, 0, bp->decoder.n_layers * 2 * seq->target.B * D * sizeof(float));
    memset(seq->dkeys, 0, seq->source.M * D * sizeof(float));
    memset(seq->dscore, 0, D * sizeof(float));
    for (size_t t = seq->steps; t-- > 0;) {
        const size_t first = seq->target.first[t], n = seq_live(&seq->target, t);
        pass->k->axpy(state_of(pass, seq->dstates, top, false), seq->dtop + first * D, 1.0f, n * D);
        float *din = NULL;
        for (size_t i = bp->decoder.n_layers; i-- > 0;) {
            din = run_layer_back(pass, i, t);
            if (i > 0)
                pass->k->axpy(state_of(pass, seq->dstates, i - 1, false), din, 1.0f, n * D);
        }
        mix_back(pass, t, din);
    }
    cross_over(pass, true);
    collect(pass);
    for (size_t t = 0; t < seq->steps; t++)
        embed_back(pass, t);
}
