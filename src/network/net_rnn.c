/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Recurrent encoder-decoders with attention (Bahdanau et al. 2015, in the variants of Marian's s2s
 * and amun). d is the width of a state, C that of the context, G is 3 for a GRU and 4 for an LSTM.
 *
 *     GRU      X = Wx, S = Us;  r, z = sigmoid(X + S + b)
 *              h = tanh(X + r * S + b), or in a final cell tanh(X + r * (S + b))
 *              s' = (1 - z) * h + z * s
 *     LSTM     f, i, g, o = Wx + Uh + b;  c' = sigmoid(f) * c + sigmoid(i) * tanh(g)
 *              h' = sigmoid(o) * tanh(c')
 *
 *     encoder  the two stacks and the layers on top of them give the context [S, C]; each token
 *              keeps the record [mapped context | context], where other networks keep a key and a
 *              value
 *     start    s = tanh(W mean(context) + b), for every layer (of an LSTM also as its c)
 *     a step   first layer: cell 1 reads the word; e = v . tanh(mapped + U s); a = softmax(e);
 *              c = sum of a * context; cell 2 reads c; further cells read only their state
 *              further layers: read the layer below
 *              t = tanh(W0 word + W1 s_top + W2 c + b);  logits = t Wout^T + b
 *
 * In the decoder's first layer, the cells from the second on are "final"; all others are ordinary.
 * With norms, every product is normed before biases are added. The rows of one lane in a step
 * depend on each other, so they are computed in waves: the first row of every lane, then the
 * second, and so on. Each state exists twice, as net_cell.c explains. */
#include "network/net_int.h"

#include <string.h>

static size_t state_width(const struct dg_blueprint *bp)
{
    return bp->decoder_kind == DG_DECODER_LSTM ? 2 * bp->rnn.width : bp->rnn.width;
}

static size_t gates_width(const struct dg_blueprint *bp)
{
    return (bp->decoder_kind == DG_DECODER_LSTM ? 4 : 3) * bp->rnn.width;
}

/* ---- Workspace ------------------------------------------------------------------------------- */

void dg_net_rnn_carve(struct dg_net_state *state, struct net_carve *carve)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const size_t R = state->work_rows, d = bp->rnn.width, C = dg_blueprint_context(bp),
                 G = gates_width(bp);
    const size_t widest = C > d ? C : d;
    struct net_rnn_work *w = &state->rnn;
    w->context = dg_net_carve(carve, R, C * sizeof(float));
    for (size_t i = 0; i < 3; i++)
        w->stack[i] = dg_net_carve(carve, R, 2 * d * sizeof(float));
    w->gates = dg_net_carve(carve, R, G * sizeof(float));
    w->products = dg_net_carve(carve, R, G * sizeof(float));
    w->hidden = dg_net_carve(carve, R, widest * sizeof(float));
    w->query = dg_net_carve(carve, R, C * sizeof(float));
    w->mixed = dg_net_carve(carve, R, C * sizeof(float));
    w->readout = dg_net_carve(carve, R, bp->D * sizeof(float));
    w->mapped = dg_net_carve(carve, state->limits.source_len, C * sizeof(float));
    w->record = dg_net_carve(carve, 2 * C, sizeof(float));
    w->states = dg_net_carve(carve, state->limits.slots, state_width(bp) * sizeof(float));
    w->initial = dg_net_carve(carve, state->limits.slots, d * sizeof(float));
    w->state_at = dg_net_carve(carve, R, sizeof *w->state_at);
    w->gates_at = dg_net_carve(carve, R, sizeof *w->gates_at);
    w->list = dg_net_carve(carve, R, sizeof *w->list);
}

/* ---- Products and norms ---------------------------------------------------------------------- */

static void norm_rows(const struct dg_net_state *state, float *x, size_t M, size_t N,
                      const float *gain, const float *bias)
{
    const struct dg_net *net = state->net;
    if (gain)
        net->kernels->norm(x, x, gain, bias ? bias : net->rnn.zeros, M, N, net->bp.norm_epsilon);
}

static void normed(struct dg_net_state *state, float *out, const float *x, size_t ld_x, size_t M,
                   const struct net_normed *w)
{
    dg_net_linear(state, out, w->linear.N, x, ld_x, M, &w->linear, DG_OP_NONE, NULL);
    norm_rows(state, out, M, w->linear.N, w->gain, w->bias);
}

/* Multiplies a cell's inputs, into the workspace's gates [M, G d]. */
static void read_input(struct dg_net_state *state, const struct net_rnn_cell *cell, const float *x,
                       size_t ld_x, size_t M)
{
    const size_t G = gates_width(&state->net->bp);
    dg_net_linear(state, state->rnn.gates, G, x, ld_x, M, &cell->input, DG_OP_NONE, NULL);
    norm_rows(state, state->rnn.gates, M, G, cell->input_gain, NULL);
}

/* ---- Cells ----------------------------------------------------------------------------------- */

/* Updates s[d]. X [3d] may be NULL; S [3d] is overwritten. */
static void gru(const struct dg_kernels *kernels, const struct net_rnn_cell *cell, size_t d,
                float *s, const float *X, float *S)
{
    const float *b = cell->bias, *r = S, *z = S + d;
    float *h = S + 2 * d;
    for (size_t i = 0; i < 2 * d; i++)
        S[i] += b[i] + (X ? X[i] : 0.0f);
    kernels->activate(S, 2 * d, DG_OP_SIGMOID);
    for (size_t i = 0; i < d; i++) {
        const float inner =
            cell->is_final ? r[i] * (h[i] + b[2 * d + i]) : r[i] * h[i] + b[2 * d + i];
        h[i] = inner + (X ? X[2 * d + i] : 0.0f);
    }
    kernels->activate(h, d, DG_OP_TANH);
    for (size_t i = 0; i < d; i++)
        s[i] = (1.0f - z[i]) * h[i] + z[i] * s[i];
}

/* Updates s[2d]: output, then cell. */
static void lstm(const struct dg_kernels *kernels, const struct net_rnn_cell *cell, size_t d,
                 float *s, const float *X, float *S)
{
    float *c = s + d, *f = S, *in = S + d, *g = S + 2 * d, *o = S + 3 * d;
    for (size_t i = 0; i < 4 * d; i++)
        S[i] += cell->bias[i] + (X ? X[i] : 0.0f);
    kernels->activate(f, 2 * d, DG_OP_SIGMOID);
    kernels->activate(g, d, DG_OP_TANH);
    kernels->activate(o, d, DG_OP_SIGMOID);
    for (size_t i = 0; i < d; i++)
        c[i] = f[i] * c[i] + in[i] * g[i];
    memcpy(f, c, d * sizeof *f);
    kernels->activate(f, d, DG_OP_TANH);
    for (size_t i = 0; i < d; i++)
        s[i] = o[i] * f[i];
}

/* Updates the first n states of `state_at`, with the inputs of `gates_at` or without inputs. */
static void run_cell(struct dg_net_state *state, const struct net_rnn_cell *cell, size_t n,
                     bool has_input)
{
    const struct dg_net *net = state->net;
    const size_t d = net->bp.rnn.width, G = gates_width(&net->bp);
    struct net_rnn_work *w = &state->rnn;
    for (size_t k = 0; k < n; k++)
        memcpy(w->hidden + k * d, w->state_at[k], d * sizeof(float));
    dg_net_linear(state, w->products, G, w->hidden, d, n, &cell->state, DG_OP_NONE, NULL);
    norm_rows(state, w->products, n, G, cell->state_gain, NULL);
    for (size_t k = 0; k < n; k++) {
        const float *X = has_input ? w->gates_at[k] : NULL;
        if (net->bp.decoder_kind == DG_DECODER_LSTM)
            lstm(net->kernels, cell, d, w->state_at[k], X, w->products + k * G);
        else
            gru(net->kernels, cell, d, w->state_at[k], X, w->products + k * G);
    }
}

/* ---- Encoder --------------------------------------------------------------------------------- */

struct sentences {
    const struct dg_net_source *sources;
    size_t n, M;
};

size_t dg_net_point_at_tokens(struct dg_net_state *state, const struct dg_net_source *sources,
                              size_t n_sources, size_t t, bool is_backward, size_t width, size_t G)
{
    struct net_rnn_work *w = &state->rnn;
    size_t n = 0;
    for (size_t i = 0; i < n_sources; i++) {
        const size_t S = state->slots[sources[i].slot].n_source;
        if (t >= S)
            continue;
        const size_t row = state->encoded_first[i] + (is_backward ? S - 1 - t : t);
        w->state_at[n] = w->states + i * width;
        w->gates_at[n] = w->gates + row * G;
        w->list[n++] = row;
    }
    return n;
}

/* Runs one layer over all sentences, one token of each at a time. `out` is not `in`. If the network
 * has skip connections, an input that is as wide as the states is added to `out`. */
static void run_layer(struct dg_net_state *state, const struct net_rnn_layer *layer,
                      const struct sentences *all, const float *in, size_t ld_in, float *out,
                      size_t ld_out, bool reverse, bool skip)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const size_t d = bp->rnn.width, G = gates_width(bp), width = state_width(bp);
    struct net_rnn_work *w = &state->rnn;
    read_input(state, &layer->cells[0], in, ld_in, all->M);
    memset(w->states, 0, all->n * width * sizeof(float));
    for (size_t t = 0, n;
         (n = dg_net_point_at_tokens(state, all->sources, all->n, t, reverse, width, G)) > 0; t++) {
        for (size_t j = 0; j < layer->n; j++)
            run_cell(state, &layer->cells[j], n, j == 0);
        for (size_t k = 0; k < n; k++)
            memcpy(out + w->list[k] * ld_out, w->state_at[k], d * sizeof(float));
    }
    for (size_t m = 0; skip && m < all->M; m++)
        for (size_t i = 0; i < d; i++)
            out[m * ld_out + i] += in[m * ld_in + i];
}

/* Runs a stack in one direction; its last layer goes to `out`. */
static void run_stack(struct dg_net_state *state, const struct net_rnn_layer *layers,
                      const struct sentences *all, float *out, bool is_backward)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const size_t d = bp->rnn.width, n = dg_blueprint_paired_layers(bp);
    const float *in = state->x;
    size_t ld_in = bp->D;
    for (size_t i = 0; i < n; i++) {
        const bool reverse = is_backward != (bp->rnn.encoder == DG_RNN_ALTERNATING && i % 2);
        const bool is_last = i + 1 == n;
        float *to = is_last ? out : state->rnn.stack[i % 2];
        run_layer(state, &layers[i], all, in, ld_in, to, is_last ? 2 * d : d, reverse,
                  bp->rnn.skip && i > 0);
        in = to;
        ld_in = d;
    }
}

/* Runs both stacks and the layers on top; the result is the workspace's context [M, C]. */
static void run_encoder(struct dg_net_state *state, const struct sentences *all)
{
    const struct dg_net *net = state->net;
    const size_t d = net->bp.rnn.width,
                 n_top = net->bp.encoder.n_layers - dg_blueprint_paired_layers(&net->bp);
    struct net_rnn_work *w = &state->rnn;
    float *both = n_top ? w->stack[2] : w->context;
    run_stack(state, net->rnn.forward, all, both, false);
    run_stack(state, net->rnn.backward, all, both + d, true);
    const float *in = both;
    size_t ld_in = 2 * d;
    for (size_t i = 0; i < n_top; i++) {
        float *to = i + 1 == n_top ? w->context : w->stack[i % 2];
        run_layer(state, &net->rnn.top[i], all, in, ld_in, to, d, false, net->bp.rnn.skip && i > 0);
        in = to;
        ld_in = d;
    }
}

/* Computes the decoder's first state of a sentence. */
static void begin_states(struct dg_net_state *state, size_t slot, size_t first, size_t S)
{
    const struct dg_net *net = state->net;
    const size_t C = dg_blueprint_context(&net->bp), d = net->bp.rnn.width;
    float *mean = state->rnn.hidden, *initial = state->rnn.initial + slot * d;
    memset(mean, 0, C * sizeof *mean);
    for (size_t s = 0; s < S; s++)
        for (size_t i = 0; i < C; i++)
            mean[i] += state->rnn.context[(first + s) * C + i];
    for (size_t i = 0; i < C; i++)
        mean[i] /= (float)S;
    normed(state, initial, mean, C, 1, &net->rnn.initial);
    net->kernels->activate(initial, d, DG_OP_TANH);
}

void dg_net_rnn_encode(struct dg_net_state *state, const struct dg_net_source *sources,
                       size_t n_sources, size_t M)
{
    const struct dg_net *net = state->net;
    const size_t C = dg_blueprint_context(&net->bp);
    const struct sentences all = {sources, n_sources, M};
    struct net_rnn_work *w = &state->rnn;
    run_encoder(state, &all);
    normed(state, w->query, w->context, C, M, &net->rnn.attention_source);
    for (size_t i = 0; i < n_sources; i++) {
        const struct net_slot *slot = &state->slots[sources[i].slot];
        for (size_t s = 0; s < slot->n_source; s++) {
            const size_t row = state->encoded_first[i] + s;
            memcpy(w->record, w->query + row * C, C * sizeof(float));
            memcpy(w->record + C, w->context + row * C, C * sizeof(float));
            dg_net_keep(state, 0, slot->source_at[s], w->record);
        }
        begin_states(state, sources[i].slot, state->encoded_first[i], slot->n_source);
    }
}

/* ---- Decoder --------------------------------------------------------------------------------- */

/* Sets the lane's states of all layers to those of its parent or, at position 0, to the sentence's
 * first states. */
static void take_over(struct dg_net_state *state, const struct dg_net_row *row)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const size_t d = bp->rnn.width, width = state_width(bp);
    const unsigned turn = state->slots[row->slot].turn;
    const float *initial = state->rnn.initial + row->slot * d;
    for (size_t layer = 0; layer < bp->decoder.n_layers; layer++) {
        float *to = dg_net_cell_of(state, turn, layer, row->slot, row->lane);
        if (row->position > 0)
            memcpy(to, dg_net_cell_of(state, !turn, layer, row->slot, row->parent),
                   width * sizeof *to);
        for (size_t at = 0; row->position == 0 && at < width; at += d)
            memcpy(to + at, initial, d * sizeof *to);
    }
}

/* out [C] = the context that `query` [C] attends to; the probabilities stay in state->scores. */
static void attend(struct dg_net_state *state, float *out, const float *query,
                   const struct net_slot *slot)
{
    const struct dg_net *net = state->net;
    const size_t C = dg_blueprint_context(&net->bp), S = slot->n_source;
    float *mapped = state->rnn.mapped, *scores = state->scores;
    for (size_t s = 0; s < S; s++) {
        const float *record = dg_net_kept(state, 0, slot->source_at[s]);
        for (size_t i = 0; i < C; i++)
            mapped[s * C + i] = record[i] + query[i];
    }
    net->kernels->activate(mapped, S * C, DG_OP_TANH);
    dg_net_linear(state, scores, 1, mapped, C, S, &net->rnn.score, DG_OP_NONE, NULL);
    net->kernels->softmax(scores, S);
    memset(out, 0, C * sizeof *out);
    for (size_t s = 0; s < S; s++) {
        const float *record = dg_net_kept(state, 0, slot->source_at[s]);
        for (size_t i = 0; i < C; i++)
            out[i] += scores[s] * record[C + i];
    }
}

void dg_net_point_at_rows(struct dg_net_state *state, const struct dg_net_step *step, size_t n,
                          size_t at, size_t G)
{
    struct net_rnn_work *w = &state->rnn;
    for (size_t k = 0; k < n; k++) {
        const struct dg_net_row *row = &step->rows[w->list[k]];
        w->state_at[k] =
            dg_net_cell_of(state, state->slots[row->slot].turn, at, row->slot, row->lane);
        w->gates_at[k] = w->gates + k * G;
    }
}

/* Runs the first layer on the words in state->x; the results of attention stay in `mixed` [n, C].
 */
static void first_layer(struct dg_net_state *state, const struct dg_net_step *step, size_t n)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D, d = net->bp.rnn.width, C = dg_blueprint_context(&net->bp);
    const struct net_rnn_layer *layer = &net->rnn.decoder[0];
    struct net_rnn_work *w = &state->rnn;
    dg_net_point_at_rows(state, step, n, 0, gates_width(&net->bp));
    read_input(state, &layer->cells[0], state->x, D, n);
    run_cell(state, &layer->cells[0], n, true);
    for (size_t k = 0; k < n; k++)
        memcpy(w->hidden + k * d, w->state_at[k], d * sizeof(float));
    normed(state, w->query, w->hidden, d, n, &net->rnn.attention_state);
    for (size_t k = 0; k < n; k++) {
        const size_t row = w->list[k];
        const struct net_slot *slot = &state->slots[step->rows[row].slot];
        attend(state, w->mixed + k * C, w->query + k * C, slot);
        if (step->attention)
            memcpy(state->attention + row * state->limits.source_len, state->scores,
                   slot->n_source * sizeof(float));
    }
    read_input(state, &layer->cells[1], w->mixed, C, n);
    for (size_t j = 1; j < layer->n; j++)
        run_cell(state, &layer->cells[j], n, j == 1);
}

/* Runs the layers; returns the stack [n, d] with the output of the top layer. */
static float *run_layers(struct dg_net_state *state, const struct dg_net_step *step, size_t n)
{
    const struct dg_net *net = state->net;
    const size_t d = net->bp.rnn.width;
    struct net_rnn_work *w = &state->rnn;
    first_layer(state, step, n);
    float *in = NULL, *out = w->stack[0];
    for (size_t i = 0;; i++) {
        for (size_t k = 0; k < n; k++)
            memcpy(out + k * d, w->state_at[k], d * sizeof(float));
        for (size_t k = 0; in && net->bp.rnn.skip && k < n * d; k++)
            out[k] += in[k];
        if (i + 1 == net->bp.decoder.n_layers)
            return out;
        in = out;
        out = w->stack[(i + 1) % 2];
        const struct net_rnn_layer *layer = &net->rnn.decoder[i + 1];
        dg_net_point_at_rows(state, step, n, i + 1, gates_width(&net->bp));
        read_input(state, &layer->cells[0], in, d, n);
        for (size_t j = 0; j < layer->n; j++)
            run_cell(state, &layer->cells[j], n, j == 0);
    }
}

static void add(float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

/* Runs the rows in `list`, one of each lane. */
static void run_wave(struct dg_net_state *state, const struct dg_net_step *step, size_t n)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D, d = net->bp.rnn.width, C = dg_blueprint_context(&net->bp);
    struct net_rnn_work *w = &state->rnn;
    for (size_t k = 0; k < n; k++) {
        const struct dg_net_row *row = &step->rows[w->list[k]];
        dg_net_embed(state, &net->target, state->x + k * D, row->token, row->position);
    }
    const float *top = run_layers(state, step, n);
    normed(state, state->y, state->x, D, n, &net->rnn.readout[0]);
    normed(state, state->z, top, d, n, &net->rnn.readout[1]);
    add(state->y, state->z, n * D);
    normed(state, state->z, w->mixed, C, n, &net->rnn.readout[2]);
    add(state->y, state->z, n * D);
    net->kernels->activate(state->y, n * D, DG_OP_TANH);
    for (size_t k = 0; k < n; k++)
        memcpy(w->readout + w->list[k] * D, state->y + k * D, D * sizeof(float));
}

/* Computes the rows in waves, because the words of one hypothesis depend on each other: the first
 * rows of all runs form a wave, then the second rows, and so on. */
void dg_net_in_waves(struct dg_net_state *state, const struct dg_net_step *step,
                     void (*fetch)(struct dg_net_state *state, const struct dg_net_row *row),
                     void (*run)(struct dg_net_state *state, const struct dg_net_step *step,
                                 size_t n))
{
    struct net_rnn_work *w = &state->rnn;
    for (size_t wave = 0, n = 1; n > 0; wave++) {
        size_t in_run = 0;
        n = 0;
        for (size_t i = 0; i < step->n_rows; i++) {
            const struct dg_net_row *row = &step->rows[i];
            const bool goes_on = i > 0 && row->slot == row[-1].slot && row->lane == row[-1].lane;
            in_run = goes_on ? in_run + 1 : 0;
            if (in_run != wave)
                continue;
            if (wave == 0)
                fetch(state, row);
            w->list[n++] = i;
        }
        if (n)
            run(state, step, n);
    }
    memcpy(state->x, w->readout, step->n_rows * state->net->bp.D * sizeof(float));
}

void dg_net_rnn_step(struct dg_net_state *state, const struct dg_net_step *step)
{
    dg_net_in_waves(state, step, take_over, run_wave);
}
