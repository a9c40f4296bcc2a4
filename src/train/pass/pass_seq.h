/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the files of a pass through a plain recurrent network share; pass.c leaves such a pass
 * entirely to them.
 *
 * The sentences are sorted by length, longest first, and interleaved: the rows of time 0 of all of
 * them, then the rows of time 1 of all that have one, and so on. So the sentences that are still
 * running at a given time are always the first n, their rows are adjacent, and one product serves
 * them all. The source and the target each have their own order.
 *
 *     rows "in order"   by time and place in the order             inputs, outputs, gates
 *     rows "by steps"   by a direction's own step, and place       states before a step, gradients
 *                                                                  of their products
 *
 * Both are the same except for a backward direction, whose step t reads another time of each
 * sentence. The gradients are multiplied with the kept values only when a direction is done, so
 * that each weight's gradient is one product. That gradient is added only when the pass no longer
 * needs the weight, because a caller may have gradients added to the weights themselves (trainer.c,
 * one pair a step). Letters: B sentences, M rows, D width, G gates (3, 4, 1), C = G D. */
#ifndef DG_TRAIN_PASS_PASS_SEQ_H
#define DG_TRAIN_PASS_PASS_SEQ_H

#include "train/pass/pass_int.h"

/* The order of one side. */
struct seq_order {
    uint32_t *example; /* [B] number in the batch of the sentence at each place */
    uint32_t *place;   /* [B] the inverse: the place of each sentence */
    uint32_t *len;     /* [B] by places */
    uint32_t *first;   /* [longest + 1] row of (time, place 0); the last is M */
    uint64_t *counted; /* [B] by places: tokens of the whole batch before the sentence, by which
                          dropout is drawn */
    size_t B, M, longest;
};

static inline size_t seq_live(const struct seq_order *order, size_t t)
{
    return order->first[t + 1] - order->first[t];
}

/* What one direction of a layer keeps for the backward pass. */
struct seq_run {
    float *gates;  /* [M, kept D] in order, for the cell's backward pass */
    float *before; /* [M, D] by steps: h before each step */
};

/* A layer's inputs and outputs. */
struct seq_layer {
    struct seq_run forward, backward;
    float *in;      /* [M, D] in order, after dropout */
    float *out;     /* [M, D] in order: both directions added */
    float *dx, *ds; /* [M, C] of the decoder's layers: gradients of both products */
};

struct seq_pass {
    size_t D, C, kept; /* kept: how many numbers a cell's backward pass needs for each of the D
                          units */
    struct seq_order source, target;
    struct seq_layer *encoder, *decoder; /* [n_layers] */

    float *product_x, *product_s; /* [M, C] */
    float *dx, *ds;               /* [M, C] gradients of both */
    float *h, *c;                 /* [B, D] the present state, or its gradient */
    float *start, *dstart;   /* [encoder.n_layers][2][B, D] last states in the source's order, and
                                gradients */
    float *states, *dstates; /* [decoder.n_layers][2][B, D] in the target's order */

    float *keys, *dkeys;   /* [Ms, D]; keys NULL: the encoder's output is used as keys */
    float *dencoded;       /* [Ms, D] */
    float *word, *dword;   /* [Mt, D] */
    float *both;           /* [Mt, 2D] word and context */
    float *dboth;          /* [Mt, 2D] */
    float *mixed;          /* [Mt, D] input of the decoder's first layer */
    float *dmixed;         /* [Mt, D] */
    float *query, *dquery; /* [Mt, D] */
    float *weights; /* [scores] of attention, row after row: Mt * places, or the lengths of their
                       sources */
    uint32_t *weights_at;      /* [Mt] */
    float *row;                /* [max(longest, places, D)] */
    float *dscore;             /* [D] of the additive kind's vector */
    float *dtop;               /* [Mt, D] */
    float *few;                /* [B, D] top states of the sentences that read their own output */
    int32_t *input;            /* [B] by places: the next input of each sentence */
    int32_t *fed;              /* [Mt] the inputs so far */
    uint32_t *said;            /* [B] by places: target tokens that count */
    bool *is_forced, *is_over; /* [B] by places */
    size_t steps;              /* in the decoder: the last step that some sentence needed */
    bool has_logits;           /* pass->logits holds the logits of all rows */
};

/* Products that choose their kernel by the number of rows. */
void dg_seq_nt(const struct dg_pass *pass, float *c, const float *a, const struct dg_tensor *w,
               size_t M, size_t N, size_t K);
void dg_seq_nn(const struct dg_pass *pass, float *c, const float *a, const struct dg_tensor *w,
               size_t M, size_t N, size_t K, float beta);
/* Adds a^T b over M rows to the gradient of w, and the column sums of a to that of its bias, which
 * may be absent. */
void dg_seq_grad(const struct dg_pass *pass, const struct dg_tensor *w,
                 const struct dg_tensor *bias, const float *a, const float *b, size_t M, size_t N,
                 size_t K);

/* Advances one state h, c [D] by a step; the mirror carries its gradients back by a step. */
void dg_seq_cell(const struct dg_pass *pass, float *h, float *c, float *gates, const float *x,
                 const float *s);
void dg_seq_cell_back(const struct dg_pass *pass, float *dh, float *dc, float *dx, float *ds,
                      const float *gates, const float *before);

void dg_seq_add_bias(float *x, const struct dg_tensor *bias, size_t M, size_t N);

/* Applies dropout in place to rows [from, from + n) of time t of an order; the mask depends on the
 * sentence and t. */
void dg_seq_drop(const struct dg_pass *pass, float *x, const struct seq_order *order, size_t t,
                 uint64_t site);

/* ---- Encoder (pass_seq_encoder.c) ------------------------------------------------------------ */

/* Computes the top layer's `out`, and leaves the last states in `start`. The backward function
 * reads `dencoded` and `dstart`. */
void dg_seq_encode(struct dg_pass *pass);
void dg_seq_encode_back(struct dg_pass *pass);

/* ---- Decoder (pass_seq_decoder.c) ------------------------------------------------------------ */

void dg_seq_decode(struct dg_pass *pass);
void dg_seq_decode_back(struct dg_pass *pass);

/* Returns the encoder layer whose last state is the first state of decoder layer `i`. */
size_t dg_seq_start_layer(const struct dg_blueprint *bp, size_t i);

/* ---- Attention (pass_seq_attention.c) -------------------------------------------------------- */

/* The attention of row `m` at place `j`; h [D] is the top state before the step. */

void dg_seq_look(struct dg_pass *pass, size_t m, size_t j, const float *h);
void dg_seq_look_back(struct dg_pass *pass, size_t m, size_t j, const float *h, float *dh);

/* Computes the scores of places, or the queries, for the rows [first, first + n) with one product;
 * the mirror adds to dword and dh [n, D]. `h` is [n, D]. */
void dg_seq_ask(struct dg_pass *pass, size_t first, size_t n, const float *h);
void dg_seq_ask_back(struct dg_pass *pass, size_t first, size_t n, float *dh);

/* Computes the keys before the first step; the mirror, after the last step, computes the gradients
 * of the attention's parameters and inputs. */
void dg_seq_keys(struct dg_pass *pass);
void dg_seq_keys_back(struct dg_pass *pass);

#endif
