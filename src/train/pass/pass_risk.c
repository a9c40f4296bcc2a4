/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Minimum risk (Shen et al., 2016): training lowers the expected cost R of the candidates of a
 * source, with costs c_i, each weighted by its probability among them:
 *
 *     R = sum of q_i c_i        q_i = softmax over the candidates of s log p_i
 *     log p_i = sum over the tokens of candidate i
 *
 * The gradient of R is that of the candidates' own -log p, each times  s q_i (R - c_i):  a
 * candidate that is better than expected becomes likelier, a worse one less likely, and nothing
 * changes where all are equally good. */
#include "train/pass/pass_int.h"

#include <math.h>

/* Replaces the -log p of a group [n] by its q_i; returns its R. */
static double believe(const struct dg_example *group, size_t n, double sharpness, float *nll)
{
    double least = (double)nll[0], sum = 0.0, risk = 0.0;
    for (size_t i = 1; i < n; i++)
        least = fmin(least, (double)nll[i]);
    for (size_t i = 0; i < n; i++)
        sum += exp(sharpness * (least - (double)nll[i]));
    for (size_t i = 0; i < n; i++) {
        const double q = exp(sharpness * (least - (double)nll[i])) / sum;
        risk += q * (double)group[i].cost;
        nll[i] = (float)q;
    }
    return risk;
}

void dg_pass_risk_weigh(struct dg_pass *pass, float *nll, struct dg_pass_sums *sums)
{
    const struct dg_pass_batch *batch = pass->batch;
    for (size_t i = 0; i < batch->n;) {
        const struct dg_example *group = batch->examples + i;
        const size_t n = group->n_candidates ? group->n_candidates : 1;
        if (group->n_candidates) {
            const double risk = believe(group, n, (double)batch->sharpness, nll + i);
            for (size_t j = 0; j < n; j++)
                nll[i + j] *=
                    batch->risk * batch->sharpness * (float)(risk - (double)group[j].cost);
            sums->risk += risk;
            sums->n_sources++;
            /* divided by `scale`, which none of these losses has been multiplied by yet */
            sums->loss += risk * (double)batch->risk / (double)batch->scale;
        }
        i += n;
    }
}
