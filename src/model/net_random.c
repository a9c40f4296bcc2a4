/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Builds the skeleton of a model's weights (shapes without values) and has the packer fill it. */
#include "model/net_random.h"

#include "base/mem.h"
#include "model/net_int.h"

#include <math.h>
#include <string.h>

/* xorshift64*, its upper bits. */
float dg_net_random_next(uint64_t *random)
{
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    return (float)((*random * 0x2545f4914f6cdd1dull) >> 40) * 0x1p-23f - 1.0f;
}

/* ---- Shapes ----------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t D, F, H, n_encoder, n_decoder;
    enum dg_decoder_kind decoder_kind;
} shapes[] = {
    {"base", 512, 2048, 8, 6, 6, DG_DECODER_ATTENTION},
    {"student", 256, 1536, 8, 6, 2, DG_DECODER_ATTENTION},
    {"tiny", 256, 1536, 8, 6, 2, DG_DECODER_ATTENTION},
    {"student-ssru", 256, 1536, 8, 6, 2, DG_DECODER_SSRU},
};

enum dg_err dg_net_random_shape(struct dg_blueprint *bp, const char *name, struct dg_why *why)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (strcmp(shapes[i].name, name) != 0)
            continue;
        *bp = (struct dg_blueprint){
            .decoder_kind = shapes[i].decoder_kind,
            .D = shapes[i].D,
            .encoder = {shapes[i].n_encoder, shapes[i].H, shapes[i].F, 32000},
            .decoder = {shapes[i].n_decoder, shapes[i].H, shapes[i].F, 32000},
            .norm_epsilon = 1e-5f,
            .positions = DG_POS_HALVES,
            .embedding_scale = sqrtf((float)shapes[i].D),
            .tie_source_target = true,
            .tie_output = true,
            .output_bias = true,
            .pad_id = DG_ID_NONE,
            .bos_id = DG_ID_NONE,
            .unk_id = 1,
            .start = DG_START_ZERO,
            .start_id = DG_ID_NONE,
            .forced_bos_id = DG_ID_NONE,
            .forced_eos_id = DG_ID_NONE,
            .source_len_max = 512,
            .target_len_max = 512,
            .n_beams = 1,
            .length_penalty = 1.0f,
        };
        return DG_OK;
    }
    return dg_why_set(why, DG_ERR_NOT_FOUND,
                      "there is no random shape \"%s\"; choose base, student, tiny or student-ssru", name);
}

/* ---- Skeletons -------------------------------------------------------------------------------------- */

/* Something to point at: a present tensor has data, although nobody reads it. */
static const char present[2];

static struct dg_tensor matrix(size_t rows, size_t columns)
{
    return (struct dg_tensor){.data = present, .shape = {rows, columns, 1, 1}, .rank = 2};
}

static struct dg_tensor vector(size_t n)
{
    return (struct dg_tensor){.data = present, .shape = {n, 1, 1, 1}, .rank = 1};
}

static struct dg_linear_weights linear(size_t N, size_t K)
{
    return (struct dg_linear_weights){matrix(N, K), vector(N)};
}

static struct dg_norm_weights norm(const struct dg_blueprint *bp)
{
    struct dg_norm_weights w = {.gain = vector(bp->D)};
    if (bp->norm_kind == DG_NORM_LAYER)
        w.bias = vector(bp->D);
    return w;
}

static struct dg_attention_weights attention(const struct dg_blueprint *bp)
{
    const struct dg_linear_weights square = linear(bp->D, bp->D);
    return (struct dg_attention_weights){square, square, square, square, norm(bp)};
}

static struct dg_attention_weights self_attention(const struct dg_blueprint *bp, size_t H)
{
    struct dg_attention_weights w = attention(bp);
    if (bp->relative_reach)
        w.relative_keys = w.relative_values = matrix(2 * bp->relative_reach + 1, bp->D / H);
    return w;
}

static struct dg_ffn_weights ffn(const struct dg_blueprint *bp, size_t F)
{
    return (struct dg_ffn_weights){linear(F, bp->D), linear(bp->D, F), norm(bp)};
}

static struct dg_aan_weights aan(const struct dg_blueprint *bp)
{
    struct dg_aan_weights w = {.norm = norm(bp)};
    for (size_t i = 0; i < bp->aan_depth; i++)
        w.fc[i] = linear(i + 1 == bp->aan_depth ? bp->D : bp->aan_F, i == 0 ? bp->D : bp->aan_F);
    if (bp->aan_gate)
        w.input_gate = w.forget_gate = linear(bp->D, bp->D);
    return w;
}

static struct dg_decoder_layer decoder_layer(const struct dg_blueprint *bp)
{
    struct dg_decoder_layer layer = {.cross = attention(bp), .ffn = ffn(bp, bp->decoder.F)};
    switch (bp->decoder_kind) {
    case DG_DECODER_ATTENTION:
        layer.self = self_attention(bp, bp->decoder.H);
        break;
    case DG_DECODER_SSRU:
        layer.ssru.candidate.weight = matrix(bp->D, bp->D);
        layer.ssru.forget = linear(bp->D, bp->D);
        layer.ssru.norm = norm(bp);
        break;
    case DG_DECODER_AAN:
        layer.aan = aan(bp);
        break;
    }
    return layer;
}

/* Untied matrices point elsewhere than the ones they could be tied to: that is how the packer tells. */
static void embeddings(struct dg_transformer_weights *w, const struct dg_blueprint *bp)
{
    w->output = matrix(bp->decoder.V, bp->D);
    if (bp->output_bias)
        w->output_bias = vector(bp->decoder.V);
    w->target_embedding = matrix(bp->decoder.V, bp->D);
    w->target_embedding.data = present + !bp->tie_output;
    w->source_embedding = matrix(bp->encoder.V, bp->D);
    w->source_embedding.data = bp->tie_source_target ? w->target_embedding.data : (const void *)w;
    if (bp->positions == DG_POS_LEARNED)
        w->source_positions = w->target_positions = matrix(bp->n_positions, bp->D);
    if (bp->embedding_norm)
        w->source_embedding_norm = w->target_embedding_norm = norm(bp);
    if (bp->final_norm)
        w->encoder_norm = w->decoder_norm = norm(bp);
}

enum dg_err dg_net_random(struct dg_net **net, const struct dg_blueprint *bp, const struct dg_net_opts *opts,
                          uint64_t seed, struct dg_why *why)
{
    struct dg_transformer_weights w = {
        .encoder_layers = dg_try_calloc(bp->encoder.n_layers, sizeof *w.encoder_layers),
        .decoder_layers = dg_try_calloc(bp->decoder.n_layers, sizeof *w.decoder_layers),
    };
    enum dg_err err = DG_ERR_NOMEM;
    if (!w.encoder_layers || !w.decoder_layers)
        goto out;
    embeddings(&w, bp);
    for (size_t i = 0; i < bp->encoder.n_layers; i++)
        w.encoder_layers[i] = (struct dg_encoder_layer){self_attention(bp, bp->encoder.H), ffn(bp, bp->encoder.F)};
    for (size_t i = 0; i < bp->decoder.n_layers; i++)
        w.decoder_layers[i] = decoder_layer(bp);
    err = dg_net_build(net, bp, &w, opts, seed * 2 + 1, why);
out:
    dg_free(w.encoder_layers);
    dg_free(w.decoder_layers);
    return err;
}
