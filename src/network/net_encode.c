/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The encoder. Sentences lie end to end in one matrix x [M, D], M the sum of their lengths;
 * products run over all rows, attention within each sentence. So there is no padding and nothing to
 * mask. Recipe:
 *
 *     x = embedding(id) * scale + position                        [M, D]
 *     for each layer:
 *         q, k, v = in * Wqkv^T + b                               [M, 3D]  in: x; pre-norm: norm(x)
 *                                                                 (norm_queries_only: for q only)
 *         z = attention of each row over its own sentence         [M, D]
 *         x = x + z * Wo^T + b                                    [M, D]   post-norm: x = norm(x)
 *         x = x + act(in * W1^T + b1) * W2^T + b2                 [M, D]   through [M, F]; likewise
 *     x = norm(x) where the blueprint has a final norm
 *     for each decoder layer:
 *         keys, values = x * Wkv^T + b                            [M, 2D]  to cached positions
 *
 * The heads of encoder-only networks are in net_enc.c.
 *
 * If the sentences do not fit into `encode_tokens` together, they are encoded in several rounds,
 * with the same result to the bit. */
#include "network/net_int.h"

#include <math.h>

enum {
    PART_ROWS = 64
}; /* rows of each part except the last; with fewer, products would wait for weights */

/* Computes the attention of rows [first, end), which belong to some of the `n_sources` sentences,
 * each row over its own sentence. */
static void attend_rows(struct dg_net_state *state, const struct dg_relative *relative,
                        size_t n_sources, size_t first, size_t end)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D, H = net->bp.encoder.H, dh = D / H;
    for (size_t s = 0; s < n_sources; s++) {
        const size_t from = state->encoded_first[s], S = state->encoded_len[s];
        const float *qkv = state->wide + from * 3 * D;
        const size_t start = first > from ? first - from : 0;
        const size_t stop = from + S < end ? S : end > from ? end - from : 0;
        const size_t step = relative->reach ? 1 : S;
        for (size_t i = start; i < stop; i += step) {
            const struct dg_attention of = {.type = DG_KV_F32,
                                            .kv = qkv + D,
                                            .stride = 3 * D * sizeof(float),
                                            .n = S,
                                            .n_shared = S,
                                            .Q = stop - i < step ? stop - i : step,
                                            .H = H,
                                            .dh = dh,
                                            .q = qkv + i * 3 * D,
                                            .ld_q = 3 * D,
                                            .out = state->z + (from + i) * D,
                                            .ld_out = D,
                                            .scale = 1.0f / sqrtf((float)dh),
                                            .weights = state->scores,
                                            .scratch = state->attend_scratch,
                                            .relative = relative->reach ? relative : NULL,
                                            .self = i,
                                            .G = 1};
            if (relative->reach)
                net->kernels->attend(&of);
            else
                net->kernels->attend_rows(&of);
        }
    }
}

/* The stages of a layer. Each can be computed a few rows at a time. */
enum stage { QUERIES, ATTENTION, JOINING, FEEDING, N_STAGES };

/* Computes a stage for rows [first, first + n) of the `n_sources` sentences. */
static void run_stage(struct dg_net_state *state, const struct net_encoder_layer *layer,
                      enum stage stage, size_t n_sources, size_t first, size_t n)
{
    const size_t D = state->net->bp.D;
    switch (stage) {
    case QUERIES:
        dg_net_qkv(state, &layer->self_norm, &layer->qkv, &layer->kv, first, n);
        return;
    case ATTENTION:
        attend_rows(state, &layer->relative, n_sources, first, first + n);
        return;
    case JOINING:
        dg_net_linear(state, state->x + first * D, D, state->z + first * D, D, n, &layer->o,
                      DG_OP_NONE, state->x + first * D);
        dg_net_leave_rows(state, &layer->self_norm, first, n);
        return;
    default:
        dg_net_ffn_rows(state, &layer->ffn, first, n);
    }
}

/* Computes the cross-attention keys and values of one decoder layer and moves them to the slots'
 * cached positions. */
static void keep_cross(struct dg_net_state *state, size_t layer, size_t M,
                       const struct dg_net_source *sources, size_t n_sources)
{
    const size_t D = state->net->bp.D;
    dg_net_linear(state, state->wide, 2 * D, state->x, D, M,
                  &state->net->decoder_layers[layer].cross_kv, DG_OP_NONE, NULL);
    const float *from = state->wide;
    for (size_t i = 0; i < n_sources; i++) {
        const struct net_slot *slot = &state->slots[sources[i].slot];
        for (size_t s = 0; s < slot->n_source; s++, from += 2 * D)
            dg_net_keep(state, layer, slot->source_at[s], from);
    }
}

/* Lays the sources end to end; returns the number of their tokens. */
static size_t embed(struct dg_net_state *state, const struct dg_net_source *sources,
                    size_t n_sources)
{
    const struct dg_net *net = state->net;
    const bool has_head = dg_blueprint_family(&net->bp)->has_head;
    size_t M = 0;
    for (size_t i = 0; i < n_sources; i++) {
        struct net_slot *slot = &state->slots[sources[i].slot];
        state->encoded_first[i] = M;
        state->encoded_len[i] = slot->n_source;
        const size_t second = sources[i].second ? sources[i].second : slot->n_source;
        for (size_t s = 0; s < slot->n_source; s++, M++)
            if (has_head)
                dg_net_enc_embed(state, state->x + M * net->bp.D, sources[i].ids[s], s,
                                 s >= second);
            else
                dg_net_embed(state, &net->source, state->x + M * net->bp.D, sources[i].ids[s], s);
        slot->is_encoded = true;
    }
    return M;
}

void dg_net_layers_encode(struct dg_net_state *state, const struct dg_net_source *sources,
                          size_t n_sources, size_t M)
{
    const struct dg_net *net = state->net;
    for (size_t layer = 0; layer < net->bp.encoder.n_layers; layer++)
        for (enum stage stage = QUERIES; stage < N_STAGES; stage++)
            run_stage(state, &net->encoder_layers[layer], stage, n_sources, 0, M);
    if (net->encoder_norm.gain)
        dg_net_norm(state, &net->encoder_norm, state->x, state->x, M);
    for (size_t layer = 0; layer < net->bp.decoder.n_layers; layer++)
        keep_cross(state, layer, M, sources, n_sources);
}

/* Encodes sentences that fit into the workspace together. */
static void encode_round(struct dg_net_state *state, const struct dg_net_source *sources,
                         size_t n_sources)
{
    const size_t M = embed(state, sources, n_sources);
    dg_net_families[state->net->bp.family].encode(state, sources, n_sources, M);
}

/* Checks that every slot is open, not encoded and named once, and every id is in the vocabulary. */
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
        slot->is_encoded = true; /* set now, so that a slot named twice is found */
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
    if (dg_blueprint_family(&state->net->bp)->has_prompt) {
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

/* ---- In parts -------------------------------------------------------------------------------- */

enum dg_err dg_net_encode_begin(struct dg_net_state *state, const struct dg_net_source *sources,
                                size_t n_sources)
{
    enum dg_err err = dg_blueprint_family(&state->net->bp)->has_head
                          ? check_sources(state, sources, n_sources)
                          : DG_ERR_INVALID;
    size_t tokens = 0;
    for (size_t i = 0; i < n_sources && !err; i++) {
        tokens += state->slots[sources[i].slot].n_source;
        err = tokens > state->limits.encode_tokens ? DG_ERR_RANGE : DG_OK;
    }
    if (err)
        return err;
    state->n_encoded = state->n_rows = 0;
    state->encoding.n_sources = n_sources;
    state->encoding.n_rows = embed(state, sources, n_sources);
    state->encoding.layer = state->encoding.at = 0;
    state->encoding.stage = QUERIES;
    return DG_OK;
}

/* Returns the multiplications for the next row in the current stage. A multiplication in attention
 * counts as four, because it takes four times as long as one in a product. */
static uint64_t work_of_row(const struct dg_net_state *state, const struct net_encoder_layer *layer)
{
    const uint64_t D = state->net->bp.D;
    size_t i = 0;
    switch ((enum stage)state->encoding.stage) {
    case QUERIES:
        return 3 * D * D;
    case ATTENTION:
        while (state->encoded_first[i] + state->encoded_len[i] <= state->encoding.at)
            i++;
        return 4 * 2 * D * state->encoded_len[i];
    case JOINING:
        return D * D;
    default:
        return 2 * D * layer->ffn.fc1.N;
    }
}

bool dg_net_encode_more(struct dg_net_state *state, uint64_t *work)
{
    const struct dg_net *net = state->net;
    while (state->encoding.layer < net->bp.encoder.n_layers) {
        if (*work == 0)
            return false;
        const struct net_encoder_layer *layer = &net->encoder_layers[state->encoding.layer];
        const size_t n_left = state->encoding.n_rows - state->encoding.at;
        const uint64_t of_row = work_of_row(state, layer), fitting = *work / of_row;
        size_t n = fitting < n_left ? (size_t)fitting : n_left;
        n = n < PART_ROWS ? PART_ROWS : n;
        n = n < n_left ? n : n_left;
        run_stage(state, layer, (enum stage)state->encoding.stage, state->encoding.n_sources,
                  state->encoding.at, n);
        *work -= n * of_row < *work ? n * of_row : *work;
        state->encoding.at += n;
        if (state->encoding.at < state->encoding.n_rows)
            continue;
        state->encoding.at = 0;
        state->encoding.stage = (state->encoding.stage + 1) % N_STAGES;
        state->encoding.layer += state->encoding.stage == QUERIES;
    }
    if (net->encoder_norm.gain)
        dg_net_norm(state, &net->encoder_norm, state->x, state->x, state->encoding.n_rows);
    state->n_encoded = state->encoding.n_sources;
    return true;
}

const float *dg_net_encoded(const struct dg_net_state *state, size_t i)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const float *all = bp->rnn.width ? state->rnn.context : state->x;
    return i < state->n_encoded ? all + state->encoded_first[i] * dg_blueprint_context(bp) : NULL;
}

/* ---- Prompts --------------------------------------------------------------------------------- */

enum dg_err dg_net_begin(struct dg_net_state *state, const struct dg_net_source *source)
{
    enum dg_err err = dg_blueprint_family(&state->net->bp)->has_prompt
                          ? check_sources(state, source, 1)
                          : DG_ERR_INVALID;
    if (err)
        return err;
    state->slots[source->slot].is_shared = true;
    return DG_OK;
}

size_t dg_net_prefill(struct dg_net_state *state, const struct dg_net_source *sources,
                      size_t n_sources, size_t most)
{
    return dg_net_lm_prefill(state, sources, n_sources, most);
}

bool dg_net_is_encoded(const struct dg_net_state *state, size_t slot)
{
    return slot < state->limits.slots && state->slots[slot].is_open &&
           state->slots[slot].is_encoded;
}
