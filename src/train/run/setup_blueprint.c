/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The networks that are trained where nothing else is said. */
#include "train/run/setup.h"

void dg_setup_blueprint(struct dg_blueprint *bp)
{
    *bp = (struct dg_blueprint){
        .D = 256,
        .encoder = {4, 8, 1024, 0},
        .decoder = {2, 8, 1024, 0},
        .norm_epsilon = 1e-5f,
        .positions = DG_POS_HALVES,
        .embedding_scale = 16.0f,
        .tie_source_target = true,
        .tie_output = true,
        .output_bias = true,
        .pad_id = DG_ID_NONE,
        .bos_id = DG_ID_NONE,
        .start = DG_START_ZERO,
        .start_id = DG_ID_NONE,
        .forced_bos_id = DG_ID_NONE,
        .forced_eos_id = DG_ID_NONE,
        .source_len_max = 512,
        .target_len_max = 512,
        .n_beams = 4,
        .length_penalty = 1.0f,
        .lowers_titles = true,
    };
}

void dg_setup_blueprint_seq(struct dg_blueprint *bp)
{
    dg_setup_blueprint(bp);
    bp->family = DG_FAMILY_SEQ;
    bp->decoder_kind = DG_DECODER_GRU;
    bp->encoder = bp->decoder = (struct dg_stack){1, 1, 1, 0};
    bp->positions = DG_POS_NONE;
    bp->embedding_scale = 1.0f;
    bp->tie_source_target = bp->tie_output = false;
    bp->start = DG_START_TOKEN; /* the end token, because the model never reads it otherwise */
}

void dg_setup_blueprint_lm(struct dg_blueprint *bp, enum dg_setup_shape shape)
{
    const bool is_gpt = shape == DG_SETUP_GPT;
    dg_setup_blueprint(bp);
    bp->family = DG_FAMILY_LM;
    bp->decoder = (struct dg_stack){4, 8, 1024, 0};
    bp->encoder = bp->decoder;
    bp->encoder.n_layers = 0;
    bp->lm = (struct dg_lm){.head = 32,
                            .kv_heads = 8,
                            .gated = !is_gpt,
                            .qkv_bias = is_gpt,
                            .o_bias = is_gpt,
                            .ffn_bias = is_gpt,
                            .rope = {.theta = 10000.0, .factor = 1.0, .low = 1.0, .high = 4.0}};
    bp->positions = is_gpt ? DG_POS_LEARNED : DG_POS_ROTARY;
    bp->norm_kind = is_gpt ? DG_NORM_LAYER : DG_NORM_RMS;
    bp->norm_place = DG_NORM_PRE;
    bp->final_norm = true;
    bp->activation = is_gpt ? DG_ACT_GELU_TANH : DG_ACT_SILU;
    bp->embedding_scale = 1.0f;
    bp->tie_source_target = bp->output_bias = false;
    bp->start = DG_START_PROMPT;
    bp->n_beams = 1;
}
