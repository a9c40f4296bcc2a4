/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Language models: decoder-only networks, forward and backward. An example's source and target are
 * one text: the prompt, which is read and not learned, and its continuation. Its rows are all of
 * its tokens but the last; row t is asked for token t + 1, from the prompt's last on. M rows of all
 * examples together:
 *
 *     x = embedding(token), plus a learned row for its position           [M, D]
 *     for each layer:
 *         q, k, v = norm(x) Wqkv^T + b, q and k turned by their positions  [M, A + 2K]
 *         z = attention of each row over itself and what is before it      [M, A]
 *         x = x + drop(z Wo^T + b)
 *         h = act(norm(x) Wu^T + b), or act(norm(x) Wg^T) * (norm(x) Wu^T)  [M, F]
 *         x = x + drop(drop(h) Wd^T + b)
 *     the loss of norm(x), where something is asked
 *
 * with A = H * head, K = kv_heads * head. The backward pass of the parts that only these networks
 * have:
 *
 *     turning by an angle: turning by the opposite one
 *     shared keys and values: what all queries of a group say, added up
 *     h = a * u, a = act(g):        du = dh * a        dg = dh * u * act'(g) */
#include "base/memory/mem.h"
#include "train/pass/pass_int.h"

#include <math.h>
#include <string.h>

struct lm_layer {
    struct pass_sub attention, ffn;
    float *wide;   /* [M, A + 2K] queries and keys turned, values */
    float *p;      /* attention probabilities: for each text [H, T, T] */
    float *z;      /* [M, A] */
    float *pre;    /* [M, F], or [M, 2F]: the gate and the values that it multiplies */
    float *hidden; /* [M, F] after activation and dropout */
};

struct lm_pass {
    struct lm_layer *layers; /* [n_layers] */
    float *cosines, *sines;  /* [target_rows, head / 2]; rotary only */
    float *dshared;          /* [M, A + 2K] of one query head; where groups share keys */
    float *dhidden;          /* [M, F] */
    float *none;             /* [F] zeros: the bias of an activation that has none */
};

struct shape {
    size_t D, A, K, F, H, G, wide, inner; /* inner: width of the first feed-forward product */
};

static struct shape shape_of(const struct dg_pass *pass)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    const size_t A = bp->decoder.H * bp->lm.head, K = bp->lm.kv_heads * bp->lm.head,
                 F = bp->decoder.F;
    return (struct shape){.D = bp->D,
                          .A = A,
                          .K = K,
                          .F = F,
                          .H = bp->decoder.H,
                          .G = bp->decoder.H / bp->lm.kv_heads,
                          .wide = A + 2 * K,
                          .inner = bp->lm.gated ? 2 * F : F};
}

/* ---- Memory ---------------------------------------------------------------------------------- */

enum dg_err dg_pass_lm_new(struct lm_pass **lm, const struct dg_blueprint *bp)
{
    struct lm_pass *made = dg_try_calloc(1, sizeof *made);
    if (made)
        made->layers = dg_try_calloc(bp->decoder.n_layers, sizeof *made->layers);
    if (made && !made->layers) {
        dg_free(made);
        made = NULL;
    }
    *lm = made;
    return made ? DG_OK : DG_ERR_NOMEM;
}

void dg_pass_lm_free(struct lm_pass *lm)
{
    if (!lm)
        return;
    dg_free(lm->layers);
    dg_free(lm);
}

void dg_pass_lm_carve(struct dg_pass *pass, struct dg_pass_carve *c)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    const struct shape s = shape_of(pass);
    const size_t M = pass->limits.target_rows;
    struct lm_pass *lm = pass->lm;
    pass->target.x = dg_pass_carve_floats(c, M, s.D);
    pass->target.final = dg_pass_carve_floats(c, M, s.D);
    pass->target.final_stats = dg_pass_carve_floats(c, M, 2);
    for (size_t i = 0; i < bp->decoder.n_layers; i++) {
        struct lm_layer *layer = &lm->layers[i];
        dg_pass_carve_sub(c, &layer->attention, M, s.D);
        layer->wide = dg_pass_carve_floats(c, M, s.wide);
        layer->p = dg_pass_carve_floats(c, s.H, pass->limits.scores);
        layer->z = dg_pass_carve_floats(c, M, s.A);
        dg_pass_carve_sub(c, &layer->ffn, M, s.D);
        layer->pre = dg_pass_carve_floats(c, M, s.inner);
        layer->hidden = dg_pass_carve_floats(c, M, s.F);
    }
    pass->dx = dg_pass_carve_floats(c, M, s.D);
    pass->dmid = dg_pass_carve_floats(c, M, s.D);
    pass->dz = dg_pass_carve_floats(c, M, s.A);
    pass->dwide = dg_pass_carve_floats(c, M, s.wide > s.inner ? s.wide : s.inner);
    lm->dshared = s.G > 1 ? dg_pass_carve_floats(c, M, s.wide) : NULL;
    lm->dhidden = dg_pass_carve_floats(c, M, s.F);
    lm->none = dg_pass_carve_floats(c, 1, s.F);
    if (bp->positions == DG_POS_ROTARY) {
        lm->cosines = dg_pass_carve_floats(c, M, bp->lm.head / 2);
        lm->sines = dg_pass_carve_floats(c, M, bp->lm.head / 2);
    }
    pass->scratch = dg_pass_carve_floats(c, 1, dg_grad_attention_scratch(M, bp->lm.head));
    pass->logits = dg_pass_carve_floats(c, pass->logits_rows, bp->decoder.V);
}

void dg_pass_lm_fill(struct dg_pass *pass)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    const size_t half = bp->lm.head / 2;
    memset(pass->lm->none, 0, bp->decoder.F * sizeof *pass->lm->none);
    for (size_t k = 0; bp->positions == DG_POS_ROTARY && k < half; k++) {
        const double step = dg_rope_step(&bp->lm, k);
        for (size_t t = 0; t < pass->limits.target_rows; t++) {
            pass->lm->cosines[t * half + k] = (float)cos((double)t * step);
            pass->lm->sines[t * half + k] = (float)sin((double)t * step);
        }
    }
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static size_t n_rows(const struct dg_example *example)
{
    return (size_t)example->n_source + example->n_target - 1;
}

static int32_t id_at(const struct dg_example *example, size_t t)
{
    return t < example->n_source ? example->source[t] : example->target[t - example->n_source];
}

/* Returns the row of the table for a position; past the table's end, its last row. */
static size_t position_row(const struct dg_blueprint *bp, size_t t)
{
    const size_t row = t + bp->position_offset;
    return row < bp->n_positions ? row : bp->n_positions - 1;
}

static void embed(struct dg_pass *pass, uint64_t site)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    const struct dg_lm_weights *w = &pass->params->weights.lm;
    const size_t D = bp->D;
    float *x = pass->target.x;
    for (size_t i = 0; i < pass->batch->n; i++)
        for (size_t t = 0; t < n_rows(&pass->batch->examples[i]); t++, x += D) {
            memcpy(x, pass_weight(&w->embedding) + (size_t)id_at(&pass->batch->examples[i], t) * D,
                   D * sizeof *x);
            if (bp->positions == DG_POS_LEARNED)
                pass->k->axpy(x, pass_weight(&w->positions) + position_row(bp, t) * D, 1.0f, D);
        }
    const struct dg_grad_drop drop =
        dg_pass_drop(pass, pass->batch->dropout, site, pass->target.row);
    if (drop.threshold)
        pass->k->drop(pass->target.x, NULL, pass->target.x, pass->target.M, D, &drop);
}

static void embed_back(struct dg_pass *pass, uint64_t site)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    const struct dg_lm_weights *w = &pass->params->weights.lm;
    const size_t D = bp->D;
    const struct dg_grad_drop drop =
        dg_pass_drop(pass, pass->batch->dropout, site, pass->target.row);
    if (drop.threshold)
        pass->k->drop(pass->dx, NULL, pass->dx, pass->target.M, D, &drop);
    const float *dx = pass->dx;
    for (size_t i = 0; i < pass->batch->n; i++)
        for (size_t t = 0; t < n_rows(&pass->batch->examples[i]); t++, dx += D) {
            const size_t id = (size_t)id_at(&pass->batch->examples[i], t);
            pass->k->axpy(pass_gradient(pass, &w->embedding) + id * D, dx, 1.0f, D);
            if (bp->positions == DG_POS_LEARNED)
                pass->k->axpy(pass_gradient(pass, &w->positions) + position_row(bp, t) * D, dx,
                              1.0f, D);
        }
}

/* Copies the rows whose output is needed to adjacent rows of `out` [targets, D]. */
static void pick(const struct dg_pass *pass, float *out, const float *h)
{
    const size_t D = pass->params->bp.D;
    for (size_t i = 0; i < pass->batch->n; i++) {
        const struct dg_example *example = &pass->batch->examples[i];
        memcpy(out, h + (example->n_source - 1) * D, example->n_target * D * sizeof *out);
        out += example->n_target * D;
        h += n_rows(example) * D;
    }
}

/* The reverse of pick, in place. It goes from the last row to the first, because rows move towards
 * the end. */
static void spread(const struct dg_pass *pass, float *dx)
{
    const size_t D = pass->params->bp.D;
    size_t from = 0, to = pass->target.M;
    for (size_t i = 0; i < pass->batch->n; i++)
        from += pass->batch->examples[i].n_target;
    for (size_t i = pass->batch->n; i-- > 0;) {
        const struct dg_example *example = &pass->batch->examples[i];
        from -= example->n_target;
        to -= n_rows(example);
        memmove(dx + (to + example->n_source - 1) * D, dx + from * D,
                example->n_target * D * sizeof *dx);
        memset(dx + to * D, 0, (example->n_source - 1) * D * sizeof *dx);
    }
}

/* ---- Attention ------------------------------------------------------------------------------- */

/* Turns n heads in place, by their position's angle or (sign -1) by its opposite. */
static void turn(const struct dg_pass *pass, float *heads, size_t n, size_t position, float sign)
{
    const size_t width = pass->params->bp.lm.head, half = width / 2;
    const float *cosine = pass->lm->cosines + position * half,
                *sine = pass->lm->sines + position * half;
    for (float *head = heads; head < heads + n * width; head += width)
        for (size_t k = 0; k < half; k++) {
            const float a = head[k], b = head[half + k], s = sign * sine[k];
            head[k] = a * cosine[k] - b * s;
            head[half + k] = b * cosine[k] + a * s;
        }
}

/* Turns the queries and keys of all rows. */
static void turn_all(const struct dg_pass *pass, float *wide, const struct shape *s, float sign)
{
    const size_t n_heads = s->H + pass->params->bp.lm.kv_heads;
    if (pass->params->bp.positions != DG_POS_ROTARY)
        return;
    for (size_t i = 0; i < pass->batch->n; i++)
        for (size_t t = 0; t < n_rows(&pass->batch->examples[i]); t++, wide += s->wide)
            turn(pass, wide, n_heads, t, sign);
}

/* The heads of one text: all at once if each query head has keys of its own, otherwise query
 * head `h` alone. */
static struct dg_grad_attention heads_of(const struct dg_pass *pass, const float *wide, size_t T,
                                         const struct shape *s, size_t h)
{
    const size_t dh = pass->params->bp.lm.head, key = h / s->G * dh;
    return (struct dg_grad_attention){.q = wide + h * dh,
                                      .k = wide + s->A + key,
                                      .v = wide + s->A + s->K + key,
                                      .ld_q = s->wide,
                                      .ld_kv = s->wide,
                                      .T = T,
                                      .S = T,
                                      .H = s->G > 1 ? 1 : s->H,
                                      .dh = dh,
                                      .causal = true};
}

static float *attention(struct dg_pass *pass, struct lm_layer *kept, const struct dg_lm_layer *w,
                        const float *x, uint64_t site)
{
    const struct shape s = shape_of(pass);
    const size_t M = pass->target.M, dh = pass->params->bp.lm.head, n_calls = s.G > 1 ? s.H : 1;
    const float *in = dg_pass_enter(pass, &kept->attention, &w->attention_norm, x, M);
    dg_pass_linear(pass, kept->wide, in, &w->q, M, s.wide, s.D);
    turn_all(pass, kept->wide, &s, 1.0f);
    float *wide = kept->wide, *z = kept->z, *p = kept->p;
    for (size_t i = 0; i < pass->batch->n; i++) {
        const size_t T = n_rows(&pass->batch->examples[i]);
        for (size_t h = 0; h < n_calls; h++) {
            const struct dg_grad_attention a = heads_of(pass, wide, T, &s, h);
            pass->k->attend(z + h * dh, s.A, p, &a, pass->scratch);
            p += a.H * T * T;
        }
        wide += T * s.wide;
        z += T * s.A;
    }
    dg_pass_linear(pass, pass->dmid, kept->z, &w->o, M, s.D, s.A);
    return dg_pass_leave(pass, &kept->attention, &w->attention_norm, x, &pass->target, site);
}

/* The queries of a group share keys and values, and each gives a gradient for them: the first
 * one is kept, the others are added to it. */
static void add_shared(const struct dg_pass *pass, float *d, const float *said, size_t T,
                       const struct shape *s)
{
    const size_t dh = pass->params->bp.lm.head;
    for (size_t t = 0; t < T; t++, d += s->wide, said += s->wide) {
        pass->k->axpy(d, said, 1.0f, dh);
        pass->k->axpy(d + s->K, said + s->K, 1.0f, dh);
    }
}

/* Computes the gradients of one text's queries, keys and values. */
static void attend_back(struct dg_pass *pass, float *d, const float *dz, float *p,
                        const float *wide, size_t T, const struct shape *s)
{
    const size_t dh = pass->params->bp.lm.head, n_calls = s->G > 1 ? s->H : 1;
    for (size_t h = 0; h < n_calls; h++) {
        const struct dg_grad_attention a = heads_of(pass, wide, T, s, h);
        float *dk = d + s->A + h / s->G * dh, *to = h % s->G == 0 ? dk : pass->lm->dshared;
        pass->k->attend_back(d + h * dh, to, to + s->K, dz + h * dh, s->A, p, &a, pass->scratch);
        if (to != dk)
            add_shared(pass, dk, to, T, s);
        p += a.H * T * T;
    }
}

static void attention_back(struct dg_pass *pass, struct lm_layer *kept, const struct dg_lm_layer *w,
                           const float *x, uint64_t site)
{
    const struct shape s = shape_of(pass);
    const size_t M = pass->target.M;
    dg_pass_leave_back(pass, &kept->attention, &w->attention_norm, &pass->target, site);
    dg_pass_linear_back(pass, pass->dz, 0.0f, pass->dmid, kept->z, &w->o, M, s.D, s.A);
    float *d = pass->dwide, *dz = pass->dz, *wide = kept->wide, *p = kept->p;
    for (size_t i = 0; i < pass->batch->n; i++) {
        const size_t T = n_rows(&pass->batch->examples[i]);
        attend_back(pass, d, dz, p, wide, T, &s);
        d += T * s.wide;
        dz += T * s.A;
        wide += T * s.wide;
        p += s.H * T * T;
    }
    turn_all(pass, pass->dwide, &s, -1.0f);
    dg_pass_linear_back(pass, pass->dmid, 0.0f, pass->dwide, kept->attention.mid, &w->q, M, s.wide,
                        s.D);
    dg_pass_enter_back(pass, &kept->attention, &w->attention_norm, x, M);
}

/* ---- Feed-forward ---------------------------------------------------------------------------- */

/* The inner dropout has a number of its own, which differs from the sub-layer's in the top bit. */
static struct dg_grad_drop inner_drop(const struct dg_pass *pass, uint64_t site)
{
    return dg_pass_drop(pass, pass->batch->dropout_ffn, site | UINT64_C(1) << 63, pass->target.row);
}

static const struct dg_linear_weights *first_product(const struct dg_pass *pass,
                                                     const struct dg_lm_layer *w)
{
    return pass->params->bp.lm.gated ? &w->gate : &w->up; /* `up` lies after the gate in memory */
}

static float *feed_forward(struct dg_pass *pass, struct lm_layer *kept, const struct dg_lm_layer *w,
                           const float *x, uint64_t site)
{
    const struct shape s = shape_of(pass);
    const size_t M = pass->target.M;
    const float *in = dg_pass_enter(pass, &kept->ffn, &w->ffn_norm, x, M);
    dg_pass_linear(pass, kept->pre, in, first_product(pass, w), M, s.inner, s.D);
    for (size_t m = 0; m < M; m++) {
        float *pre = kept->pre + m * s.inner, *hidden = kept->hidden + m * s.F;
        pass->k->bias_act(hidden, pre, pass->lm->none, 1, s.F, pass->act);
        for (size_t f = 0; s.inner > s.F && f < s.F; f++)
            hidden[f] *= pre[s.F + f];
    }
    const struct dg_grad_drop drop = inner_drop(pass, site);
    if (drop.threshold)
        pass->k->drop(kept->hidden, NULL, kept->hidden, M, s.F, &drop);
    dg_pass_linear(pass, pass->dmid, kept->hidden, &w->down, M, s.D, s.F);
    return dg_pass_leave(pass, &kept->ffn, &w->ffn_norm, x, &pass->target, site);
}

/* Computes the gradient of the first product, in dwide, from that of h in dhidden. The
 * activation of a gate is computed again, in the memory that will later hold the gradient of its
 * other factor. */
static void act_back(struct dg_pass *pass, const struct lm_layer *kept, const struct shape *s)
{
    for (size_t m = 0; m < pass->target.M; m++) {
        float *pre = kept->pre + m * s->inner, *dh = pass->lm->dhidden + m * s->F,
              *d = pass->dwide + m * s->inner;
        if (s->inner > s->F) {
            float *du = d + s->F;
            const float *u = pre + s->F;
            pass->k->bias_act(du, pre, pass->lm->none, 1, s->F, pass->act);
            for (size_t f = 0; f < s->F; f++) {
                du[f] *= dh[f];
                dh[f] *= u[f];
            }
        }
        pass->k->act_back(d, dh, pre, s->F, pass->act);
    }
}

static void feed_forward_back(struct dg_pass *pass, struct lm_layer *kept,
                              const struct dg_lm_layer *w, const float *x, uint64_t site)
{
    const struct shape s = shape_of(pass);
    const size_t M = pass->target.M;
    dg_pass_leave_back(pass, &kept->ffn, &w->ffn_norm, &pass->target, site);
    dg_pass_linear_back(pass, pass->lm->dhidden, 0.0f, pass->dmid, kept->hidden, &w->down, M, s.D,
                        s.F);
    const struct dg_grad_drop drop = inner_drop(pass, site);
    if (drop.threshold)
        pass->k->drop(pass->lm->dhidden, NULL, pass->lm->dhidden, M, s.F, &drop);
    act_back(pass, kept, &s);
    dg_pass_linear_back(pass, pass->dmid, 0.0f, pass->dwide, kept->ffn.mid, first_product(pass, w),
                        M, s.inner, s.D);
    dg_pass_enter_back(pass, &kept->ffn, &w->ffn_norm, x, M);
}

/* ---- The pass -------------------------------------------------------------------------------- */

enum { EMBEDDING_SITE = 1 };

static uint64_t site_of(size_t layer, size_t sub)
{
    return UINT64_C(1) << 32 | (4 * layer + sub);
}

/* The stream before layer `i`. */
static const float *input_of(const struct dg_pass *pass, size_t i)
{
    return i == 0 ? pass->target.x : pass->lm->layers[i - 1].ffn.out;
}

static void back(struct dg_pass *pass)
{
    const struct dg_lm_weights *w = &pass->params->weights.lm;
    const size_t n = pass->params->bp.decoder.n_layers;
    spread(pass, pass->dx);
    dg_pass_norm_back(pass, pass->dx, false, pass->dx, input_of(pass, n), pass->target.final_stats,
                      &w->norm, pass->target.M);
    for (size_t i = n; i-- > 0;) {
        struct lm_layer *kept = &pass->lm->layers[i];
        feed_forward_back(pass, kept, &w->layers[i], kept->attention.out, site_of(i, 1));
        attention_back(pass, kept, &w->layers[i], input_of(pass, i), site_of(i, 0));
    }
    embed_back(pass, EMBEDDING_SITE);
}

void dg_pass_lm_run(struct dg_pass *pass, struct dg_pass_sums *sums)
{
    const struct dg_lm_weights *w = &pass->params->weights.lm;
    const struct dg_pass_batch *batch = pass->batch;
    const size_t n = pass->params->bp.decoder.n_layers;
    size_t n_targets = 0;
    pass->target.M = pass->source.M = 0;
    pass->target.row = batch->source_row + batch->target_row - batch->first;
    for (size_t i = 0; i < batch->n; i++) {
        pass->target.M += n_rows(&batch->examples[i]);
        pass->source.M += batch->examples[i].n_source;
        n_targets += batch->examples[i].n_target;
    }
    if (batch->n == 0)
        return;
    embed(pass, EMBEDDING_SITE);
    for (size_t i = 0; i < n; i++) {
        struct lm_layer *kept = &pass->lm->layers[i];
        const float *x = attention(pass, kept, &w->layers[i], input_of(pass, i), site_of(i, 0));
        feed_forward(pass, kept, &w->layers[i], x, site_of(i, 1));
    }
    dg_pass_norm(pass, pass->target.final, pass->target.final_stats, input_of(pass, n), &w->norm,
                 pass->target.M);
    pick(pass, pass->dmid, pass->target.final);
    dg_pass_loss(pass, pass->dmid, n_targets, sums);
    if (pass->is_training)
        back(pass);
}
