/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A worker's memory and its slots.
 *
 * The pool of cached positions is one array; a position is an index into it, taken from a stack of
 * free ones. When a slot opens, its worst case (source + lanes * target_len) is reserved, so that a
 * step cannot run out. The slot holds fewer positions than that: those that no living lane refers
 * to go back to the stack at once. The part of the pool that was never used is never touched, so it
 * is not resident. */
#include "network/net_int.h"

#include "base/memory/bounds.h"
#include "base/memory/mem.h"

#include <math.h>
#include <string.h>

const char *const dg_net_kv_words[] = {"auto", "f32", "f16", "i8", NULL};

enum { ENCODE_TOKENS = 256, FFN_ROWS = 128 };

/* ---- Sizes ----------------------------------------------------------------------------------- */

static enum dg_err fill_limits(struct dg_net_limits *l, const struct dg_net *net,
                               struct dg_error *error)
{
    const size_t len_max = 1 << 20, rows_max = 1 << 20;
    if (l->slots < 1 || l->slots > 65536 || l->lanes < 1 || l->lanes > 1024 || l->rows < 1 ||
        l->rows > rows_max || l->source_len < 1 || l->source_len > len_max || l->target_len < 1 ||
        l->target_len > len_max || l->kv_tokens >= NET_NONE || l->encode_tokens > rows_max ||
        l->logits_rows > rows_max || l->shortlist > len_max * 16)
        return dg_error_set(
            error, DG_ERR_RANGE,
            "the limits of a worker are out of range: %zu slots, %zu lanes, %zu rows, "
            "source %zu, target %zu, %zu cached positions",
            l->slots, l->lanes, l->rows, l->source_len, l->target_len, l->kv_tokens);
    if (!l->kv_tokens)
        /* less than 2^47, so it cannot overflow */
        l->kv_tokens = l->slots * (l->source_len + l->lanes * l->target_len);
    if (l->kv_tokens >= NET_NONE)
        return dg_error_set(error, DG_ERR_RANGE, "%zu cached positions are too many for one worker",
                            l->kv_tokens);
    l->encode_tokens = l->encode_tokens ? l->encode_tokens : ENCODE_TOKENS;
    if (!dg_blueprint_family(&net->bp)->has_prompt) /* a prompt may be computed in parts, a sentence
                                                       may not */
        l->encode_tokens = dg_most(l->encode_tokens, l->source_len);
    const struct dg_family_facts *family = dg_blueprint_family(&net->bp);
    if (family->is_recurrent || family->has_head) /* only one record is kept for each token, so
                                                     there is nothing to save */
        l->kv = DG_NET_KV_F32;
    else if (l->kv == DG_NET_KV_AUTO)
        l->kv = net->type >= DG_PACKED_BF16_FAST ? DG_NET_KV_F16 : DG_NET_KV_F32;
    l->logits_rows = l->logits_rows ? dg_least(l->logits_rows, l->rows) : l->rows;
    return DG_OK;
}

static void carve_slots(struct dg_net_state *state, struct net_carve *carve)
{
    const struct dg_net_limits *l = &state->limits;
    state->slots = dg_net_carve(carve, l->slots, sizeof *state->slots);
    if (carve->base)
        memset(state->slots, 0, l->slots * sizeof *state->slots);
    for (size_t i = 0; i < l->slots; i++) {
        struct net_slot slot = {.is_open = false};
        slot.source_at = dg_net_carve(carve, l->source_len, sizeof(uint32_t));
        for (int turn = 0; turn < 2; turn++) {
            slot.history[turn] = dg_net_carve(carve, l->lanes * l->target_len, sizeof(uint32_t));
            slot.length[turn] = dg_net_carve(carve, l->lanes, sizeof(uint32_t));
        }
        if (carve->base)
            state->slots[i] = slot;
    }
}

static void carve_cache(struct dg_net_state *state, struct net_carve *carve)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const struct dg_net_limits *l = &state->limits;
    const struct dg_net *net = state->net;
    const size_t n_layers = bp->decoder.n_layers; /* at most 64 */
    state->kv_bytes = dg_kv_bytes(state->kv_type, net->kv_heads, net->kv_width / net->kv_heads);
    state->kv = dg_net_carve(carve, l->kv_tokens, net->kv_layers * state->kv_bytes);
    state->free_at = dg_net_carve(carve, l->kv_tokens, sizeof(uint32_t));
    state->refs = dg_net_carve(carve, l->kv_tokens, sizeof(uint32_t));
    if (net->cell_width)
        state->cells = dg_net_carve(carve, 2 * n_layers * l->slots * l->lanes,
                                    net->cell_width * sizeof(float));
}

static void carve_work(struct dg_net_state *state, struct net_carve *carve)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const struct dg_net_limits *l = &state->limits;
    const size_t D = bp->D, H = dg_most(bp->encoder.H, bp->decoder.H);
    const size_t F = dg_most(dg_most(bp->encoder.F, bp->decoder.F), bp->aan_F);
    const bool is_lm = dg_blueprint_family(bp)->has_prompt;
    const size_t A = is_lm ? bp->decoder.H * bp->lm.head : D; /* the width of attention */
    const size_t longest =
        is_lm ? l->source_len + l->target_len : dg_most(l->source_len, l->target_len);
    const size_t kv_heads = state->net->kv_heads;
    state->kv_type = l->kv == DG_NET_KV_I8    ? DG_KV_I8
                     : l->kv == DG_NET_KV_F16 ? DG_KV_F16
                                              : DG_KV_F32;
    const size_t qkv = is_lm ? A + 2 * state->net->kv_width : 3 * D;
    state->work_rows = dg_most(l->rows, l->encode_tokens);
    state->ffn_rows = dg_least(state->work_rows, FFN_ROWS);
    if (dg_blueprint_has_sinusoids(bp))
        state->positions = dg_net_carve(carve, longest, D * sizeof(float));
    state->x = dg_net_carve(carve, state->work_rows, D * sizeof(float));
    state->y = dg_net_carve(carve, state->work_rows, D * sizeof(float));
    state->z = dg_net_carve(carve, state->work_rows, D * sizeof(float));
    state->wide_len =
        dg_most(state->work_rows * qkv, dg_most(state->ffn_rows, 2) * F * (bp->lm.gated ? 2 : 1));
    state->wide = dg_net_carve(carve, state->wide_len, sizeof(float));
    state->scores = dg_net_carve(carve, DG_ATTEND_QUERIES * H * longest, sizeof(float));
    const size_t head = is_lm ? bp->lm.head : bp->encoder.H ? D / bp->encoder.H : 0;
    state->attend_scratch =
        dg_net_carve(carve,
                     dg_most(dg_attention_scratch(state->kv_type, longest, kv_heads,
                                                  state->net->kv_width / kv_heads),
                             head ? dg_attend_rows_scratch(l->source_len, head) : 0),
                     sizeof(float));
    state->ld_logits = (bp->decoder.V + 15) & ~(size_t)15;
    state->logits = dg_net_carve(carve, l->logits_rows, state->ld_logits * sizeof(float));
    state->attention = dg_net_carve(carve, l->rows * l->source_len, sizeof(float));
    state->row_logits = dg_net_carve(carve, l->rows, sizeof *state->row_logits);
    state->logits_row = dg_net_carve(carve, l->rows, sizeof *state->logits_row);
    state->row_at = dg_net_carve(carve, l->rows, sizeof *state->row_at);
    state->lanes = dg_net_carve(carve, l->rows, sizeof *state->lanes);
    state->encoded_first = dg_net_carve(carve, l->slots, sizeof *state->encoded_first);
    state->encoded_len = dg_net_carve(carve, l->slots, sizeof *state->encoded_len);
    if (dg_net_families[bp->family].carve)
        dg_net_families[bp->family].carve(state, carve);
    const size_t inner =
        dg_most(F, dg_most(2 * bp->rnn.width, bp->family == DG_FAMILY_SEQ ? 2 * D : D));
    const struct dg_packed exact = {.type = DG_PACKED_F32, .K = dg_most(D, inner)};
    const struct dg_packed widest = {.type = state->net->type, .K = dg_most(dg_most(D, A), inner)};
    state->scratch = dg_net_carve(carve,
                                  dg_most(dg_packed_scratch(&exact, state->work_rows),
                                          dg_packed_scratch(&widest, state->work_rows)),
                                  1);
}

static void carve_shortlist(struct dg_net_state *state, struct net_carve *carve)
{
    struct dg_packed *list = &state->shortlist;
    size_t data_bytes = 0, channel_bytes = 0;
    *list = state->net->output;
    list->N = state->limits.shortlist;
    if (!dg_packed_sizes(list, &data_bytes, &channel_bytes))
        carve->overflow = true;
    list->data = dg_net_carve(carve, data_bytes, 1);
    const bool is_hollow = !state->net->block; /* a hollow network has no pointers, so everything
                                                  that it could have is counted */
    if (list->bias || is_hollow)
        list->bias = dg_net_carve(carve, channel_bytes, 1);
    if (list->scale || (is_hollow && list->type == DG_PACKED_I8)) {
        list->scale = dg_net_carve(carve, channel_bytes, 1);
        list->sum = dg_net_carve(carve, channel_bytes, 1);
    }
    list->N = 0;
}

static void carve_all(struct dg_net_state *state, struct net_carve *carve)
{
    carve_slots(state, carve);
    carve_work(state, carve);
    carve_shortlist(state, carve);
    carve_cache(state, carve); /* last, because this part is touched only as far as it is used */
}

/* ---- The object ------------------------------------------------------------------------------ */

enum dg_err dg_net_state_size(const struct dg_net *net, const struct dg_net_limits *limits,
                              size_t *bytes, struct dg_error *error)
{
    struct dg_net_state counted = {.net = net, .limits = *limits};
    struct net_carve carve = {.base = NULL};
    enum dg_err err = fill_limits(&counted.limits, net, error);
    if (err)
        return err;
    carve_all(&counted, &carve);
    if (carve.overflow || carve.used > SIZE_MAX / 2)
        return dg_error_set(error, DG_ERR_RANGE,
                            "the limits of a worker ask for more memory than exists");
    *bytes = carve.used + sizeof counted;
    return DG_OK;
}

/* Fills in the rows of the sinusoids, which are computed in double and stored in float. */
static void fill_positions(struct dg_net_state *state)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const size_t D = bp->D, half = D / 2;
    const size_t longest = dg_most(state->limits.source_len, state->limits.target_len);
    for (size_t p = 0; state->positions && p < longest; p++)
        for (size_t k = 0; k < half; k++) {
            float *row = state->positions + p * D;
            const double angle = (double)(p + bp->position_offset) * state->net->frequencies[k];
            const bool interleaved = bp->positions == DG_POS_INTERLEAVED;
            row[interleaved ? 2 * k : k] = (float)sin(angle);
            row[interleaved ? 2 * k + 1 : half + k] = (float)cos(angle);
        }
}

enum dg_err dg_net_state_new(struct dg_net_state **out, const struct dg_net *net,
                             const struct dg_net_limits *limits, struct dg_error *error)
{
    size_t bytes;
    enum dg_err err = dg_net_state_size(net, limits, &bytes, error);
    if (err)
        return err;
    struct dg_net_state *state = dg_try_calloc(1, sizeof *state);
    void *block = dg_try_aligned(bytes - sizeof *state);
    if (!state || !block) {
        dg_free(state);
        dg_free(block);
        return dg_error_set(error, DG_ERR_NOMEM,
                            "no memory for a worker's caches (%zu bytes); lower its limits", bytes);
    }
    *state =
        (struct dg_net_state){.net = net, .limits = *limits, .block = block, .block_bytes = bytes};
    struct net_carve carve = {.base = block};
    err = fill_limits(&state->limits, net, error); /* checked by dg_net_state_size */
    carve_all(state, &carve);
    fill_positions(state);
    if (dg_blueprint_family(&net->bp)->has_prompt)
        dg_net_lm_fill(state);
    /* low indices are taken first, so that memory is touched in order */
    for (size_t i = 0; i < state->limits.kv_tokens; i++)
        state->free_at[i] = (uint32_t)(state->limits.kv_tokens - 1 - i);
    state->n_free = state->limits.kv_tokens;
    *out = state;
    return err;
}

void dg_net_state_free(struct dg_net_state *state)
{
    if (!state)
        return;
    dg_free(state->block);
    dg_free(state);
}

void dg_net_state_lend(struct dg_net_state *state, struct dg_helpers *helpers)
{
    state->helpers = helpers;
}

const struct dg_net *dg_net_state_net(const struct dg_net_state *state)
{
    return state->net;
}

const struct dg_net_limits *dg_net_state_limits(const struct dg_net_state *state)
{
    return &state->limits;
}

/* ---- Slots ----------------------------------------------------------------------------------- */

size_t dg_net_need(const struct dg_net_state *state, size_t n_source, size_t n_lanes,
                   size_t target_len)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const bool caches_target =
        bp->decoder_kind == DG_DECODER_ATTENTION && !dg_blueprint_family(bp)->has_head;
    return n_source + (caches_target ? n_lanes * target_len : 0);
}

size_t dg_net_room(const struct dg_net_state *state)
{
    return state->limits.kv_tokens - state->n_promised;
}

size_t dg_net_position_bytes(const struct dg_net_state *state)
{
    return state->net->kv_layers * state->kv_bytes;
}

enum dg_err dg_net_open(struct dg_net_state *state, size_t slot_at, size_t n_source, size_t n_lanes,
                        size_t target_len)
{
    const struct dg_net_limits *l = &state->limits;
    if (slot_at >= l->slots || state->slots[slot_at].is_open || n_source < 1 ||
        n_source > l->source_len || n_lanes < 1 || n_lanes > l->lanes || target_len < 1 ||
        target_len > l->target_len)
        return DG_ERR_RANGE;
    if (dg_blueprint_family(&state->net->bp)->has_prompt &&
        n_source - 1 + target_len > state->net->bp.lm.context)
        return DG_ERR_RANGE;
    const size_t need = dg_net_need(state, n_source, n_lanes, target_len);
    if (need > dg_net_room(state))
        return DG_ERR_BUSY;
    struct net_slot *slot = &state->slots[slot_at];
    state->n_promised += need;
    dg_net_prefix_give_way(state);
    slot->is_open = true;
    slot->is_encoded = slot->is_shared = false;
    slot->n_filled = 0;
    slot->n_source = (uint32_t)n_source;
    slot->n_lanes = (uint32_t)n_lanes;
    slot->target_len = (uint32_t)target_len;
    slot->turn = 0;
    for (int turn = 0; turn < 2; turn++)
        memset(slot->length[turn], 0, n_lanes * sizeof(uint32_t));
    for (size_t i = 0; i < n_source; i++)
        slot->source_at[i] = dg_net_take_position(state);
    return DG_OK;
}

void dg_net_close(struct dg_net_state *state, size_t slot_at)
{
    if (slot_at >= state->limits.slots || !state->slots[slot_at].is_open)
        return;
    struct net_slot *slot = &state->slots[slot_at];
    for (size_t lane = 0; lane < slot->n_lanes; lane++)
        dg_net_drop_history(state, slot, slot->turn, lane);
    for (size_t i = slot->n_source; i-- > 0;)
        dg_net_drop_position(state, slot->source_at[i]);
    state->n_promised -= dg_net_need(state, slot->n_source, slot->n_lanes, slot->target_len);
    slot->is_open = false;
}

uint32_t dg_net_take_position(struct dg_net_state *state)
{
    const uint32_t at = state->free_at[--state->n_free]; /* one is free, because it was promised */
    state->refs[at] = 1;
    return at;
}

void dg_net_drop_position(struct dg_net_state *state, uint32_t at)
{
    if (--state->refs[at] == 0)
        state->free_at[state->n_free++] = at;
}

void dg_net_drop_history(struct dg_net_state *state, struct net_slot *slot, unsigned turn,
                         size_t lane)
{
    const uint32_t *history = slot->history[turn] + lane * state->limits.target_len;
    if (state->net->bp.decoder_kind == DG_DECODER_ATTENTION)
        for (size_t i = slot->length[turn][lane]; i-- > 0;)
            dg_net_drop_position(state, history[i]);
    slot->length[turn][lane] = 0;
}

/* ---- Poison ---------------------------------------------------------------------------------- */

static void poison(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
}

void dg_net_poison(struct dg_net_state *state)
{
    const struct dg_blueprint *bp = &state->net->bp;
    const size_t D = bp->D, longest = dg_most(state->limits.source_len, state->limits.target_len);
    for (size_t i = 0; i < state->n_free; i++)
        for (size_t layer = 0; layer < state->net->kv_layers; layer++)
            memset(state->kv +
                       (layer * state->limits.kv_tokens + state->free_at[i]) * state->kv_bytes,
                   0xff, state->kv_bytes); /* NaN in F32, in F16, and as a scale */
    poison(state->x, state->work_rows * D);
    poison(state->y, state->work_rows * D);
    poison(state->z, state->work_rows * D);
    poison(state->wide, state->wide_len);
    poison(state->scores, dg_most(bp->encoder.H, bp->decoder.H) * longest);
    poison(state->logits, state->limits.logits_rows * state->ld_logits);
    poison(state->attention, state->limits.rows * state->limits.source_len);
}
