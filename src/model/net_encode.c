/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The encoder. Sentences lie end to end in one matrix x [M, D], M the sum of their lengths; products
 * run over all rows, attention within each sentence. So there is no padding and nothing to mask.
 * Recipe:
 *
 *     x = embedding(id) * scale + position                        [M, D]
 *     for each layer:
 *         q, k, v = in * Wqkv^T + b                               [M, 3D]   in: x, or norm(x) when pre-norm
 *         z = attention of each row over its own sentence         [M, D]
 *         x = x + z * Wo^T + b;  post-norm: x = norm(x)           [M, D]
 *         x = x + act(in * W1^T + b1) * W2^T + b2;  norm          [M, D] through [M, F]
 *     x = norm(x) where the blueprint has a final norm
 *     for each decoder layer: keys, values = x * Wkv^T + b        [M, 2D] into the slots' cached positions
 *
 * Encoders alone end here: their heads are in net_enc.c.
 *
 * More sentences than fit into `encode_tokens` go in several rounds, which changes no bit of any. */
#include "model/net_int.h"

#include <math.h>
#include <string.h>

/* Attention within one sentence of S tokens whose first row is `first`. */
static void attend_sentence(struct dg_net_state *state, const struct dg_relative *relative, size_t first,
                            size_t S)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D, H = net->bp.encoder.H, dh = D / H;
    const float *qkv = state->wide + first * 3 * D, scale = 1.0f / sqrtf((float)dh);
    for (size_t i = 0; i < S; i++) {
        float *out = state->z + (first + i) * D;
        if (relative->reach)
            net->kernels->attend_relative(out, qkv + i * 3 * D, qkv + D, 3 * D, NULL, S, H, dh, scale,
                                          state->scores, relative, i);
        else
            net->kernels->attend(out, qkv + i * 3 * D, qkv + D, 3 * D, NULL, S, H, dh, scale, state->scores);
    }
}

static void run_layer(struct dg_net_state *state, const struct net_encoder_layer *layer, size_t M,
                      const struct dg_net_source *sources, size_t n_sources)
{
    const size_t D = state->net->bp.D;
    const float *in = dg_net_enter(state, &layer->self_norm, M);
    dg_net_linear(state, state->wide, 3 * D, in, D, M, &layer->qkv, DG_OP_NONE, NULL);
    size_t first = 0;
    for (size_t i = 0; i < n_sources; i++) {
        const size_t S = state->slots[sources[i].slot].n_source;
        attend_sentence(state, &layer->relative, first, S);
        first += S;
    }
    dg_net_linear(state, state->x, D, state->z, D, M, &layer->o, DG_OP_NONE, state->x);
    dg_net_leave(state, &layer->self_norm, M);
    dg_net_ffn(state, &layer->ffn, M);
}

/* Cross-attention keys and values of one decoder layer, moved to where the slots keep them. */
static void keep_cross(struct dg_net_state *state, size_t layer, size_t M,
                       const struct dg_net_source *sources, size_t n_sources)
{
    const size_t D = state->net->bp.D;
    dg_net_linear(state, state->wide, 2 * D, state->x, D, M, &state->net->decoder_layers[layer].cross_kv,
                  DG_OP_NONE, NULL);
    const float *from = state->wide;
    for (size_t i = 0; i < n_sources; i++) {
        const struct net_slot *slot = &state->slots[sources[i].slot];
        for (size_t s = 0; s < slot->n_source; s++, from += 2 * D)
            dg_net_keep(state, layer, slot->source_at[s], from);
    }
}

/* Sentences that fit into the workspace together. */
static void encode_round(struct dg_net_state *state, const struct dg_net_source *sources, size_t n_sources)
{
    const struct dg_net *net = state->net;
    size_t M = 0;
    for (size_t i = 0; i < n_sources; i++) {
        struct net_slot *slot = &state->slots[sources[i].slot];
        state->encoded_first[i] = M;
        state->encoded_len[i] = slot->n_source;
        const size_t second = sources[i].second ? sources[i].second : slot->n_source;
        for (size_t s = 0; s < slot->n_source; s++, M++)
            if (net->bp.family == DG_FAMILY_ENC)
                dg_net_enc_embed(state, state->x + M * net->bp.D, sources[i].ids[s], s, s >= second);
            else
                dg_net_embed(state, &net->source, state->x + M * net->bp.D, sources[i].ids[s], s);
        slot->is_encoded = true;
    }
    if (net->bp.family == DG_FAMILY_RNN) {
        dg_net_rnn_encode(state, sources, n_sources, M);
        return;
    }
    if (net->bp.family == DG_FAMILY_SEQ) {
        dg_net_seq_encode(state, sources, n_sources, M);
        return;
    }
    for (size_t layer = 0; layer < net->bp.encoder.n_layers; layer++)
        run_layer(state, &net->encoder_layers[layer], M, sources, n_sources);
    if (net->encoder_norm.gain)
        dg_net_norm(state, &net->encoder_norm, state->x, state->x, M);
    for (size_t layer = 0; layer < net->bp.decoder.n_layers; layer++)
        keep_cross(state, layer, M, sources, n_sources);
}

/* Every slot is open, not encoded and named once; every id is in the vocabulary. */
static enum dg_err check_sources(struct dg_net_state *state, const struct dg_net_source *sources,
                                 size_t n_sources)
{
    const size_t V = state->net->bp.encoder.V;
    enum dg_err err = DG_OK;
    size_t i = 0;
    for (; i < n_sources && !err; i++) {
        if (sources[i].slot >= state->limits.slots || !state->slots[sources[i].slot].is_open ||
            state->slots[sources[i].slot].is_encoded) {
            err = DG_ERR_INVALID;
            break;
        }
        struct net_slot *slot = &state->slots[sources[i].slot];
        for (size_t s = 0; s < slot->n_source; s++)
            if (sources[i].ids[s] < 0 || (size_t)sources[i].ids[s] >= V)
                err = DG_ERR_RANGE;
        slot->is_encoded = true; /* finds a slot that is named twice */
    }
    while (i-- > 0)
        state->slots[sources[i].slot].is_encoded = false;
    return err;
}

enum dg_err dg_net_encode(struct dg_net_state *state, const struct dg_net_source *sources,
                          size_t n_sources)
{
    enum dg_err err = check_sources(state, sources, n_sources);
    if (err)
        return err;
    state->n_encoded = 0;
    if (state->net->bp.family == DG_FAMILY_LM) {
        dg_net_lm_prefill(state, sources, n_sources, SIZE_MAX);
        return DG_OK;
    }
    state->n_rows = 0;
    for (size_t first = 0, next; first < n_sources; first = next) {
        size_t tokens = 0;
        for (next = first; next < n_sources; next++) {
            const size_t S = state->slots[sources[next].slot].n_source;
            if (tokens + S > state->limits.encode_tokens)
                break;
            tokens += S;
        }
        encode_round(state, sources + first, next - first);
        state->n_encoded = first == 0 && next == n_sources ? n_sources : 0;
    }
    return DG_OK;
}

const float *dg_net_encoded(const struct dg_net_state *state, size_t i)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const float *all = bp->family == DG_FAMILY_RNN ? state->rnn.context : state->x;
    return i < state->n_encoded ? all + state->encoded_first[i] * dg_blueprint_context(bp) : NULL;
}

/* ---- Prompts ------------------------------------------------------------------------------------ */

enum dg_err dg_net_begin(struct dg_net_state *state, const struct dg_net_source *source)
{
    enum dg_err err = state->net->bp.family == DG_FAMILY_LM ? check_sources(state, source, 1) : DG_ERR_INVALID;
    if (err)
        return err;
    state->slots[source->slot].is_shared = true;
    return DG_OK;
}

size_t dg_net_prefill(struct dg_net_state *state, const struct dg_net_source *sources, size_t n_sources, size_t most)
{
    return dg_net_lm_prefill(state, sources, n_sources, most);
}

bool dg_net_is_encoded(const struct dg_net_state *state, size_t slot)
{
    return slot < state->limits.slots && state->slots[slot].is_open && state->slots[slot].is_encoded;
}
