/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The recurrent cells that some decoders have in place of self-attention. The state of a cell is
 * one vector c [D].
 *
 *     SSRU:  v, g = in * [W | Wf]^T + [0 | bf];  f = sigmoid(g);  c' = f*c + (1-f)*v;  z = relu(c')
 *     AAN:   c' = (c*t + x) / (t+1), the mean of all inputs so far;  y = feed-forward(c')
 *            z = sigmoid(x*Wi^T + bi) * x + sigmoid(y*Wf^T + bf) * y     (without gates: z = y)
 *     both:  x = x + z, with the norm before or after as the network has it
 *
 * Each state exists twice, like the histories: a step reads the parent's state of the previous turn
 * and writes the lane's state of the new turn, so that lanes may swap. In a run of rows, each row
 * after the first reads what the row before it wrote. */
#include "network/net_int.h"

#include <string.h>

float *dg_net_cell_of(struct dg_net_state *state, unsigned turn, size_t layer, size_t slot,
                      size_t lane)
{
    const struct dg_net_limits *l = &state->limits;
    const size_t n_layers = state->net->bp.decoder.n_layers;
    return state->cells + (((turn * n_layers + layer) * l->slots + slot) * l->lanes + lane) *
                              state->net->cell_width;
}

/* Returns the state from which row i starts; NULL at position 0, where it is zero. The turn has
 * been flipped already. */
static const float *cell_before(struct dg_net_state *state, const struct dg_net_row *rows, size_t i,
                                size_t layer)
{
    const struct dg_net_row *row = &rows[i];
    const unsigned turn = state->slots[row->slot].turn;
    if (row->position == 0)
        return NULL;
    if (i > 0 && rows[i - 1].slot == row->slot && rows[i - 1].lane == row->lane)
        return dg_net_cell_of(state, turn, layer, row->slot, row->lane);
    return dg_net_cell_of(state, !turn, layer, row->slot, row->parent);
}

static void add(float *x, const float *z, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += z[i];
}

static void ssru(struct dg_net_state *state, const struct net_decoder_layer *layer,
                 const struct dg_net_step *step, size_t at_layer)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D, M = step->n_rows;
    const float *in = dg_net_enter(state, &layer->self_norm, M);
    dg_net_linear(state, state->wide, 2 * D, in, D, M, &layer->qkv, DG_OP_NONE, NULL);
    for (size_t m = 0; m < M; m++) {
        const struct dg_net_row *row = &step->rows[m];
        float *c =
            dg_net_cell_of(state, state->slots[row->slot].turn, at_layer, row->slot, row->lane);
        const float *before = cell_before(state, step->rows, m, at_layer);
        if (!before)
            memset(c, 0, D * sizeof *c);
        net->kernels->ssru(state->z + m * D, c, before ? before : c, state->wide + m * 2 * D,
                           state->wide + m * 2 * D + D, D);
    }
}

/* Writes the running mean to wide [M, D]. */
static void means(struct dg_net_state *state, const struct dg_net_step *step, size_t at_layer)
{
    const size_t D = state->net->bp.D;
    for (size_t m = 0; m < step->n_rows; m++) {
        const struct dg_net_row *row = &step->rows[m];
        const float *before = cell_before(state, step->rows, m, at_layer), *x = state->x + m * D;
        const float t = (float)row->position;
        float *c =
            dg_net_cell_of(state, state->slots[row->slot].turn, at_layer, row->slot, row->lane);
        for (size_t i = 0; i < D; i++)
            c[i] = ((before ? before[i] * t : 0.0f) + x[i]) / (t + 1.0f);
        memcpy(state->y + m * D, c, D * sizeof *c);
    }
}

static void aan(struct dg_net_state *state, const struct net_decoder_layer *layer,
                const struct dg_net_step *step, size_t at_layer)
{
    const struct dg_net *net = state->net;
    const struct dg_blueprint *bp = &net->bp;
    const size_t D = bp->D, M = step->n_rows;
    means(state, step, at_layer);
    if (bp->norm_place == DG_NORM_PRE)
        dg_net_norm(state, &layer->self_norm, state->y, state->y, M);
    /* Row by row: the inner layers may be wider than the workspace's stream. */
    for (size_t m = 0; m < M; m++) {
        float *y = state->y + m * D, *in = y, *out = state->wide;
        for (size_t i = 0; i < bp->aan_depth; i++) {
            const struct dg_packed *fc = &layer->aan_fc[i];
            const bool is_last = i + 1 == bp->aan_depth;
            out = in == state->wide ? state->wide + bp->aan_F : state->wide;
            dg_net_linear(state, is_last ? state->z + m * D : out, fc->N, in, fc->K, 1, fc,
                          is_last ? DG_OP_NONE : net->act, NULL);
            in = out;
        }
        memcpy(y, state->z + m * D, D * sizeof *y);
    }
    if (!bp->aan_gate)
        return;
    dg_net_linear(state, state->wide, D, state->x, D, M, &layer->aan_input_gate, DG_OP_NONE, NULL);
    dg_net_linear(state, state->wide + M * D, D, state->y, D, M, &layer->aan_forget_gate,
                  DG_OP_NONE, NULL);
    net->kernels->gate(state->z, state->wide, state->x, state->wide + M * D, state->y, M * D);
}

void dg_net_cell(struct dg_net_state *state, const struct net_decoder_layer *layer,
                 const struct dg_net_step *step, size_t at_layer)
{
    if (state->net->bp.decoder_kind == DG_DECODER_SSRU)
        ssru(state, layer, step, at_layer);
    else
        aan(state, layer, step, at_layer);
    add(state->x, state->z, step->n_rows * state->net->bp.D);
    dg_net_leave(state, &layer->self_norm, step->n_rows);
}
