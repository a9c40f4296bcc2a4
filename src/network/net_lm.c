/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Language models: a decoder without an encoder. Recipe, for M rows at any positions of any
 * contexts:
 *
 *     x = embedding(token), plus a learned row for its position    [M, D]
 *     for each layer:
 *         q, k, v = norm(x) * Wqkv^T + b                           [M, A + 2K]
 *         q and k rotated by their positions (rotary)
 *         z = attention of each row over itself and what precedes  [M, A]
 *         x = x + z * Wo^T + b
 *         x = x + act(norm(x) * Wu^T + b) * Wd^T + b, or gated:
 *         x = x + (act(norm(x) * Wg^T) * (norm(x) * Wu^T)) * Wd^T  [M, D] through [M, F]
 *     x = norm(x);  logits = x * Wout^T
 *
 * with A = H * head, K = kv_heads * head. A prompt and its continuation go through the same
 * function. They differ only in their list of cached positions and in the kernel of attention: a
 * prompt's list is the slot's source_at; a lane's list is source_at (without the prompt's last
 * token, which the lane reads itself at its position 0) followed by its history. All rows' keys and
 * values are stored before any row attends, and attention reads the stored values, so that a
 * prompt gives the same bits however it is divided.
 *
 * **Rows of a prompt** attend together (`attend_rows`), which takes a fraction of the time but sums
 * in another order than rows of a step: the same token gives nearly the same numbers in a prompt
 * and in an answer.
 *
 * **Fewer key heads than query heads.** Query head i attends to the keys of head i / G, with
 * G = H / kv_heads. For a step, `attend` needs the same number of heads on both sides. So the
 * queries are rearranged: first the first head of each group, then the second head of each group,
 * and so on; each such row of kv_heads heads is one call. */
#include "network/net_int.h"

#include <math.h>
#include <string.h>

/* ---- Memory ---------------------------------------------------------------------------------- */

static size_t n_places(const struct dg_net_state *state)
{
    const size_t most = state->limits.source_len + state->limits.target_len;
    return most < state->net->bp.lm.context ? most : state->net->bp.lm.context;
}

void dg_net_lm_carve(struct dg_net_state *state, struct net_carve *carve)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const struct dg_net_limits *l = &state->limits;
    const size_t A = bp->decoder.H * bp->lm.head, half = bp->lm.head / 2;
    struct net_lm_work *work = &state->lm;
    if (bp->positions == DG_POS_ROTARY) {
        work->cosines = dg_net_carve(carve, n_places(state), half * sizeof(float));
        work->sines = dg_net_carve(carve, n_places(state), half * sizeof(float));
    }
    work->mixed = dg_net_carve(carve, state->work_rows, A * sizeof(float));
    work->query = dg_net_carve(carve, A, sizeof(float));
    work->answer = dg_net_carve(carve, A, sizeof(float));
    work->rows = dg_net_carve(carve, state->work_rows, sizeof *work->rows);
    work->lists =
        dg_net_carve(carve, l->rows, (l->source_len + l->target_len) * sizeof *work->lists);
    dg_net_prefix_carve(state, carve);
}

void dg_net_lm_fill(struct dg_net_state *state)
{
    const struct dg_lm *lm = &state->net->bp.lm;
    const size_t half = lm->head / 2;
    for (size_t k = 0; state->lm.cosines && k < half; k++) {
        const double step = dg_rope_step(lm, k);
        for (size_t p = 0; p < n_places(state); p++) {
            state->lm.cosines[p * half + k] = (float)cos((double)p * step);
            state->lm.sines[p * half + k] = (float)sin((double)p * step);
        }
    }
}

/* ---- Layers ---------------------------------------------------------------------------------- */

/* Rotates n heads in place: (a, b) of pair k becomes (a cos - b sin, b cos + a sin). */
static void turn(const struct dg_net_state *state, float *heads, size_t n, size_t position)
{
    const size_t width = state->net->bp.lm.head, half = width / 2;
    const float *cosine = state->lm.cosines + position * half,
                *sine = state->lm.sines + position * half;
    for (float *head = heads; head < heads + n * width; head += width)
        for (size_t k = 0; k < half; k++) {
            const float a = head[k], b = head[half + k];
            head[k] = a * cosine[k] - b * sine[k];
            head[half + k] = b * cosine[k] + a * sine[k];
        }
}

/* Computes the attention of H query heads over the row's cached positions, which have H heads
 * too. */
static void attend(struct dg_net_state *state, size_t at_layer, float *out, const float *q,
                   size_t H, const struct net_lm_row *row)
{
    const struct dg_net *net = state->net;
    const size_t width = net->bp.lm.head, n = row->position + 1;
    net->kernels->attend(&(struct dg_attention){.type = state->kv_type,
                                                .kv = dg_net_kept(state, at_layer, 0),
                                                .stride = state->kv_bytes,
                                                .at = &row->at,
                                                .n = n,
                                                .n_shared = n,
                                                .Q = 1,
                                                .H = H,
                                                .dh = width,
                                                .q = q,
                                                .out = out,
                                                .scale = 1.0f / sqrtf((float)width),
                                                .weights = state->scores,
                                                .scratch = state->attend_scratch});
}

/* Converts between the network's order of heads (by group) and that of the calls (by place in the
 * group). */
static void gather_heads(float *out, const float *in, size_t groups, size_t G, size_t width)
{
    for (size_t g = 0; g < groups; g++)
        for (size_t i = 0; i < G; i++)
            memcpy(out + (i * groups + g) * width, in + (g * G + i) * width, width * sizeof *out);
}

static void attend_row(struct dg_net_state *state, size_t at_layer, float *out, const float *q,
                       const struct net_lm_row *row)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const size_t groups = bp->lm.kv_heads, G = bp->decoder.H / groups, width = bp->lm.head;
    if (G == 1) {
        attend(state, at_layer, out, q, groups, row);
        return;
    }
    gather_heads(state->lm.query, q, groups, G, width);
    for (size_t i = 0; i < G; i++)
        attend(state, at_layer, state->lm.answer + i * groups * width,
               state->lm.query + i * groups * width, groups, row);
    gather_heads(out, state->lm.answer, G, groups, width);
}

/* Returns the width of a row's queries, keys and values together. */
static size_t fused_width(const struct dg_net_state *state)
{
    const struct dg_blueprint *bp = &state->net->bp;
    return bp->decoder.H * bp->lm.head + 2 * state->net->kv_width;
}

/* Computes the queries, keys and values of all rows; keys and values go to their cached positions.
 */
static void look(struct dg_net_state *state, const struct net_lm_layer *layer, size_t at_layer,
                 size_t M)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const struct net_lm_row *rows = state->lm.rows;
    const size_t D = bp->D, A = bp->decoder.H * bp->lm.head, wide = fused_width(state);
    const float *in = dg_net_enter(state, &layer->attention_norm, M);
    dg_net_linear(state, state->wide, wide, in, D, M, &layer->qkv, DG_OP_NONE, NULL);
    for (size_t m = 0; m < M; m++) {
        float *row = state->wide + m * wide;
        if (bp->positions == DG_POS_ROTARY)
            turn(state, row, bp->decoder.H + bp->lm.kv_heads, rows[m].position);
        dg_net_keep(state, at_layer, rows[m].at[rows[m].position], row + A);
    }
}

/* Computes the attention of n rows of one prompt, the first of which is row m. */
static void attend_prompt(struct dg_net_state *state, size_t at_layer, size_t m, size_t n)
{
    const struct dg_net *net = state->net;
    const size_t H = net->bp.decoder.H, width = net->bp.lm.head, wide = fused_width(state);
    const struct net_lm_row *rows = state->lm.rows + m;
    net->kernels->attend_rows(&(struct dg_attention){.type = state->kv_type,
                                                     .kv = dg_net_kept(state, at_layer, 0),
                                                     .stride = state->kv_bytes,
                                                     .at = &rows->at,
                                                     .n = rows[n - 1].position + 1,
                                                     .Q = n,
                                                     .H = net->bp.lm.kv_heads,
                                                     .G = H / net->bp.lm.kv_heads,
                                                     .dh = width,
                                                     .is_causal = true,
                                                     .q = state->wide + m * wide,
                                                     .ld_q = wide,
                                                     .out = state->lm.mixed + m * H * width,
                                                     .ld_out = H * width,
                                                     .scale = 1.0f / sqrtf((float)width),
                                                     .scratch = state->attend_scratch});
}

static void attention(struct dg_net_state *state, const struct net_lm_layer *layer, size_t at_layer,
                      size_t M, bool is_prompt)
{
    const size_t D = state->net->bp.D, A = layer->o.K, wide = fused_width(state);
    const struct net_lm_row *rows = state->lm.rows;
    look(state, layer, at_layer, M);
    for (size_t m = 0, n; m < M && is_prompt; m += n) {
        for (n = 1; m + n < M && rows[m + n].at == rows[m].at;)
            n++;
        attend_prompt(state, at_layer, m, n);
    }
    for (size_t m = 0; m < M && !is_prompt; m++)
        attend_row(state, at_layer, state->lm.mixed + m * A, state->wide + m * wide, &rows[m]);
    dg_net_linear(state, state->x, D, state->lm.mixed, A, M, &layer->o, DG_OP_NONE, state->x);
}

static void feed_forward(struct dg_net_state *state, const struct net_lm_layer *layer, size_t M)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D, F = net->bp.decoder.F, N = layer->up.N;
    const bool gated = net->bp.lm.gated;
    const float *in = dg_net_enter(state, &layer->ffn_norm, M);
    for (size_t m = 0; m < M; m += state->ffn_rows) {
        const size_t n = M - m < state->ffn_rows ? M - m : state->ffn_rows;
        dg_net_linear(state, state->wide, N, in + m * D, D, n, &layer->up,
                      gated ? DG_OP_NONE : net->act, NULL);
        for (size_t i = 0; gated && i < n; i++) {
            float *gate = state->wide + i * N;
            net->kernels->activate(gate, F, net->act);
            for (size_t f = 0; f < F; f++)
                gate[f] *= gate[F + f];
        }
        dg_net_linear(state, state->x + m * D, D, state->wide, N, n, &layer->down, DG_OP_NONE,
                      state->x + m * D);
    }
}

/* Computes the first M of state->lm.rows, from their tokens to the input of the last norm; for a
 * prompt only to the keys and values of the last layer, because nothing else of a prompt is
 * needed. */
static void run_lm_layers(struct dg_net_state *state, size_t M, bool is_prompt)
{
    const struct dg_net *net = state->net;
    const size_t n_layers = net->bp.decoder.n_layers - is_prompt;
    for (size_t m = 0; m < M; m++)
        dg_net_embed(state, &net->target, state->x + m * net->bp.D, state->lm.rows[m].token,
                     state->lm.rows[m].position);
    for (size_t i = 0; i < n_layers; i++) {
        attention(state, &net->lm_layers[i], i, M, is_prompt);
        feed_forward(state, &net->lm_layers[i], M);
    }
    if (is_prompt)
        look(state, &net->lm_layers[n_layers], n_layers, M);
}

/* ---- Prompts and steps ----------------------------------------------------------------------- */

/* Marks the slot as encoded: it has its whole prompt but the last token. */
static void end_prompt(struct dg_net_state *state, const struct dg_net_source *source)
{
    struct net_slot *slot = &state->slots[source->slot];
    slot->prompt_end = source->ids[slot->n_source - 1];
    slot->is_encoded = true;
    if (slot->is_shared)
        dg_net_prefix_keep(state, slot, source->ids);
}

size_t dg_net_lm_prefill(struct dg_net_state *state, const struct dg_net_source *sources,
                         size_t n_sources, size_t most)
{
    size_t M = 0, n = 0;
    for (size_t i = 0; i < n_sources && n < most; i++) {
        struct net_slot *slot = &state->slots[sources[i].slot];
        if (slot->is_shared && slot->n_filled == 0)
            slot->n_filled = (uint32_t)dg_net_prefix_share(state, slot, sources[i].ids);
        for (; slot->n_filled + 1 < slot->n_source && n < most; slot->n_filled++, n++) {
            state->lm.rows[M++] = (struct net_lm_row){sources[i].ids[slot->n_filled],
                                                      slot->n_filled, slot->source_at};
            if (M == state->limits.encode_tokens) {
                run_lm_layers(state, M, true);
                M = 0;
            }
        }
    }
    if (M)
        run_lm_layers(state, M, true);
    for (size_t i = 0; i < n_sources; i++) {
        const struct net_slot *slot = &state->slots[sources[i].slot];
        if (!slot->is_encoded && slot->n_filled + 1 >= slot->n_source)
            end_prompt(state, &sources[i]);
    }
    return n;
}

/* Lists the cached positions of a lane: the prompt's, then its own. */
static const uint32_t *join(struct dg_net_state *state, const struct net_slot *slot, size_t m,
                            size_t n_own)
{
    uint32_t *list = state->lm.lists + m * (state->limits.source_len + state->limits.target_len);
    memcpy(list, slot->source_at, (slot->n_source - 1) * sizeof *list);
    memcpy(list + slot->n_source - 1, state->row_at[m], n_own * sizeof *list);
    return list;
}

void dg_net_lm_step(struct dg_net_state *state, const struct dg_net_step *step)
{
    const struct dg_net *net = state->net;
    for (size_t m = 0; m < step->n_rows; m++) {
        const struct dg_net_row *row = &step->rows[m];
        const struct net_slot *slot = &state->slots[row->slot];
        state->lm.rows[m] = (struct net_lm_row){
            .token = row->token == DG_ID_NONE ? slot->prompt_end : row->token,
            .position = slot->n_source - 1 + row->position,
            .at = join(state, slot, m, row->position + 1),
        };
    }
    run_lm_layers(state, step->n_rows, false);
    dg_net_norm(state, &net->decoder_norm, state->x, state->x, step->n_rows);
}
