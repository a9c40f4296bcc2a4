/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Builds the skeleton of a model's weights (shapes without values) and has the packer fill it. */
#include "network/net_random.h"

#include "model/layout.h"
#include "network/net_int.h"

#include <math.h>
#include <string.h>

/* Uses the upper bits of xorshift64*. */
float dg_net_random_next(uint64_t *random)
{
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    return (float)((*random * 0x2545f4914f6cdd1dull) >> 40) * 0x1p-23f - 1.0f;
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

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

/* Returns the shape of the smallest GPT-2. */
static struct dg_blueprint gpt2_small(void)
{
    const struct dg_stack stack = {12, 12, 3072, 50257};
    struct dg_blueprint bp = {
        .family = DG_FAMILY_LM,
        .D = 768,
        .encoder = stack,
        .decoder = stack,
        .lm = {.head = 64,
               .kv_heads = 12,
               .qkv_bias = true,
               .o_bias = true,
               .ffn_bias = true,
               .context = 1024},
        .activation = DG_ACT_GELU_TANH,
        .norm_place = DG_NORM_PRE,
        .norm_epsilon = 1e-5f,
        .final_norm = true,
        .positions = DG_POS_LEARNED,
        .n_positions = 1024,
        .embedding_scale = 1.0f,
        .tie_output = true,
        .pad_id = DG_ID_NONE,
        .eos_id = 50256,
        .bos_id = 50256,
        .unk_id = DG_ID_NONE,
        .start = DG_START_PROMPT,
        .start_id = DG_ID_NONE,
        .forced_bos_id = DG_ID_NONE,
        .forced_eos_id = DG_ID_NONE,
        .source_len_max = 1024,
        .target_len_max = 1024,
        .n_beams = 1,
        .length_penalty = 1.0f,
    };
    bp.encoder.n_layers = 0;
    return bp;
}

/* Returns the smaller shape of BERT, with a head for two labels. */
static struct dg_blueprint bert_base(void)
{
    return (struct dg_blueprint){
        .family = DG_FAMILY_ENC,
        .D = 768,
        .encoder = {12, 12, 3072, 30522},
        .decoder = {0, 12, 3072, 2},
        .enc = {.head = DG_HEAD_POOLED, .n_types = 2, .separators = 1},
        .activation = DG_ACT_GELU_ERF,
        .norm_epsilon = 1e-12f,
        .embedding_norm = true,
        .positions = DG_POS_LEARNED,
        .n_positions = 512,
        .embedding_scale = 1.0f,
        .pad_id = 0,
        .eos_id = DG_ID_NONE,
        .bos_id = DG_ID_NONE,
        .unk_id = DG_ID_NONE,
        .start = DG_START_ZERO,
        .start_id = DG_ID_NONE,
        .forced_bos_id = DG_ID_NONE,
        .forced_eos_id = DG_ID_NONE,
        .source_len_max = 512,
        .target_len_max = 2,
        .n_beams = 1,
        .length_penalty = 1.0f,
    };
}

enum dg_err dg_net_random_shape(struct dg_blueprint *bp, const char *name, struct dg_error *error)
{
    if (strcmp(name, "gpt2-small") == 0) {
        *bp = gpt2_small();
        return DG_OK;
    }
    if (strcmp(name, "bert-base") == 0) {
        *bp = bert_base();
        return DG_OK;
    }
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
    return dg_error_set(error, DG_ERR_NOT_FOUND,
                        "there is no random shape \"%s\"; choose base, student, tiny, "
                        "student-ssru, gpt2-small or bert-base",
                        name);
}

/* ---- Skeletons ------------------------------------------------------------------------------- */

/* Makes a tensor present: its data is not NULL, although nobody reads it. Each tensor has its own
 * address, because the packer recognises tied matrices by their address. */
static const char present[1 << 16];

static enum dg_err give_shape(void *ctx, const struct dg_layout_item *item)
{
    size_t *n = ctx;
    if (*n == sizeof present)
        return DG_ERR_LIMIT;
    *item->slot = (struct dg_tensor){.data = &present[(*n)++],
                                     .shape = {item->shape[0], item->shape[1], 1, 1},
                                     .rank = item->rank};
    return DG_OK;
}

enum dg_err dg_net_random(struct dg_net **net, const struct dg_blueprint *bp,
                          const struct dg_net_opts *opts, uint64_t seed, struct dg_error *error)
{
    struct dg_weights w;
    size_t n = 0;
    enum dg_err err = dg_layout_weights_init(&w, bp);
    if (err)
        return err;
    err = dg_layout_visit(bp, &w, give_shape, &n);
    dg_layout_tie(bp, &w);
    if (!err)
        err = dg_net_build(net, bp, &w, opts, seed * 2 + 1, error);
    dg_layout_weights_deinit(&w);
    return err;
}
