/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The frame of a pass through a plain recurrent network: memory, orders, the loss. Recipe:
 *     source -> words -> layers, each in one or both directions       encoded [Ms, D], last states
 *     target -> for each time: word, attention over encoded, layers   tops [Mt, D]
 *     loss of the tops against the target
 *
 * and the same backwards, time by time from the last. The decoder reads the target (teacher
 * forcing) or, for sentences drawn for that, the network's own output, until it ends too early. */
#include "train/pass/pass_seq.h"
#include "base/memory/bounds.h"
#include "base/memory/mem.h"
#include "train/data/random.h"

#include <string.h>

/* ---- Memory ---------------------------------------------------------------------------------- */

static void carve_order(struct dg_pass_carve *c, struct seq_order *order, size_t B)
{
    order->example = dg_pass_carve(c, B, sizeof *order->example);
    order->place = dg_pass_carve(c, B, sizeof *order->place);
    order->len = dg_pass_carve(c, B, sizeof *order->len);
    /* B + 1, because no sentence is longer than the number of rows */
    order->first = dg_pass_carve(c, B + 1, sizeof *order->first);
    order->counted = dg_pass_carve(c, B, sizeof *order->counted);
}

static float *floats(struct dg_pass_carve *c, size_t rows, size_t columns)
{
    return dg_pass_carve(c, rows, columns * sizeof(float));
}

static void carve_layer(struct dg_pass_carve *c, struct seq_layer *layer, size_t M,
                        const struct seq_pass *seq, bool is_bidirectional)
{
    layer->in = floats(c, M, seq->D);
    layer->out = floats(c, M, seq->D);
    layer->forward.gates = floats(c, M, seq->kept * seq->D);
    layer->forward.before = floats(c, M, seq->D);
    layer->backward.gates = is_bidirectional ? floats(c, M, seq->kept * seq->D) : NULL;
    layer->backward.before = is_bidirectional ? floats(c, M, seq->D) : NULL;
}

static void carve_decoder(struct dg_pass *pass, struct dg_pass_carve *c, size_t Ms, size_t Mt,
                          size_t B)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    struct seq_pass *seq = pass->seq;
    const size_t D = seq->D, places = bp->seq.places;
    const bool has_keys =
        bp->seq.attention == DG_SEQ_GENERAL || bp->seq.attention == DG_SEQ_ADDITIVE;
    for (size_t i = 0; i < bp->decoder.n_layers; i++) {
        carve_layer(c, &seq->decoder[i], Mt, seq, false);
        seq->decoder[i].dx = floats(c, Mt, seq->C);
        seq->decoder[i].ds = floats(c, Mt, seq->C);
    }
    seq->states = floats(c, bp->decoder.n_layers * 2 * B, D);
    seq->dstates = floats(c, bp->decoder.n_layers * 2 * B, D);
    seq->keys = has_keys ? floats(c, Ms, D) : NULL;
    seq->dkeys = floats(c, Ms, D);
    seq->word = floats(c, Mt, D);
    seq->dword = floats(c, Mt, D);
    seq->both = floats(c, Mt, 2 * D);
    seq->dboth = floats(c, Mt, 2 * D);
    seq->mixed = floats(c, Mt, D);
    seq->dmixed = floats(c, Mt, D);
    seq->query = floats(c, Mt, D);
    seq->dquery = floats(c, Mt, D);
    seq->weights = floats(c, dg_most(pass->limits.scores, Mt * places), 1);
    seq->fed = dg_pass_carve(c, Mt, sizeof *seq->fed);
    seq->weights_at = dg_pass_carve(c, Mt, sizeof *seq->weights_at);
    seq->row = floats(c, dg_most(dg_most(Ms, Mt), dg_most(places, D)), 1);
    seq->dscore = floats(c, D, 1);
    pass->scratch = floats(c, dg_most(Ms, places), 1);
}

void dg_pass_seq_carve(struct dg_pass *pass, struct dg_pass_carve *c)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    struct seq_pass *seq = pass->seq;
    const size_t Ms = pass->limits.source_rows, Mt = pass->limits.target_rows, M = dg_most(Ms, Mt),
                 D = bp->D;
    const size_t B = M;
    seq->D = D;
    seq->C = dg_blueprint_gates(bp) * D;
    seq->kept = bp->decoder_kind == DG_DECODER_LSTM  ? 6
                : bp->decoder_kind == DG_DECODER_GRU ? 4
                                                     : 1;
    carve_order(c, &seq->source, B);
    carve_order(c, &seq->target, B);
    for (size_t i = 0; i < bp->encoder.n_layers; i++)
        carve_layer(c, &seq->encoder[i], Ms, seq, bp->seq.is_bidirectional);
    seq->product_x = floats(c, M, seq->C);
    seq->product_s = floats(c, M, seq->C);
    seq->dx = floats(c, M, seq->C);
    seq->ds = floats(c, M, seq->C);
    seq->h = floats(c, B, D);
    seq->c = floats(c, B, D);
    seq->start = floats(c, bp->encoder.n_layers * 2 * B, D);
    seq->dstart = floats(c, bp->encoder.n_layers * 2 * B, D);
    seq->dencoded = floats(c, Ms, D);
    seq->dtop = floats(c, Mt, D);
    seq->few = floats(c, B, D);
    seq->input = dg_pass_carve(c, B, sizeof *seq->input);
    seq->said = dg_pass_carve(c, B, sizeof *seq->said);
    seq->is_forced = dg_pass_carve(c, B, sizeof *seq->is_forced);
    seq->is_over = dg_pass_carve(c, B, sizeof *seq->is_over);
    if (!bp->seq.is_classifier)
        carve_decoder(pass, c, Ms, Mt, B);
    pass->logits = floats(c, pass->logits_rows, bp->decoder.V);
}

enum dg_err dg_pass_seq_new(struct seq_pass **seq, const struct dg_blueprint *bp)
{
    struct seq_pass *made = dg_try_calloc(1, sizeof *made);
    if (!made)
        return DG_ERR_NOMEM;
    made->encoder = dg_try_calloc(bp->encoder.n_layers, sizeof *made->encoder);
    made->decoder = dg_try_calloc(bp->decoder.n_layers, sizeof *made->decoder);
    if (!made->encoder || !made->decoder) {
        dg_pass_seq_free(made);
        return DG_ERR_NOMEM;
    }
    *seq = made;
    return DG_OK;
}

void dg_pass_seq_free(struct seq_pass *seq)
{
    if (!seq)
        return;
    dg_free(seq->encoder);
    dg_free(seq->decoder);
    dg_free(seq);
}

/* ---- Products -------------------------------------------------------------------------------- */

void dg_seq_nt(const struct dg_pass *pass, float *c, const float *a, const struct dg_tensor *w,
               size_t M, size_t N, size_t K)
{
    if (M <= DG_GRAD_FEW)
        pass->k->few_nt(c, N, a, K, pass_weight(w), K, M, N, K, 0.0f);
    else
        pass_nt(pass, c, N, a, K, pass_weight(w), K, M, N, K, 0.0f);
}

void dg_seq_nn(const struct dg_pass *pass, float *c, const float *a, const struct dg_tensor *w,
               size_t M, size_t N, size_t K, float beta)
{
    if (M <= DG_GRAD_FEW)
        pass->k->few_nn(c, N, a, K, pass_weight(w), N, M, N, K, beta);
    else
        pass_nn(pass, c, N, a, K, pass_weight(w), N, M, N, K, beta);
}

void dg_seq_grad(const struct dg_pass *pass, const struct dg_tensor *w,
                 const struct dg_tensor *bias, const float *a, const float *b, size_t M, size_t N,
                 size_t K)
{
    if (M == 1)
        pass->k->few_tn(pass_gradient(pass, w), K, a, N, b, K, N, K, M, 1.0f);
    else
        pass_tn(pass, pass_gradient(pass, w), K, a, N, b, K, N, K, M, 1.0f);
    if (bias && dg_tensor_present(bias))
        pass->k->column_sum(pass_gradient(pass, bias), a, M, N);
}

void dg_seq_add_bias(float *x, const struct dg_tensor *bias, size_t M, size_t N)
{
    const float *b = pass_weight(bias);
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++)
            x[m * N + n] += b[n];
}

void dg_seq_cell(const struct dg_pass *pass, float *h, float *c, float *gates, const float *x,
                 const float *s)
{
    const size_t D = pass->seq->D;
    switch (pass->seq->kept) {
    case 6:
        pass->k->lstm(h, c, gates, x, s, D);
        break;
    case 4:
        pass->k->gru(h, gates, x, s, D);
        break;
    default:
        pass->k->tanh(h, gates, x, s, D);
    }
}

void dg_seq_cell_back(const struct dg_pass *pass, float *dh, float *dc, float *dx, float *ds,
                      const float *gates, const float *before)
{
    const size_t D = pass->seq->D;
    switch (pass->seq->kept) {
    case 6:
        pass->k->lstm_back(dh, dc, dx, ds, gates, D);
        break;
    case 4:
        pass->k->gru_back(dh, dx, ds, gates, before, D);
        break;
    default:
        pass->k->tanh_back(dh, dx, ds, gates, D);
    }
}

void dg_seq_drop(const struct dg_pass *pass, float *x, const struct seq_order *order, size_t t,
                 uint64_t site)
{
    const size_t D = pass->seq->D, n = seq_live(order, t);
    for (size_t j = 0; j < n; j++) {
        const struct dg_grad_drop drop =
            dg_pass_drop(pass, pass->batch->dropout, site, order->counted[j] + t);
        if (drop.threshold)
            pass->k->drop(x + j * D, NULL, x + j * D, 1, D, &drop);
    }
}

/* ---- Orders ---------------------------------------------------------------------------------- */

static uint32_t len_of(const struct dg_example *example, bool is_target)
{
    return is_target ? example->n_target : example->n_source;
}

/* Sorts the longest first; equal lengths keep their order. Insertion is good enough, because there
 * are few lengths and batches are not large. */
static void sort(struct seq_order *order, const struct dg_pass_batch *batch, bool is_target,
                 uint64_t row)
{
    order->B = batch->n;
    order->M = 0;
    for (size_t i = 0; i < batch->n; i++) {
        const uint32_t len = len_of(&batch->examples[i], is_target);
        size_t j = i;
        for (; j > 0 && order->len[j - 1] < len; j--) {
            order->len[j] = order->len[j - 1];
            order->example[j] = order->example[j - 1];
            order->counted[j] = order->counted[j - 1];
        }
        order->len[j] = len;
        order->example[j] = (uint32_t)i;
        order->counted[j] = row + order->M;
        order->M += len;
    }
    order->longest = order->len[0];
    uint32_t at = 0;
    for (size_t t = 0, n = order->B; t <= order->longest; t++) {
        while (n > 0 && order->len[n - 1] <= t)
            n--;
        order->first[t] = at;
        at += (uint32_t)n;
    }
    for (size_t j = 0; j < order->B; j++)
        order->place[order->example[j]] = (uint32_t)j;
}

/* ---- Loss ------------------------------------------------------------------------------------ */

/* The weight of a row in the gradient, and in the reported loss. */
struct share {
    float scale;
    double reported;
};

static struct share share_of(const struct dg_pass *pass, size_t j, size_t t)
{
    const struct seq_pass *seq = pass->seq;
    if (t >= seq->said[j])
        return (struct share){0.0f, 0.0};
    const bool by_sentence = pass->batch->loss == DG_PASS_LOSS_SENTENCE;
    return (struct share){pass->batch->scale, by_sentence ? 1.0 / (double)seq->target.len[j] : 1.0};
}

/* Computes the loss of one row of logits; its gradient replaces them. */
static void row_loss(struct dg_pass *pass, float *logits, size_t id, struct share share,
                     struct dg_pass_sums *sums)
{
    const struct dg_pass_batch *batch = pass->batch;
    const size_t V = pass->params->bp.decoder.V;
    double plain, loss;
    if (share.reported == 0.0) {
        memset(logits, 0, V * sizeof *logits);
        return;
    }
    for (size_t v = 0; pass->params->bp.seq.is_classifier; v++)
        if (v == V) {
            sums->n_right++;
            break;
        } else if (logits[v] > logits[id]) {
            break;
        }
    if (pass->is_training)
        loss = pass->k->loss(logits, V, id, batch->smoothing, share.scale, &plain);
    else
        loss = pass->k->loss_only(logits, V, id, batch->smoothing, &plain);
    sums->loss += loss * share.reported;
    sums->plain += plain * share.reported;
}

/* Computes the loss of all rows. They are sorted by time and then by sentence, as the order says;
 * if each sentence has one token (a classifier), by sentence alone. */
static void measure(struct dg_pass *pass, const float *tops, size_t M, struct dg_pass_sums *sums)
{
    const struct dg_seq_weights *w = &pass->params->weights.seq;
    struct seq_pass *seq = pass->seq;
    const struct seq_order *order = &seq->target;
    const size_t D = seq->D, V = pass->params->bp.decoder.V;
    size_t t = 0, j = 0;
    for (size_t first = 0; first < M; first += pass->logits_rows) {
        const size_t rows = M - first < pass->logits_rows ? M - first : pass->logits_rows;
        const float *in = tops + first * D;
        if (!seq->has_logits) {
            dg_seq_nt(pass, pass->logits, in, &w->output, rows, V, D);
            if (dg_tensor_present(&w->output_bias))
                dg_seq_add_bias(pass->logits, &w->output_bias, rows, V);
        }
        for (size_t m = 0; m < rows; m++) {
            while (j == seq_live(order, t)) {
                t++;
                j = 0;
            }
            const int32_t *target = pass->batch->examples[order->example[j]].target;
            row_loss(pass, pass->logits + m * V, (size_t)target[t], share_of(pass, j, t), sums);
            j++;
        }
        if (!pass->is_training)
            continue;
        dg_seq_nn(pass, seq->dtop + first * D, pass->logits, &w->output, rows, D, V, 0.0f);
        dg_seq_grad(pass, &w->output, &w->output_bias, pass->logits, in, rows, V, D);
    }
}

static void count(const struct dg_pass *pass, struct dg_pass_sums *sums)
{
    const struct seq_pass *seq = pass->seq;
    uint64_t said = 0;
    for (size_t j = 0; j < seq->target.B; j++)
        said += seq->said[j];
    sums->n_tokens += said;
    sums->n_source_tokens += seq->source.M;
    sums->n_losses +=
        pass->batch->loss == DG_PASS_LOSS_SENTENCE ? (double)seq->target.B : (double)said;
}

/* ---- The pass -------------------------------------------------------------------------------- */

/* The top of a classifier is the last state, in the target's order; the backward pass goes the
 * other way. */
static void move_start(struct dg_pass *pass, float *tops, float *start, bool is_back)
{
    const struct seq_pass *seq = pass->seq;
    const size_t D = seq->D;
    for (size_t j = 0; j < seq->target.B; j++) {
        float *row = start + seq->source.place[seq->target.example[j]] * D;
        memcpy(is_back ? row : tops + j * D, is_back ? tops + j * D : row, D * sizeof *row);
    }
}

static float *top_start(const struct dg_pass *pass, float *start)
{
    const struct seq_pass *seq = pass->seq;
    return start + (pass->params->bp.encoder.n_layers - 1) * 2 * seq->source.B * seq->D;
}

static void classify(struct dg_pass *pass, struct dg_pass_sums *sums)
{
    struct seq_pass *seq = pass->seq;
    for (size_t j = 0; j < seq->target.B; j++)
        seq->said[j] = 1;
    seq->has_logits = false;
    move_start(pass, seq->few, top_start(pass, seq->start), false);
    dg_seq_drop(pass, seq->few, &seq->target, 0, 1);
    measure(pass, seq->few, seq->target.B, sums);
    if (!pass->is_training)
        return;
    dg_seq_drop(pass, seq->dtop, &seq->target, 0, 1);
    move_start(pass, seq->dtop, top_start(pass, seq->dstart), true);
}

/* Decides, before the first step, which sentences read the target and which read the network's own
 * output. */
static void draw_ways(struct dg_pass *pass)
{
    struct seq_pass *seq = pass->seq;
    const struct dg_blueprint *bp = &pass->params->bp;
    size_t n_forced = 0;
    for (size_t j = 0; j < seq->target.B; j++) {
        struct dg_random random = dg_random_make(pass->batch->key, seq->target.counted[j]);
        seq->is_forced[j] =
            !pass->is_training || dg_random_unit(&random) < (double)pass->batch->teacher;
        seq->is_over[j] = false;
        seq->said[j] = seq->target.len[j];
        seq->input[j] = bp->start == DG_START_TOKEN ? bp->start_id : DG_ID_NONE;
        n_forced += seq->is_forced[j];
    }
    seq->has_logits = n_forced == 0 && seq->target.M <= pass->logits_rows;
}

void dg_pass_seq_run(struct dg_pass *pass, struct dg_pass_sums *sums)
{
    struct seq_pass *seq = pass->seq;
    const struct dg_blueprint *bp = &pass->params->bp;
    if (pass->batch->n == 0)
        return;
    sort(&seq->source, pass->batch, false, pass->batch->source_row);
    sort(&seq->target, pass->batch, true, pass->batch->target_row);
    dg_seq_encode(pass);
    if (pass->is_training) {
        memset(seq->dstart, 0, bp->encoder.n_layers * 2 * seq->source.B * seq->D * sizeof(float));
        memset(seq->dencoded, 0, seq->source.M * seq->D * sizeof(float));
    }
    if (bp->seq.is_classifier) {
        classify(pass, sums);
    } else {
        draw_ways(pass);
        dg_seq_decode(pass);
        measure(pass, seq->decoder[bp->decoder.n_layers - 1].out, seq->target.first[seq->steps],
                sums);
    }
    count(pass, sums);
    if (!pass->is_training)
        return;
    if (!bp->seq.is_classifier)
        dg_seq_decode_back(pass);
    dg_seq_encode_back(pass);
}
