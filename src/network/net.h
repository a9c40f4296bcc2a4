/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The network, ready to run: it turns ids into logits. docs/MODEL.md has the mathematics.
 *
 * `struct dg_net` is the model's weights packed for this CPU's kernels: immutable, shared by all
 * threads; with `nodes`, a copy in the memory of each node, shared by that node's threads. `struct
 * dg_net_state` is one worker's memory, allocated at creation in one block, whose size
 * dg_net_state_size computes beforehand. Nothing is allocated afterwards. A state belongs to one
 * thread at a time.
 *
 * A state has *slots* (sentences) and each slot has *lanes* (hypotheses of that sentence):
 *
 *     struct dg_net *net;
 *     err = dg_net_new(&net, dg_model_blueprint(model), dg_model_weights(model), NULL, &error);
 *     struct dg_net_limits limits = {.slots = 32, .lanes = 4, .rows = 128, .source_len = 128,
 *                                    .target_len = 256};
 *     err = dg_net_state_new(&state, net, &limits, &error);
 *
 *     err = dg_net_open(state, slot, n_source, n_lanes, target_len);    takes memory for the slot
 *     err = dg_net_encode(state, sources, n_sources);                   any number of open slots
 *     for (;;) {
 *         rows[i] = (struct dg_net_row){.slot = s, .lane = l, .parent = p, .position = t,
 *                                       .token = previous, .want_logits = true};
 *         err = dg_net_step(state, &step);             live rows of any slots, at any positions
 *         ... dg_net_logits(state, i)[0 .. V) ...
 *     }
 *     dg_net_close(state, slot);
 *
 * **Lanes and parents.** A row continues the history (positions 0 .. position-1) of lane `parent`
 * of its slot as it was before this call, under the number `lane`. So a beam search reorders its
 * hypotheses by naming parents; two lanes may name the same parent. No keys or values are copied: a
 * lane is a list of references to cached positions. When a call names a slot, the lanes that it
 * names live on and the slot's other lanes die. A slot that the call does not name stays as it is.
 *
 * **Several positions at once.** Rows of the same lane with consecutive positions, in order and
 * next to each other, are teacher forcing under a look-ahead mask: a forced prefix, or a whole
 * target to be scored, in one pass. Only the parent of the first of these rows matters. The logits
 * are the same, to the bit, as if the rows ran one step at a time.
 *
 * **Language models** have no encoder. Their source is a prompt: dg_net_encode runs the network
 * over all of the prompt but its last token, in parts if it is long. The row at position 0 of a
 * lane (its token is dg_net_start_token's) reads that last token, and the rows after it are the
 * continuation. Language models have no attention over a source and no dg_net_encoded.
 *
 * **Encoder-only networks** have no steps. After dg_net_encode, dg_net_head computes the head's
 * result for any of the tokens that are still in the workspace, and dg_net_encoded returns their
 * states.
 *
 * **Independence.** The result of a row depends, to the bit, only on its source, its tokens and the
 * kernels: not on other rows or sentences, their order, or what slots held before. */
#ifndef DG_NETWORK_NET_H
#define DG_NETWORK_NET_H

#include "base/memory/error.h"
#include "base/thread/nodes.h"
#include "model/blueprint.h"
#include "model/weights.h"
#include "tensor/forward/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- The network ----------------------------------------------------------------------------- */

struct dg_net; /* opaque, immutable, shared */

enum dg_net_type {
    DG_NET_AUTO, /* Each matrix is I8 or BF16 if the model stores it so, otherwise F32; fused
                    matrices must all be stored so. */
    DG_NET_F32,
    DG_NET_BF16,
    DG_NET_BF16_FAST, /* rows are rounded to BF16 as well: DG_PACKED_BF16_FAST */
    DG_NET_I8,
};

extern const char *const dg_net_type_words[]; /* "auto", ... for options; NULL after the last */

struct dg_model;

struct dg_net_opts {
    const struct dg_kernels *kernels; /* NULL: dg_kernels_default */
    enum dg_net_type type;
    /* Only shapes and sizes, to measure the network before its memory is allocated. Only
     * dg_net_bytes, dg_net_blueprint, dg_net_state_size and dg_net_free accept such a network. */
    bool is_hollow;
    /* The model whose file holds the weights, borrowed for the call. Its pages are released as they
     * are read, so that no weight is in memory twice. NULL: the weights lie elsewhere. */
    const struct dg_model *model;
    const struct dg_nodes *nodes; /* borrowed for the call; each gets a copy of its own */
};

/* Packs the weights. They are read once, in order, and not needed afterwards, so the model may be
 * closed. `opts` NULL: all defaults. */
enum dg_err dg_net_new(struct dg_net **net, const struct dg_blueprint *bp,
                       const struct dg_weights *weights, const struct dg_net_opts *opts,
                       struct dg_error *error) DG_MUST_CHECK;
void dg_net_free(struct dg_net *net); /* with its copies; NULL is fine */

/* Returns the copy for workers of memory node `node`, borrowed, which gives the same results to the
 * bit: `net` itself for node 0, and for all nodes if it has no copies. */
const struct dg_net *dg_net_copy(const struct dg_net *net, size_t node);

const struct dg_blueprint *dg_net_blueprint(const struct dg_net *net); /* borrowed until free */
const struct dg_kernels *dg_net_kernels(const struct dg_net *net);

/* Returns the smallest type among the matrices: I8, else BF16_FAST, else BF16, else F32. */
enum dg_packed_type dg_net_type(const struct dg_net *net);

/* Returns the operation that a blueprint's activation stands for. */
enum dg_op_act dg_net_act(enum dg_activation activation);

/* Returns the activation after the first matrix of an encoder-only network's head. */
enum dg_op_act dg_net_head_act(const struct dg_enc *enc);

size_t dg_net_bytes(const struct dg_net *net); /* memory of the packed weights and tables, of one
                                                  copy */

/* Returns the token to give a lane at position 0: the blueprint's start_id, or DG_ID_NONE for "a
 * zero vector". */
int32_t dg_net_start_token(const struct dg_net *net);

/* ---- A worker's state ------------------------------------------------------------------------ */

struct dg_net_state; /* opaque; one thread at a time */

/* How cached keys and values are stored. */
enum dg_net_kv {
    DG_NET_KV_AUTO, /* F16 in an I8 or BF16_FAST network, otherwise F32 */
    DG_NET_KV_F32,
    DG_NET_KV_F16, /* half the memory and half the bytes to read */
    DG_NET_KV_I8,  /* bytes, with a scale for each head of a key or value: about a quarter */
};

extern const char *const dg_net_kv_words[]; /* "auto", ... for options; NULL after the last */

struct dg_net_limits {
    size_t slots;         /* the most sentences at a time, 1 to 65,536 */
    size_t lanes;         /* the most hypotheses of one sentence, 1 to 1,024 */
    size_t rows;          /* the most rows of one step */
    size_t source_len;    /* the most source tokens of one sentence */
    size_t target_len;    /* the most positions of one lane */
    size_t kv_tokens;     /* cached positions of all slots together; 0: enough for full slots */
    size_t encode_tokens; /* tokens that go through the encoder's layers together; 0: chosen by
                             dg_net_state_new */
    size_t logits_rows;   /* the most rows of one step that need logits; 0: `rows` */
    size_t shortlist;     /* words of the largest shortlist; 0: no shortlist will be set */
    enum dg_net_kv kv;
};

/* Computes the bytes that a state with these limits allocates. DG_ERR_RANGE for absurd limits. */
enum dg_err dg_net_state_size(const struct dg_net *net, const struct dg_net_limits *limits,
                              size_t *bytes, struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_net_state_new(struct dg_net_state **state, const struct dg_net *net,
                             const struct dg_net_limits *limits,
                             struct dg_error *error) DG_MUST_CHECK;
void dg_net_state_free(struct dg_net_state *state); /* NULL is fine */

const struct dg_net *dg_net_state_net(const struct dg_net_state *state);
const struct dg_net_limits *dg_net_state_limits(const struct dg_net_state *state); /* defaults
                                                                                      filled in */

/* From now on the threads of `helpers` (borrowed), whose leader is this state's thread, take part
 * in large products; NULL: no other thread does. The results are the same to the bit. */
struct dg_helpers;
void dg_net_state_lend(struct dg_net_state *state, struct dg_helpers *helpers);

/* Returns true when the network has products that are large enough to share among threads. */
bool dg_net_is_divisible(const struct dg_net *net);

/* ---- Slots ----------------------------------------------------------------------------------- */

/* dg_net_need returns the cached positions that a sentence needs at most, dg_net_room how many are
 * free. A slot can be opened when need <= room; its steps then cannot run out of positions. */
size_t dg_net_need(const struct dg_net_state *state, size_t n_source, size_t n_lanes,
                   size_t target_len);
size_t dg_net_room(const struct dg_net_state *state);

/* Returns the bytes of one cached position, in all layers. */
size_t dg_net_position_bytes(const struct dg_net_state *state);

/* Takes slot `slot`, which must be closed, for a sentence. DG_ERR_RANGE: beyond the limits, or
 * n_source is 0; DG_ERR_BUSY: not enough free positions at present. */
enum dg_err dg_net_open(struct dg_net_state *state, size_t slot, size_t n_source, size_t n_lanes,
                        size_t target_len) DG_MUST_CHECK;

/* Closes a slot, the mirror of open; a closed slot is fine. */
void dg_net_close(struct dg_net_state *state, size_t slot);

/* ---- Encoder --------------------------------------------------------------------------------- */

struct dg_net_source {
    size_t slot;        /* must be open, and not encoded yet */
    const int32_t *ids; /* borrowed for the call; n_source of them, each within the source
                           vocabulary */
    size_t second;      /* ENC: index of the second text's first token; 0: there is one text */
};

/* Runs the encoder over any number of sentences and leaves each layer's cross-attention keys and
 * values in their slots. Sentences are laid end to end, without padding. DG_ERR_RANGE for an id
 * outside the vocabulary. */
enum dg_err dg_net_encode(struct dg_net_state *state, const struct dg_net_source *sources,
                          size_t n_sources) DG_MUST_CHECK;

/* The same for encoder-only networks, in parts, so that other states can take steps in between. The
 * sources must fit into `encode_tokens` together (DG_ERR_RANGE). dg_net_encode_more does about
 * *work multiplications and subtracts from *work the number that it has done; it returns true when
 * everything is encoded. The result is the same to the bit. Until then slots may be opened and
 * closed; no other call is allowed. */
enum dg_err dg_net_encode_begin(struct dg_net_state *state, const struct dg_net_source *sources,
                                size_t n_sources) DG_MUST_CHECK;
bool dg_net_encode_more(struct dg_net_state *state, uint64_t *work);

/* The same for a language model's prompts, in parts, so that other slots can take steps in between.
 * dg_net_begin checks a prompt (DG_ERR_INVALID, DG_ERR_RANGE as above). dg_net_prefill continues
 * the prompts that were begun, in their order, by at most `most` tokens, and returns how many it
 * has computed; a slot whose prompt is complete counts as encoded. If there is room, the state
 * keeps the beginnings of prompts, so that a beginning that two prompts have in common is computed
 * once; the result is the same to the bit. */
enum dg_err dg_net_begin(struct dg_net_state *state,
                         const struct dg_net_source *source) DG_MUST_CHECK;
size_t dg_net_prefill(struct dg_net_state *state, const struct dg_net_source *sources,
                      size_t n_sources, size_t most);
bool dg_net_is_encoded(const struct dg_net_state *state, size_t slot);

/* Returns the encoder's output for sentence `i` of the last dg_net_encode: [S, D], or [S, C] of a
 * recurrent network (dg_blueprint_context). NULL unless that call's sentences fitted into
 * `encode_tokens` together. Borrowed until the next call with this state. */
const float *dg_net_encoded(const struct dg_net_state *state, size_t i);

/* ---- Heads of encoder-only networks ---------------------------------------------------------- */

/* A token of the last dg_net_encode: token `at` of that call's sentence `source`. */
struct dg_net_place {
    uint32_t source, at;
};

/* Runs the head at `n` places, at most `logits_rows` of the limits. Read the results, [decoder.V]
 * each, with dg_net_logits, like the rows of a step. DG_ERR_RANGE: too many places, or a place that
 * does not exist; DG_ERR_INVALID: the network has no head. What dg_net_encoded returns does not
 * change. */
enum dg_err dg_net_head(struct dg_net_state *state, const struct dg_net_place *places,
                        size_t n) DG_MUST_CHECK;

/* ---- Decoder --------------------------------------------------------------------------------- */

struct dg_net_row {
    uint32_t slot;
    uint32_t lane;     /* < the slot's lanes */
    uint32_t parent;   /* the lane whose history is continued; ignored at position 0 */
    uint32_t position; /* the history's length */
    int32_t token;     /* the previous token; dg_net_start_token at position 0 */
    bool want_logits;
};

enum {
    DG_NET_TAKE_ROWS = 16
}; /* fewer rows of logits stay in the cache as they are, and whole
      ones cost less */

/* Receives the n logits of row `row` from column `first` on, and may change them. The parts of a
 * row come from left to right; all but the last have DG_VOCABULARY_BLOCK columns. */
typedef void dg_net_take_fn(void *ctx, size_t row, float *logits, size_t first, size_t n);

struct dg_net_step {
    const struct dg_net_row *rows; /* rows of a slot are next to each other */
    size_t n_rows;
    dg_net_take_fn *take; /* If not NULL, it receives all logits part by part, while each part is in
                             the processor's cache; dg_net_logits then has none. */
    void *take_ctx;
    bool shortlist;         /* logits only for the words of the shortlist */
    bool attention;         /* keep the attention over the source (dg_net_attention) */
    size_t attention_layer; /* decoder layer */
    int32_t attention_head; /* head, or -1: the mean of all heads */
};

enum dg_err dg_net_step(struct dg_net_state *state, const struct dg_net_step *step) DG_MUST_CHECK;

/* Returns the logits of row `row` of the last step: [V], or [length of the shortlist]; NULL if the
 * row did not want them. The caller may change them in place (to ban words, say). Borrowed until
 * the next call with this state. */
float *dg_net_logits(struct dg_net_state *state, size_t row);

/* Returns the attention of row `row` over its source: [S], summing to 1; NULL unless the step asked
 * for it. */
const float *dg_net_attention(const struct dg_net_state *state, size_t row);

/* Sets the words for steps with `shortlist`: distinct ids in any order, which is also the order of
 * the logits. This call copies their rows of the output matrix. n 0 removes the shortlist. */
enum dg_err dg_net_set_shortlist(struct dg_net_state *state, const int32_t *ids,
                                 size_t n) DG_MUST_CHECK;

/* Appends words to the shortlist. */
enum dg_err dg_net_add_shortlist(struct dg_net_state *state, const int32_t *ids,
                                 size_t n) DG_MUST_CHECK;

/* ---- For tests and measurements -------------------------------------------------------------- */

/* Fills every cached position that is free, and all workspace, with NaN. */
void dg_net_poison(struct dg_net_state *state);

#endif
