/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Attention and feed-forward, each forward and backward side by side (pass_linear_norm.c has the
 * norms and residuals around them, pass_cell.c the cells that some decoders use in place of
 * self-attention). pass_int.h says what is kept. */
#include "train/pass/pass_int.h"

/* ---- Attention ------------------------------------------------------------------------------- */

/* One sentence's share of an attention. */
struct share {
    struct dg_grad_attention a;
    size_t query, key; /* the first row of each */
    float *p;
};

/* Steps through the sentences of a run: false after the last. `share` begins as zeros but for the
 * shared parts, which `first` points to. */
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

static struct share first_share(const struct dg_pass *pass, size_t ld_q, size_t ld_kv, size_t H,
                                bool causal, float *p)
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
                    const struct dg_attention_weights *w, const float *x, bool is_target,
                    uint64_t site)
{
    const struct pass_side *side = side_of(pass, is_target);
    const size_t D = pass->params->bp.D, M = side->M;
    const float *in = dg_pass_enter(pass, &kept->sub, &w->norm, x, M);
    dg_pass_linear(pass, kept->wide, in, &w->q, M, 3 * D, D);
    struct share share =
        first_share(pass, 3 * D, 3 * D, heads(pass, is_target), is_target, kept->p);
    for (size_t i = 0; next_share(pass, &share, &i, kept->wide, kept->wide + D, kept->wide + 2 * D,
                                  is_target, is_target);)
        if (pass->params->bp.relative_reach)
            dg_pass_attend_relative(pass, kept->z + share.query * D, share.p, &share.a, w);
        else
            pass->k->attend(kept->z + share.query * D, D, share.p, &share.a, pass->scratch);
    dg_pass_linear(pass, pass->dmid, kept->z, &w->o, M, D, D);
    return dg_pass_leave(pass, &kept->sub, &w->norm, x, side, site);
}

void dg_pass_self_back(struct dg_pass *pass, struct pass_attention *kept,
                       const struct dg_attention_weights *w, const float *x, bool is_target,
                       uint64_t site)
{
    const struct pass_side *side = side_of(pass, is_target);
    const size_t D = pass->params->bp.D, M = side->M;
    const float *in = pass->params->bp.norm_place == DG_NORM_POST ? x : kept->sub.mid;
    dg_pass_leave_back(pass, &kept->sub, &w->norm, side, site);
    dg_pass_linear_back(pass, pass->dz, 0.0f, pass->dmid, kept->z, &w->o, M, D, D);
    struct share share =
        first_share(pass, 3 * D, 3 * D, heads(pass, is_target), is_target, kept->p);
    for (size_t i = 0; next_share(pass, &share, &i, kept->wide, kept->wide + D, kept->wide + 2 * D,
                                  is_target, is_target);) {
        float *d = pass->dwide + share.query * 3 * D;
        const float *dz = pass->dz + share.query * D;
        if (pass->params->bp.relative_reach)
            dg_pass_attend_relative_back(pass, d, d + D, d + 2 * D, dz, share.p, &share.a, w);
        else
            pass->k->attend_back(d, d + D, d + 2 * D, dz, D, share.p, &share.a, pass->scratch);
    }
    float beta, *din = dg_pass_input_gradient(pass, &beta);
    dg_pass_linear_back(pass, din, beta, pass->dwide, in, &w->q, M, 3 * D, D);
    dg_pass_enter_back(pass, &kept->sub, &w->norm, x, M);
}

float *dg_pass_cross(struct dg_pass *pass, struct pass_attention *kept,
                     const struct dg_attention_weights *w, const float *x, const float *encoded,
                     uint64_t site)
{
    const size_t D = pass->params->bp.D, M = pass->target.M;
    const float *in = dg_pass_enter(pass, &kept->sub, &w->norm, x, M);
    dg_pass_linear(pass, kept->wide, in, &w->q, M, D, D);
    dg_pass_linear(pass, kept->kv, encoded, &w->k, pass->source.M, 2 * D, D);
    struct share share = first_share(pass, D, 2 * D, heads(pass, true), false, kept->p);
    for (size_t i = 0;
         next_share(pass, &share, &i, kept->wide, kept->kv, kept->kv + D, true, false);)
        pass->k->attend(kept->z + share.query * D, D, share.p, &share.a, pass->scratch);
    if (dg_pass_is_guided(pass, kept)) {
        share = first_share(pass, D, 2 * D, heads(pass, true), false, kept->p);
        for (size_t i = 0;
             next_share(pass, &share, &i, kept->wide, kept->kv, kept->kv + D, true, false);)
            dg_pass_guide_count(pass, &pass->batch->examples[i - 1], share.p, &share.a);
    }
    dg_pass_linear(pass, pass->dmid, kept->z, &w->o, M, D, D);
    return dg_pass_leave(pass, &kept->sub, &w->norm, x, &pass->target, site);
}

void dg_pass_cross_back(struct dg_pass *pass, struct pass_attention *kept,
                        const struct dg_attention_weights *w, const float *x, const float *encoded,
                        uint64_t site)
{
    const size_t D = pass->params->bp.D, M = pass->target.M;
    const float *in = pass->params->bp.norm_place == DG_NORM_POST ? x : kept->sub.mid;
    dg_pass_leave_back(pass, &kept->sub, &w->norm, &pass->target, site);
    dg_pass_linear_back(pass, pass->dz, 0.0f, pass->dmid, kept->z, &w->o, M, D, D);
    struct share share = first_share(pass, D, 2 * D, heads(pass, true), false, kept->p);
    for (size_t i = 0;
         next_share(pass, &share, &i, kept->wide, kept->kv, kept->kv + D, true, false);) {
        float *d = pass->dkv + share.key * 2 * D, *dq = pass->dwide + share.query * D;
        const struct dg_example *example = &pass->batch->examples[i - 1];
        const bool is_guided =
            pass->batch->guide > 0.0f && example->n_links && dg_pass_is_guided(pass, kept);
        if (is_guided)
            dg_pass_guide_keep(pass, share.p, &share.a);
        pass->k->attend_back(dq, d, d + D, pass->dz + share.query * D, D, share.p, &share.a,
                             pass->scratch);
        if (is_guided)
            dg_pass_guide_back(pass, example, dq, d, &share.a);
    }
    dg_pass_linear_back(pass, pass->dencoded, 1.0f, pass->dkv, encoded, &w->k, pass->source.M,
                        2 * D, D);
    float beta, *din = dg_pass_input_gradient(pass, &beta);
    dg_pass_linear_back(pass, din, beta, pass->dwide, in, &w->q, M, D, D);
    dg_pass_enter_back(pass, &kept->sub, &w->norm, x, M);
}

/* ---- Feed-forward ---------------------------------------------------------------------------- */

/* The inner dropout has a number of its own, which differs from the sub-layer's in the top bit. */
static struct dg_grad_drop inner_drop(const struct dg_pass *pass, const struct pass_side *side,
                                      uint64_t site)
{
    return dg_pass_drop(pass, pass->batch->dropout_ffn, site | UINT64_C(1) << 63, side->row);
}

float *dg_pass_ffn(struct dg_pass *pass, struct pass_ffn *kept, const struct dg_ffn_weights *w,
                   const float *x, bool is_target, uint64_t site)
{
    const struct pass_side *side = side_of(pass, is_target);
    const size_t D = pass->params->bp.D, F = w->fc1.weight.shape[0], M = side->M;
    const float *in = dg_pass_enter(pass, &kept->sub, &w->norm, x, M);
    float *pre = kept->pre ? kept->pre : kept->hidden;
    dg_pass_multiply(pass, pre, in, &w->fc1, M, F, D);
    pass->k->bias_act(kept->hidden, pre, pass_weight(&w->fc1.bias), M, F, pass->act);
    const struct dg_grad_drop drop = inner_drop(pass, side, site);
    if (drop.threshold)
        pass->k->drop(kept->hidden, NULL, kept->hidden, M, F, &drop);
    dg_pass_linear(pass, pass->dmid, kept->hidden, &w->fc2, M, D, F);
    return dg_pass_leave(pass, &kept->sub, &w->norm, x, side, site);
}

void dg_pass_ffn_back(struct dg_pass *pass, struct pass_ffn *kept, const struct dg_ffn_weights *w,
                      const float *x, bool is_target, uint64_t site)
{
    const struct pass_side *side = side_of(pass, is_target);
    const size_t D = pass->params->bp.D, F = w->fc1.weight.shape[0], M = side->M;
    const float *in = pass->params->bp.norm_place == DG_NORM_POST ? x : kept->sub.mid;
    dg_pass_leave_back(pass, &kept->sub, &w->norm, side, site);
    dg_pass_linear_back(pass, pass->dwide, 0.0f, pass->dmid, kept->hidden, &w->fc2, M, D, F);
    const struct dg_grad_drop drop = inner_drop(pass, side, site);
    if (drop.threshold)
        pass->k->drop(pass->dwide, NULL, pass->dwide, M, F, &drop);
    pass->k->act_back(pass->dwide, pass->dwide, kept->pre ? kept->pre : kept->hidden, M * F,
                      pass->act);
    float beta, *din = dg_pass_input_gradient(pass, &beta);
    dg_pass_linear_back(pass, din, beta, pass->dwide, in, &w->fc1, M, F, D);
    dg_pass_enter_back(pass, &kept->sub, &w->norm, x, M);
}
