/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Plain recurrent encoder-decoders, as textbooks introduce them, and the classifier, which has only
 * the encoder. All widths are D; a cell has G blocks of rows: tanh 1, GRU 3, LSTM 4.
 *
 *     a cell      X = W x + b, S = U h + u
 *                 tanh   h' = tanh(X + S)
 *                 GRU    r, z = sigmoid(X + S);  n = tanh(X + r S);  h' = (1 - z) n + z h
 *                 LSTM   i, f, o = sigmoid(X + S), g = tanh(X + S);  c' = f c + i g
 *                        h' = o tanh(c')
 *     encoder     layer by layer; in a bidirectional one, the outputs and the states of the two
 *                 directions are added
 *     start       the decoder's layer i begins with the last state of the encoder's layer i, or of
 *                 its top layer
 *     a step      w = embedding(word), h = the top layer's state; scores over the source by the
 *                 kind of attention; a = softmax(scores); c = sum of a_s e_s
 *                 x = relu(Wc [w, c] + b), or without attention x = relu(w)
 *                 the layers read x; logits = h_top Wout^T + b
 *     classifier  logits = (last state of the encoder's top layer) Wout^T + b, at position 0
 *
 * A source token keeps the record [key | e_s], where other networks keep a key and a value; the key
 * is e_s itself if attention has no matrix for it. Slots, lanes, turns and waves are those of
 * net_rnn.c. */
#include "network/net_int.h"
#include "base/memory/bounds.h"

#include <string.h>

static bool is_lstm(const struct dg_blueprint *bp)
{
    return bp->decoder_kind == DG_DECODER_LSTM;
}

/* Returns how many numbers a layer's state has: h, followed for an LSTM by c. */
static size_t state_width(const struct dg_blueprint *bp)
{
    return is_lstm(bp) ? 2 * bp->D : bp->D;
}

static size_t gates_width(const struct dg_blueprint *bp)
{
    return dg_blueprint_gates(bp) * bp->D;
}

/* Returns the encoder's layer whose last state the decoder's layer `i` begins with. */
static size_t start_layer(const struct dg_blueprint *bp, size_t i)
{
    const size_t top = bp->encoder.n_layers - 1;
    return bp->seq.is_classifier || i > top ? top : i;
}

void dg_net_seq_carve(struct dg_net_state *state, struct net_carve *carve)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const size_t R = state->work_rows, D = bp->D, width = state_width(bp);
    struct net_rnn_work *w = &state->rnn;
    for (size_t i = 0; i < 2; i++)
        w->stack[i] = dg_net_carve(carve, R, D * sizeof(float));
    w->gates = dg_net_carve(carve, R, gates_width(bp) * sizeof(float));
    w->products = dg_net_carve(carve, R, gates_width(bp) * sizeof(float));
    w->hidden = dg_net_carve(carve, R, D * sizeof(float));
    w->query = dg_net_carve(carve, R, D * sizeof(float));
    w->mixed = dg_net_carve(carve, R, 2 * D * sizeof(float));
    w->readout = dg_net_carve(carve, R, D * sizeof(float));
    w->mapped = dg_net_carve(carve, dg_most(state->limits.source_len * D, R * bp->seq.places),
                             sizeof(float));
    w->record = dg_net_carve(carve, 2 * D, sizeof(float));
    w->states = dg_net_carve(carve, state->limits.slots, width * sizeof(float));
    w->initial =
        dg_net_carve(carve, state->limits.slots * bp->decoder.n_layers, width * sizeof(float));
    w->state_at = dg_net_carve(carve, R, sizeof *w->state_at);
    w->gates_at = dg_net_carve(carve, R, sizeof *w->gates_at);
    w->list = dg_net_carve(carve, R, sizeof *w->list);
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static void gru(const struct dg_kernels *kernels, size_t D, float *h, const float *X, float *S)
{
    const float *r = S, *z = S + D;
    float *n = S + 2 * D;
    for (size_t i = 0; i < 2 * D; i++)
        S[i] += X[i];
    kernels->activate(S, 2 * D, DG_OP_SIGMOID);
    for (size_t i = 0; i < D; i++)
        n[i] = X[2 * D + i] + r[i] * n[i];
    kernels->activate(n, D, DG_OP_TANH);
    for (size_t i = 0; i < D; i++)
        h[i] = (1.0f - z[i]) * n[i] + z[i] * h[i];
}

static void lstm(const struct dg_kernels *kernels, size_t D, float *h, const float *X, float *S)
{
    float *c = h + D, *in = S, *f = S + D, *g = S + 2 * D, *o = S + 3 * D;
    for (size_t i = 0; i < 4 * D; i++)
        S[i] += X[i];
    kernels->activate(in, 2 * D, DG_OP_SIGMOID);
    kernels->activate(g, D, DG_OP_TANH);
    kernels->activate(o, D, DG_OP_SIGMOID);
    for (size_t i = 0; i < D; i++)
        c[i] = f[i] * c[i] + in[i] * g[i];
    memcpy(g, c, D * sizeof *g);
    kernels->activate(g, D, DG_OP_TANH);
    for (size_t i = 0; i < D; i++)
        h[i] = o[i] * g[i];
}

static void plain(const struct dg_kernels *kernels, size_t D, float *h, const float *X,
                  const float *S)
{
    for (size_t i = 0; i < D; i++)
        h[i] = X[i] + S[i];
    kernels->activate(h, D, DG_OP_TANH);
}

/* Updates the first n states of `state_at` with the products of their inputs in `gates_at`. */
static void run_cell(struct dg_net_state *state, const struct net_seq_cell *cell, size_t n)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D, G = gates_width(&net->bp);
    struct net_rnn_work *w = &state->rnn;
    for (size_t k = 0; k < n; k++)
        memcpy(w->hidden + k * D, w->state_at[k], D * sizeof(float));
    dg_net_linear(state, w->products, G, w->hidden, D, n, &cell->state, DG_OP_NONE, NULL);
    for (size_t k = 0; k < n; k++) {
        float *S = w->products + k * G;
        if (is_lstm(&net->bp))
            lstm(net->kernels, D, w->state_at[k], w->gates_at[k], S);
        else if (net->bp.decoder_kind == DG_DECODER_GRU)
            gru(net->kernels, D, w->state_at[k], w->gates_at[k], S);
        else
            plain(net->kernels, D, w->state_at[k], w->gates_at[k], S);
    }
}

/* ---- Encoder --------------------------------------------------------------------------------- */

struct sentences {
    const struct dg_net_source *sources;
    size_t n, M;
};

static float *initial_of(struct dg_net_state *state, size_t slot, size_t layer)
{
    const struct dg_blueprint *bp = &state->net->bp;
    return state->rnn.initial + (slot * bp->decoder.n_layers + layer) * state_width(bp);
}

/* Adds the last states of a direction to the decoder's initial states. */
static void hand_over(struct dg_net_state *state, const struct sentences *all, size_t layer)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const size_t width = state_width(bp);
    for (size_t at = 0; at < bp->decoder.n_layers; at++)
        for (size_t i = 0; start_layer(bp, at) == layer && i < all->n; i++) {
            float *initial = initial_of(state, all->sources[i].slot, at);
            for (size_t j = 0; j < width; j++)
                initial[j] += state->rnn.states[i * width + j];
        }
}

/* Runs one direction of a layer over all sentences, one token of each at a time; adds to
 * out [M, D]. */
static void run_direction(struct dg_net_state *state, const struct net_seq_cell *cell,
                          const struct sentences *all, const float *in, float *out,
                          bool is_backward)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const size_t D = bp->D, G = gates_width(bp), width = state_width(bp);
    struct net_rnn_work *w = &state->rnn;
    dg_net_linear(state, w->gates, G, in, D, all->M, &cell->input, DG_OP_NONE, NULL);
    memset(w->states, 0, all->n * width * sizeof(float));
    for (size_t t = 0, n;
         (n = dg_net_point_at_tokens(state, all->sources, all->n, t, is_backward, width, G)) > 0;
         t++) {
        run_cell(state, cell, n);
        for (size_t k = 0; k < n; k++)
            for (size_t i = 0; i < D; i++)
                out[w->list[k] * D + i] += w->state_at[k][i];
    }
}

static void keep_records(struct dg_net_state *state, const struct sentences *all,
                         const float *encoded)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D;
    const float *keys = encoded;
    if (net->bp.seq.attention == DG_SEQ_GENERAL || net->bp.seq.attention == DG_SEQ_ADDITIVE) {
        dg_net_linear(state, state->y, D, encoded, D, all->M, &net->seq.key, DG_OP_NONE, NULL);
        keys = state->y;
    }
    for (size_t i = 0; i < all->n; i++) {
        const struct net_slot *slot = &state->slots[all->sources[i].slot];
        for (size_t s = 0; s < slot->n_source; s++) {
            const size_t row = state->encoded_first[i] + s;
            memcpy(state->rnn.record, keys + row * D, D * sizeof(float));
            memcpy(state->rnn.record + D, encoded + row * D, D * sizeof(float));
            dg_net_keep(state, 0, slot->source_at[s], state->rnn.record);
        }
    }
}

void dg_net_seq_encode(struct dg_net_state *state, const struct dg_net_source *sources,
                       size_t n_sources, size_t M)
{
    const struct dg_net *net = state->net;
    const struct dg_blueprint *bp = &net->bp;
    const struct sentences all = {sources, n_sources, M};
    const float *in = state->x;
    for (size_t i = 0; i < n_sources; i++)
        memset(initial_of(state, sources[i].slot, 0), 0,
               bp->decoder.n_layers * state_width(bp) * sizeof(float));
    for (size_t i = 0; i < bp->encoder.n_layers; i++) {
        float *out = state->rnn.stack[i % 2];
        memset(out, 0, M * bp->D * sizeof *out);
        run_direction(state, &net->seq.encoder[i].forward, &all, in, out, false);
        hand_over(state, &all, i);
        if (bp->seq.is_bidirectional) {
            run_direction(state, &net->seq.encoder[i].backward, &all, in, out, true);
            hand_over(state, &all, i);
        }
        in = out;
    }
    keep_records(state, &all, in);
    memcpy(state->x, in, M * bp->D * sizeof(float));
}

/* ---- Attention ------------------------------------------------------------------------------- */

/* Each of these functions computes the context [D] of one row; the probabilities stay in
 * state->scores [S]. */

static void look_at_places(struct dg_net_state *state, float *context, float *weights,
                           const struct net_slot *slot)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D, P = net->bp.seq.places, S = slot->n_source;
    net->kernels->softmax(weights, P);
    memset(context, 0, D * sizeof *context);
    for (size_t s = 0; s < S; s++) {
        const float *e = dg_net_kept(state, 0, slot->source_at[s]) + D;
        state->scores[s] = s < P ? weights[s] : 0.0f;
        for (size_t i = 0; s < P && i < D; i++)
            context[i] += weights[s] * e[i];
    }
}

static void look_by_products(struct dg_net_state *state, float *context, const float *h,
                             const struct net_slot *slot)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D;
    const uint32_t *at = slot->source_at;
    net->kernels->attend(&(struct dg_attention){.type = state->kv_type,
                                                .kv = state->kv,
                                                .stride = state->kv_bytes,
                                                .at = &at,
                                                .n = slot->n_source,
                                                .n_shared = slot->n_source,
                                                .Q = 1,
                                                .H = 1,
                                                .dh = D,
                                                .q = h,
                                                .out = context,
                                                .scale = 1.0f,
                                                .weights = state->scores});
}

static void look_by_sums(struct dg_net_state *state, float *context, const float *query,
                         const struct net_slot *slot)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D, S = slot->n_source;
    float *mapped = state->rnn.mapped;
    for (size_t s = 0; s < S; s++) {
        const float *key = dg_net_kept(state, 0, slot->source_at[s]);
        for (size_t i = 0; i < D; i++)
            mapped[s * D + i] = key[i] + query[i];
    }
    net->kernels->activate(mapped, S * D, DG_OP_TANH);
    dg_net_linear(state, state->scores, 1, mapped, D, S, &net->seq.score, DG_OP_NONE, NULL);
    net->kernels->softmax(state->scores, S);
    memset(context, 0, D * sizeof *context);
    for (size_t s = 0; s < S; s++) {
        const float *e = dg_net_kept(state, 0, slot->source_at[s]) + D;
        for (size_t i = 0; i < D; i++)
            context[i] += state->scores[s] * e[i];
    }
}

/* Stores the attention for dg_net_attention, scaled so that it sums to 1 even if some of it was on
 * positions after the source. */
static void keep_attention(struct dg_net_state *state, size_t row, size_t S)
{
    float *out = state->attention + row * state->limits.source_len, sum = 0.0f;
    for (size_t s = 0; s < S; s++)
        sum += state->scores[s];
    for (size_t s = 0; s < S; s++)
        out[s] = sum > 0.0f ? state->scores[s] / sum : 1.0f / (float)S;
}

/* Computes the first layer's input, in state->y, from the words in state->x and the top states in
 * `hidden` [n, D]. */
static void look(struct dg_net_state *state, const struct dg_net_step *step, size_t n)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D, P = net->bp.seq.places;
    const enum dg_seq_attention kind = net->bp.seq.attention;
    struct net_rnn_work *w = &state->rnn;
    float *wide = w->mixed;
    for (size_t k = 0; k < n; k++) {
        memcpy(wide + k * 2 * D, state->x + k * D, D * sizeof *wide);
        memcpy(wide + k * 2 * D + D, w->hidden + k * D, D * sizeof *wide);
    }
    if (kind == DG_SEQ_LOCATION)
        dg_net_linear(state, w->mapped, P, wide, 2 * D, n, &net->seq.location, DG_OP_NONE, NULL);
    if (kind == DG_SEQ_ADDITIVE)
        dg_net_linear(state, w->query, D, w->hidden, D, n, &net->seq.query, DG_OP_NONE, NULL);
    for (size_t k = 0; k < n; k++) {
        const struct net_slot *slot = &state->slots[step->rows[w->list[k]].slot];
        float *context = wide + k * 2 * D + D;
        if (kind == DG_SEQ_LOCATION)
            look_at_places(state, context, w->mapped + k * P, slot);
        else if (kind == DG_SEQ_ADDITIVE)
            look_by_sums(state, context, w->query + k * D, slot);
        else
            look_by_products(state, context, w->hidden + k * D, slot);
        if (step->attention)
            keep_attention(state, w->list[k], slot->n_source);
    }
    dg_net_linear(state, state->y, D, wide, 2 * D, n, &net->seq.combine, DG_OP_RELU, NULL);
}

/* ---- Decoder --------------------------------------------------------------------------------- */

/* Sets the lane's states of all layers to those of its parent or, at position 0, to the sentence's
 * first states. */
static void take_over(struct dg_net_state *state, const struct dg_net_row *row)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const size_t width = state_width(bp);
    const unsigned turn = state->slots[row->slot].turn;
    for (size_t layer = 0; layer < bp->decoder.n_layers; layer++) {
        const float *from = row->position > 0
                                ? dg_net_cell_of(state, !turn, layer, row->slot, row->parent)
                                : initial_of(state, row->slot, layer);
        memcpy(dg_net_cell_of(state, turn, layer, row->slot, row->lane), from,
               width * sizeof *from);
    }
}

static void gather_states(struct dg_net_state *state, const struct dg_net_step *step, size_t n,
                          size_t layer, float *out)
{
    const size_t D = state->net->bp.D;
    dg_net_point_at_rows(state, step, n, layer, gates_width(&state->net->bp));
    for (size_t k = 0; k < n; k++)
        memcpy(out + k * D, state->rnn.state_at[k], D * sizeof *out);
}

/* Runs the rows in `list`, one of each lane. */
static void run_wave(struct dg_net_state *state, const struct dg_net_step *step, size_t n)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D, G = gates_width(&net->bp), top = net->bp.decoder.n_layers - 1;
    struct net_rnn_work *w = &state->rnn;
    for (size_t k = 0; k < n; k++) {
        const struct dg_net_row *row = &step->rows[w->list[k]];
        dg_net_embed(state, &net->target, state->x + k * D, row->token, row->position);
    }
    if (net->bp.seq.attention != DG_SEQ_NONE) {
        gather_states(state, step, n, top, w->hidden);
        look(state, step, n);
    } else {
        memcpy(state->y, state->x, n * D * sizeof(float));
        net->kernels->activate(state->y, n * D, DG_OP_RELU);
    }
    const float *in = state->y;
    for (size_t i = 0; i <= top; i++) {
        dg_net_linear(state, w->gates, G, in, D, n, &net->seq.decoder[i].input, DG_OP_NONE, NULL);
        dg_net_point_at_rows(state, step, n, i, G);
        run_cell(state, &net->seq.decoder[i], n);
        gather_states(state, step, n, i, w->stack[i % 2]);
        in = w->stack[i % 2];
    }
    for (size_t k = 0; k < n; k++)
        memcpy(w->readout + w->list[k] * D, in + k * D, D * sizeof(float));
}

/* For a network without attention: reports equal attention to all source words. */
static void attend_to_all(struct dg_net_state *state, const struct dg_net_step *step)
{
    for (size_t i = 0; i < step->n_rows; i++) {
        const size_t S = state->slots[step->rows[i].slot].n_source;
        for (size_t s = 0; s < S; s++)
            state->attention[i * state->limits.source_len + s] = 1.0f / (float)S;
    }
}

static void classify(struct dg_net_state *state, const struct dg_net_step *step)
{
    const size_t D = state->net->bp.D;
    for (size_t i = 0; i < step->n_rows; i++)
        memcpy(state->x + i * D, initial_of(state, step->rows[i].slot, 0), D * sizeof(float));
}

void dg_net_seq_step(struct dg_net_state *state, const struct dg_net_step *step)
{
    const struct dg_blueprint *bp = &state->net->bp;
    if (step->attention && bp->seq.attention == DG_SEQ_NONE)
        attend_to_all(state, step);
    if (bp->seq.is_classifier) {
        classify(state, step);
        return;
    }
    dg_net_in_waves(state, step, take_over, run_wave);
}
