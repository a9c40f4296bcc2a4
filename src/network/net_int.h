/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the folder: what a network and a worker's state look like, shared by the files net*.c.
 *
 * Both are built the same way: one function walks over every array and takes its part of a block
 * (`struct net_carve`). The first walk has no block and only counts; the second one places. */
#ifndef DG_NETWORK_NET_INT_H
#define DG_NETWORK_NET_INT_H

#include "base/thread/helpers.h"
#include "network/net.h"

/* ---- Carving one block
 * ----------------------------------------------------------------------------- */

struct net_carve {
    char *base;  /* NULL while counting */
    size_t used; /* bytes taken so far, a multiple of 64 */
    bool overflow;
};

/* Takes n * size bytes at a multiple of 64; NULL while counting. */
void *dg_net_carve(struct net_carve *carve, size_t n, size_t size);

/* ---- The network --------------------------------------------------------------------------------
 */

struct net_norm {
    float *gain; /* [D]; NULL: there is no such norm */
    float *bias; /* [D]; NULL: RMS */
};

struct net_ffn {
    struct dg_packed fc1; /* [F, D] */
    struct dg_packed fc2; /* [D, F] */
    struct net_norm norm;
};

struct net_encoder_layer {
    struct dg_packed qkv;        /* [3D, D]: queries, keys, values fused */
    struct dg_packed o;          /* [D, D] */
    struct dg_relative relative; /* reach 0: none */
    struct net_norm self_norm;
    struct net_ffn ffn;
};

struct net_decoder_layer {
    struct dg_packed qkv;        /* attention: [3D, D]; SSRU: [2D, D] candidate and forget gate */
    struct dg_packed o;          /* attention: [D, D] */
    struct dg_relative relative; /* attention; reach 0: none */
    struct dg_packed aan_fc[DG_AAN_DEPTH_MAX];
    struct dg_packed aan_input_gate, aan_forget_gate; /* [D, D] */
    struct net_norm self_norm;
    struct dg_packed cross_q;  /* [D, D] */
    struct dg_packed cross_kv; /* [2D, D] */
    struct dg_packed cross_o;  /* [D, D] */
    struct net_norm cross_norm;
    struct net_ffn ffn;
};

/* A recurrent cell; d the width of a state, G 3 (GRU) or 4 (LSTM). */
struct net_rnn_cell {
    struct dg_packed input;         /* [G d, in]; N 0: it reads its state alone */
    struct dg_packed state;         /* [G d, d] */
    float *bias;                    /* [G d] */
    float *input_gain, *state_gain; /* [G d]; NULL: no norms */
    bool is_final;                  /* a GRU that adds the candidate's bias before its reset gate */
};

struct net_rnn_layer {
    struct net_rnn_cell cells[DG_RNN_CELLS_MAX];
    size_t n;
};

/* A product, then a norm, then a bias; without a norm the bias is the product's own. */
struct net_normed {
    struct dg_packed linear;
    float *gain, *bias; /* NULL without a norm; a norm may lack a bias */
};

struct net_rnn {
    struct net_rnn_layer *forward, *backward, *top, *decoder; /* as in struct dg_rnn_weights */
    struct net_normed initial, attention_source, attention_state;
    struct net_normed readout[3]; /* of the word, the state, the context */
    struct dg_packed score;       /* [1, C], F32 in every network */
    float *zeros;                 /* for norms without a bias */
};

/* Plain recurrent networks (net_seq.c); biases are the products' own. */
struct net_seq_cell {
    struct dg_packed input, state; /* [G D, D] */
};

struct net_seq_layer {
    struct net_seq_cell forward, backward;
};

struct net_seq {
    struct net_seq_layer *encoder;
    struct net_seq_cell *decoder;
    struct dg_packed location, key, query, combine;
    struct dg_packed score; /* [1, D], F32 in every network */
};

/* A layer of a language model; A = H * head, K = kv_heads * head. */
struct net_lm_layer {
    struct dg_packed qkv;  /* [A + 2K, D] */
    struct dg_packed o;    /* [D, A] */
    struct dg_packed up;   /* [F, D]; gated: [2F, D], the gate first */
    struct dg_packed down; /* [D, F] */
    struct net_norm attention_norm, ffn_norm;
};

/* One side's way from an id to a vector. */
struct net_embedding {
    const struct dg_packed *rows; /* [V, D]; the output matrix where they are tied */
    const float *positions;       /* [n_positions, D] learned; NULL otherwise */
    struct net_norm norm;
};

/* What encoders alone have besides their layers. */
struct net_enc {
    float *types;           /* [n_types, D]; NULL: none */
    struct dg_packed dense; /* [D, D]; N 0: the head has none */
    struct net_norm norm;   /* behind it; gain NULL: none */
    enum dg_op_act act;     /* of it */
};

struct dg_net {
    struct dg_blueprint bp;
    const struct dg_kernels *kernels;
    enum dg_packed_type type; /* the matrices' whose products need the most scratch: I8 where one or
                                 more is */
    enum dg_op_act act;

    struct net_embedding source, target;
    struct dg_packed source_rows; /* used when the source embedding is not tied */
    struct dg_packed target_rows; /* used when the output matrix is not the target embedding */
    struct net_encoder_layer *encoder_layers; /* [encoder.n_layers] */
    struct net_norm encoder_norm;
    struct net_decoder_layer *decoder_layers; /* [decoder.n_layers] */
    struct net_norm decoder_norm;
    struct dg_packed output;        /* [V, D] */
    double *frequencies;            /* [D/2] of the sinusoids */
    struct net_rnn rnn;             /* of the RNN family, in place of the layers above */
    struct net_lm_layer *lm_layers; /* [decoder.n_layers] of the LM family, likewise */
    struct net_seq seq;             /* of the SEQ family, the same */
    struct net_enc enc;             /* of the ENC family, besides the encoder's layers */

    size_t kv_layers, kv_width; /* a cached position is kv_layers records of two vectors of kv_width
                                 */
    size_t cell_width; /* numbers that a recurrent decoder keeps for a lane in each layer; 0: none
                        */

    void *block;
    size_t block_bytes;
};

/* What dg_net_new does; `random` not 0: values come from a generator, and of `w` only shapes count.
 */
enum dg_err dg_net_build(struct dg_net **net, const struct dg_blueprint *bp,
                         const struct dg_weights *w, const struct dg_net_opts *opts,
                         uint64_t random, struct dg_error *error) DG_MUST_CHECK;

/* The generator's next value, -1 to 1; never leaves its state at 0. */
float dg_net_random_next(uint64_t *random);

/* ---- A worker's state
 * ----------------------------------------------------------------------------- */

/* A sentence. Its lanes' histories are lists of cached positions, twice: a step reads those of
 * `turn` and writes those of the other. */
struct net_slot {
    bool is_open, is_encoded;
    bool is_named; /* a mark while a step is checked */
    uint32_t n_source, n_lanes, target_len;
    int32_t prompt_end;   /* LM: the source's last token, which position 0 reads */
    uint32_t n_filled;    /* LM: tokens whose keys and values are there, */
    bool is_shared;       /* and may be another's, or become so */
    unsigned turn;        /* 0 or 1 */
    uint32_t *source_at;  /* [source_len] cached positions of the source */
    uint32_t *history[2]; /* [lanes][target_len] */
    uint32_t *length[2];  /* [lanes]; 0: a dead lane, or one that has not begun */
};

/* Workspace of recurrent networks of both families; R rows as elsewhere. Sizes are the RNN
 * family's; those of SEQ are where they are carved. */
struct net_rnn_work {
    float *context;               /* [R][C] the encoder's output */
    float *stack[3];              /* [R][2d] what layers hand on */
    float *gates;                 /* [R][G d] products of a cell's inputs */
    float *products;              /* [R][G d] products of states */
    float *hidden;                /* [R][max(C, d)] states side by side */
    float *query;                 /* [R][C] */
    float *mixed;                 /* [R][C] contexts that were attended to */
    float *readout;               /* [R][D] */
    float *mapped;                /* [source_len][C] */
    float *record;                /* [2C] */
    float *states;                /* [slots][d or 2d] of the encoder */
    float *initial;               /* [slots][d] the decoder's first states */
    float **state_at, **gates_at; /* [R] */
    size_t *list;                 /* [R] rows */
};

/* A row of a language model's pass: a token, its place in the context, and the cached positions
 * that it sees. */
struct net_lm_row {
    int32_t token;
    uint32_t position;  /* in the context: of prompt and answer together */
    const uint32_t *at; /* [position + 1] cached positions; the last is its own */
};

/* Workspace of language models; A = H * head, K = kv_heads * head. */
struct net_lm_work {
    float *cosines, *sines;  /* [positions][head / 2] */
    float *mixed;            /* [R][A] what attention gives */
    float *query, *answer;   /* [A] heads in another order */
    struct net_lm_row *rows; /* [R] */
    uint32_t *lists;         /* [rows][source_len + target_len] */
};

enum { NET_PREFIXES = 8 };

/* The beginning of prompts, kept for others (net_prefix.c). */
struct net_prefix {
    int32_t *ids; /* [source_len] its tokens, */
    uint32_t *at; /* [source_len] and the cached positions that hold them */
    uint32_t n;   /* 0: a free entry */
    uint64_t used;
};

struct dg_net_state {
    const struct dg_net *net;
    struct dg_helpers *helpers; /* borrowed; takes part in products; NULL: nobody */
    struct dg_net_limits limits;
    size_t work_rows; /* rows of the workspace: the larger of a step's and the encoder's */
    size_t ffn_rows;  /* rows that go through a feed-forward layer together */

    struct net_slot *slots; /* [slots] */

    /* The pool of cached positions. kv is [n_layers][kv_tokens][2D]: key, then value; F32 or F16.
     */
    char *kv;
    size_t kv_bytes;   /* of one position in one layer */
    uint32_t *free_at; /* [kv_tokens] a stack */
    size_t n_free;
    size_t n_promised;                        /* sum of the open slots' needs */
    uint32_t *refs;                           /* [kv_tokens] lanes and prefixes that refer to it */
    struct net_prefix prefixes[NET_PREFIXES]; /* LM */
    size_t n_kept; /* tokens of all prefixes: with what is promised never more than kv_tokens */
    uint64_t n_prefix_uses;

    /* States of SSRU, AAN, GRU and LSTM decoders: [2 turns][n_layers][slots][lanes][cell_width]. */
    float *cells;
    struct net_rnn_work rnn;
    struct net_lm_work lm;

    /* Workspace. */
    float *positions; /* [longest][D] sinusoids */
    float *x, *y, *z; /* [work_rows][D] the stream, a sub-layer's input, its output befor-------- */
    float *wide;      /* [work_rows][3D], [ffn_rows][F], or two rows of the widest inner layer */
    size_t wide_len;
    float *scores; /* [H][longest] */
    float *logits; /* [logits_rows][ld_logits] */
    size_t ld_logits;
    float *attention;        /* [rows][source_len] */
    uint32_t *row_logits;    /* [rows] index into logits, or NONE */
    const uint32_t **row_at; /* [rows] the row's history */
    void *scratch;           /* of products */

    size_t n_rows; /* of the last step */
    size_t n_logits;
    bool has_attention;
    size_t n_encoded;      /* sentences whose output is still in x */
    size_t *encoded_first; /* [slots] first row of each, */
    size_t *encoded_len;   /* ... and how many it has */
    struct {
        size_t n_sources, n_rows;
        size_t layer;
        int stage; /* of that layer */
        size_t at; /* rows before this have done it */
    } encoding;    /* of dg_net_encode_begin */

    struct dg_packed shortlist; /* N 0: none is set */
    size_t shortlist_n;

    void *block;
    size_t block_bytes;
};

enum { NET_NONE = UINT32_MAX };

/* A free cached position with one reference (one must have been promised), and the mirror. */
uint32_t dg_net_take_position(struct dg_net_state *state);
void dg_net_drop_position(struct dg_net_state *state, uint32_t at);

/* Drops a lane's references and forgets the lane. */
void dg_net_drop_history(struct dg_net_state *state, struct net_slot *slot, unsigned turn,
                         size_t lane);

/* ---- Blocks shared by encoder and decoder (net_block.c)
 * ------------------------------------------------ */

/* x[m] = embedding(ids[m]) * scale + position(at[m]), then the embedding's norm. */
void dg_net_embed(struct dg_net_state *state, const struct net_embedding *embedding, float *x,
                  int32_t id, size_t position);

/* The input of a sub-layer: x itself (post-norm), or its norm, written to y. */
const float *dg_net_enter(struct dg_net_state *state, const struct net_norm *norm, size_t M);
const float *dg_net_enter_rows(struct dg_net_state *state, const struct net_norm *norm,
                               size_t first, size_t n);

/* x = norm(x) after a sub-layer of a post-norm network, whose residual is already added. */
void dg_net_leave(struct dg_net_state *state, const struct net_norm *norm, size_t M);
void dg_net_leave_rows(struct dg_net_state *state, const struct net_norm *norm, size_t first,
                       size_t n);

void dg_net_norm(const struct dg_net_state *state, const struct net_norm *norm, float *out,
                 const float *x, size_t M);

/* out[M][N] = x[M][K] * W^T + bias, with what the kernels' table can fuse. */
void dg_net_linear(struct dg_net_state *state, float *out, size_t ld_out, const float *x,
                   size_t ld_x, size_t M, const struct dg_packed *w, enum dg_op_act act,
                   const float *residual);

/* Stores the record [2 kv_width] of a cached position; its mirror, where records are F32. */
void dg_net_keep(struct dg_net_state *state, size_t layer, uint32_t at, const float *from);
const float *dg_net_kept(const struct dg_net_state *state, size_t layer, uint32_t at);

/* Attention of one query [D] over the cached positions that `at` lists; probabilities stay in
 * state->scores. With `relative` (NULL or reach 0: without) the query is the last of them. */
void dg_net_attend(struct dg_net_state *state, size_t layer, float *out, const float *q,
                   const uint32_t *at, size_t n, const struct dg_relative *relative);

/* The recurrent sub-layer of SSRU and AAN decoders (net_cell.c), in place on x[M][D]. */
void dg_net_cell(struct dg_net_state *state, const struct net_decoder_layer *layer,
                 const struct dg_net_step *step, size_t at_layer);

/* The state [cell_width] that a lane has in a turn (net_cell.c). */
float *dg_net_cell_of(struct dg_net_state *state, unsigned turn, size_t layer, size_t slot,
                      size_t lane);

/* ---- Recurrent networks (net_rnn.c)
 * ------------------------------------------------------------------- */

void dg_net_rnn_carve(struct dg_net_state *state, struct net_carve *carve);

/* From the embeddings [M, D] in state->x to the slots' cached positions and first states. */
void dg_net_rnn_encode(struct dg_net_state *state, const struct dg_net_source *sources,
                       size_t n_sources, size_t M);

/* All rows of a step, settled; leaves what the output matrix reads in state->x. */
void dg_net_rnn_step(struct dg_net_state *state, const struct dg_net_step *step);
/* A step of networks whose words need the state of the word before: `fetch` takes a hypothesis's
 * state, `run` computes rnn.list[n] of the rows; what they leave in rnn.readout becomes x. */
void dg_net_in_waves(struct dg_net_state *state, const struct dg_net_step *step,
                     void (*fetch)(struct dg_net_state *state, const struct dg_net_row *row),
                     void (*run)(struct dg_net_state *state, const struct dg_net_step *step,
                                 size_t n));

/* The same of plain recurrent networks (net_seq.c). */
void dg_net_seq_carve(struct dg_net_state *state, struct net_carve *carve);
void dg_net_seq_encode(struct dg_net_state *state, const struct dg_net_source *sources,
                       size_t n_sources, size_t M);
void dg_net_seq_step(struct dg_net_state *state, const struct dg_net_step *step);

/* ---- Language models (net_lm.c)
 * ----------------------------------------------------------------------- */

void dg_net_lm_carve(struct dg_net_state *state, struct net_carve *carve);
void dg_net_lm_fill(struct dg_net_state *state); /* the tables, after carving */

/* Keys and values of all of the prompts but their last tokens, into the slots' cached positions. */
size_t dg_net_lm_prefill(struct dg_net_state *state, const struct dg_net_source *sources,
                         size_t n_sources, size_t most);

/* net_prefix.c. Of a slot that was opened for a prompt, the longest beginning that is kept becomes
 * its own: so many tokens. When all of a prompt is there it may be kept. What is kept gives way to
 * what is promised. */
void dg_net_prefix_carve(struct dg_net_state *state, struct net_carve *carve);
size_t dg_net_prefix_share(struct dg_net_state *state, struct net_slot *slot, const int32_t *ids);
void dg_net_prefix_keep(struct dg_net_state *state, const struct net_slot *slot,
                        const int32_t *ids);
void dg_net_prefix_give_way(struct dg_net_state *state);

/* All rows of a step, settled; leaves what the output matrix reads in state->x. */
void dg_net_lm_step(struct dg_net_state *state, const struct dg_net_step *step);

/* ---- Encoders alone (net_enc.c)
 * ----------------------------------------------------------------------- */

/* x = embedding(id) + position + segment, normed. */
void dg_net_enc_embed(struct dg_net_state *state, float *x, int32_t id, size_t position,
                      size_t type);

/* The vector of a position: a stored row, or a sinusoid. NULL without positions. */
const float *dg_net_position(const struct dg_net_state *state,
                             const struct net_embedding *embedding, size_t position);

/* The feed-forward sub-layer with its norm and residual, in place on x[M][D]. */
void dg_net_ffn(struct dg_net_state *state, const struct net_ffn *ffn, size_t M);
void dg_net_ffn_rows(struct dg_net_state *state, const struct net_ffn *ffn, size_t first,
                     size_t n_rows);

#endif
