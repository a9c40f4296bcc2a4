/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Self-attention with vectors for distances (Shaw, Uszkoreit and Vaswani, 2018), in place of the
 * kernels attend and attend_back. With r(t, s) the row of the tables K and V for the distance from
 * query t to key s, cut at the reach:
 *     p = softmax over s of q_t (k_s + K_r) / sqrt(dh)
 *     z_t = sum over s of p (v_s + V_r)
 *
 *     dp = dz_t (v_s + V_r)         ds = p (dp - sum p dp) / sqrt(dh)
 *     dq_t += ds (k_s + K_r)        dk_s, dK_r += ds q_t        dv_s, dV_r += p dz_t
 *
 * All heads share the tables. It keeps a number for each pair of tokens and each head, which suits
 * short sentences. */
#include "train/pass/pass_int.h"

#include <math.h>
#include <string.h>

static size_t row_of(size_t reach, size_t t, size_t s)
{
    if (s < t)
        return t - s < reach ? reach - (t - s) : 0;
    return s - t < reach ? reach + (s - t) : 2 * reach;
}

void dg_pass_attend_relative(const struct dg_pass *pass, float *z, float *p,
                             const struct dg_grad_attention *a,
                             const struct dg_attention_weights *w)
{
    const size_t dh = a->dh, reach = pass->params->bp.relative_reach;
    const float *keys = pass_weight(&w->relative_keys), *values = pass_weight(&w->relative_values);
    const float scale = 1.0f / sqrtf((float)dh);
    for (size_t h = 0; h < a->H; h++)
        for (size_t t = 0; t < a->T; t++, p += a->S) {
            const size_t n = a->causal ? t + 1 : a->S;
            const float *q = a->q + t * a->ld_q + h * dh;
            float *out = z + t * pass->params->bp.D + h * dh;
            for (size_t s = 0; s < n; s++)
                p[s] = scale * (pass->k->dot(q, a->k + s * a->ld_kv + h * dh, dh) +
                                pass->k->dot(q, keys + row_of(reach, t, s) * dh, dh));
            pass->k->softmax(p, n);
            memset(p + n, 0, (a->S - n) * sizeof *p);
            memset(out, 0, dh * sizeof *out);
            for (size_t s = 0; s < n; s++) {
                pass->k->axpy(out, a->v + s * a->ld_kv + h * dh, p[s], dh);
                pass->k->axpy(out, values + row_of(reach, t, s) * dh, p[s], dh);
            }
        }
}

static void clear_rows(float *x, size_t n, size_t ld, size_t width)
{
    for (size_t i = 0; i < n; i++)
        memset(x + i * ld, 0, width * sizeof *x);
}

void dg_pass_attend_relative_back(const struct dg_pass *pass, float *dq, float *dk, float *dv,
                                  const float *dz, float *p, const struct dg_grad_attention *a,
                                  const struct dg_attention_weights *w)
{
    const size_t dh = a->dh, reach = pass->params->bp.relative_reach, D = pass->params->bp.D;
    const float *keys = pass_weight(&w->relative_keys), *values = pass_weight(&w->relative_values);
    float *dkeys = pass_gradient(pass, &w->relative_keys),
          *dvalues = pass_gradient(pass, &w->relative_values);
    const float scale = 1.0f / sqrtf((float)dh);
    clear_rows(dq, a->T, a->ld_q, D);
    clear_rows(dk, a->S, a->ld_kv, D);
    clear_rows(dv, a->S, a->ld_kv, D);
    for (size_t h = 0; h < a->H; h++)
        for (size_t t = 0; t < a->T; t++, p += a->S) {
            const size_t n = a->causal ? t + 1 : a->S;
            const float *q = a->q + t * a->ld_q + h * dh, *d = dz + t * D + h * dh;
            float *dp = pass->scratch, *to = dq + t * a->ld_q + h * dh, sum = 0.0f;
            for (size_t s = 0; s < n; s++) {
                const size_t row = row_of(reach, t, s) * dh, at = s * a->ld_kv + h * dh;
                dp[s] = pass->k->dot(d, a->v + at, dh) + pass->k->dot(d, values + row, dh);
                sum += p[s] * dp[s];
                pass->k->axpy(dv + at, d, p[s], dh);
                pass->k->axpy(dvalues + row, d, p[s], dh);
            }
            for (size_t s = 0; s < n; s++) {
                const size_t row = row_of(reach, t, s) * dh, at = s * a->ld_kv + h * dh;
                const float ds = p[s] * (dp[s] - sum) * scale;
                pass->k->axpy(to, a->k + at, ds, dh);
                pass->k->axpy(to, keys + row, ds, dh);
                pass->k->axpy(dk + at, q, ds, dh);
                pass->k->axpy(dkeys + row, q, ds, dh);
            }
        }
}
