/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The blocks that encoder and decoder share: embedding, norms, the feed-forward layer.
 *
 * The stream is state->x [M, D]. A sub-layer f reads `in` and updates x:
 *
 *     post-norm:  in = x            x = norm(x + f(in))
 *     pre-norm:   in = y = norm(x)  x = x + f(in)
 *
 * The last product of f adds the residual. */
#include "network/net_int.h"

#include <math.h>
#include <string.h>

enum {
    PART_LEAST = 1 << 18, /* the fewest multiplications for which waking another thread is
                             worthwhile */
    /* the most multiplications of a part, so that a thread is soon free for other work */
    PART_MOST = 1 << 23,
    WINDOW = DG_VOCABULARY_BLOCK + 64, /* floats between the rows of parts of logits */
    WINDOW_AHEAD = 256 << 10,          /* bytes of weights that are fetched ahead; measured:
                                          docs/speed-log.md, 2026-11-26 */
    /* parts of a product for each thread, so that a thread that comes late takes fewer of them */
    PARTS_EACH = 4,
};

void dg_net_norm(const struct dg_net_state *state, const struct net_norm *norm, float *out,
                 const float *x, size_t M)
{
    const struct dg_net *net = state->net;
    const float *bias = net->bp.norm_kind == DG_NORM_RMS ? NULL : norm->bias;
    net->kernels->norm(out, x, norm->gain, bias, M, net->bp.D, net->bp.norm_epsilon);
}

const float *dg_net_enter_rows(struct dg_net_state *state, const struct net_norm *norm,
                               size_t first, size_t n)
{
    const size_t D = state->net->bp.D;
    if (state->net->bp.norm_place == DG_NORM_POST)
        return state->x + first * D;
    dg_net_norm(state, norm, state->y, state->x + first * D, n);
    return state->y;
}

const float *dg_net_enter(struct dg_net_state *state, const struct net_norm *norm, size_t M)
{
    return dg_net_enter_rows(state, norm, 0, M);
}

void dg_net_leave_rows(struct dg_net_state *state, const struct net_norm *norm, size_t first,
                       size_t n)
{
    float *x = state->x + first * state->net->bp.D;
    if (state->net->bp.norm_place == DG_NORM_POST)
        dg_net_norm(state, norm, x, x, n);
}

void dg_net_leave(struct dg_net_state *state, const struct net_norm *norm, size_t M)
{
    dg_net_leave_rows(state, norm, 0, M);
}

/* ---- Products -------------------------------------------------------------------------------- */

/* A product whose columns several threads compute. */
struct product {
    struct dg_net_state *state;
    float *out;
    const float *x, *residual;
    size_t ld_out, ld_x, M;
    const struct dg_packed *w;
    enum dg_op_act act;
    size_t width; /* columns of a part */
};

static void compute_part(void *ctx, size_t part)
{
    const struct product *p = ctx;
    const size_t first = part * p->width, left = p->w->N - first;
    p->state->net->kernels->linear_columns(p->out, p->ld_out, p->x, p->ld_x, p->M, p->w, p->act,
                                           p->residual, p->state->net->bp.D, p->state->scratch,
                                           first, first + (left < p->width ? left : p->width));
}

/* Returns the number of parts to divide a product into; below 2 without helpers or if the product
 * is too small. All threads get the same number of parts, unless that would make the parts too
 * large. */
static size_t n_parts(const struct dg_net_state *state, const struct dg_packed *w, size_t M)
{
    const size_t n_helpers = state->helpers && state->net->kernels->linear_columns
                                 ? dg_helpers_count(state->helpers)
                                 : 0;
    if (n_helpers == 0)
        return 1;
    const size_t work = M * w->K * w->N, n_threads = n_helpers + 1, worth = work / PART_LEAST;
    if (worth <= n_threads)
        return worth;
    const size_t each = worth / n_threads < PARTS_EACH ? worth / n_threads : PARTS_EACH;
    const size_t n = work / PART_MOST > each * n_threads ? work / PART_MOST : each * n_threads;
    return n < DG_HELPERS_PARTS_MAX ? n : DG_HELPERS_PARTS_MAX;
}

bool dg_net_is_divisible(const struct dg_net *net)
{
    const size_t words = net->output.N * net->output.K, inner = net->bp.D * net->bp.encoder.F;
    return net->kernels->linear_columns && (words > inner ? words : inner) >= 4 * PART_LEAST;
}

void dg_net_linear(struct dg_net_state *state, float *out, size_t ld_out, const float *x,
                   size_t ld_x, size_t M, const struct dg_packed *w, enum dg_op_act act,
                   const float *residual)
{
    const size_t n = n_parts(state, w, M);
    if (n > 1) {
        const size_t n_panels = (w->N + w->panel - 1) / w->panel;
        struct product product = {state, out, x, residual, ld_out,
                                  ld_x,  M,   w, act,      (n_panels + n - 1) / n * w->panel};
        state->net->kernels->linear_begin(x, ld_x, M, w, state->scratch);
        dg_helpers_run(state->helpers, compute_part, &product,
                       (w->N + product.width - 1) / product.width);
        return;
    }
    state->net->kernels->linear(out, ld_out, x, ld_x, M, w, act, residual, state->net->bp.D,
                                state->scratch);
}

static size_t part_at(size_t first, size_t N)
{
    return N - first < DG_VOCABULARY_BLOCK ? N - first : DG_VOCABULARY_BLOCK;
}

/* The parts of all rows lie in a window of `out` that moves on with the columns: row m's column n
 * is at m * WINDOW + n. A product ends at the end of a panel, a little after the part. While the
 * rows of a part are taken, the weights of the next part are fetched into the second-level
 * cache. */
static void in_window(struct dg_net_state *state, float *out, const float *x, size_t ld_x, size_t M,
                      const struct dg_packed *w, dg_net_take_fn *take, void *ctx,
                      const uint32_t *rows)
{
    const struct dg_kernels *kernels = state->net->kernels;
    const size_t ahead = (WINDOW_AHEAD / M + 63) & ~(size_t)63;
    kernels->linear_begin(x, ld_x, M, w, state->scratch);
    for (size_t first = 0, done = 0; first < w->N; first += DG_VOCABULARY_BLOCK) {
        const size_t n = part_at(first, w->N);
        if (done < first + n) {
            const size_t stop = (first + n + w->panel - 1) / w->panel * w->panel;
            const size_t end = stop < w->N ? stop : w->N;
            kernels->linear_columns(out, WINDOW, x, ld_x, M, w, DG_OP_NONE, NULL, 0, state->scratch,
                                    done, end);
            done = end;
        }
        const char *weights = w->data;
        const size_t next = dg_packed_offset(w, done), last = dg_packed_offset(w, w->N - 1);
        for (size_t m = 0; m < M; m++) {
            for (size_t i = next + m * ahead; i < next + (m + 1) * ahead && i < last; i += 64)
                __builtin_prefetch(weights + i, 0, 2);
            take(ctx, rows[m], out + m * WINDOW + first, first, n);
        }
    }
}

void dg_net_linear_parts(struct dg_net_state *state, float *out, size_t ld_out, const float *x,
                         size_t ld_x, size_t M, const struct dg_packed *w, dg_net_take_fn *take,
                         void *ctx, const uint32_t *rows)
{
    if (M >= DG_NET_TAKE_ROWS && w->N >= 2 * WINDOW && w->panel <= WINDOW - DG_VOCABULARY_BLOCK &&
        state->net->kernels->linear_columns && n_parts(state, w, M) == 1) {
        in_window(state, out, x, ld_x, M, w, take, ctx, rows);
        return;
    }
    dg_net_linear(state, out, ld_out, x, ld_x, M, w, DG_OP_NONE, NULL);
    for (size_t m = 0; m < M; m++)
        for (size_t first = 0; first < w->N; first += DG_VOCABULARY_BLOCK)
            take(ctx, rows[m], out + m * ld_out + first, first, part_at(first, w->N));
}

const float *dg_net_position(const struct dg_net_state *state,
                             const struct net_embedding *embedding, size_t position)
{
    const struct dg_blueprint *bp = &state->net->bp;
    if (bp->positions == DG_POS_NONE || bp->positions == DG_POS_ROTARY)
        return NULL;
    if (!embedding->positions)
        return state->positions + position * bp->D;
    size_t row = position + bp->position_offset;
    row = row < bp->n_positions ? row : bp->n_positions - 1;
    return embedding->positions + row * bp->D;
}

void dg_net_embed(struct dg_net_state *state, const struct net_embedding *embedding, float *x,
                  int32_t id, size_t position)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D;
    float *row = state->z; /* free at this point, because nothing has been computed yet */
    if (id == DG_ID_NONE)
        memset(row, 0, D * sizeof *row);
    else
        dg_packed_row(embedding->rows, (size_t)id, row);
    net->kernels->embed(x, row, net->bp.embedding_scale,
                        dg_net_position(state, embedding, position), D);
    if (embedding->norm.gain)
        dg_net_norm(state, &embedding->norm, x, x, 1);
}

void dg_net_qkv(struct dg_net_state *state, const struct net_norm *norm,
                const struct dg_packed *qkv, const struct dg_packed *kv, size_t first, size_t n)
{
    const size_t D = state->net->bp.D;
    float *out = state->wide + first * 3 * D;
    dg_net_linear(state, out, 3 * D, dg_net_enter_rows(state, norm, first, n), D, n, qkv,
                  DG_OP_NONE, NULL);
    if (state->net->bp.norm_queries_only)
        dg_net_linear(state, out + D, 3 * D, state->x + first * D, D, n, kv, DG_OP_NONE, NULL);
}

/* ---- Cached keys and values ------------------------------------------------------------------ */

static void *kv_at(const struct dg_net_state *state, size_t layer, size_t at)
{
    return state->kv + (layer * state->limits.kv_tokens + at) * state->kv_bytes;
}

void dg_net_keep(struct dg_net_state *state, size_t layer, uint32_t at, const float *from)
{
    const struct dg_net *net = state->net;
    void *record = kv_at(state, layer, at);
    switch (state->kv_type) {
    case DG_KV_F32:
        memcpy(record, from, 2 * net->kv_width * sizeof *from);
        break;
    case DG_KV_F16:
        net->kernels->store_f16(record, from, 2 * net->kv_width);
        break;
    case DG_KV_I8:
        net->kernels->store_i8(record, from, net->kv_heads, net->kv_width / net->kv_heads);
        break;
    }
}

const float *dg_net_kept(const struct dg_net_state *state, size_t layer, uint32_t at)
{
    return kv_at(state, layer, at);
}

void dg_net_attend(struct dg_net_state *state, size_t layer, float *out, const float *q,
                   size_t ld_q, size_t Q, const uint32_t *const *at, size_t n_shared, size_t n,
                   const struct dg_relative *relative)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D, H = net->bp.decoder.H;
    const bool is_relative = relative && relative->reach;
    const size_t step = is_relative ? 1 : Q;
    for (size_t i = 0; i < Q; i += step)
        net->kernels->attend(&(struct dg_attention){.type = state->kv_type,
                                                    .kv = kv_at(state, layer, 0),
                                                    .stride = state->kv_bytes,
                                                    .at = at + i,
                                                    .n = n,
                                                    .n_shared = n_shared,
                                                    .Q = step,
                                                    .H = H,
                                                    .dh = D / H,
                                                    .q = q + i * ld_q,
                                                    .ld_q = ld_q,
                                                    .out = out + i * D,
                                                    .ld_out = D,
                                                    .scale = 1.0f / sqrtf((float)(D / H)),
                                                    .weights = state->scores,
                                                    .scratch = state->attend_scratch,
                                                    .relative = is_relative ? relative : NULL,
                                                    .self = n - 1});
}

/* ---- Feed-forward ---------------------------------------------------------------------------- */

void dg_net_ffn_rows(struct dg_net_state *state, const struct net_ffn *ffn, size_t first,
                     size_t n_rows)
{
    const struct dg_net *net = state->net;
    const size_t D = net->bp.D, F = ffn->fc1.N;
    const float *in = dg_net_enter_rows(state, &ffn->norm, first, n_rows);
    float *x = state->x + first * D;
    for (size_t m = 0; m < n_rows; m += state->ffn_rows) {
        const size_t n = n_rows - m < state->ffn_rows ? n_rows - m : state->ffn_rows;
        dg_net_linear(state, state->wide, F, in + m * D, D, n, &ffn->fc1, net->act, NULL);
        dg_net_linear(state, x + m * D, D, state->wide, F, n, &ffn->fc2, DG_OP_NONE, x + m * D);
    }
    dg_net_leave_rows(state, &ffn->norm, first, n_rows);
}

void dg_net_ffn(struct dg_net_state *state, const struct net_ffn *ffn, size_t M)
{
    dg_net_ffn_rows(state, ffn, 0, M);
}
