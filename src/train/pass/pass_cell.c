/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The cells that some decoders have in place of self-attention, forward and backward side by side.
 * Over the rows t of a sentence, c before the first being 0:
 *     SSRU   v = W in_t      f = sigmoid(Wf in_t + bf)
 *            c_t = f c_{t-1} + (1 - f) v      z = relu(c_t)
 *     AAN    c_t = mean(x_0 .. x_t)      y = feed-forward(c_t)
 *            z = sigmoid(Wi x_t + bi) x_t + sigmoid(Wf y + bf) y, or y alone
 *
 * The SSRU reads the output of the frame's `enter`; the AAN averages the stream itself, and
 * pre-norm norms the mean. */
#include "train/pass/pass_int.h"

#include <math.h>
#include <string.h>

static float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

static void sigmoids(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = sigmoid(x[i]);
}

/* ---- SSRU ------------------------------------------------------------------------------------ */

static void ssru(struct dg_pass *pass, struct pass_cell *kept, const struct dg_ssru_weights *w,
                 const float *x)
{
    const size_t D = pass->params->bp.D, M = pass->target.M;
    const float *in = dg_pass_enter(pass, &kept->sub, &w->norm, x, M);
    float *v = kept->wide, *f = v + M * D, *c = kept->state, *z = pass->dmid;
    dg_pass_linear(pass, v, in, &w->candidate, M, D, D);
    dg_pass_linear(pass, f, in, &w->forget, M, D, D);
    sigmoids(f, M * D);
    for (size_t i = 0, at = 0; i < pass->batch->n; i++) {
        const size_t end = at + pass->batch->examples[i].n_target * D;
        for (size_t j = at; j < end; j++) {
            const float before = j >= at + D ? c[j - D] : 0.0f;
            c[j] = f[j] * before + (1.0f - f[j]) * v[j];
            z[j] = c[j] > 0.0f ? c[j] : 0.0f;
        }
        at = end;
    }
}

/* dz in pass->dmid: dc_t = [c_t > 0] dz_t + f_{t+1} dc_{t+1} */
static void ssru_back(struct dg_pass *pass, struct pass_cell *kept, const struct dg_ssru_weights *w,
                      const float *x)
{
    const size_t D = pass->params->bp.D, M = pass->target.M;
    const float *in = pass->params->bp.norm_place == DG_NORM_POST ? x : kept->sub.mid;
    const float *v = kept->wide, *f = v + M * D, *c = kept->state;
    float *dz = pass->dmid, *dv = pass->dwide, *df = dv + M * D;
    for (size_t i = 0, at = 0; i < pass->batch->n; i++) {
        const size_t end = at + pass->batch->examples[i].n_target * D;
        for (size_t j = end; j-- > at;) {
            const float before = j >= at + D ? c[j - D] : 0.0f;
            /* dz holds dc for positions after j */
            const float later = j + D < end ? dz[j + D] * f[j + D] : 0.0f;
            dz[j] = (c[j] > 0.0f ? dz[j] : 0.0f) + later;
            dv[j] = dz[j] * (1.0f - f[j]);
            df[j] = dz[j] * (before - v[j]) * f[j] * (1.0f - f[j]);
        }
        at = end;
    }
    float beta, *din = dg_pass_input_gradient(pass, &beta);
    dg_pass_linear_back(pass, din, beta, dv, in, &w->candidate, M, D, D);
    dg_pass_linear_back(pass, din, 1.0f, df, in, &w->forget, M, D, D);
    dg_pass_enter_back(pass, &kept->sub, &w->norm, x, M);
}

/* ---- AAN ------------------------------------------------------------------------------------- */

static void means(const struct dg_pass *pass, float *c, const float *x)
{
    const size_t D = pass->params->bp.D;
    for (size_t i = 0; i < pass->batch->n; i++) {
        const size_t T = pass->batch->examples[i].n_target;
        memcpy(c, x, D * sizeof *c);
        for (size_t t = 1; t < T; t++)
            for (size_t j = 0; j < D; j++)
                c[t * D + j] = (c[(t - 1) * D + j] * (float)t + x[t * D + j]) / ((float)t + 1.0f);
        c += T * D;
        x += T * D;
    }
}

/* dx_t += the sum over s >= t of dc_s / (s + 1). Uses dc up. */
static void means_back(const struct dg_pass *pass, float *dx, float *dc)
{
    const size_t D = pass->params->bp.D;
    for (size_t i = 0; i < pass->batch->n; i++) {
        const size_t T = pass->batch->examples[i].n_target;
        for (size_t t = T; t-- > 0;)
            for (size_t j = 0; j < D; j++) {
                const float later = t + 1 < T ? dc[(t + 1) * D + j] : 0.0f;
                dc[t * D + j] = dc[t * D + j] / ((float)t + 1.0f) + later;
                dx[t * D + j] += dc[t * D + j];
            }
        dc += T * D;
        dx += T * D;
    }
}

/* The input of feed-forward layer i. */
static const float *aan_input(const struct dg_pass *pass, const struct pass_cell *kept, size_t i)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    if (i > 0)
        return kept->hidden + (i - 1) * pass->target.M * bp->aan_F;
    return bp->norm_place == DG_NORM_PRE ? kept->sub.mid : kept->state;
}

static void aan(struct dg_pass *pass, struct pass_cell *kept, const struct dg_aan_weights *w,
                const float *x)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    const size_t D = bp->D, M = pass->target.M, inner = M * bp->aan_F;
    means(pass, kept->state, x);
    (void)dg_pass_enter(pass, &kept->sub, &w->norm, kept->state, M);
    for (size_t i = 0; i + 1 < bp->aan_depth; i++) {
        float *out = kept->hidden + i * inner, *pre = kept->pre ? kept->pre + i * inner : out;
        dg_pass_multiply(pass, pre, aan_input(pass, kept, i), &w->fc[i], M, bp->aan_F,
                         w->fc[i].weight.shape[1]);
        pass->k->bias_act(out, pre, pass_weight(&w->fc[i].bias), M, bp->aan_F, pass->act);
    }
    const struct dg_linear_weights *last = &w->fc[bp->aan_depth - 1];
    dg_pass_linear(pass, kept->y, aan_input(pass, kept, bp->aan_depth - 1), last, M, D,
                   last->weight.shape[1]);
    float *z = pass->dmid;
    memcpy(z, kept->y, M * D * sizeof *z);
    if (!bp->aan_gate)
        return;
    float *a = kept->wide, *b = a + M * D;
    dg_pass_linear(pass, a, x, &w->input_gate, M, D, D);
    dg_pass_linear(pass, b, kept->y, &w->forget_gate, M, D, D);
    sigmoids(a, 2 * M * D);
    for (size_t i = 0; i < M * D; i++)
        z[i] = a[i] * x[i] + b[i] * kept->y[i];
}

/* dz in pass->dmid: through the gates into dx, and dy into pass->dz. */
static void gates_back(struct dg_pass *pass, const struct pass_cell *kept,
                       const struct dg_aan_weights *w, const float *x)
{
    const size_t D = pass->params->bp.D, M = pass->target.M;
    const float *a = kept->wide, *b = a + M * D, *y = kept->y, *dz = pass->dmid;
    float *da = pass->dwide, *db = da + M * D, *dy = pass->dz;
    for (size_t i = 0; i < M * D; i++) {
        pass->dx[i] += dz[i] * a[i];
        dy[i] = dz[i] * b[i];
        da[i] = dz[i] * x[i] * a[i] * (1.0f - a[i]);
        db[i] = dz[i] * y[i] * b[i] * (1.0f - b[i]);
    }
    dg_pass_linear_back(pass, pass->dx, 1.0f, da, x, &w->input_gate, M, D, D);
    dg_pass_linear_back(pass, dy, 1.0f, db, y, &w->forget_gate, M, D, D);
}

static void aan_back(struct dg_pass *pass, struct pass_cell *kept, const struct dg_aan_weights *w,
                     const float *x)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    const size_t D = bp->D, M = pass->target.M, inner = M * bp->aan_F;
    if (bp->aan_gate)
        gates_back(pass, kept, w, x);
    else
        memcpy(pass->dz, pass->dmid, M * D * sizeof *pass->dz);
    /* The gradient alternates between two halves of the buffer from layer to layer; at the end it
     * is in dmid. */
    float *dy = pass->dz;
    for (size_t i = bp->aan_depth; i-- > 0;) {
        const struct dg_linear_weights *fc = &w->fc[i];
        const size_t N = fc->weight.shape[0], K = fc->weight.shape[1];
        if (i + 1 < bp->aan_depth)
            pass->k->act_back(dy, dy, (kept->pre ? kept->pre : kept->hidden) + i * inner, inner,
                              pass->act);
        float *din = i == 0 ? pass->dmid : dy == pass->dwide ? pass->dwide + inner : pass->dwide;
        dg_pass_linear_back(pass, din, 0.0f, dy, aan_input(pass, kept, i), fc, M, N, K);
        dy = din;
    }
    if (bp->norm_place == DG_NORM_PRE)
        dg_pass_norm_back(pass, pass->dmid, false, pass->dmid, kept->state, kept->sub.stats,
                          &w->norm, M);
    means_back(pass, pass->dx, pass->dmid);
}

/* ---- Both cells ------------------------------------------------------------------------------ */

static const struct dg_norm_weights *norm_of(const struct dg_pass *pass,
                                             const struct dg_decoder_layer *w)
{
    return pass->params->bp.decoder_kind == DG_DECODER_SSRU ? &w->ssru.norm : &w->aan.norm;
}

float *dg_pass_cell(struct dg_pass *pass, struct pass_cell *kept, const struct dg_decoder_layer *w,
                    const float *x, uint64_t site)
{
    if (pass->params->bp.decoder_kind == DG_DECODER_SSRU)
        ssru(pass, kept, &w->ssru, x);
    else
        aan(pass, kept, &w->aan, x);
    return dg_pass_leave(pass, &kept->sub, norm_of(pass, w), x, &pass->target, site);
}

void dg_pass_cell_back(struct dg_pass *pass, struct pass_cell *kept,
                       const struct dg_decoder_layer *w, const float *x, uint64_t site)
{
    dg_pass_leave_back(pass, &kept->sub, norm_of(pass, w), &pass->target, site);
    if (pass->params->bp.decoder_kind == DG_DECODER_SSRU)
        ssru_back(pass, kept, &w->ssru, x);
    else
        aan_back(pass, kept, &w->aan, x);
}
