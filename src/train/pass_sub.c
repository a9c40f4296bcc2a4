/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The sub-layers, each forward and backward side by side. For a linear layer y = x W^T + b:
 *
 *     dx = dy W        dW += dy^T x        db += column sums of dy
 *
 * Every sub-layer f begins at `enter` and ends at `leave`; on the way back they are met in the other
 * order. pass_int.h says what is kept. */
#include "tensor/gemm.h"
#include "train/pass_int.h"
#include "train/random.h"

/* ---- Norms and dropout ---------------------------------------------------------------------------- */

void dg_pass_norm(const struct dg_pass *pass, float *y, float *stats, const float *x,
                  const struct dg_norm_weights *w, size_t M)
{
    pass->k->norm(y, stats, x, pass_weight(&w->gain), pass_weight(&w->bias), M, pass->params->bp.D,
                  pass->params->bp.norm_epsilon);
}

void dg_pass_norm_back(const struct dg_pass *pass, float *dx, bool add, const float *dy, const float *x,
                       const float *stats, const struct dg_norm_weights *w, size_t M)
{
    float *dbias = dg_tensor_present(&w->bias) ? pass_gradient(pass, &w->bias) : NULL;
    pass->k->norm_back(dx, add, pass_gradient(pass, &w->gain), dbias, dy, x, stats, pass_weight(&w->gain), M,
                       pass->params->bp.D);
}

struct dg_grad_drop dg_pass_drop(const struct dg_pass *pass, float p, uint64_t site, uint64_t row)
{
    if (!pass->is_training || p <= 0.0f)
        return (struct dg_grad_drop){0};
    return (struct dg_grad_drop){
        .key = dg_random_key(pass->batch->key, site),
        .row = row,
        .threshold = (uint32_t)((double)p * 4294967296.0),
        .scale = 1.0f / (1.0f - p),
    };
}

/* ---- The frame of a sub-layer ---------------------------------------------------------------------- */

/* What f reads. */
static const float *enter(struct dg_pass *pass, struct pass_sub *sub, const struct dg_norm_weights *w,
                          const float *x, size_t M)
{
    if (pass->params->bp.norm_place == DG_NORM_POST)
        return x;
    dg_pass_norm(pass, sub->mid, sub->stats, x, w, M);
    return sub->mid;
}

/* f's output [M, D] lies in pass->dmid, which the way forward has no other use for. */
static float *leave(struct dg_pass *pass, struct pass_sub *sub, const struct dg_norm_weights *w,
                    const float *x, const struct pass_side *side, uint64_t site)
{
    const struct dg_grad_drop drop = dg_pass_drop(pass, pass->batch->dropout, site, side->row);
    const size_t D = pass->params->bp.D;
    if (pass->params->bp.norm_place == DG_NORM_PRE) {
        pass->k->drop(sub->out, x, pass->dmid, side->M, D, &drop);
    } else {
        pass->k->drop(sub->mid, x, pass->dmid, side->M, D, &drop);
        dg_pass_norm(pass, sub->out, sub->stats, sub->mid, w, side->M);
    }
    return sub->out;
}

/* dx of the sub-layer's output becomes, in pass->dmid, the gradient of f's output; what goes past f stays
 * in dx. */
static void leave_back(struct dg_pass *pass, struct pass_sub *sub, const struct dg_norm_weights *w,
                       const struct pass_side *side, uint64_t site)
{
    const struct dg_grad_drop drop = dg_pass_drop(pass, pass->batch->dropout, site, side->row);
    if (pass->params->bp.norm_place == DG_NORM_POST)
        dg_pass_norm_back(pass, pass->dx, false, pass->dx, sub->mid, sub->stats, w, side->M);
    pass->k->drop(pass->dmid, NULL, pass->dx, side->M, pass->params->bp.D, &drop);
}

/* Where the gradient of f's input goes: with post-norm it is added to dx, with pre-norm it stands in dmid
 * until enter_back. */
static float *input_gradient(struct dg_pass *pass, float *beta)
{
    const bool is_post = pass->params->bp.norm_place == DG_NORM_POST;
    *beta = is_post ? 1.0f : 0.0f;
    return is_post ? pass->dx : pass->dmid;
}

static void enter_back(struct dg_pass *pass, struct pass_sub *sub, const struct dg_norm_weights *w,
                       const float *x, size_t M)
{
    if (pass->params->bp.norm_place == DG_NORM_PRE)
        dg_pass_norm_back(pass, pass->dx, true, pass->dmid, x, sub->stats, w, M);
}

/* ---- Linear layers --------------------------------------------------------------------------------- */

/* y[M][N] = x W^T, W [N, K] that may be several matrices in a row; the bias is the caller's. */
static void multiply(float *y, const float *x, const struct dg_linear_weights *w, size_t M, size_t N, size_t K)
{
    dg_gemm_nt(y, N, x, K, pass_weight(&w->weight), K, M, N, K, 0.0f);
}

static void linear(const struct dg_pass *pass, float *y, const float *x, const struct dg_linear_weights *w,
                   size_t M, size_t N, size_t K)
{
    multiply(y, x, w, M, N, K);
    pass->k->bias_act(y, y, pass_weight(&w->bias), M, N, DG_OP_NONE);
}

/* Gradients of weight and bias; and dx = beta dx + dy W, unless dx is NULL. */
static void linear_back(const struct dg_pass *pass, float *dx, float beta, const float *dy, const float *x,
                        const struct dg_linear_weights *w, size_t M, size_t N, size_t K)
{
    dg_gemm_tn(pass_gradient(pass, &w->weight), K, dy, N, x, K, N, K, M, 1.0f);
    pass->k->column_sum(pass_gradient(pass, &w->bias), dy, M, N);
    if (dx)
        dg_gemm_nn(dx, K, dy, N, pass_weight(&w->weight), K, M, K, N, beta);
}

/* ---- Attention ------------------------------------------------------------------------------------- */

/* One sentence's share of an attention. */
struct share {
    struct dg_grad_attention a;
    size_t query, key; /* first rows */
    float *p;
};

/* Steps through the sentences of a run: false after the last. `share` begins as zeros but for the shared
 * parts, which `first` points to. */
static bool next_share(const struct dg_pass *pass, struct share *share, size_t *i, const float *q,
                       const float *k, const float *v, bool query_is_target, bool key_is_target)
{
    if (*i > 0) {
        share->query += share->a.T;
        share->key += share->a.S;
        share->p += share->a.H * share->a.T * share->a.S;
    }
    if (*i == pass->batch->n)
        return false;
    const struct dg_example *example = &pass->batch->examples[(*i)++];
    share->a.T = query_is_target ? example->n_target : example->n_source;
    share->a.S = key_is_target ? example->n_target : example->n_source;
    share->a.q = q + share->query * share->a.ld_q;
    share->a.k = k + share->key * share->a.ld_kv;
    share->a.v = v + share->key * share->a.ld_kv;
    return true;
}

static struct share first_share(const struct dg_pass *pass, size_t ld_q, size_t ld_kv, size_t H, bool causal,
                                float *p)
{
    return (struct share){
        .a = {.ld_q = ld_q, .ld_kv = ld_kv, .H = H, .dh = pass->params->bp.D / H, .causal = causal},
        .p = p,
    };
}

static struct pass_side *side_of(struct dg_pass *pass, bool is_target)
{
    return is_target ? &pass->target : &pass->source;
}

static size_t heads(const struct dg_pass *pass, bool is_target)
{
    return is_target ? pass->params->bp.decoder.H : pass->params->bp.encoder.H;
}

float *dg_pass_self(struct dg_pass *pass, struct pass_attention *kept,
                    const struct dg_attention_weights *w, const float *x, bool is_target, uint64_t site)
{
    const struct pass_side *side = side_of(pass, is_target);
    const size_t D = pass->params->bp.D, M = side->M;
    const float *in = enter(pass, &kept->sub, &w->norm, x, M);
    linear(pass, kept->wide, in, &w->q, M, 3 * D, D);
    struct share share = first_share(pass, 3 * D, 3 * D, heads(pass, is_target), is_target, kept->p);
    for (size_t i = 0; next_share(pass, &share, &i, kept->wide, kept->wide + D, kept->wide + 2 * D, is_target,
                                  is_target);)
        pass->k->attend(kept->z + share.query * D, D, share.p, &share.a,
                        pass->scratch);
    linear(pass, pass->dmid, kept->z, &w->o, M, D, D);
    return leave(pass, &kept->sub, &w->norm, x, side, site);
}

void dg_pass_self_back(struct dg_pass *pass, struct pass_attention *kept,
                       const struct dg_attention_weights *w, const float *x, bool is_target, uint64_t site)
{
    const struct pass_side *side = side_of(pass, is_target);
    const size_t D = pass->params->bp.D, M = side->M;
    const float *in = pass->params->bp.norm_place == DG_NORM_POST ? x : kept->sub.mid;
    leave_back(pass, &kept->sub, &w->norm, side, site);
    linear_back(pass, pass->dz, 0.0f, pass->dmid, kept->z, &w->o, M, D, D);
    struct share share = first_share(pass, 3 * D, 3 * D, heads(pass, is_target), is_target, kept->p);
    for (size_t i = 0; next_share(pass, &share, &i, kept->wide, kept->wide + D, kept->wide + 2 * D, is_target,
                                  is_target);) {
        float *d = pass->dwide + share.query * 3 * D;
        pass->k->attend_back(d, d + D, d + 2 * D, pass->dz + share.query * D, D, share.p, &share.a,
                             pass->scratch);
    }
    float beta, *din = input_gradient(pass, &beta);
    linear_back(pass, din, beta, pass->dwide, in, &w->q, M, 3 * D, D);
    enter_back(pass, &kept->sub, &w->norm, x, M);
}

float *dg_pass_cross(struct dg_pass *pass, struct pass_attention *kept,
                     const struct dg_attention_weights *w, const float *x, const float *encoded, uint64_t site)
{
    const size_t D = pass->params->bp.D, M = pass->target.M;
    const float *in = enter(pass, &kept->sub, &w->norm, x, M);
    linear(pass, kept->wide, in, &w->q, M, D, D);
    linear(pass, kept->kv, encoded, &w->k, pass->source.M, 2 * D, D);
    struct share share = first_share(pass, D, 2 * D, heads(pass, true), false, kept->p);
    for (size_t i = 0; next_share(pass, &share, &i, kept->wide, kept->kv, kept->kv + D, true, false);)
        pass->k->attend(kept->z + share.query * D, D, share.p, &share.a,
                        pass->scratch);
    if (dg_pass_is_guided(pass, kept)) {
        share = first_share(pass, D, 2 * D, heads(pass, true), false, kept->p);
        for (size_t i = 0; next_share(pass, &share, &i, kept->wide, kept->kv, kept->kv + D, true, false);)
            dg_pass_guide_count(pass, &pass->batch->examples[i - 1], share.p, &share.a);
    }
    linear(pass, pass->dmid, kept->z, &w->o, M, D, D);
    return leave(pass, &kept->sub, &w->norm, x, &pass->target, site);
}

void dg_pass_cross_back(struct dg_pass *pass, struct pass_attention *kept,
                        const struct dg_attention_weights *w, const float *x, const float *encoded,
                        uint64_t site)
{
    const size_t D = pass->params->bp.D, M = pass->target.M;
    const float *in = pass->params->bp.norm_place == DG_NORM_POST ? x : kept->sub.mid;
    leave_back(pass, &kept->sub, &w->norm, &pass->target, site);
    linear_back(pass, pass->dz, 0.0f, pass->dmid, kept->z, &w->o, M, D, D);
    struct share share = first_share(pass, D, 2 * D, heads(pass, true), false, kept->p);
    for (size_t i = 0; next_share(pass, &share, &i, kept->wide, kept->kv, kept->kv + D, true, false);) {
        float *d = pass->dkv + share.key * 2 * D, *dq = pass->dwide + share.query * D;
        const struct dg_example *example = &pass->batch->examples[i - 1];
        const bool is_guided = pass->batch->guide > 0.0f && example->n_links && dg_pass_is_guided(pass, kept);
        if (is_guided)
            dg_pass_guide_keep(pass, share.p, &share.a);
        pass->k->attend_back(dq, d, d + D, pass->dz + share.query * D, D, share.p, &share.a, pass->scratch);
        if (is_guided)
            dg_pass_guide_back(pass, example, dq, d, &share.a);
    }
    linear_back(pass, pass->dencoded, 1.0f, pass->dkv, encoded, &w->k, pass->source.M, 2 * D, D);
    float beta, *din = input_gradient(pass, &beta);
    linear_back(pass, din, beta, pass->dwide, in, &w->q, M, D, D);
    enter_back(pass, &kept->sub, &w->norm, x, M);
}

/* ---- Feed-forward ---------------------------------------------------------------------------------- */

/* The inner dropout is a place of its own, told apart from the sub-layer's by the top bit. */
static struct dg_grad_drop inner_drop(const struct dg_pass *pass, const struct pass_side *side, uint64_t site)
{
    return dg_pass_drop(pass, pass->batch->dropout_ffn, site | UINT64_C(1) << 63, side->row);
}

float *dg_pass_ffn(struct dg_pass *pass, struct pass_ffn *kept, const struct dg_ffn_weights *w,
                   const float *x, bool is_target, uint64_t site)
{
    const struct pass_side *side = side_of(pass, is_target);
    const size_t D = pass->params->bp.D, F = w->fc1.weight.shape[0], M = side->M;
    const float *in = enter(pass, &kept->sub, &w->norm, x, M);
    float *pre = kept->pre ? kept->pre : kept->hidden;
    multiply(pre, in, &w->fc1, M, F, D);
    pass->k->bias_act(kept->hidden, pre, pass_weight(&w->fc1.bias), M, F, pass->act);
    const struct dg_grad_drop drop = inner_drop(pass, side, site);
    if (drop.threshold)
        pass->k->drop(kept->hidden, NULL, kept->hidden, M, F, &drop);
    linear(pass, pass->dmid, kept->hidden, &w->fc2, M, D, F);
    return leave(pass, &kept->sub, &w->norm, x, side, site);
}

void dg_pass_ffn_back(struct dg_pass *pass, struct pass_ffn *kept, const struct dg_ffn_weights *w,
                      const float *x, bool is_target, uint64_t site)
{
    const struct pass_side *side = side_of(pass, is_target);
    const size_t D = pass->params->bp.D, F = w->fc1.weight.shape[0], M = side->M;
    const float *in = pass->params->bp.norm_place == DG_NORM_POST ? x : kept->sub.mid;
    leave_back(pass, &kept->sub, &w->norm, side, site);
    linear_back(pass, pass->dwide, 0.0f, pass->dmid, kept->hidden, &w->fc2, M, D, F);
    const struct dg_grad_drop drop = inner_drop(pass, side, site);
    if (drop.threshold)
        pass->k->drop(pass->dwide, NULL, pass->dwide, M, F, &drop);
    pass->k->act_back(pass->dwide, pass->dwide, kept->pre ? kept->pre : kept->hidden, M * F, pass->act);
    float beta, *din = input_gradient(pass, &beta);
    linear_back(pass, din, beta, pass->dwide, in, &w->fc1, M, F, D);
    enter_back(pass, &kept->sub, &w->norm, x, M);
}
