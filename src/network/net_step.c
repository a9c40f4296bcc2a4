/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One step of the decoder, for any M rows. Recipe:
 *
 *     x = embedding(token) * scale + position                     [M, D]
 *     for each layer:
 *         self-attention over the row's history, or a recurrent cell (net_cell.c)
 *         cross-attention over the source                        keys and values from dg_net_encode
 *         feed-forward
 *     x = norm(x) where the blueprint has a final norm
 *     logits = x * Wout^T + b                                    [wanted rows, V]
 *
 * Before a step computes anything, it updates the histories: every named lane gets its parent's
 * history (references, not copies), then the old histories are dropped, then each row takes one
 * new position. Keys and values of all rows are stored before any row attends, and a row attends to
 * the first position+1 entries of its lane's history, which acts as the look-ahead mask when a lane
 * has several rows. */
#include "network/net_int.h"

#include <string.h>

/* ---- Who continues whom ---------------------------------------------------------------------- */

/* Returns true when row i is the first of its lane's run in this step. */
static bool starts_run(const struct dg_net_row *rows, size_t i)
{
    return i == 0 || rows[i].slot != rows[i - 1].slot || rows[i].lane != rows[i - 1].lane;
}

static bool row_is_valid(const struct dg_net_state *state, const struct dg_net_row *rows, size_t i)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const struct dg_net_row *row = &rows[i];
    if (row->slot >= state->limits.slots || !state->slots[row->slot].is_encoded)
        return false;
    const struct net_slot *slot = &state->slots[row->slot];
    const bool is_start =
        row->token == DG_ID_NONE &&
        (bp->start == DG_START_ZERO || (bp->start == DG_START_PROMPT && row->position == 0));
    if (row->lane >= slot->n_lanes || row->position >= slot->target_len ||
        (!is_start && (row->token < 0 || (size_t)row->token >= bp->decoder.V)))
        return false;
    if (!starts_run(rows, i))
        return row->position == rows[i - 1].position + 1;
    return row->position == 0 ||
           (row->parent < slot->n_lanes && slot->length[slot->turn][row->parent] == row->position);
}

/* Finds a lane that is named in two runs. The other turn's lengths serve as marks and are all zero
 * afterwards. */
static bool names_lane_twice(struct dg_net_state *state, const struct dg_net_row *rows, size_t n)
{
    bool twice = false;
    for (size_t i = 0; i < n; i++) {
        struct net_slot *slot = &state->slots[rows[i].slot];
        uint32_t *mark = &slot->length[!slot->turn][rows[i].lane];
        twice = twice || (starts_run(rows, i) && *mark);
        *mark = 1;
    }
    for (size_t i = 0; i < n; i++) {
        struct net_slot *slot = &state->slots[rows[i].slot];
        slot->length[!slot->turn][rows[i].lane] = 0;
    }
    return twice;
}

/* Checks that the rows of each slot are next to each other. */
static bool slots_are_together(struct dg_net_state *state, const struct dg_net_row *rows, size_t n)
{
    bool together = true;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || rows[i].slot != rows[i - 1].slot) {
            together = together && !state->slots[rows[i].slot].is_named;
            state->slots[rows[i].slot].is_named = true;
        }
    for (size_t i = 0; i < n; i++)
        state->slots[rows[i].slot].is_named = false;
    return together;
}

static enum dg_err check_step(struct dg_net_state *state, const struct dg_net_step *step)
{
    size_t n_logits = 0;
    if (step->n_rows > state->limits.rows)
        return DG_ERR_RANGE;
    for (size_t i = 0; i < step->n_rows; i++) {
        if (!row_is_valid(state, step->rows, i))
            return DG_ERR_INVALID;
        n_logits += step->rows[i].want_logits;
    }
    if (n_logits > state->limits.logits_rows || (step->shortlist && state->shortlist.N == 0))
        return DG_ERR_RANGE;
    if (step->attention && dg_blueprint_family(&state->net->bp)->has_prompt)
        return DG_ERR_UNSUPPORTED; /* the network has no source besides the text */
    if (step->attention &&
        (step->attention_layer >= state->net->bp.decoder.n_layers || step->attention_head < -1 ||
         step->attention_head >= (int32_t)state->net->bp.decoder.H))
        return DG_ERR_RANGE;
    if (names_lane_twice(state, step->rows, step->n_rows) ||
        !slots_are_together(state, step->rows, step->n_rows))
        return DG_ERR_INVALID;
    return DG_OK;
}

/* Gives a lane the references of its parent. */
static void inherit(struct dg_net_state *state, struct net_slot *slot, const struct dg_net_row *row)
{
    const bool has_history = state->net->bp.decoder_kind == DG_DECODER_ATTENTION;
    const size_t len = state->limits.target_len;
    uint32_t *to = slot->history[!slot->turn] + row->lane * len;
    const uint32_t *from = slot->history[slot->turn] + row->parent * len;
    for (size_t i = 0; has_history && i < row->position; i++) {
        to[i] = from[i];
        state->refs[from[i]]++;
    }
    slot->length[!slot->turn][row->lane] = row->position;
}

/* Updates the histories for the rows [first, end) of one slot. */
static void settle_slot(struct dg_net_state *state, const struct dg_net_row *rows, size_t first,
                        size_t end)
{
    struct net_slot *slot = &state->slots[rows[first].slot];
    const bool has_history = state->net->bp.decoder_kind == DG_DECODER_ATTENTION;
    for (size_t i = first; i < end; i++)
        if (starts_run(rows, i))
            inherit(state, slot, &rows[i]);
    for (size_t lane = 0; lane < slot->n_lanes; lane++)
        dg_net_drop_history(state, slot, slot->turn, lane);
    slot->turn = !slot->turn;
    for (size_t i = first; i < end; i++) {
        uint32_t *history = slot->history[slot->turn] + rows[i].lane * state->limits.target_len;
        if (has_history)
            history[rows[i].position] = dg_net_take_position(state);
        slot->length[slot->turn][rows[i].lane] = rows[i].position + 1;
        state->row_at[i] = history;
    }
}

static void settle(struct dg_net_state *state, const struct dg_net_step *step)
{
    for (size_t first = 0, end; first < step->n_rows; first = end) {
        for (end = first + 1; end < step->n_rows && step->rows[end].slot == step->rows[first].slot;)
            end++;
        settle_slot(state, step->rows, first, end);
    }
}

/* Divides the rows into groups of lanes that attend to their histories together. */
static void group_lanes(struct dg_net_state *state, const struct dg_net_step *step)
{
    const struct dg_net_row *rows = step->rows;
    state->n_lane_groups = 0;
    for (size_t m = 0, k; m < step->n_rows; m += k) {
        uint32_t n_shared = rows[m].position;
        for (k = 1; k < DG_ATTEND_QUERIES && m + k < step->n_rows &&
                    rows[m + k].slot == rows[m].slot && rows[m + k].position == rows[m].position;
             k++) {
            uint32_t same = 0;
            while (same < n_shared && state->row_at[m][same] == state->row_at[m + k][same])
                same++;
            n_shared = same;
        }
        state->lanes[state->n_lane_groups++] = (struct net_lanes){(uint32_t)k, n_shared};
    }
}

/* ---- Layers ---------------------------------------------------------------------------------- */

static void self_attention(struct dg_net_state *state, const struct net_decoder_layer *layer,
                           const struct dg_net_step *step, size_t at_layer)
{
    const size_t D = state->net->bp.D, M = step->n_rows;
    dg_net_qkv(state, &layer->self_norm, &layer->qkv, &layer->kv, 0, M);
    for (size_t m = 0; m < M; m++)
        dg_net_keep(state, at_layer, state->row_at[m][step->rows[m].position],
                    state->wide + m * 3 * D + D);
    for (size_t i = 0, m = 0; i < state->n_lane_groups; m += state->lanes[i++].n) {
        const struct net_lanes *lanes = &state->lanes[i];
        dg_net_attend(state, at_layer, state->z + m * D, state->wide + m * 3 * D, 3 * D, lanes->n,
                      state->row_at + m, lanes->n_shared, step->rows[m].position + 1,
                      &layer->relative);
    }
    dg_net_linear(state, state->x, D, state->z, D, M, &layer->o, DG_OP_NONE, state->x);
    dg_net_leave(state, &layer->self_norm, M);
}

/* Stores, for query `query` of the last attention, one head's probabilities over the source or the
 * mean of all heads. */
static void keep_attention(struct dg_net_state *state, size_t row, size_t query, size_t S,
                           int32_t head)
{
    const size_t H = state->net->bp.decoder.H;
    const float *scores = state->scores + query * H * S;
    float *out = state->attention + row * state->limits.source_len;
    if (head >= 0) {
        memcpy(out, scores + (size_t)head * S, S * sizeof *out);
        return;
    }
    for (size_t s = 0; s < S; s++) {
        float sum = 0.0f;
        for (size_t h = 0; h < H; h++)
            sum += scores[h * S + s];
        out[s] = sum / (float)H;
    }
}

static void cross_attention(struct dg_net_state *state, const struct net_decoder_layer *layer,
                            const struct dg_net_step *step, size_t at_layer)
{
    const size_t D = state->net->bp.D, M = step->n_rows;
    const float *in = dg_net_enter(state, &layer->cross_norm, M);
    dg_net_linear(state, state->wide, D, in, D, M, &layer->cross_q, DG_OP_NONE, NULL);
    for (size_t m = 0, Q; m < M; m += Q) {
        const struct net_slot *slot = &state->slots[step->rows[m].slot];
        for (Q = 1;
             Q < DG_ATTEND_QUERIES && m + Q < M && step->rows[m + Q].slot == step->rows[m].slot;)
            Q++;
        const uint32_t *at[DG_ATTEND_QUERIES];
        for (size_t i = 0; i < Q; i++)
            at[i] = slot->source_at;
        dg_net_attend(state, at_layer, state->z + m * D, state->wide + m * D, D, Q, at,
                      slot->n_source, slot->n_source, NULL);
        for (size_t i = 0; i < Q && step->attention && step->attention_layer == at_layer; i++)
            keep_attention(state, m + i, i, slot->n_source, step->attention_head);
    }
    dg_net_linear(state, state->x, D, state->z, D, M, &layer->cross_o, DG_OP_NONE, state->x);
    dg_net_leave(state, &layer->cross_norm, M);
}

/* ---- The step -------------------------------------------------------------------------------- */

/* Computes the logits of the rows that want them, gathered so that the product runs once. */
static void project(struct dg_net_state *state, const struct dg_net_step *step)
{
    const size_t D = state->net->bp.D;
    size_t n = 0;
    for (size_t m = 0; m < step->n_rows; m++) {
        state->row_logits[m] = step->rows[m].want_logits && !step->take ? (uint32_t)n : NET_NONE;
        if (!step->rows[m].want_logits)
            continue;
        state->logits_row[n] = (uint32_t)m;
        if (n != m)
            memcpy(state->x + n * D, state->x + m * D, D * sizeof(float));
        n++;
    }
    const struct dg_packed *w = step->shortlist ? &state->shortlist : &state->net->output;
    if (n > 0 && step->take)
        dg_net_linear_parts(state, state->logits, state->ld_logits, state->x, D, n, w, step->take,
                            step->take_ctx, state->logits_row);
    else if (n > 0)
        dg_net_linear(state, state->logits, state->ld_logits, state->x, D, n, w, DG_OP_NONE, NULL);
}

/* Computes the input of the output matrix from the rows' tokens. */
void dg_net_layers_step(struct dg_net_state *state, const struct dg_net_step *step)
{
    const struct dg_net *net = state->net;
    const size_t M = step->n_rows;
    for (size_t m = 0; m < M; m++)
        dg_net_embed(state, &net->target, state->x + m * net->bp.D, step->rows[m].token,
                     step->rows[m].position);
    for (size_t i = 0; i < net->bp.decoder.n_layers; i++) {
        const struct net_decoder_layer *layer = &net->decoder_layers[i];
        if (net->bp.decoder_kind == DG_DECODER_ATTENTION)
            self_attention(state, layer, step, i);
        else
            dg_net_cell(state, layer, step, i);
        cross_attention(state, layer, step, i);
        dg_net_ffn(state, &layer->ffn, M);
    }
    if (net->decoder_norm.gain)
        dg_net_norm(state, &net->decoder_norm, state->x, state->x, M);
}

enum dg_err dg_net_step(struct dg_net_state *state, const struct dg_net_step *step)
{
    const struct dg_net *net = state->net;
    const size_t M = step->n_rows;
    enum dg_err err =
        dg_net_families[net->bp.family].step ? check_step(state, step) : DG_ERR_INVALID;
    if (err || M == 0)
        return err;
    settle(state, step);
    if (net->bp.decoder_kind == DG_DECODER_ATTENTION)
        group_lanes(state, step);
    dg_net_families[net->bp.family].step(state, step);
    project(state, step);
    state->n_rows = M;
    state->n_encoded = 0;
    state->has_attention = step->attention;
    return DG_OK;
}

float *dg_net_logits(struct dg_net_state *state, size_t row)
{
    if (row >= state->n_rows || state->row_logits[row] == NET_NONE)
        return NULL;
    return state->logits + state->row_logits[row] * state->ld_logits;
}

const float *dg_net_attention(const struct dg_net_state *state, size_t row)
{
    if (row >= state->n_rows || !state->has_attention)
        return NULL;
    return state->attention + row * state->limits.source_len;
}

enum dg_err dg_net_add_shortlist(struct dg_net_state *state, const int32_t *ids, size_t n)
{
    const struct dg_packed *output = &state->net->output;
    struct dg_packed *list = &state->shortlist;
    const size_t first = list->N;
    if (n > state->limits.shortlist - first)
        return DG_ERR_RANGE;
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= output->N)
            return DG_ERR_RANGE;
    list->N = first + n;
    for (size_t i = 0; i < n; i++)
        dg_packed_copy_channel(list, first + i, output, (size_t)ids[i]);
    dg_packed_clear_tail(list);
    return DG_OK;
}

enum dg_err dg_net_set_shortlist(struct dg_net_state *state, const int32_t *ids, size_t n)
{
    const size_t before = state->shortlist.N;
    state->shortlist.N = 0;
    const enum dg_err err = dg_net_add_shortlist(state, ids, n);
    if (err)
        state->shortlist.N = before;
    return err;
}
