/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The weights of a network: one borrowed tensor per parameter, pointing into the model's mapping.
 *
 * Every matrix is [out, in], so y = x * W^T + b and each output channel is one row. Types are those
 * of the file (F32, F16, BF16, or I8 with scales); vectors are never I8. A parameter that the
 * blueprint excludes (such as the bias of a model without one) is absent: its `data` is NULL.
 *
 * Parameters have the names of Hugging Face's Marian state dict, or our own where it has none
 * (SSRU, AAN); docs/MODEL-FILES.md lists them. In the comments below, `L` stands for the prefix
 * "model.encoder.layers.<i>." or "model.decoder.layers.<i>.". */
#ifndef DG_MODEL_WEIGHTS_H
#define DG_MODEL_WEIGHTS_H

#include "model/blueprint.h"
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
    /* [D, D]; L self_attn.q_proj ... out_proj, or encoder_attn */
    struct dg_linear_weights q, k, v, o;
    struct dg_norm_weights norm; /* L self_attn_layer_norm or encoder_attn_layer_norm */
    /* [2 relative_reach + 1, dh] L self_attn.relative_keys.weight */
    struct dg_tensor relative_keys;
    struct dg_tensor relative_values; /* of the same shape; both only for self-attention with a
                                         reach */
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
    /* L aan.fc<j>, j from 1; the first `aan_depth` */
    struct dg_linear_weights fc[DG_AAN_DEPTH_MAX];
    struct dg_linear_weights input_gate;  /* [D, D] L aan.input_gate; absent without gates */
    struct dg_linear_weights forget_gate; /* [D, D] L aan.forget_gate */
    struct dg_norm_weights norm;          /* L self_attn_layer_norm */
};

struct dg_encoder_layer {
    struct dg_attention_weights self;
    struct dg_ffn_weights ffn;
};

struct dg_decoder_layer {
    union { /* the blueprint's decoder_kind says which */
        struct dg_attention_weights self;
        struct dg_ssru_weights ssru;
        struct dg_aan_weights aan;
    };
    struct dg_attention_weights cross;
    struct dg_ffn_weights ffn;
};

/* The weights of a Transformer. Tied matrices appear in each of their roles with the same
 * `data`. */
struct dg_transformer_weights {
    struct dg_tensor source_embedding; /* [Vs, D] model.shared.weight,
                                          model.encoder.embed_tokens.weight */
    struct dg_tensor target_embedding; /* [Vt, D] model.shared.weight,
                                          model.decoder.embed_tokens.weight */
    /* [N, D] learned only: model.encoder.embed_positions.weight */
    struct dg_tensor source_positions;
    /* [N, D] learned only: model.decoder.embed_positions.weight */
    struct dg_tensor target_positions;
    struct dg_norm_weights source_embedding_norm; /* model.encoder.layernorm_embedding */
    struct dg_norm_weights target_embedding_norm; /* model.decoder.layernorm_embedding */
    struct dg_encoder_layer *encoder_layers;      /* [encoder.n_layers] owned by the model */
    struct dg_norm_weights encoder_norm;          /* model.encoder.layer_norm; final_norm only */
    struct dg_decoder_layer *decoder_layers;      /* [decoder.n_layers] owned by the model */
    struct dg_norm_weights decoder_norm;          /* model.decoder.layer_norm; final_norm only */
    struct dg_tensor output;      /* [Vt, D] lm_head.weight, or the target embedding */
    struct dg_tensor output_bias; /* [Vt] final_logits_bias (stored [1, Vt] or [Vt]) */
};

/* A cell of state width d. It reads an input of any width, or only its state; in that case the
 * input's matrices are absent. The blocks of rows of `gates`, from top to bottom, are reset and
 * update for a GRU, and forget, input, candidate and output for an LSTM. P stands for
 * model.encoder.{forward,backward,top}.<layer>.cells.<j>. or
 * model.decoder.layers.<layer>.cells.<j>. */
struct dg_cell_weights {
    struct dg_tensor gates_input;     /* [2d or 4d, in] P gates.input.weight */
    struct dg_tensor gates_state;     /* [2d or 4d, d] P gates.state.weight */
    struct dg_tensor gates_bias;      /* [2d or 4d] P gates.bias */
    struct dg_tensor candidate_input; /* [d, in] P candidate.input.weight; all three: GRU only */
    struct dg_tensor candidate_state; /* [d, d] P candidate.state.weight */
    struct dg_tensor candidate_bias;  /* [d] P candidate.bias */
    struct dg_tensor input_gain; /* [3d or 4d] P input_norm.weight, over gates and candidate; both
                                    gains: with `norm` only */
    struct dg_tensor state_gain; /* [3d or 4d] P state_norm.weight */
};

struct dg_rnn_layer {
    struct dg_cell_weights cells[DG_RNN_CELLS_MAX];
};

/* A linear layer. In a network with norms, a norm stands between its product and its bias. */
struct dg_normed_weights {
    struct dg_linear_weights linear; /* NAME.weight, NAME.bias */
    struct dg_tensor gain;           /* NAME_norm.weight */
};

/* The weights of the family RNN; d is the width of states, C that of the context. The first four
 * tensors have the Transformer's names. */
struct dg_rnn_weights {
    struct dg_tensor source_embedding, target_embedding; /* [V, D] */
    struct dg_tensor output;                             /* [Vt, D] */
    struct dg_tensor output_bias;                        /* [Vt] */
    struct dg_rnn_layer *forward, *backward; /* [paired layers]; the model owns all four arrays */
    struct dg_rnn_layer *top;                /* [encoder.n_layers - paired layers] */
    struct dg_rnn_layer *decoder;            /* [decoder.n_layers] */
    struct dg_normed_weights initial; /* [d, C] model.decoder.initial: maps the context's mean to
                                         all first states */
    struct dg_normed_weights attention_source; /* [C, C] model.decoder.attention.source */
    struct dg_normed_weights attention_state;  /* [C, d] model.decoder.attention.state, without a
                                                  bias */
    struct dg_tensor attention_score;          /* [C] model.decoder.attention.score.weight */
    struct dg_normed_weights readout_word;     /* [D, D] model.decoder.readout.word */
    struct dg_normed_weights readout_state;    /* [D, d] model.decoder.readout.state */
    struct dg_normed_weights readout_context;  /* [D, C] model.decoder.readout.context */
};

/* A plain cell over an input [D] and a state [D], as in PyTorch, with a bias for each product. Its
 * rows are in G blocks: reset, update, candidate for a GRU (3); input, forget, candidate, output
 * for an LSTM (4); one for tanh. P stands for model.encoder.layers.<i>.{forward,backward}. or
 * model.decoder.layers.<i>. */
struct dg_seq_cell {
    struct dg_tensor input, state;           /* [G D, D] P input.weight, P state.weight */
    struct dg_tensor input_bias, state_bias; /* [G D] P input.bias, P state.bias */
};

struct dg_seq_layer {
    struct dg_seq_cell forward;  /* the decoder's only cell */
    struct dg_seq_cell backward; /* absent unless the encoder is bidirectional */
};

/* The weights of the family SEQ. A classifier has only the source embedding, the encoder and the
 * output. */
struct dg_seq_weights {
    struct dg_tensor source_embedding, target_embedding; /* [V, D] */
    struct dg_tensor output;                             /* [Vt, D] */
    struct dg_tensor output_bias;                        /* [Vt] */
    struct dg_seq_layer *encoder, *decoder;              /* [n_layers] owned by the model */
    /* Attention; each kind has its own tensors. A stands for model.decoder.attention. */
    struct dg_linear_weights location; /* [places, 2D] A location; LOCATION: reads [word, state] */
    struct dg_linear_weights key;   /* [D, D] A key; GENERAL: without a bias, ADDITIVE: with one */
    struct dg_linear_weights query; /* [D, D] A query; ADDITIVE: without a bias */
    struct dg_tensor score;         /* [D] A score.weight; ADDITIVE */
    struct dg_linear_weights combine; /* [D, 2D] model.decoder.combine: reads [word, context]; all
                                         kinds but NONE */
};

/* A layer of a language model; A = H * head, K = kv_heads * head. L stands for
 * model.layers.<layer>. */
struct dg_lm_layer {
    struct dg_norm_weights attention_norm; /* L input_layernorm */
    struct dg_linear_weights q;            /* [A, D] L self_attn.q_proj */
    struct dg_linear_weights k, v;         /* [K, D] L self_attn.k_proj, v_proj */
    struct dg_linear_weights o;            /* [D, A] L self_attn.o_proj */
    struct dg_norm_weights ffn_norm;       /* L post_attention_layernorm */
    struct dg_linear_weights gate;         /* [F, D] L mlp.gate_proj; with `gated` */
    struct dg_linear_weights up, down;     /* [F, D], [D, F] L mlp.up_proj, mlp.down_proj */
};

/* The weights of a language model. */
struct dg_lm_weights {
    struct dg_tensor embedding;  /* [V, D] model.embed_tokens.weight */
    struct dg_tensor positions;  /* [N, D] learned only: model.embed_positions.weight */
    struct dg_lm_layer *layers;  /* [decoder.n_layers] owned by the model */
    struct dg_norm_weights norm; /* model.norm */
    struct dg_tensor output;     /* [V, D] lm_head.weight, or the embedding */
};

/* The weights of an encoder-only network. Tensors that a head does not use are absent. */
struct dg_enc_weights {
    struct dg_tensor embedding; /* [V, D] model.encoder.embed_tokens.weight */
    struct dg_tensor positions; /* [N, D] learned only: model.encoder.embed_positions.weight */
    struct dg_tensor types;     /* [n_types, D] model.encoder.embed_types.weight */
    struct dg_norm_weights embedding_norm; /* model.encoder.layernorm_embedding */
    struct dg_encoder_layer *layers;       /* [encoder.n_layers] owned by the model */
    struct dg_norm_weights norm;           /* model.encoder.layer_norm; final_norm only */
    struct dg_linear_weights dense;        /* [D, D] head.dense: WORDS, POOLED, REPLACED */
    struct dg_norm_weights dense_norm;     /* head.norm: WORDS */
    struct dg_tensor output; /* [V, D] lm_head.weight, or the embedding: WORDS; head.out.weight:
                                labels */
    struct dg_tensor output_bias; /* [V] final_logits_bias; head.out.bias */
};

/* One struct per family; the blueprint's `family` says which. */
struct dg_weights {
    enum dg_family family;
    union {
        struct dg_transformer_weights transformer;
        struct dg_rnn_weights rnn;
        struct dg_lm_weights lm;
        struct dg_seq_weights seq;
        struct dg_enc_weights enc;
    };
};

#endif
