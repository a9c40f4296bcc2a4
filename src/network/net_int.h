/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The inside of a network and of a worker's state. Private to the files net*.c.
 *
 * Both are built the same way: one function walks over every array and takes its part of a block
 * (`struct net_carve`). The first walk has no block and only counts the bytes; the second walk
 * places the arrays. */
#ifndef DG_NETWORK_NET_INT_H
#define DG_NETWORK_NET_INT_H

#include "base/thread/helpers.h"
#include "network/net.h"

/* ---- Carving one block ----------------------------------------------------------------------- */

struct net_carve {
    char *base;  /* NULL while counting */
    size_t used; /* bytes taken so far, a multiple of 64 */
    bool overflow;
};

/* Takes n * size bytes at a multiple of 64; NULL while counting. */
void *dg_net_carve(struct net_carve *carve, size_t n, size_t size);

/* ---- The network ----------------------------------------------------------------------------- */

struct net_norm {
    float *gain; /* [D]; NULL: no norm here */
    float *bias; /* [D]; NULL: RMS norm */
};

struct net_ffn {
    struct dg_packed fc1; /* [F, D] */
    struct dg_packed fc2; /* [D, F] */
    struct net_norm norm;
};

struct net_encoder_layer {
    struct dg_packed qkv; /* [3D, D]: queries, keys, values fused */
    struct dg_packed kv;  /* norm_queries_only: [2D, D]; qkv is then [D, D] and makes only the
                             queries */
    struct dg_packed o;   /* [D, D] */
    struct dg_relative relative; /* reach 0: no relative positions */
    struct net_norm self_norm;
    struct net_ffn ffn;
};

struct net_decoder_layer {
    struct dg_packed qkv;        /* attention: [3D, D]; SSRU: [2D, D] candidate and forget gate */
    struct dg_packed kv;         /* attention, norm_queries_only: as in the encoder */
    struct dg_packed o;          /* attention: [D, D] */
    struct dg_relative relative; /* for attention; reach 0: no relative positions */
    struct dg_packed aan_fc[DG_AAN_DEPTH_MAX];
    struct dg_packed aan_input_gate, aan_forget_gate; /* [D, D] */
    struct net_norm self_norm;
    struct dg_packed cross_q;  /* [D, D] */
    struct dg_packed cross_kv; /* [2D, D] */
    struct dg_packed cross_o;  /* [D, D] */
    struct net_norm cross_norm;
    struct net_ffn ffn;
};

/* A recurrent cell; d is the width of a state, G is 3 (GRU) or 4 (LSTM). */
struct net_rnn_cell {
    struct dg_packed input;         /* [G d, in]; N 0: the cell reads only its state */
    struct dg_packed state;         /* [G d, d] */
    float *bias;                    /* [G d] */
    float *input_gain, *state_gain; /* [G d]; NULL: no norms */
    bool is_final; /* a GRU that adds the candidate's bias before it applies the reset gate */
};

struct net_rnn_layer {
    struct net_rnn_cell cells[DG_RNN_CELLS_MAX];
    size_t n;
};

/* A product, then a norm, then a bias. Without a norm, the bias is part of `linear`. */
struct net_normed {
    struct dg_packed linear;
    float *gain, *bias; /* both NULL without a norm; a norm may have no bias */
};

struct net_rnn {
    struct net_rnn_layer *forward, *backward, *top, *decoder; /* as in struct dg_rnn_weights */
    struct net_normed initial, attention_source, attention_state;
    struct net_normed readout[3]; /* from the word, the state, the context */
    struct dg_packed score;       /* [1, C], F32 in every network */
    float *zeros;                 /* for norms without a bias */
};

/* Plain recurrent networks (net_seq.c); the packed matrices hold their biases. */
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

/* What turns an id of one side into a vector. */
struct net_embedding {
    const struct dg_packed *rows; /* [V, D]; the output matrix when the two are tied */
    const float *positions;       /* [n_positions, D] learned; NULL otherwise */
    struct net_norm norm;
};

/* What encoder-only networks have besides their layers. */
struct net_enc {
    float *types;           /* [n_types, D] segment vectors; NULL: none */
    struct dg_packed dense; /* [D, D] first matrix of the head; N 0: none */
    struct net_norm norm;   /* follows `dense`; gain NULL: no norm */
    enum dg_op_act act;     /* the activation of `dense` */
};

struct dg_net {
    struct dg_blueprint bp;
    const struct dg_kernels *kernels;
    enum dg_packed_type type; /* The type of those matrices whose products need the most scratch: I8
                                 if any matrix is I8. None is then BF16_FAST, which needs more. */
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
    struct net_rnn rnn;             /* RNN family: used instead of the layers above */
    struct net_lm_layer *lm_layers; /* LM family: used instead of the layers above;
                                       [decoder.n_layers] */
    struct net_seq seq;             /* SEQ family: used instead of the layers above */
    struct net_enc enc;             /* ENC family: used together with the encoder's layers */

    /* A cached position consists of kv_layers records of two vectors of kv_width numbers, which are
     * kv_heads heads. */
    size_t kv_layers, kv_width, kv_heads;
    size_t cell_width; /* numbers of state per lane and layer of a recurrent decoder; 0: none */

    void *block;
    size_t block_bytes;
    struct dg_net *copy; /* owned; the copy of the next memory node; NULL: this is the last */
};

/* Does the work of dg_net_new. If `random` is not 0, it seeds a generator that provides the values,
 * and only the shapes of `w` are used. */
enum dg_err dg_net_build(struct dg_net **net, const struct dg_blueprint *bp,
                         const struct dg_weights *w, const struct dg_net_opts *opts,
                         uint64_t random, struct dg_error *error) DG_MUST_CHECK;

/* Returns the generator's next value, -1 to 1. Its state never becomes 0. */
float dg_net_random_next(uint64_t *random);

/* ---- A worker's state ------------------------------------------------------------------------ */

/* A sentence. The history of each lane is a list of cached positions. There are two sets of
 * histories: a step reads the set `turn` and writes the other one. */
struct net_slot {
    bool is_open, is_encoded;
    bool is_named; /* while a step is checked: some row of it names this slot */
    uint32_t n_source, n_lanes, target_len;
    int32_t prompt_end;   /* LM: the source's last token, which position 0 reads */
    uint32_t n_filled;    /* LM: tokens whose keys and values are cached */
    bool is_shared;       /* LM: a kept prefix may refer to some of these positions */
    unsigned turn;        /* the set of histories that a step reads, 0 or 1 */
    uint32_t *source_at;  /* [source_len] cached positions of the source */
    uint32_t *history[2]; /* [lanes][target_len] */
    uint32_t *length[2];  /* [lanes]; 0: the lane is dead or has not begun */
};

/* Workspace of both recurrent families; R is the number of rows. The sizes given here are those of
 * the RNN family; dg_net_seq_carve has those of SEQ. */
struct net_rnn_work {
    float *context;               /* [R][C] the encoder's output */
    float *stack[3];              /* [R][2d] outputs of layers */
    float *gates;                 /* [R][G d] products of a cell's inputs */
    float *products;              /* [R][G d] products of states */
    float *hidden;                /* [R][max(C, d)] states side by side */
    float *query;                 /* [R][C] */
    float *mixed;                 /* [R][C] results of attention */
    float *readout;               /* [R][D] */
    float *mapped;                /* [source_len][C] */
    float *record;                /* [2C] */
    float *states;                /* [slots][d or 2d] of the encoder */
    float *initial;               /* [slots][d] the decoder's first states */
    float **state_at, **gates_at; /* [R] */
    size_t *list;                 /* [R] rows */
};

/* A row of a language model's pass: a token, its position in the context, and the cached positions
 * that it attends to. */
struct net_lm_row {
    int32_t token;
    /* position in the context, in which prompt and answer are counted together */
    uint32_t position;
    const uint32_t *at; /* [position + 1] cached positions; the last is the row's own */
};

/* Workspace of language models; A = H * head, K = kv_heads * head. */
struct net_lm_work {
    float *cosines, *sines;  /* [positions][head / 2] */
    float *mixed;            /* [R][A] results of attention */
    float *query, *answer;   /* [A] query and result with their heads reordered */
    struct net_lm_row *rows; /* [R] */
    uint32_t *lists;         /* [rows][source_len + target_len] */
};

enum { NET_PREFIXES = 8 };

/* The beginning of a prompt, kept for later prompts (net_prefix.c). */
struct net_prefix {
    int32_t *ids;  /* [source_len] tokens */
    uint32_t *at;  /* [source_len] the cached positions that hold them */
    uint32_t n;    /* 0: the entry is free */
    uint64_t used; /* the value of n_prefix_uses when it was last used */
};

/* Consecutive rows of a step that belong to lanes of one slot and have the same position; at most
 * DG_ATTEND_QUERIES. */
struct net_lanes {
    uint32_t n;        /* rows */
    uint32_t n_shared; /* cached positions, from the first on, that all these lanes have */
};

struct dg_net_state {
    const struct dg_net *net;
    struct dg_helpers *helpers; /* borrowed; threads that share large products; NULL: none */
    struct dg_net_limits limits;
    size_t work_rows; /* rows of the workspace: enough for a step and for the encoder */
    size_t ffn_rows;  /* rows that go through a feed-forward layer together */

    struct net_slot *slots; /* [slots] */

    /* The pool of cached positions: kv is [n_layers][kv_tokens] records. */
    char *kv;
    enum dg_kv_type kv_type;
    size_t kv_bytes;   /* bytes of one position in one layer */
    uint32_t *free_at; /* [kv_tokens] a stack */
    size_t n_free;
    size_t n_promised;                        /* the sum of what the open slots need */
    uint32_t *refs;                           /* [kv_tokens] lanes and prefixes that refer to it */
    struct net_prefix prefixes[NET_PREFIXES]; /* for the LM family */
    size_t n_kept; /* tokens of all prefixes; n_kept + n_promised is never more than kv_tokens */
    uint64_t n_prefix_uses;

    /* States of SSRU, AAN, GRU and LSTM decoders: [2 turns][n_layers][slots][lanes][cell_width]. */
    float *cells;
    struct net_rnn_work rnn;
    struct net_lm_work lm;

    /* Workspace. */
    float *positions; /* [longest][D] sinusoids */
    float *x, *y, *z; /* [work_rows][D] the stream; a sub-layer's input; its intermediate result */
    float *wide;      /* [work_rows][3D], [ffn_rows][F], or two rows of the widest inner layer */
    size_t wide_len;
    float *scores;         /* [DG_ATTEND_QUERIES][H][longest] */
    float *attend_scratch; /* for attention over I8 records, and of an encoder's rows */
    float *logits;         /* [logits_rows][ld_logits] */
    size_t ld_logits;
    float *attention;        /* [rows][source_len] */
    uint32_t *row_logits;    /* [rows] index into logits, or NONE */
    uint32_t *logits_row;    /* [rows] the other way round */
    const uint32_t **row_at; /* [rows] the row's history */
    struct net_lanes *lanes; /* [rows] the rows of a step that attend to their histories together */
    size_t n_lane_groups;
    void *scratch; /* for products */

    size_t n_rows; /* rows of the last step */
    size_t n_logits;
    bool has_attention;
    size_t n_encoded;      /* sentences whose output is still in x */
    size_t *encoded_first; /* [slots] first row of each */
    size_t *encoded_len;   /* [slots] number of rows of each */
    struct {
        size_t n_sources, n_rows;
        size_t layer;
        int stage; /* the stage within that layer */
        size_t at; /* all rows before this one have finished the stage */
    } encoding;    /* progress of dg_net_encode_more */

    struct dg_packed shortlist; /* its N is 0 if none is set */

    void *block;
    size_t block_bytes;
};

enum { NET_NONE = UINT32_MAX };

/* Takes a free cached position, with one reference; it must have been promised. The mirror drops
 * one reference. */
uint32_t dg_net_take_position(struct dg_net_state *state);
void dg_net_drop_position(struct dg_net_state *state, uint32_t at);

/* Drops a lane's references and forgets the lane. */
void dg_net_drop_history(struct dg_net_state *state, struct net_slot *slot, unsigned turn,
                         size_t lane);

/* ---- Blocks shared by encoder and decoder (net_block.c) -------------------------------------- */

/* x[m] = embedding(ids[m]) * scale + position(at[m]), then the embedding's norm. */
void dg_net_embed(struct dg_net_state *state, const struct net_embedding *embedding, float *x,
                  int32_t id, size_t position);

/* Returns the input of a sub-layer: x itself (post-norm), or norm(x), written to y. */
/* Writes the queries, keys and values [n, 3D] of self-attention for rows [first, first + n) of
 * state->x to the same rows of state->wide. */
void dg_net_qkv(struct dg_net_state *state, const struct net_norm *norm,
                const struct dg_packed *qkv, const struct dg_packed *kv, size_t first, size_t n);

const float *dg_net_enter(struct dg_net_state *state, const struct net_norm *norm, size_t M);
const float *dg_net_enter_rows(struct dg_net_state *state, const struct net_norm *norm,
                               size_t first, size_t n);

/* x = norm(x) after a sub-layer of a post-norm network; the residual must be added already. */
void dg_net_leave(struct dg_net_state *state, const struct net_norm *norm, size_t M);
void dg_net_leave_rows(struct dg_net_state *state, const struct net_norm *norm, size_t first,
                       size_t n);

void dg_net_norm(const struct dg_net_state *state, const struct net_norm *norm, float *out,
                 const float *x, size_t M);

/* out[M][N] = act(x[M][K] * W^T + bias) + residual; see `linear` in kernels.h. */
void dg_net_linear(struct dg_net_state *state, float *out, size_t ld_out, const float *x,
                   size_t ld_x, size_t M, const struct dg_packed *w, enum dg_op_act act,
                   const float *residual);

/* The same without activation and residual, for M rows that are wanted part by part: calls
 * take(ctx, rows[m], ...) for each part. `out` is memory for M * ld_out floats, ld_out >= N. */
void dg_net_linear_parts(struct dg_net_state *state, float *out, size_t ld_out, const float *x,
                         size_t ld_x, size_t M, const struct dg_packed *w, dg_net_take_fn *take,
                         void *ctx, const uint32_t *rows);

/* Stores the key and value [2 kv_width] of a cached position. The mirror returns its record; it is
 * what was stored only where records are F32. */
void dg_net_keep(struct dg_net_state *state, size_t layer, uint32_t at, const float *from);
const float *dg_net_kept(const struct dg_net_state *state, size_t layer, uint32_t at);

/* Computes the attention of Q queries [D], 1 to DG_ATTEND_QUERIES, that are ld_q apart, query i
 * over the n cached positions of at[i]; the first n_shared are the same for all. Results are D
 * apart. The probabilities stay in state->scores. With `relative` (NULL or reach 0: none), a query
 * stands at the last position, and only the scores of the last one are kept. */
void dg_net_attend(struct dg_net_state *state, size_t layer, float *out, const float *q,
                   size_t ld_q, size_t Q, const uint32_t *const *at, size_t n_shared, size_t n,
                   const struct dg_relative *relative);

/* Runs the recurrent sub-layer of SSRU and AAN decoders (net_cell.c), in place on x[M][D]. */
void dg_net_cell(struct dg_net_state *state, const struct net_decoder_layer *layer,
                 const struct dg_net_step *step, size_t at_layer);

/* Returns the state [cell_width] of a lane in a turn (net_cell.c). */
float *dg_net_cell_of(struct dg_net_state *state, unsigned turn, size_t layer, size_t slot,
                      size_t lane);

/* ---- What each family does (net_family.c) ---------------------------------------------------- */

struct net_family {
    /* Takes the memory that only this family needs. May be NULL. */
    void (*carve)(struct dg_net_state *state, struct net_carve *carve);
    /* Computes the states from the embeddings [M, D] in state->x, and what the slots keep. NULL:
     * prompts are computed by dg_net_lm_prefill. */
    void (*encode)(struct dg_net_state *state, const struct dg_net_source *sources,
                   size_t n_sources, size_t M);
    /* Computes all rows of a checked step, and leaves the input of the output matrix in
     * state->x. NULL: there is no decoder. */
    void (*step)(struct dg_net_state *state, const struct dg_net_step *step);
};
extern const struct net_family dg_net_families[]; /* by enum dg_family */

/* For a Transformer (net_encode.c, net_step.c); an encoder-only network encodes in the same way. */
void dg_net_layers_encode(struct dg_net_state *state, const struct dg_net_source *sources,
                          size_t n_sources, size_t M);
void dg_net_layers_step(struct dg_net_state *state, const struct dg_net_step *step);

/* ---- Recurrent networks (net_rnn.c) ---------------------------------------------------------- */

void dg_net_rnn_carve(struct dg_net_state *state, struct net_carve *carve);

/* Computes the slots' cached positions and first states from the embeddings [M, D] in state->x. */
void dg_net_rnn_encode(struct dg_net_state *state, const struct dg_net_source *sources,
                       size_t n_sources, size_t M);

/* Runs all rows of a checked step; leaves the input of the output matrix in state->x. */
void dg_net_rnn_step(struct dg_net_state *state, const struct dg_net_step *step);

/* Points rnn.state_at at the states of layer `at` for the n rows in rnn.list, and rnn.gates_at at
 * the gates [G] of their inputs (net_rnn.c). */
void dg_net_point_at_rows(struct dg_net_state *state, const struct dg_net_step *step, size_t n,
                          size_t at, size_t G);

/* The same for the token t of each sentence, counted from its end with `is_backward`: its row is in
 * rnn.list, its sentence's state [width] in rnn.states. Returns how many there are; 0: all
 * sentences are shorter. */
size_t dg_net_point_at_tokens(struct dg_net_state *state, const struct dg_net_source *sources,
                              size_t n_sources, size_t t, bool is_backward, size_t width, size_t G);

/* Runs a step of a network in which a word needs the state of the word before it: `fetch` takes a
 * hypothesis's state, and `run` computes the n rows in rnn.list. The result, in rnn.readout,
 * becomes x. */
void dg_net_in_waves(struct dg_net_state *state, const struct dg_net_step *step,
                     void (*fetch)(struct dg_net_state *state, const struct dg_net_row *row),
                     void (*run)(struct dg_net_state *state, const struct dg_net_step *step,
                                 size_t n));

/* The same for plain recurrent networks (net_seq.c). */
void dg_net_seq_carve(struct dg_net_state *state, struct net_carve *carve);
void dg_net_seq_encode(struct dg_net_state *state, const struct dg_net_source *sources,
                       size_t n_sources, size_t M);
void dg_net_seq_step(struct dg_net_state *state, const struct dg_net_step *step);

/* ---- Language models (net_lm.c) -------------------------------------------------------------- */

void dg_net_lm_carve(struct dg_net_state *state, struct net_carve *carve); /* prefixes too */
void dg_net_lm_fill(struct dg_net_state *state); /* the tables, after carving */

/* Computes the keys and values of all prompt tokens but the last of each prompt, into the slots'
 * cached positions; at most `most` tokens. Returns how many it has computed. */
size_t dg_net_lm_prefill(struct dg_net_state *state, const struct dg_net_source *sources,
                         size_t n_sources, size_t most);

/* Kept beginnings of prompts (net_prefix.c). `share` gives a slot that was opened for a prompt the
 * longest kept beginning of it, and returns its length in tokens. `keep` may keep a prompt that has
 * been computed. `give_way` drops kept prefixes until all promised positions are free. */
void dg_net_prefix_carve(struct dg_net_state *state, struct net_carve *carve);
size_t dg_net_prefix_share(struct dg_net_state *state, struct net_slot *slot, const int32_t *ids);
void dg_net_prefix_keep(struct dg_net_state *state, const struct net_slot *slot,
                        const int32_t *ids);
void dg_net_prefix_give_way(struct dg_net_state *state);

/* Runs all rows of a checked step; leaves the input of the output matrix in state->x. */
void dg_net_lm_step(struct dg_net_state *state, const struct dg_net_step *step);

/* ---- Encoder-only networks (net_enc.c) ------------------------------------------------------- */

/* x = embedding(id) + position + segment, normed. */
void dg_net_enc_embed(struct dg_net_state *state, float *x, int32_t id, size_t position,
                      size_t type);

/* Returns the vector of a position: a stored row, or a sinusoid. NULL without positions. */
const float *dg_net_position(const struct dg_net_state *state,
                             const struct net_embedding *embedding, size_t position);

/* Runs the feed-forward sub-layer with its norm and residual, in place on x[M][D]. */
void dg_net_ffn(struct dg_net_state *state, const struct net_ffn *ffn, size_t M);
void dg_net_ffn_rows(struct dg_net_state *state, const struct net_ffn *ffn, size_t first,
                     size_t n_rows);

#endif
