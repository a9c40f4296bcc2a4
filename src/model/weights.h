/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The weights of a network: one borrowed tensor per parameter, pointing into the model's mapping.
 *
 * Layout everywhere: a matrix is [out, in], so y = x * W^T + b and each output channel is one row.
 * The types are what the file has (F32, F16, BF16, or I8 with scales); vectors are never I8. A parameter
 * that the blueprint rules out (a bias of a model without one) is absent: `data` is NULL.
 *
 * The canonical names are those of Hugging Face's Marian state dict, with a few of our own where it has
 * no word (SSRU, AAN); docs/MODEL-FILES.md lists them. In the comments below `L` stands for the prefix
 * "model.encoder.layers.<i>." or "model.decoder.layers.<i>.". */
#ifndef DG_MODEL_WEIGHTS_H
#define DG_MODEL_WEIGHTS_H

#include "tensor/tensor.h"

#include <stddef.h>

enum { DG_AAN_DEPTH_MAX = 8 };

struct dg_linear_weights {
    struct dg_tensor weight; /* [out, in] */
    struct dg_tensor bias;   /* [out]; may be absent */
};

struct dg_norm_weights {
    struct dg_tensor gain; /* [D] "….weight" */
    struct dg_tensor bias; /* [D] "….bias"; absent for RMS */
};

struct dg_attention_weights {
    struct dg_linear_weights q, k, v, o; /* [D, D]; L self_attn.q_proj ... out_proj, or encoder_attn */
    struct dg_norm_weights norm;         /* L self_attn_layer_norm or encoder_attn_layer_norm */
    struct dg_tensor relative_keys;      /* [2 relative_reach + 1, dh] L self_attn.relative_keys.weight */
    struct dg_tensor relative_values;    /* the same shape; of self-attention, where there is a reach */
};

struct dg_ffn_weights {
    struct dg_linear_weights fc1; /* [F, D] L fc1 */
    struct dg_linear_weights fc2; /* [D, F] L fc2 */
    struct dg_norm_weights norm;  /* L final_layer_norm */
};

struct dg_ssru_weights {
    struct dg_linear_weights candidate; /* [D, D] L ssru.candidate, no bias */
    struct dg_linear_weights forget;    /* [D, D] L ssru.forget */
    struct dg_norm_weights norm;        /* L self_attn_layer_norm */
};

struct dg_aan_weights {
    struct dg_linear_weights fc[DG_AAN_DEPTH_MAX]; /* L aan.fc<j>, j from 1; the first `aan_depth` */
    struct dg_linear_weights input_gate;           /* [D, D] L aan.input_gate; absent without gates */
    struct dg_linear_weights forget_gate;          /* [D, D] L aan.forget_gate */
    struct dg_norm_weights norm;                   /* L self_attn_layer_norm */
};

struct dg_encoder_layer {
    struct dg_attention_weights self;
    struct dg_ffn_weights ffn;
};

struct dg_decoder_layer {
    union { /* which one: blueprint's decoder_kind */
        struct dg_attention_weights self;
        struct dg_ssru_weights ssru;
        struct dg_aan_weights aan;
    };
    struct dg_attention_weights cross;
    struct dg_ffn_weights ffn;
};

/* DG_FAMILY_TRANSFORMER. Tied matrices appear in each of their roles with the same `data`. */
struct dg_transformer_weights {
    struct dg_tensor source_embedding; /* [Vs, D] model.shared.weight or model.encoder.embed_tokens.weight */
    struct dg_tensor target_embedding; /* [Vt, D] model.shared.weight or model.decoder.embed_tokens.weight */
    struct dg_tensor source_positions; /* [N, D] learned only: model.encoder.embed_positions.weight */
    struct dg_tensor target_positions; /* [N, D] learned only: model.decoder.embed_positions.weight */
    struct dg_norm_weights source_embedding_norm; /* model.encoder.layernorm_embedding */
    struct dg_norm_weights target_embedding_norm; /* model.decoder.layernorm_embedding */
    struct dg_encoder_layer *encoder_layers;      /* [encoder.n_layers] owned by the model */
    struct dg_norm_weights encoder_norm;          /* model.encoder.layer_norm; final_norm only */
    struct dg_decoder_layer *decoder_layers;      /* [decoder.n_layers] owned by the model */
    struct dg_norm_weights decoder_norm;          /* model.decoder.layer_norm; final_norm only */
    struct dg_tensor output;                      /* [Vt, D] lm_head.weight, or the target embedding */
    struct dg_tensor output_bias;                 /* [Vt] final_logits_bias (stored [1, Vt] or [Vt]) */
};

/* One struct per family; the blueprint's `family` says which. */
struct dg_weights {
    union {
        struct dg_transformer_weights transformer;
    };
};

#endif
