/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Walks a network in the order of computation: one function per block lists its parameters, one per
 * family lists its blocks, and `visit` calls the caller's function. A new parameter is one line
 * here; all code that binds, imports, counts or generates weights gets it through the visit. */
#include "model/layout.h"
#include "base/memory/mem.h"

#include <stdarg.h>
#include <stdio.h>

struct walk {
    dg_layout_fn fn;
    void *ctx;
    size_t D;
    enum dg_err err; /* the first error, after which calls do nothing */
};

/* The matrices of words, which may be tied. `source` NULL: there is only one side. */
struct words {
    struct dg_tensor *source, *target, *output;
};

enum kind { MATRIX, EMBEDDING, GAIN, BIAS };

/* Visits one parameter: [rows, cols], or [rows] when cols is 0. */
static void visit(struct walk *w, enum kind kind, struct dg_tensor *slot, size_t rows, size_t cols,
                  const char *fmt, ...) DG_PRINTF(6, 7);

static void visit(struct walk *w, enum kind kind, struct dg_tensor *slot, size_t rows, size_t cols,
                  const char *fmt, ...)
{
    if (w->err)
        return;
    char name[DG_LAYOUT_NAME_CAP];
    va_list args;
    va_start(args, fmt);
    vsnprintf(name, sizeof name, fmt, args);
    va_end(args);
    const struct dg_layout_item item = {.name = name,
                                        .rank = cols ? 2 : 1,
                                        .shape = {rows, cols ? cols : 1},
                                        .is_bias = kind == BIAS,
                                        .is_gain = kind == GAIN,
                                        .is_embedding = kind == EMBEDDING,
                                        .slot = slot};
    w->err = w->fn(w->ctx, &item);
}

static void visit_linear(struct walk *w, struct dg_linear_weights *linear, size_t out, size_t in,
                         bool bias, const char *prefix, const char *name)
{
    visit(w, MATRIX, &linear->weight, out, in, "%s%s.weight", prefix, name);
    if (bias)
        visit(w, BIAS, &linear->bias, out, 0, "%s%s.bias", prefix, name);
}

static void visit_norm(struct walk *w, struct dg_norm_weights *norm, const struct dg_blueprint *bp,
                       const char *prefix, const char *name)
{
    visit(w, GAIN, &norm->gain, bp->D, 0, "%s%s.weight", prefix, name);
    if (bp->norm_kind == DG_NORM_LAYER)
        visit(w, BIAS, &norm->bias, bp->D, 0, "%s%s.bias", prefix, name);
}

static void visit_attention(struct walk *w, struct dg_attention_weights *attention,
                            const struct dg_blueprint *bp, const char *prefix, const char *name)
{
    struct dg_linear_weights *linears[] = {&attention->q, &attention->k, &attention->v,
                                           &attention->o};
    static const char *const projections[] = {"q_proj", "k_proj", "v_proj", "out_proj"};
    for (size_t i = 0; i < 4; i++) {
        char full[32];
        snprintf(full, sizeof full, "%s.%s", name, projections[i]);
        visit_linear(w, linears[i], bp->D, bp->D, true, prefix, full);
    }
    char norm[40];
    snprintf(norm, sizeof norm, "%s_layer_norm", name);
    visit_norm(w, &attention->norm, bp, prefix, norm);
}

/* Visits self-attention, including its vectors for distances. */
static void visit_self(struct walk *w, struct dg_attention_weights *self,
                       const struct dg_blueprint *bp, size_t H, const char *prefix)
{
    const size_t rows = 2 * bp->relative_reach + 1;
    visit_attention(w, self, bp, prefix, "self_attn");
    if (!bp->relative_reach)
        return;
    visit(w, EMBEDDING, &self->relative_keys, rows, bp->D / H, "%sself_attn.relative_keys.weight",
          prefix);
    visit(w, EMBEDDING, &self->relative_values, rows, bp->D / H,
          "%sself_attn.relative_values.weight", prefix);
}

static void visit_ffn(struct walk *w, struct dg_ffn_weights *ffn, const struct dg_blueprint *bp,
                      size_t F, const char *prefix)
{
    visit_linear(w, &ffn->fc1, F, bp->D, true, prefix, "fc1");
    visit_linear(w, &ffn->fc2, bp->D, F, true, prefix, "fc2");
    visit_norm(w, &ffn->norm, bp, prefix, "final_layer_norm");
}

static void visit_ssru(struct walk *w, struct dg_ssru_weights *ssru, const struct dg_blueprint *bp,
                       const char *prefix)
{
    visit_linear(w, &ssru->candidate, bp->D, bp->D, false, prefix, "ssru.candidate");
    visit_linear(w, &ssru->forget, bp->D, bp->D, true, prefix, "ssru.forget");
    visit_norm(w, &ssru->norm, bp, prefix, "self_attn_layer_norm");
}

/* Lists an AAN's parameters. The widths are D, aan_F, ..., aan_F and, after the last matrix, D
 * again. */
static void visit_aan(struct walk *w, struct dg_aan_weights *aan, const struct dg_blueprint *bp,
                      const char *prefix)
{
    for (size_t j = 0; j < bp->aan_depth; j++) {
        char name[32];
        snprintf(name, sizeof name, "aan.fc%zu", j + 1);
        visit_linear(w, &aan->fc[j], j + 1 == bp->aan_depth ? bp->D : bp->aan_F,
                     j == 0 ? bp->D : bp->aan_F, true, prefix, name);
    }
    if (bp->aan_gate) {
        visit_linear(w, &aan->input_gate, bp->D, bp->D, true, prefix, "aan.input_gate");
        visit_linear(w, &aan->forget_gate, bp->D, bp->D, true, prefix, "aan.forget_gate");
    }
    visit_norm(w, &aan->norm, bp, prefix, "self_attn_layer_norm");
}

static void visit_encoder(struct walk *w, const struct dg_blueprint *bp,
                          struct dg_encoder_layer *layers, struct dg_norm_weights *norm)
{
    for (size_t i = 0; i < bp->encoder.n_layers; i++) {
        char prefix[48];
        snprintf(prefix, sizeof prefix, "model.encoder.layers.%zu.", i);
        visit_self(w, &layers[i].self, bp, bp->encoder.H, prefix);
        visit_ffn(w, &layers[i].ffn, bp, bp->encoder.F, prefix);
    }
    if (bp->final_norm)
        visit_norm(w, norm, bp, "model.encoder.", "layer_norm");
}

static void visit_decoder(struct walk *w, const struct dg_blueprint *bp,
                          struct dg_transformer_weights *t)
{
    for (size_t i = 0; i < bp->decoder.n_layers; i++) {
        struct dg_decoder_layer *layer = &t->decoder_layers[i];
        char prefix[48];
        snprintf(prefix, sizeof prefix, "model.decoder.layers.%zu.", i);
        switch (bp->decoder_kind) {
        case DG_DECODER_ATTENTION:
            visit_self(w, &layer->self, bp, bp->decoder.H, prefix);
            break;
        case DG_DECODER_SSRU:
            visit_ssru(w, &layer->ssru, bp, prefix);
            break;
        case DG_DECODER_AAN:
            visit_aan(w, &layer->aan, bp, prefix);
            break;
        case DG_DECODER_GRU:
        case DG_DECODER_LSTM:
        case DG_DECODER_TANH: /* kinds that belong to other families */
            break;
        }
        visit_attention(w, &layer->cross, bp, prefix, "encoder_attn");
        visit_ffn(w, &layer->ffn, bp, bp->decoder.F, prefix);
    }
    if (bp->final_norm)
        visit_norm(w, &t->decoder_norm, bp, "model.decoder.", "layer_norm");
}

static void visit_words(struct walk *w, const struct dg_blueprint *bp, struct dg_tensor *source,
                        struct dg_tensor *target)
{
    if (bp->tie_source_target) {
        visit(w, EMBEDDING, source, bp->encoder.V, bp->D, "model.shared.weight");
    } else {
        visit(w, EMBEDDING, source, bp->encoder.V, bp->D, "model.encoder.embed_tokens.weight");
        visit(w, EMBEDDING, target, bp->decoder.V, bp->D, "model.decoder.embed_tokens.weight");
    }
}

static void visit_output(struct walk *w, const struct dg_blueprint *bp, struct dg_tensor *output,
                         struct dg_tensor *bias)
{
    if (!bp->tie_output)
        visit(w, MATRIX, output, bp->decoder.V, bp->D, "lm_head.weight");
    if (bp->output_bias)
        visit(w, BIAS, bias, bp->decoder.V, 0, "final_logits_bias");
}

static void visit_embeddings(struct walk *w, const struct dg_blueprint *bp,
                             struct dg_transformer_weights *t)
{
    size_t D = bp->D;
    visit_words(w, bp, &t->source_embedding, &t->target_embedding);
    if (bp->positions == DG_POS_LEARNED) {
        visit(w, EMBEDDING, &t->source_positions, bp->n_positions, D,
              "model.encoder.embed_positions.weight");
        visit(w, EMBEDDING, &t->target_positions, bp->n_positions, D,
              "model.decoder.embed_positions.weight");
    }
    if (bp->embedding_norm) {
        visit_norm(w, &t->source_embedding_norm, bp, "model.encoder.", "layernorm_embedding");
        visit_norm(w, &t->target_embedding_norm, bp, "model.decoder.", "layernorm_embedding");
    }
}

static void visit_transformer(struct walk *w, const struct dg_blueprint *bp,
                              struct dg_weights *weights)
{
    struct dg_transformer_weights *t = &weights->transformer;
    visit_embeddings(w, bp, t);
    visit_encoder(w, bp, t->encoder_layers, &t->encoder_norm);
    visit_decoder(w, bp, t);
    visit_output(w, bp, &t->output, &t->output_bias);
}

static enum dg_err init_transformer(struct dg_weights *weights, const struct dg_blueprint *bp)
{
    struct dg_transformer_weights t = {0};
    t.encoder_layers = dg_try_calloc(bp->encoder.n_layers, sizeof *t.encoder_layers);
    t.decoder_layers = dg_try_calloc(bp->decoder.n_layers, sizeof *t.decoder_layers);
    *weights = (struct dg_weights){.transformer = t};
    if (t.encoder_layers && t.decoder_layers)
        return DG_OK;
    dg_layout_weights_deinit(weights);
    return DG_ERR_NOMEM;
}

static void deinit_transformer(struct dg_weights *weights)
{
    dg_free(weights->transformer.encoder_layers);
    dg_free(weights->transformer.decoder_layers);
}

static struct words words_of_transformer(struct dg_weights *weights)
{
    struct dg_transformer_weights *t = &weights->transformer;
    return (struct words){&t->source_embedding, &t->target_embedding, &t->output};
}

/* ---- Recurrent networks ---------------------------------------------------------------------- */

/* Visits a cell that reads `in` numbers or, with 0, only its state. */
static void visit_cell(struct walk *w, struct dg_cell_weights *cell, const struct dg_blueprint *bp,
                       size_t in, const char *prefix)
{
    const bool is_gru = bp->decoder_kind == DG_DECODER_GRU;
    const size_t d = bp->rnn.width, gates = (is_gru ? 2 : 4) * d, all = (is_gru ? 3 : 4) * d;
    if (in)
        visit(w, MATRIX, &cell->gates_input, gates, in, "%sgates.input.weight", prefix);
    visit(w, MATRIX, &cell->gates_state, gates, d, "%sgates.state.weight", prefix);
    visit(w, BIAS, &cell->gates_bias, gates, 0, "%sgates.bias", prefix);
    if (is_gru) {
        if (in)
            visit(w, MATRIX, &cell->candidate_input, d, in, "%scandidate.input.weight", prefix);
        visit(w, MATRIX, &cell->candidate_state, d, d, "%scandidate.state.weight", prefix);
        visit(w, BIAS, &cell->candidate_bias, d, 0, "%scandidate.bias", prefix);
    }
    if (bp->rnn.norm && in)
        visit(w, GAIN, &cell->input_gain, all, 0, "%sinput_norm.weight", prefix);
    if (bp->rnn.norm)
        visit(w, GAIN, &cell->state_gain, all, 0, "%sstate_norm.weight", prefix);
}

/* Visits a layer of `n` cells: the first reads `in` numbers, the second reads `second`, the others
 * only their state. */
static void visit_rnn_layer(struct walk *w, struct dg_rnn_layer *layer,
                            const struct dg_blueprint *bp, size_t n, size_t in, size_t second,
                            const char *stack, size_t at)
{
    for (size_t j = 0; j < n; j++) {
        char prefix[DG_LAYOUT_NAME_CAP];
        snprintf(prefix, sizeof prefix, "model.%s.%zu.cells.%zu.", stack, at, j);
        visit_cell(w, &layer->cells[j], bp, j == 0 ? in : j == 1 ? second : 0, prefix);
    }
}

static void visit_normed(struct walk *w, struct dg_normed_weights *normed,
                         const struct dg_blueprint *bp, size_t out, size_t in, bool bias,
                         const char *name)
{
    visit_linear(w, &normed->linear, out, in, bias, "model.decoder.", name);
    if (bp->rnn.norm)
        visit(w, GAIN, &normed->gain, out, 0, "model.decoder.%s_norm.weight", name);
}

static void visit_rnn(struct walk *w, const struct dg_blueprint *bp, struct dg_weights *weights)
{
    struct dg_rnn_weights *r = &weights->rnn;
    const size_t D = bp->D, d = bp->rnn.width, C = dg_blueprint_context(bp);
    const size_t paired = dg_blueprint_paired_layers(bp), cells = bp->rnn.encoder_cells;
    visit_words(w, bp, &r->source_embedding, &r->target_embedding);
    for (size_t i = 0; i < paired; i++)
        visit_rnn_layer(w, &r->forward[i], bp, cells, i ? d : D, 0, "encoder.forward", i);
    for (size_t i = 0; i < paired; i++)
        visit_rnn_layer(w, &r->backward[i], bp, cells, i ? d : D, 0, "encoder.backward", i);
    for (size_t i = 0; paired + i < bp->encoder.n_layers; i++)
        visit_rnn_layer(w, &r->top[i], bp, cells, i ? d : 2 * d, 0, "encoder.top", i);
    visit_normed(w, &r->initial, bp, d, C, true, "initial");
    visit_normed(w, &r->attention_source, bp, C, C, true, "attention.source");
    visit_normed(w, &r->attention_state, bp, C, d, false, "attention.state");
    visit(w, BIAS, &r->attention_score, C, 0, "model.decoder.attention.score.weight");
    visit_rnn_layer(w, &r->decoder[0], bp, bp->rnn.base_cells, D, C, "decoder.layers", 0);
    for (size_t i = 1; i < bp->decoder.n_layers; i++)
        visit_rnn_layer(w, &r->decoder[i], bp, bp->rnn.high_cells, d, 0, "decoder.layers", i);
    visit_normed(w, &r->readout_word, bp, D, D, true, "readout.word");
    visit_normed(w, &r->readout_state, bp, D, d, true, "readout.state");
    visit_normed(w, &r->readout_context, bp, D, C, true, "readout.context");
    visit_output(w, bp, &r->output, &r->output_bias);
}

static enum dg_err init_rnn(struct dg_weights *weights, const struct dg_blueprint *bp)
{
    const size_t paired = dg_blueprint_paired_layers(bp), n_top = bp->encoder.n_layers - paired;
    struct dg_rnn_weights r = {0};
    r.forward = dg_try_calloc(paired, sizeof *r.forward);
    r.backward = dg_try_calloc(paired, sizeof *r.backward);
    r.top = dg_try_calloc(n_top + 1, sizeof *r.top);
    r.decoder = dg_try_calloc(bp->decoder.n_layers, sizeof *r.decoder);
    *weights = (struct dg_weights){.family = DG_FAMILY_RNN, .rnn = r};
    if (r.forward && r.backward && r.top && r.decoder)
        return DG_OK;
    dg_layout_weights_deinit(weights);
    return DG_ERR_NOMEM;
}

static void deinit_rnn(struct dg_weights *weights)
{
    dg_free(weights->rnn.forward);
    dg_free(weights->rnn.backward);
    dg_free(weights->rnn.top);
    dg_free(weights->rnn.decoder);
}

static struct words words_of_rnn(struct dg_weights *weights)
{
    struct dg_rnn_weights *r = &weights->rnn;
    return (struct words){&r->source_embedding, &r->target_embedding, &r->output};
}

/* ---- Plain recurrent networks ---------------------------------------------------------------- */

static void visit_seq_cell(struct walk *w, struct dg_seq_cell *cell, const struct dg_blueprint *bp,
                           const char *stack, size_t at, const char *direction)
{
    char prefix[DG_LAYOUT_NAME_CAP];
    const size_t rows = dg_blueprint_gates(bp) * bp->D;
    snprintf(prefix, sizeof prefix, "model.%s.layers.%zu.%s", stack, at, direction);
    visit(w, MATRIX, &cell->input, rows, bp->D, "%sinput.weight", prefix);
    visit(w, MATRIX, &cell->state, rows, bp->D, "%sstate.weight", prefix);
    visit(w, BIAS, &cell->input_bias, rows, 0, "%sinput.bias", prefix);
    visit(w, BIAS, &cell->state_bias, rows, 0, "%sstate.bias", prefix);
}

static void visit_seq_attention(struct walk *w, const struct dg_blueprint *bp,
                                struct dg_seq_weights *s)
{
    static const char prefix[] = "model.decoder.attention.";
    const size_t D = bp->D;
    switch (bp->seq.attention) {
    case DG_SEQ_NONE:
        return;
    case DG_SEQ_LOCATION:
        visit_linear(w, &s->location, bp->seq.places, 2 * D, true, prefix, "location");
        break;
    case DG_SEQ_DOT:
        break;
    case DG_SEQ_GENERAL:
        visit_linear(w, &s->key, D, D, false, prefix, "key");
        break;
    case DG_SEQ_ADDITIVE:
        visit_linear(w, &s->key, D, D, true, prefix, "key");
        visit_linear(w, &s->query, D, D, false, prefix, "query");
        visit(w, MATRIX, &s->score, D, 0, "%sscore.weight", prefix);
        break;
    }
    visit_linear(w, &s->combine, D, 2 * D, true, "model.decoder.", "combine");
}

static void visit_seq(struct walk *w, const struct dg_blueprint *bp, struct dg_weights *weights)
{
    struct dg_seq_weights *s = &weights->seq;
    if (bp->seq.is_classifier)
        visit(w, EMBEDDING, &s->source_embedding, bp->encoder.V, bp->D,
              "model.encoder.embed_tokens.weight");
    else
        visit_words(w, bp, &s->source_embedding, &s->target_embedding);
    for (size_t i = 0; i < bp->encoder.n_layers; i++) {
        visit_seq_cell(w, &s->encoder[i].forward, bp, "encoder", i, "forward.");
        if (bp->seq.is_bidirectional)
            visit_seq_cell(w, &s->encoder[i].backward, bp, "encoder", i, "backward.");
    }
    for (size_t i = 0; i < bp->decoder.n_layers && !bp->seq.is_classifier; i++)
        visit_seq_cell(w, &s->decoder[i].forward, bp, "decoder", i, "");
    visit_seq_attention(w, bp, s);
    visit_output(w, bp, &s->output, &s->output_bias);
}

static enum dg_err init_seq(struct dg_weights *weights, const struct dg_blueprint *bp)
{
    struct dg_seq_weights s = {0};
    s.encoder = dg_try_calloc(bp->encoder.n_layers, sizeof *s.encoder);
    s.decoder = dg_try_calloc(bp->decoder.n_layers, sizeof *s.decoder);
    *weights = (struct dg_weights){.family = DG_FAMILY_SEQ, .seq = s};
    if (s.encoder && s.decoder)
        return DG_OK;
    dg_layout_weights_deinit(weights);
    return DG_ERR_NOMEM;
}

static void deinit_seq(struct dg_weights *weights)
{
    dg_free(weights->seq.encoder);
    dg_free(weights->seq.decoder);
}

static struct words words_of_seq(struct dg_weights *weights)
{
    struct dg_seq_weights *s = &weights->seq;
    return (struct words){&s->source_embedding, &s->target_embedding, &s->output};
}

/* ---- Language models ------------------------------------------------------------------------- */

static void visit_lm(struct walk *w, const struct dg_blueprint *bp, struct dg_weights *weights)
{
    struct dg_lm_weights *m = &weights->lm;
    const struct dg_lm *lm = &bp->lm;
    const size_t D = bp->D, F = bp->decoder.F, A = bp->decoder.H * lm->head,
                 K = lm->kv_heads * lm->head;
    visit(w, EMBEDDING, &m->embedding, bp->decoder.V, D, "model.embed_tokens.weight");
    if (bp->positions == DG_POS_LEARNED)
        visit(w, EMBEDDING, &m->positions, bp->n_positions, D, "model.embed_positions.weight");
    for (size_t i = 0; i < bp->decoder.n_layers; i++) {
        struct dg_lm_layer *layer = &m->layers[i];
        char prefix[48];
        snprintf(prefix, sizeof prefix, "model.layers.%zu.", i);
        visit_norm(w, &layer->attention_norm, bp, prefix, "input_layernorm");
        visit_linear(w, &layer->q, A, D, lm->qkv_bias, prefix, "self_attn.q_proj");
        visit_linear(w, &layer->k, K, D, lm->qkv_bias, prefix, "self_attn.k_proj");
        visit_linear(w, &layer->v, K, D, lm->qkv_bias, prefix, "self_attn.v_proj");
        visit_linear(w, &layer->o, D, A, lm->o_bias, prefix, "self_attn.o_proj");
        visit_norm(w, &layer->ffn_norm, bp, prefix, "post_attention_layernorm");
        if (lm->gated)
            visit_linear(w, &layer->gate, F, D, lm->ffn_bias, prefix, "mlp.gate_proj");
        visit_linear(w, &layer->up, F, D, lm->ffn_bias, prefix, "mlp.up_proj");
        visit_linear(w, &layer->down, D, F, lm->ffn_bias, prefix, "mlp.down_proj");
    }
    visit_norm(w, &m->norm, bp, "model.", "norm");
    if (!bp->tie_output)
        visit(w, MATRIX, &m->output, bp->decoder.V, D, "lm_head.weight");
}

static enum dg_err init_lm(struct dg_weights *weights, const struct dg_blueprint *bp)
{
    *weights = (struct dg_weights){.family = DG_FAMILY_LM};
    weights->lm.layers = dg_try_calloc(bp->decoder.n_layers, sizeof *weights->lm.layers);
    return weights->lm.layers ? DG_OK : DG_ERR_NOMEM;
}

static void deinit_lm(struct dg_weights *weights)
{
    dg_free(weights->lm.layers);
}

static struct words words_of_lm(struct dg_weights *weights)
{
    struct dg_lm_weights *m = &weights->lm;
    return (struct words){NULL, &m->embedding, &m->output};
}

/* ---- Encoder-only networks ------------------------------------------------------------------- */

static void visit_head(struct walk *w, const struct dg_blueprint *bp, struct dg_enc_weights *e)
{
    const enum dg_head head = bp->enc.head;
    if (head == DG_HEAD_WORDS || head == DG_HEAD_POOLED || head == DG_HEAD_REPLACED)
        visit_linear(w, &e->dense, bp->D, bp->D, true, "head.", "dense");
    if (head == DG_HEAD_WORDS) {
        visit_norm(w, &e->dense_norm, bp, "head.", "norm");
        visit_output(w, bp, &e->output, &e->output_bias);
    } else if (head != DG_HEAD_NONE) {
        visit(w, MATRIX, &e->output, bp->decoder.V, bp->D, "head.out.weight");
        visit(w, BIAS, &e->output_bias, bp->decoder.V, 0, "head.out.bias");
    }
}

static void visit_enc(struct walk *w, const struct dg_blueprint *bp, struct dg_weights *weights)
{
    struct dg_enc_weights *e = &weights->enc;
    visit(w, EMBEDDING, &e->embedding, bp->encoder.V, bp->D, "model.encoder.embed_tokens.weight");
    if (bp->positions == DG_POS_LEARNED)
        visit(w, EMBEDDING, &e->positions, bp->n_positions, bp->D,
              "model.encoder.embed_positions.weight");
    if (bp->enc.n_types)
        visit(w, EMBEDDING, &e->types, bp->enc.n_types, bp->D, "model.encoder.embed_types.weight");
    if (bp->embedding_norm)
        visit_norm(w, &e->embedding_norm, bp, "model.encoder.", "layernorm_embedding");
    visit_encoder(w, bp, e->layers, &e->norm);
    visit_head(w, bp, e);
}

static enum dg_err init_enc(struct dg_weights *weights, const struct dg_blueprint *bp)
{
    *weights = (struct dg_weights){.family = DG_FAMILY_ENC};
    weights->enc.layers = dg_try_calloc(bp->encoder.n_layers, sizeof *weights->enc.layers);
    return weights->enc.layers ? DG_OK : DG_ERR_NOMEM;
}

static void deinit_enc(struct dg_weights *weights)
{
    dg_free(weights->enc.layers);
}

static struct words words_of_enc(struct dg_weights *weights)
{
    struct dg_enc_weights *e = &weights->enc;
    return (struct words){NULL, &e->embedding, &e->output};
}

/* ---- All ------------------------------------------------------------------------------------- */

static const struct {
    void (*visit)(struct walk *w, const struct dg_blueprint *bp, struct dg_weights *weights);
    enum dg_err (*init)(struct dg_weights *weights, const struct dg_blueprint *bp);
    void (*deinit)(struct dg_weights *weights);
    struct words (*words)(struct dg_weights *weights);
} layouts[] = {
#define LAYOUT_ROW(NAME, name)                                                                     \
    [DG_FAMILY_##NAME] = {visit_##name, init_##name, deinit_##name, words_of_##name},
    DG_FAMILIES(LAYOUT_ROW)
#undef LAYOUT_ROW
};

enum dg_err dg_layout_visit(const struct dg_blueprint *bp, struct dg_weights *weights,
                            dg_layout_fn fn, void *ctx)
{
    struct walk w = {.fn = fn, .ctx = ctx, .D = bp->D};
    layouts[bp->family].visit(&w, bp, weights);
    return w.err;
}

enum dg_err dg_layout_weights_init(struct dg_weights *weights, const struct dg_blueprint *bp)
{
    return layouts[bp->family].init(weights, bp);
}

void dg_layout_weights_deinit(struct dg_weights *weights)
{
    layouts[weights->family].deinit(weights);
    *weights = (struct dg_weights){0};
}

void dg_layout_tie(const struct dg_blueprint *bp, struct dg_weights *weights)
{
    const struct words words = layouts[bp->family].words(weights);
    if (bp->tie_source_target && words.source)
        *words.target = *words.source;
    if (bp->tie_output)
        *words.output = *words.target;
}
