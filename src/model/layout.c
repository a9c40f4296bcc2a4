/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Walks a Transformer encoder-decoder in the order of computation. */
#include "model/layout.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

struct walk {
    dg_layout_fn fn;
    void *ctx;
    size_t D;
    enum dg_err err; /* the first one; later calls do nothing */
};

enum kind { MATRIX, EMBEDDING, GAIN, BIAS };

/* One parameter: [rows, cols], or [rows] when cols is 0. */
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

/* Self-attention: with its vectors for distances. */
static void visit_self(struct walk *w, struct dg_attention_weights *self, const struct dg_blueprint *bp,
                       size_t H, const char *prefix)
{
    const size_t rows = 2 * bp->relative_reach + 1;
    visit_attention(w, self, bp, prefix, "self_attn");
    if (!bp->relative_reach)
        return;
    visit(w, EMBEDDING, &self->relative_keys, rows, bp->D / H, "%sself_attn.relative_keys.weight", prefix);
    visit(w, EMBEDDING, &self->relative_values, rows, bp->D / H, "%sself_attn.relative_values.weight", prefix);
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

/* Widths run D, aan_F, ..., aan_F and come back to D with the last matrix. */
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
                          struct dg_transformer_weights *t)
{
    for (size_t i = 0; i < bp->encoder.n_layers; i++) {
        char prefix[48];
        snprintf(prefix, sizeof prefix, "model.encoder.layers.%zu.", i);
        visit_self(w, &t->encoder_layers[i].self, bp, bp->encoder.H, prefix);
        visit_ffn(w, &t->encoder_layers[i].ffn, bp, bp->encoder.F, prefix);
    }
    if (bp->final_norm)
        visit_norm(w, &t->encoder_norm, bp, "model.encoder.", "layer_norm");
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
        }
        visit_attention(w, &layer->cross, bp, prefix, "encoder_attn");
        visit_ffn(w, &layer->ffn, bp, bp->decoder.F, prefix);
    }
    if (bp->final_norm)
        visit_norm(w, &t->decoder_norm, bp, "model.decoder.", "layer_norm");
}

static void visit_embeddings(struct walk *w, const struct dg_blueprint *bp,
                             struct dg_transformer_weights *t)
{
    size_t D = bp->D;
    if (bp->tie_source_target) {
        visit(w, EMBEDDING, &t->source_embedding, bp->encoder.V, D, "model.shared.weight");
    } else {
        visit(w, EMBEDDING, &t->source_embedding, bp->encoder.V, D,
              "model.encoder.embed_tokens.weight");
        visit(w, EMBEDDING, &t->target_embedding, bp->decoder.V, D,
              "model.decoder.embed_tokens.weight");
    }
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

enum dg_err dg_layout_visit(const struct dg_blueprint *bp, struct dg_weights *weights,
                            dg_layout_fn fn, void *ctx)
{
    struct walk w = {.fn = fn, .ctx = ctx, .D = bp->D};
    struct dg_transformer_weights *t = &weights->transformer;
    visit_embeddings(&w, bp, t);
    visit_encoder(&w, bp, t);
    visit_decoder(&w, bp, t);
    if (!bp->tie_output)
        visit(&w, MATRIX, &t->output, bp->decoder.V, bp->D, "lm_head.weight");
    if (bp->output_bias)
        visit(&w, BIAS, &t->output_bias, bp->decoder.V, 0, "final_logits_bias");
    return w.err;
}

enum dg_err dg_layout_weights_init(struct dg_weights *weights, const struct dg_blueprint *bp)
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

void dg_layout_weights_deinit(struct dg_weights *weights)
{
    dg_free(weights->transformer.encoder_layers);
    dg_free(weights->transformer.decoder_layers);
    *weights = (struct dg_weights){0};
}

void dg_layout_tie(const struct dg_blueprint *bp, struct dg_weights *weights)
{
    struct dg_transformer_weights *t = &weights->transformer;
    if (bp->tie_source_target)
        t->target_embedding = t->source_embedding;
    if (bp->tie_output)
        t->output = t->target_embedding;
}
