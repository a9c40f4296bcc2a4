/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Guided attention (Chen, Matusov, Khadivi and Peter, 2016): one head of the decoder's last
 * attention over the source learns which source words each target word comes from. With p the
 * head's attention for a target word and a the links' share of each source word (they sum to one)
 * the loss grows by guide * -sum a log p, whose gradient with respect to the scores before the
 * softmax is guide (p - a). Target words without a link teach nothing. */
#include "train/pass/pass_int.h"

#include <math.h>
#include <string.h>

bool dg_pass_is_guided(const struct dg_pass *pass, const struct pass_attention *kept)
{
    return kept == &pass->decoder[pass->params->bp.decoder.n_layers - 1].cross;
}

/* The links of one target word: [*first, result). */
static size_t links_of_word(const struct dg_example *e, size_t first)
{
    size_t end = first + 1;
    while (end < e->n_links && e->links[end].target == e->links[first].target)
        end++;
    return end;
}

/* Returns the head's attention on source word s for target word t, or the mean of all heads. */
static float attention(const struct dg_pass *pass, const float *p,
                       const struct dg_grad_attention *a, size_t t, size_t s)
{
    const size_t head = pass->batch->guide_head;
    float sum = 0.0f;
    if (head)
        return p[((head - 1) * a->T + t) * a->S + s];
    for (size_t h = 0; h < a->H; h++)
        sum += p[(h * a->T + t) * a->S + s];
    return sum / (float)a->H;
}

void dg_pass_guide_count(struct dg_pass *pass, const struct dg_example *e, const float *p,
                         const struct dg_grad_attention *a)
{
    for (size_t first = 0, end; first < e->n_links; first = end) {
        const size_t t = e->links[first].target;
        size_t best = 0;
        end = links_of_word(e, first);
        for (size_t s = 1; s < a->S; s++)
            if (attention(pass, p, a, t, s) > attention(pass, p, a, t, best))
                best = s;
        for (size_t i = first; i < end; i++) {
            const double on = (double)attention(pass, p, a, t, e->links[i].source);
            pass->sums->guided -= log(on > 1e-20 ? on : 1e-20) / (double)(end - first);
            pass->sums->n_agreed += e->links[i].source == best;
        }
        pass->sums->n_linked++;
    }
}

void dg_pass_guide_keep(struct dg_pass *pass, const float *p, const struct dg_grad_attention *a)
{
    const size_t n = a->T * a->S;
    memcpy(pass->guide, p + (pass->batch->guide_head - 1) * n, n * sizeof *p);
}

void dg_pass_guide_back(struct dg_pass *pass, const struct dg_example *e, float *dq, float *dk,
                        const struct dg_grad_attention *a)
{
    const size_t at = (pass->batch->guide_head - 1) * a->dh;
    const float scale = pass->batch->guide * pass->batch->scale / sqrtf((float)a->dh);
    for (size_t first = 0, end; first < e->n_links; first = end) {
        const size_t t = e->links[first].target;
        float *row = pass->guide + t * a->S;
        end = links_of_word(e, first);
        for (size_t i = first; i < end; i++)
            row[e->links[i].source] -= 1.0f / (float)(end - first);
        for (size_t s = 0; s < a->S; s++) {
            pass->k->axpy(dq + t * a->ld_q + at, a->k + s * a->ld_kv + at, scale * row[s], a->dh);
            pass->k->axpy(dk + s * a->ld_kv + at, a->q + t * a->ld_q + at, scale * row[s], a->dh);
        }
    }
}
