/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Encoder-only networks: what they have besides the layers of net_encode.c. Recipe:
 *
 *     x = norm(embedding(id) + position + segment)                       [M, D]
 *     ... the layers ...
 *     WORDS:          y = norm(act(x * Wd^T + b)); logits = y * E^T + b  [n, V], any tokens
 *     POOLED:         y = tanh or relu(x * Wd^T + b); y * W^T + b        [n, labels], first tokens
 *     TOKENS, SPANS:  x * W^T + b                                        [n, labels], any tokens
 *     REPLACED:       act(x * Wd^T + b) * w + b                          [n, 1], any tokens */
#include "network/net_int.h"

#include <string.h>

void dg_net_enc_embed(struct dg_net_state *state, float *x, int32_t id, size_t position,
                      size_t type)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D;
    float *row = state->z; /* free at this point, because nothing has been computed yet */
    dg_packed_row(net->source.rows, (size_t)id, row);
    net->kernels->embed(x, row, net->bp.embedding_scale,
                        dg_net_position(state, &net->source, position), D);
    if (net->enc.types)
        net->kernels->embed(x, x, 1.0f,
                            net->enc.types + (type < net->bp.enc.n_types ? type : 0) * D, D);
    if (net->source.norm.gain)
        dg_net_norm(state, &net->source.norm, x, x, 1);
}

enum dg_err dg_net_head(struct dg_net_state *state, const struct dg_net_place *places, size_t n)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D;
    if (!dg_blueprint_family(&net->bp)->has_head || net->bp.enc.head == DG_HEAD_NONE)
        return DG_ERR_INVALID;
    if (n > state->limits.logits_rows)
        return DG_ERR_RANGE;
    for (size_t i = 0; i < n; i++) {
        const float *states = dg_net_encoded(state, places[i].source);
        if (!states || places[i].at >= state->encoded_len[places[i].source])
            return DG_ERR_RANGE;
        memcpy(state->y + i * D, states + places[i].at * D, D * sizeof *states);
        state->row_logits[i] = (uint32_t)i;
    }
    const float *in = state->y;
    if (net->enc.dense.N) {
        dg_net_linear(state, state->z, D, state->y, D, n, &net->enc.dense, net->enc.act, NULL);
        if (net->enc.norm.gain)
            dg_net_norm(state, &net->enc.norm, state->z, state->z, n);
        in = state->z;
    }
    dg_net_linear(state, state->logits, state->ld_logits, in, D, n, &net->output, DG_OP_NONE, NULL);
    state->n_rows = n;
    state->has_attention = false;
    return DG_OK;
}
