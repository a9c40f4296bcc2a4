/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What all sub-layers of a pass have in common: norms, dropout, beginning and end, and linear
 * layers. For a linear layer y = x W^T + b:
 *
 *     dx = dy W        dW += dy^T x        db += column sums of dy
 *
 * Every sub-layer f begins with `enter` and ends with `leave`; the backward pass goes through them
 * in reverse order. pass_int.h says what is kept. */
#include "train/data/random.h"
#include "train/pass/pass_int.h"

/* ---- Norms and dropout ----------------------------------------------------------------------- */

void dg_pass_norm(const struct dg_pass *pass, float *y, float *stats, const float *x,
                  const struct dg_norm_weights *w, size_t M)
{
    pass->k->norm(y, stats, x, pass_weight(&w->gain), pass_weight(&w->bias), M, pass->params->bp.D,
                  pass->params->bp.norm_epsilon);
}

void dg_pass_norm_back(const struct dg_pass *pass, float *dx, bool add, const float *dy,
                       const float *x, const float *stats, const struct dg_norm_weights *w,
                       size_t M)
{
    float *dbias = dg_tensor_present(&w->bias) ? pass_gradient(pass, &w->bias) : NULL;
    pass->k->norm_back(dx, add, pass_gradient(pass, &w->gain), dbias, dy, x, stats,
                       pass_weight(&w->gain), M, pass->params->bp.D);
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

/* ---- The frame of a sub-layer ---------------------------------------------------------------- */

const float *dg_pass_enter(struct dg_pass *pass, struct pass_sub *sub,
                           const struct dg_norm_weights *w, const float *x, size_t M)
{
    if (pass->params->bp.norm_place == DG_NORM_POST)
        return x;
    dg_pass_norm(pass, sub->mid, sub->stats, x, w, M);
    return sub->mid;
}

float *dg_pass_leave(struct dg_pass *pass, struct pass_sub *sub, const struct dg_norm_weights *w,
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

void dg_pass_leave_back(struct dg_pass *pass, struct pass_sub *sub, const struct dg_norm_weights *w,
                        const struct pass_side *side, uint64_t site)
{
    const struct dg_grad_drop drop = dg_pass_drop(pass, pass->batch->dropout, site, side->row);
    if (pass->params->bp.norm_place == DG_NORM_POST)
        dg_pass_norm_back(pass, pass->dx, false, pass->dx, sub->mid, sub->stats, w, side->M);
    pass->k->drop(pass->dmid, NULL, pass->dx, side->M, pass->params->bp.D, &drop);
}

float *dg_pass_input_gradient(struct dg_pass *pass, float *beta)
{
    const bool is_post = pass->params->bp.norm_place == DG_NORM_POST;
    *beta = is_post ? 1.0f : 0.0f;
    return is_post ? pass->dx : pass->dmid;
}

void dg_pass_enter_back(struct dg_pass *pass, struct pass_sub *sub, const struct dg_norm_weights *w,
                        const float *x, size_t M)
{
    if (pass->params->bp.norm_place == DG_NORM_PRE)
        dg_pass_norm_back(pass, pass->dx, true, pass->dmid, x, sub->stats, w, M);
}

/* ---- Linear layers --------------------------------------------------------------------------- */

void dg_pass_multiply(const struct dg_pass *pass, float *y, const float *x,
                      const struct dg_linear_weights *w, size_t M, size_t N, size_t K)
{
    pass_nt(pass, y, N, x, K, pass_weight(&w->weight), K, M, N, K, 0.0f);
}

void dg_pass_linear(const struct dg_pass *pass, float *y, const float *x,
                    const struct dg_linear_weights *w, size_t M, size_t N, size_t K)
{
    dg_pass_multiply(pass, y, x, w, M, N, K);
    if (dg_tensor_present(&w->bias))
        pass->k->bias_act(y, y, pass_weight(&w->bias), M, N, DG_OP_NONE);
}

void dg_pass_linear_back(const struct dg_pass *pass, float *dx, float beta, const float *dy,
                         const float *x, const struct dg_linear_weights *w, size_t M, size_t N,
                         size_t K)
{
    pass_tn(pass, pass_gradient(pass, &w->weight), K, dy, N, x, K, N, K, M, 1.0f);
    if (dg_tensor_present(&w->bias))
        pass->k->column_sum(pass_gradient(pass, &w->bias), dy, M, N);
    if (dx)
        pass_nn(pass, dx, K, dy, N, pass_weight(&w->weight), K, M, K, N, beta);
}
