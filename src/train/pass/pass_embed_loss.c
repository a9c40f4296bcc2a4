/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Both ends of a pass: ids to vectors, and vectors to a loss.
 *
 * The output layer is the widest product of all, so its logits are never all in memory. A few rows
 * at a time are turned into logits, their loss, the logits' gradient (in place), and then the
 * gradients of h and of the matrix. */
#include "train/pass/pass_int.h"

#include <math.h>
#include <string.h>

/* ---- Embedding ------------------------------------------------------------------------------- */

/* One side's tables. */
struct table {
    const struct dg_tensor *rows, *learned;
    const struct dg_norm_weights *norm;
    const struct dg_tensor *types; /* embeddings of segments; NULL: none */
};

static struct table table_of(const struct dg_pass *pass, bool is_target)
{
    const struct dg_transformer_weights *w = &pass->params->weights.transformer;
    const struct dg_enc_weights *e = &pass->params->weights.enc;
    if (pass->enc)
        return (struct table){&e->embedding, &e->positions, &e->embedding_norm,
                              pass->params->bp.enc.n_types ? &e->types : NULL};
    return is_target ? (struct table){&w->target_embedding, &w->target_positions,
                                      &w->target_embedding_norm, NULL}
                     : (struct table){&w->source_embedding, &w->source_positions,
                                      &w->source_embedding_norm, NULL};
}

/* The segment of token `t`, numbered as the server does it: a second text has a segment of its own,
 * if the network knows two. */
static size_t type_of(const struct dg_pass *pass, const struct dg_example *example, size_t t)
{
    const size_t second = (size_t)example->target[0];
    return pass->params->bp.enc.n_types > 1 && second && t >= second;
}

/* Returns the id at position `t`, in row `m`: the source's id, or the id that the decoder reads
 * there. DG_ID_NONE: a zero vector. */
static int32_t id_at(const struct dg_pass *pass, const struct dg_example *example, bool is_target,
                     size_t t, size_t m)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    if (pass->enc)
        return dg_pass_enc_id(pass, m);
    if (!is_target)
        return example->source[t];
    if (t > 0)
        return example->target[t - 1];
    return bp->start == DG_START_TOKEN ? bp->start_id : DG_ID_NONE;
}

static void fill_sinusoids(const struct dg_blueprint *bp, float *row, size_t position)
{
    const size_t half = bp->D / 2;
    const double n = bp->positions == DG_POS_HALVES_CLOSED ? (double)half - 1.0 : (double)half;
    const bool interleaved = bp->positions == DG_POS_INTERLEAVED;
    for (size_t k = 0; k < half; k++) {
        const double angle = (double)(position + bp->position_offset) *
                             pow(10000.0, -(double)k / (n > 0.0 ? n : 1.0));
        row[interleaved ? 2 * k : k] = (float)sin(angle);
        row[interleaved ? 2 * k + 1 : half + k] = (float)cos(angle);
    }
}

/* Returns the row of the stored table for a position; past the table's end, its last row. */
static size_t learned_row(const struct dg_blueprint *bp, size_t position)
{
    const size_t row = position + bp->position_offset;
    return row < bp->n_positions ? row : bp->n_positions - 1;
}

static const float *position_row(const struct dg_pass *pass, struct pass_side *side,
                                 const struct dg_tensor *learned, size_t position)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    if (bp->positions == DG_POS_NONE)
        return NULL;
    if (bp->positions == DG_POS_LEARNED)
        return pass_weight(learned) + learned_row(bp, position) * bp->D;
    for (; side->n_positions <= position; side->n_positions++)
        fill_sinusoids(bp, side->positions + side->n_positions * bp->D, side->n_positions);
    return side->positions + position * bp->D;
}

void dg_pass_embed(struct dg_pass *pass, bool is_target, uint64_t site)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    const struct table table = table_of(pass, is_target);
    struct pass_side *side = is_target ? &pass->target : &pass->source;
    const size_t D = bp->D;
    float *x = side->x0 ? side->x0 : side->x;
    size_t m = 0;
    for (size_t i = 0; i < pass->batch->n; i++) {
        const struct dg_example *example = &pass->batch->examples[i];
        const size_t len = is_target ? example->n_target : example->n_source;
        for (size_t t = 0; t < len; t++, m++) {
            const int32_t id = id_at(pass, example, is_target, t, m);
            const float *position = position_row(pass, side, table.learned, t);
            const float *row = id == DG_ID_NONE ? NULL : pass_weight(table.rows) + (size_t)id * D;
            for (size_t d = 0; d < D; d++)
                x[m * D + d] =
                    (row ? row[d] * bp->embedding_scale : 0.0f) + (position ? position[d] : 0.0f);
            if (table.types)
                pass->k->axpy(x + m * D, pass_weight(table.types) + type_of(pass, example, t) * D,
                              1.0f, D);
        }
    }
    if (side->x0)
        dg_pass_norm(pass, side->x, side->stats, side->x0, table.norm, m);
    const struct dg_grad_drop drop = dg_pass_drop(pass, pass->batch->dropout, site, side->row);
    if (drop.threshold)
        pass->k->drop(side->x, NULL, side->x, m, D, &drop);
}

void dg_pass_embed_back(struct dg_pass *pass, bool is_target, uint64_t site)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    const struct table table = table_of(pass, is_target);
    struct pass_side *side = is_target ? &pass->target : &pass->source;
    const size_t D = bp->D;
    const struct dg_grad_drop drop = dg_pass_drop(pass, pass->batch->dropout, site, side->row);
    if (drop.threshold)
        pass->k->drop(pass->dx, NULL, pass->dx, side->M, D, &drop);
    if (side->x0)
        dg_pass_norm_back(pass, pass->dx, false, pass->dx, side->x0, side->stats, table.norm,
                          side->M);
    size_t m = 0;
    for (size_t i = 0; i < pass->batch->n; i++) {
        const struct dg_example *example = &pass->batch->examples[i];
        const size_t len = is_target ? example->n_target : example->n_source;
        for (size_t t = 0; t < len; t++, m++) {
            const int32_t id = id_at(pass, example, is_target, t, m);
            if (id != DG_ID_NONE)
                pass->k->axpy(pass_gradient(pass, table.rows) + (size_t)id * D, pass->dx + m * D,
                              bp->embedding_scale, D);
            if (bp->positions == DG_POS_LEARNED)
                pass->k->axpy(pass_gradient(pass, table.learned) + learned_row(bp, t) * D,
                              pass->dx + m * D, 1.0f, D);
            if (table.types)
                pass->k->axpy(pass_gradient(pass, table.types) + type_of(pass, example, t) * D,
                              pass->dx + m * D, 1.0f, D);
        }
    }
}

/* ---- Loss ------------------------------------------------------------------------------------ */

/* Steps through the target tokens of a run in order. */
struct cursor {
    size_t example, t;
};

static size_t next_target(const struct dg_pass *pass, struct cursor *at)
{
    const struct dg_example *example = &pass->batch->examples[at->example];
    const size_t id = (size_t)example->target[at->t];
    if (++at->t == example->n_target)
        *at = (struct cursor){at->example + 1, 0};
    return id;
}

/* The weights that make logits: a matrix [V, D] and perhaps a bias. */
static struct dg_linear_weights output_of(const struct dg_pass *pass)
{
    const struct dg_weights *w = &pass->params->weights;
    return pass->lm ? (struct dg_linear_weights){.weight = w->lm.output}
                    : (struct dg_linear_weights){w->transformer.output, w->transformer.output_bias};
}

static void make_logits(struct dg_pass *pass, const struct dg_linear_weights *w, const float *h,
                        size_t rows)
{
    const size_t D = pass->params->bp.D, V = pass->params->bp.decoder.V;
    pass_nt(pass, pass->logits, V, h, D, pass_weight(&w->weight), D, rows, V, D, 0.0f);
    if (dg_tensor_present(&w->bias))
        pass->k->bias_act(pass->logits, pass->logits, pass_weight(&w->bias), rows, V, DG_OP_NONE);
}

static size_t rows_at(const struct dg_pass *pass, size_t first, size_t M)
{
    return M - first < pass->logits_rows ? M - first : pass->logits_rows;
}

/* The sign of a candidate's gradient depends on its whole group. So the whole group must be
 * measured first, and its logits are computed twice. Candidates come after the pairs. */
static void weigh_rivals(struct dg_pass *pass, const struct dg_linear_weights *w, const float *h,
                         size_t M, struct dg_pass_sums *sums)
{
    const size_t D = pass->params->bp.D, V = pass->params->bp.decoder.V;
    struct cursor at = {0};
    size_t first = 0;
    for (; at.example < pass->batch->n && !pass->batch->examples[at.example].n_candidates;
         at.example++)
        first += pass->batch->examples[at.example].n_target;
    if (at.example == pass->batch->n)
        return;
    memset(pass->weights, 0, pass->batch->n * sizeof *pass->weights);
    for (; first < M; first += pass->logits_rows) {
        const size_t rows = rows_at(pass, first, M);
        make_logits(pass, w, h + first * D, rows);
        for (size_t m = 0; m < rows; m++) {
            double plain;
            const size_t example = at.example;
            pass->k->loss_only(pass->logits + m * V, V, next_target(pass, &at), 0.0f, &plain);
            pass->weights[example] += (float)plain;
        }
    }
    dg_pass_risk_weigh(pass, pass->weights, sums);
}

/* One row: the gradient of a pair's token, or of a candidate's, which is scaled with its answer. */
static void row_loss(struct dg_pass *pass, float *logits, size_t V, struct cursor *at,
                     struct dg_pass_sums *sums)
{
    const struct dg_pass_batch *batch = pass->batch;
    const size_t i = at->example, target = next_target(pass, at);
    double plain;
    if (batch->examples[i].n_candidates) {
        (void)pass->k->loss(logits, V, target, 0.0f, pass->weights[i], &plain);
        return;
    }
    sums->loss += pass->is_training
                      ? pass->k->loss(logits, V, target, batch->smoothing, batch->scale, &plain)
                      : pass->k->loss_only(logits, V, target, batch->smoothing, &plain);
    sums->plain += plain;
    sums->n_tokens++;
}

void dg_pass_loss(struct dg_pass *pass, const float *h, size_t M, struct dg_pass_sums *sums)
{
    const struct dg_linear_weights w = output_of(pass);
    const size_t D = pass->params->bp.D, V = pass->params->bp.decoder.V;
    const uint64_t n_before = sums->n_tokens;
    struct cursor at = {0};
    if (pass->is_training)
        weigh_rivals(pass, &w, h, M, sums);
    for (size_t first = 0; first < M; first += pass->logits_rows) {
        const size_t rows = rows_at(pass, first, M);
        const float *in = h + first * D;
        make_logits(pass, &w, in, rows);
        for (size_t m = 0; m < rows; m++)
            row_loss(pass, pass->logits + m * V, V, &at, sums);
        if (!pass->is_training)
            continue;
        pass_nn(pass, pass->dx + first * D, D, pass->logits, V, pass_weight(&w.weight), D, rows, D,
                V, 0.0f);
        pass_tn(pass, pass_gradient(pass, &w.weight), D, pass->logits, V, in, D, V, D, rows, 1.0f);
        if (dg_tensor_present(&w.bias))
            pass->k->column_sum(pass_gradient(pass, &w.bias), pass->logits, rows, V);
    }
    sums->n_losses += (double)(sums->n_tokens - n_before);
    sums->n_source_tokens += pass->source.M;
}
