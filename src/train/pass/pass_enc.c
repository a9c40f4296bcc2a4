/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* An encoder-only model, forward and backward: the heads of net_enc.c over the layers of pass.c.
 * Recipe:
 *
 *     source, some words masked -> embedding with segments -> layers            h [M, D]
 *     the rows that are asked of h -> head's dense, activation, norm (or none)  top [n, D]
 *     logits = top W^T + b, their loss, and back
 *
 *     WORDS    the masked words; W is the embedding where they are tied
 *     POOLED   first tokens; for a number the loss is the squared difference, for labels of which
 *              any number may be right the mean of their binary cross entropies
 *     TOKENS   tokens that have a label
 *     SPANS    the tokens of the context, and the first one for "no answer": the mean loss of two
 *              softmaxes per text
 *
 * Gradients of the asked rows are added to a dx of zeros. The head uses dmid and dz of the pass as
 * scratch memory. */
#include "base/memory/mem.h"
#include "network/net.h"
#include "train/data/random.h"
#include "train/pass/pass_int.h"

#include <math.h>
#include <string.h>

enum { ANSWER_LEN = 30 }; /* tokens of an answer that is judged: the server's default */

/* Numbers of the places where only this pass uses dropout and random draws (pass.c has the
 * others). */
static const uint64_t head_site = UINT64_C(1) << 40, mask_site = UINT64_C(1) << 41;

struct enc_pass {
    int32_t *ids;              /* [Ms] what is read */
    uint32_t *rows;            /* [Ms] rows that are asked */
    struct dg_pass_said *said; /* [2 Ms] of each; of DG_LABELS_EACH [Ms, V] */
    uint32_t *first;           /* [Ms + 1] of each example, the first of these */
    size_t n;                  /* number of rows whose output is needed */
    float *in;                 /* [Ms, D] those rows of h */
    float *pre, *act;          /* [Ms, D] the dense's product, before and after the activation */
    float *normed, *stats;     /* [Ms, D], [Ms, 2] */
    float *spans;              /* [Ms, 2] */
    float *line;               /* [2 Ms] of one text's spans */
};

enum dg_err dg_pass_enc_new(struct enc_pass **enc)
{
    *enc = dg_try_calloc(1, sizeof **enc);
    return *enc ? DG_OK : DG_ERR_NOMEM;
}

void dg_pass_enc_free(struct enc_pass *enc)
{
    dg_free(enc);
}

bool dg_pass_gives_each(const struct dg_blueprint *bp)
{
    return bp->enc.head == DG_HEAD_POOLED && bp->enc.rule == DG_LABELS_EACH;
}

void dg_pass_enc_carve(struct dg_pass *pass, struct dg_pass_carve *c)
{
    struct enc_pass *enc = pass->enc;
    const struct dg_blueprint *bp = &pass->params->bp;
    const size_t M = pass->limits.source_rows, row = bp->D * sizeof(float);
    const bool is_words = bp->enc.head == DG_HEAD_WORDS,
               has_dense = is_words || bp->enc.head == DG_HEAD_POOLED;
    const size_t n_said = dg_pass_gives_each(bp) && bp->decoder.V > 2 ? bp->decoder.V : 2;
    enc->ids = dg_pass_carve(c, M, sizeof *enc->ids);
    enc->rows = dg_pass_carve(c, M, sizeof *enc->rows);
    enc->said = dg_pass_carve(c, n_said * M, sizeof *enc->said);
    enc->first = dg_pass_carve(c, M + 1, sizeof *enc->first);
    enc->in = dg_pass_carve(c, M, row);
    enc->pre = has_dense ? dg_pass_carve(c, M, row) : NULL;
    enc->act = has_dense ? dg_pass_carve(c, M, row) : NULL;
    enc->normed = is_words ? dg_pass_carve(c, M, row) : NULL;
    enc->stats = dg_pass_carve(c, M, 2 * sizeof(float));
    enc->spans = dg_pass_carve(c, M, 2 * sizeof(float));
    enc->line = dg_pass_carve(c, 2 * M, sizeof(float));
}

int32_t dg_pass_enc_id(const struct dg_pass *pass, size_t m)
{
    return pass->enc->ids[m];
}

const struct dg_pass_said *dg_pass_said(const struct dg_pass *pass, size_t i, size_t *n)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    const uint32_t *first = pass->enc->first + i;
    const size_t n_each = dg_pass_gives_each(bp) ? bp->decoder.V : 1;
    *n = (first[1] - first[0]) * n_each;
    return pass->enc->said + first[0] * n_each;
}

/* ---- The asked rows -------------------------------------------------------------------------- */

static float float_of(int32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Tokens such as [cls] and [sep], which frame the texts, are not words. */
static bool is_frame(const struct dg_example *example, size_t t)
{
    const size_t second = (size_t)example->target[0];
    return t == 0 || t + 1 == example->n_source || (second && t + 1 == second);
}

bool dg_pass_draw_mask(const struct dg_blueprint *bp, const struct dg_pass_batch *batch,
                       const struct dg_example *example, size_t t, uint64_t row, int32_t *id)
{
    struct dg_random random = dg_random_make(dg_random_key(batch->key, mask_site), row + t);
    *id = example->source[t];
    if (is_frame(example, t) || dg_random_unit(&random) >= (double)batch->mask.share)
        return false;
    const double kind = dg_random_unit(&random);
    if (kind < 0.8)
        *id = batch->mask.id;
    else if (kind < 0.9)
        *id = (int32_t)dg_random_below(&random, bp->encoder.V);
    return true;
}

size_t dg_pass_n_asked(const struct dg_blueprint *bp, const struct dg_pass_batch *batch,
                       const struct dg_example *example, uint64_t row)
{
    size_t n = 0;
    int32_t id;
    if (bp->enc.head == DG_HEAD_WORDS)
        for (size_t t = 0; t < example->n_source; t++)
            n += dg_pass_draw_mask(bp, batch, example, t, row, &id);
    else if (bp->enc.head == DG_HEAD_TOKENS)
        for (size_t t = 0; t < example->n_source; t++)
            n += example->target[1 + t] != DG_EXAMPLE_UNSAID;
    else
        n = 1;
    return n;
}

static void ask(struct enc_pass *enc, size_t row, struct dg_pass_said said)
{
    enc->rows[enc->n] = (uint32_t)row;
    enc->said[enc->n++] = said;
}

/* Prepares all V labels of a text. `truth` has the numbers of the n that are right. */
static void ask_labels(struct enc_pass *enc, size_t row, const int32_t *truth, size_t n, size_t V)
{
    struct dg_pass_said *said = enc->said + enc->n * V;
    enc->rows[enc->n++] = (uint32_t)row;
    for (size_t l = 0; l < V; l++)
        said[l] = (struct dg_pass_said){.truth = 0};
    for (size_t i = 0; i < n; i++)
        said[truth[i]].truth = 1;
}

/* Prepares the example whose first row is `m`. */
static void ask_example(struct dg_pass *pass, const struct dg_example *example, size_t m)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    struct enc_pass *enc = pass->enc;
    const int32_t *truth = example->target + 1;
    const bool is_number = bp->enc.rule == DG_LABELS_NUMBER;
    if (dg_pass_gives_each(bp))
        ask_labels(enc, m, truth, example->n_target - 1, bp->decoder.V);
    else if (bp->enc.head == DG_HEAD_POOLED)
        ask(enc, m,
            is_number ? (struct dg_pass_said){.wanted = float_of(truth[0])}
                      : (struct dg_pass_said){.truth = truth[0]});
    for (size_t t = 0; t < example->n_source; t++) {
        enc->ids[m + t] = example->source[t];
        if (bp->enc.head == DG_HEAD_TOKENS && truth[t] != DG_EXAMPLE_UNSAID)
            ask(enc, m + t, (struct dg_pass_said){.truth = truth[t]});
        if (bp->enc.head == DG_HEAD_WORDS &&
            dg_pass_draw_mask(bp, pass->batch, example, t, pass->source.row + m, &enc->ids[m + t]))
            ask(enc, m + t, (struct dg_pass_said){.truth = example->source[t]});
    }
}

static void ask_all(struct dg_pass *pass)
{
    struct enc_pass *enc = pass->enc;
    size_t m = 0;
    enc->n = 0;
    for (size_t i = 0; i < pass->batch->n; i++) {
        const struct dg_example *example = &pass->batch->examples[i];
        enc->first[i] = (uint32_t)enc->n;
        ask_example(pass, example, m);
        m += example->n_source;
    }
    enc->first[pass->batch->n] = (uint32_t)enc->n;
}

/* ---- Loss ------------------------------------------------------------------------------------ */

static size_t greatest(const float *x, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

/* Computes the cross entropy of one row; in training, replaces the logits by its gradient times
 * `scale`. */
static void cross_entropy(const struct dg_pass *pass, float *logits, size_t n, size_t truth,
                          float share, struct dg_pass_sums *sums)
{
    const struct dg_pass_batch *batch = pass->batch;
    double plain;
    const double loss =
        pass->is_training
            ? pass->k->loss(logits, n, truth, batch->smoothing, share * batch->scale, &plain)
            : pass->k->loss_only(logits, n, truth, batch->smoothing, &plain);
    sums->loss += (double)share * loss;
    sums->plain += (double)share * plain;
}

/* Computes the mean loss over V labels: -log p for a label that is right and -log (1 - p) for one
 * that is not, with p = 1 / (1 + exp(-x)). In training the logits are replaced by the gradient, (p
 * - truth) / V. Smoothing moves each truth towards a half. */
static void labels_loss(const struct dg_pass *pass, float *logits, struct dg_pass_said *said,
                        struct dg_pass_sums *sums)
{
    const size_t V = pass->params->bp.decoder.V;
    const double smoothing = (double)pass->batch->smoothing, share = 1.0 / (double)V;
    bool is_right = true;
    for (size_t l = 0; l < V; l++) {
        const double x = (double)logits[l], truth = said[l].truth,
                     target = truth * (1.0 - smoothing) + 0.5 * smoothing;
        const double wrong = fmax(x, 0.0) + log1p(exp(-fabs(x))); /* equal to -log (1 - p) */
        said[l].said = x > 0.0;
        is_right &= said[l].said == said[l].truth;
        sums->loss += share * (wrong - x * target);
        sums->plain += share * (wrong - x * truth);
        logits[l] = (float)((1.0 / (1.0 + exp(-x)) - target) * share * (double)pass->batch->scale);
    }
    sums->n_right += is_right;
}

static void row_loss(struct dg_pass *pass, float *logits, struct dg_pass_said *said,
                     struct dg_pass_sums *sums)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    if (dg_pass_gives_each(bp)) {
        labels_loss(pass, logits, said, sums);
        return;
    }
    if (bp->enc.head == DG_HEAD_POOLED && bp->enc.rule == DG_LABELS_NUMBER) {
        const double gap = (double)logits[0] - (double)said->wanted;
        said->number = logits[0];
        sums->loss += gap * gap;
        sums->plain += gap * gap;
        logits[0] = (float)(2.0 * gap * (double)pass->batch->scale);
        return;
    }
    said->said = (int32_t)greatest(logits, bp->decoder.V);
    sums->n_right += said->said == said->truth;
    cross_entropy(pass, logits, bp->decoder.V, (size_t)said->truth, 1.0f, sums);
}

/* Computes logits and losses of the asked rows, a few at a time; in training dtop [n, D] (the
 * pass's dz) becomes their gradient. */
static void measure_rows(struct dg_pass *pass, const float *top, struct dg_pass_sums *sums)
{
    const struct dg_enc_weights *w = &pass->params->weights.enc;
    const size_t D = pass->params->bp.D, V = pass->params->bp.decoder.V, n = pass->enc->n;
    const size_t n_said = dg_pass_gives_each(&pass->params->bp) ? V : 1; /* outputs of a row */
    for (size_t first = 0; first < n; first += pass->logits_rows) {
        const size_t rows = n - first < pass->logits_rows ? n - first : pass->logits_rows;
        const float *in = top + first * D;
        pass_nt(pass, pass->logits, V, in, D, pass_weight(&w->output), D, rows, V, D, 0.0f);
        pass->k->bias_act(pass->logits, pass->logits, pass_weight(&w->output_bias), rows, V,
                          DG_OP_NONE);
        for (size_t i = 0; i < rows; i++)
            row_loss(pass, pass->logits + i * V, &pass->enc->said[(first + i) * n_said], sums);
        if (!pass->is_training)
            continue;
        pass_nn(pass, pass->dz + first * D, D, pass->logits, V, pass_weight(&w->output), D, rows, D,
                V, 0.0f);
        pass_tn(pass, pass_gradient(pass, &w->output), D, pass->logits, V, in, D, V, D, rows, 1.0f);
        pass->k->column_sum(pass_gradient(pass, &w->output_bias), pass->logits, rows, V);
    }
    sums->n_losses += (double)n;
}

/* Finds the most probable answer among n positions; the first position means that there is no
 * answer. */
static void best_span(const float *starts, const float *ends, size_t n, size_t *from, size_t *to)
{
    float best = starts[0] + ends[0];
    *from = *to = 0;
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j < n && j < i + ANSWER_LEN; j++)
            if (starts[i] + ends[j] > best) {
                best = starts[i] + ends[j];
                *from = i;
                *to = j;
            }
}

/* Computes the loss of one text's spans [n_source, 2]; its gradient replaces them. Candidates are
 * token 0 and the tokens of [at, end). */
static void span_loss(struct dg_pass *pass, const struct dg_example *example, float *spans,
                      struct dg_pass_said *said, struct dg_pass_sums *sums)
{
    const size_t second = (size_t)example->target[0],
                 at = second + pass->params->bp.enc.separators - 1;
    const size_t n = example->n_source - 1 - at + 1;
    float *columns[2] = {pass->enc->line, pass->enc->line + n};
    size_t found[2];
    for (size_t c = 0; c < 2; c++) {
        columns[c][0] = spans[c];
        for (size_t i = 1; i < n; i++)
            columns[c][i] = spans[2 * (at + i - 1) + c];
    }
    best_span(columns[0], columns[1], n, &found[0], &found[1]);
    memset(spans, 0, 2 * example->n_source * sizeof *spans);
    for (size_t c = 0; c < 2; c++) {
        const size_t truth = (size_t)example->target[1 + c];
        said[c] = (struct dg_pass_said){.said = found[c] ? (int32_t)(found[c] + at - 1) : 0,
                                        .truth = (int32_t)truth};
        cross_entropy(pass, columns[c], n, truth ? truth - at + 1 : 0, 0.5f, sums);
        spans[c] = columns[c][0];
        for (size_t i = 1; i < n; i++)
            spans[2 * (at + i - 1) + c] = columns[c][i];
    }
    sums->n_right += said[0].said == said[0].truth && said[1].said == said[1].truth;
}

/* Does the same for all texts; dx is overwritten. */
static void measure_spans(struct dg_pass *pass, const float *h, struct dg_pass_sums *sums)
{
    const struct dg_enc_weights *w = &pass->params->weights.enc;
    struct enc_pass *enc = pass->enc;
    const size_t D = pass->params->bp.D, M = pass->source.M;
    const struct dg_linear_weights out = {w->output, w->output_bias};
    dg_pass_linear(pass, enc->spans, h, &out, M, 2, D);
    for (size_t i = 0, m = 0; i < pass->batch->n; i++) {
        span_loss(pass, &pass->batch->examples[i], enc->spans + 2 * m, enc->said + 2 * i, sums);
        m += pass->batch->examples[i].n_source;
        enc->first[i] = (uint32_t)(2 * i);
        enc->first[i + 1] = (uint32_t)(2 * i + 2);
    }
    sums->n_losses += (double)pass->batch->n;
    if (pass->is_training)
        dg_pass_linear_back(pass, pass->dx, 0.0f, enc->spans, h, &out, M, 2, D);
}

/* ---- The head -------------------------------------------------------------------------------- */

/* For pooled texts, dropout is numbered by examples, not by tokens. */
static struct dg_grad_drop pooled_drop(const struct dg_pass *pass)
{
    const bool is_pooled = pass->params->bp.enc.head == DG_HEAD_POOLED;
    return dg_pass_drop(pass, is_pooled ? pass->batch->dropout : 0.0f, head_site,
                        pass->batch->first);
}

/* Computes the input of the output matrix from the needed rows. */
static const float *enter_head(struct dg_pass *pass)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    const struct dg_enc_weights *w = &pass->params->weights.enc;
    struct enc_pass *enc = pass->enc;
    const size_t D = bp->D;
    if (!enc->pre)
        return enc->in;
    dg_pass_multiply(pass, enc->pre, enc->in, &w->dense, enc->n, D, D);
    pass->k->bias_act(enc->act, enc->pre, pass_weight(&w->dense.bias), enc->n, D,
                      dg_net_head_act(&bp->enc));
    const struct dg_grad_drop drop = pooled_drop(pass);
    if (drop.threshold)
        pass->k->drop(enc->act, NULL, enc->act, enc->n, D, &drop);
    if (!enc->normed)
        return enc->act;
    dg_pass_norm(pass, enc->normed, enc->stats, enc->act, &w->dense_norm, enc->n);
    return enc->normed;
}

/* Sets the pass's dz to the gradient of the needed rows. */
static void enter_head_back(struct dg_pass *pass)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    const struct dg_enc_weights *w = &pass->params->weights.enc;
    struct enc_pass *enc = pass->enc;
    const size_t D = bp->D;
    if (!enc->pre)
        return;
    if (enc->normed)
        dg_pass_norm_back(pass, pass->dz, false, pass->dz, enc->act, enc->stats, &w->dense_norm,
                          enc->n);
    const struct dg_grad_drop drop = pooled_drop(pass);
    if (drop.threshold)
        pass->k->drop(pass->dz, NULL, pass->dz, enc->n, D, &drop);
    pass->k->act_back(pass->dmid, pass->dz, enc->pre, enc->n * D, dg_net_head_act(&bp->enc));
    dg_pass_linear_back(pass, pass->dz, 0.0f, pass->dmid, enc->in, &w->dense, enc->n, D, D);
}

static void measure_asked(struct dg_pass *pass, const float *h, struct dg_pass_sums *sums)
{
    struct enc_pass *enc = pass->enc;
    const size_t D = pass->params->bp.D;
    for (size_t i = 0; i < enc->n; i++)
        memcpy(enc->in + i * D, h + enc->rows[i] * D, D * sizeof *h);
    if (enc->n)
        measure_rows(pass, enter_head(pass), sums);
    if (!pass->is_training)
        return;
    memset(pass->dx, 0, pass->source.M * D * sizeof *pass->dx);
    if (enc->n)
        enter_head_back(pass);
    for (size_t i = 0; i < enc->n; i++)
        memcpy(pass->dx + enc->rows[i] * D, pass->dz + i * D, D * sizeof *h);
}

void dg_pass_enc_run(struct dg_pass *pass, struct dg_pass_sums *sums)
{
    const struct dg_enc_weights *w = &pass->params->weights.enc;
    ask_all(pass);
    dg_pass_embed(pass, false, 0);
    const float *h = dg_pass_layers(pass, w->layers, &w->norm);
    if (pass->params->bp.enc.head == DG_HEAD_SPANS)
        measure_spans(pass, h, sums);
    else
        measure_asked(pass, h, sums);
    sums->n_tokens += pass->source.M;
    sums->n_source_tokens += pass->source.M;
    if (!pass->is_training)
        return;
    dg_pass_layers_back(pass, w->layers, &w->norm);
    dg_pass_embed_back(pass, false, 0);
}
