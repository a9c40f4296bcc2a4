/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the files of a pass through a plain recurrent network share; pass.c leaves the whole of such
 * a pass to it.
 *
 * Sentences lie across each other: sorted by length, longest first, the rows of time 0 of all of
 * them, then those of time 1 of all that have one, and so on. So the live sentences of a time are
 * always the first n, their rows are neighbours, and one product serves them all. The source and
 * the target have an order each.
 *
 *     rows "in order"   row of (time, place in the order)            inputs, outputs, gates
 *     rows "by steps"   the same of a direction's own steps          states before a step,
 * gradients of their products
 *
 * which is the same but for a backward direction, whose step t reads another time of each sentence.
 * Products of the gradients with what was kept wait until a direction is through, so that each
 * weight's gradient is one product. That gradient is added only when the pass does not need the
 * weight any more: a caller may let it go into the weights themselves (trainer.c, one pair a step).
 * Letters: B sentences, M rows, D width, G gates (3, 4, 1), C = G D. */
#ifndef DG_TRAIN_PASS_PASS_SEQ_H
#define DG_TRAIN_PASS_PASS_SEQ_H

#include "train/pass/pass_int.h"

/* The order of one side. */
struct seq_order {
    uint32_t *example; /* [B] number in the batch of the sentence at each place */
    uint32_t *place;   /* [B] the mirror */
    uint32_t *len;     /* [B] by places */
    uint32_t *first;   /* [longest + 1] row of (time, place 0); the last is M */
    uint64_t *counted; /* [B] by places: tokens of the whole batch before the sentence: dropout
                          counts by them */
    size_t B, M, longest;
};

static inline size_t seq_live(const struct seq_order *order, size_t t)
{
    return order->first[t + 1] - order->first[t];
}

/* What one direction of a layer keeps. */
struct seq_run {
    float *gates;  /* [M, kept D] in order, for the cell's way back */
    float *before; /* [M, D] by steps: h before each step */
};

/* A layer: what it reads, what it gives. */
struct seq_layer {
    struct seq_run forward, backward;
    float *in;      /* [M, D] in order, after dropout */
    float *out;     /* [M, D] in order: both directions added */
    float *dx, *ds; /* [M, C] of the decoder's layers: gradients of both products */
};

struct seq_pass {
    size_t D, C, kept; /* kept: numbers for each of D that a cell's way back wants */
    struct seq_order source, target;
    struct seq_layer *encoder, *decoder; /* [n_layers] */

    float *product_x, *product_s; /* [M, C] */
    float *dx, *ds;               /* [M, C] gradients of both */
    float *h, *c;                 /* [B, D] the state under way, or its gradient */
    float *start, *dstart;   /* [encoder.n_layers][2][B, D] last states in the source's order, and
                                gradients */
    float *states, *dstates; /* [decoder.n_layers][2][B, D] in the target's order */

    float *keys, *dkeys;   /* [Ms, D]; keys NULL: what the encoder gave is its own key */
    float *dencoded;       /* [Ms, D] */
    float *word, *dword;   /* [Mt, D] */
    float *both;           /* [Mt, 2D] word and context */
    float *dboth;          /* [Mt, 2D] */
    float *mixed;          /* [Mt, D] what the decoder's first layer reads */
    float *dmixed;         /* [Mt, D] */
    float *query, *dquery; /* [Mt, D] */
    float *weights; /* [scores] of attention, row after row: Mt * places, or the lengths of their
                       sources */
    uint32_t *weights_at;      /* [Mt] */
    float *row;                /* [max(longest, places, D)] */
    float *dscore;             /* [D] of the additive kind's vector */
    float *dtop;               /* [Mt, D] */
    float *few;                /* [B, D] tops of the sentences that go their own way */
    int32_t *input;            /* [B] by places: what each sentence reads next */
    int32_t *fed;              /* [Mt] what was read */
    uint32_t *said;            /* [B] by places: target tokens that count */
    bool *is_forced, *is_over; /* [B] by places */
    size_t steps;              /* of the decoder: the last one that a sentence needed */
    bool has_logits;           /* pass->logits holds those of all rows */
};

/* Products that choose by the number of rows. */
void dg_seq_nt(const struct dg_pass *pass, float *c, const float *a, const struct dg_tensor *w,
               size_t M, size_t N, size_t K, float beta);
void dg_seq_nn(const struct dg_pass *pass, float *c, const float *a, const struct dg_tensor *w,
               size_t M, size_t N, size_t K, float beta);
/* gradient of w += a^T b over M rows; of its bias += columns of a. An absent bias is fine. */
void dg_seq_grad(const struct dg_pass *pass, const struct dg_tensor *w,
                 const struct dg_tensor *bias, const float *a, const float *b, size_t M, size_t N,
                 size_t K);

/* h, c [D] of one state move on; the mirror takes its gradients back. */
void dg_seq_cell(const struct dg_pass *pass, float *h, float *c, float *gates, const float *x,
                 const float *s);
void dg_seq_cell_back(const struct dg_pass *pass, float *dh, float *dc, float *dx, float *ds,
                      const float *gates, const float *before);

void dg_seq_add_bias(float *x, const struct dg_tensor *bias, size_t M, size_t N);

/* Dropout of rows [from, from + n) of time t of an order, in place; the mask is a function of the
 * sentence and t. */
void dg_seq_drop(const struct dg_pass *pass, float *x, const struct seq_order *order, size_t t,
                 uint64_t site);

/* ---- Encoder (pass_seq_encoder.c)
 * -------------------------------------------------------------------- */

/* Leaves the top layer's `out` and the last states in `start`; back takes `dencoded` and `dstart`.
 */
void dg_seq_encode(struct dg_pass *pass);
void dg_seq_encode_back(struct dg_pass *pass);

/* ---- Decoder (pass_seq_decoder.c)
 * --------------------------------------------------------------------- */

void dg_seq_decode(struct dg_pass *pass);
void dg_seq_decode_back(struct dg_pass *pass);

/* The encoder's layer whose last state the decoder's layer `i` begins with. */
size_t dg_seq_start_layer(const struct dg_blueprint *bp, size_t i);

/* ---- Attention (pass_seq_attention.c): of the row `m` of place `j`; h [D] is the top state before
 * the step. ---- */

void dg_seq_look(struct dg_pass *pass, size_t m, size_t j, const float *h);
void dg_seq_look_back(struct dg_pass *pass, size_t m, size_t j, const float *h, float *dh);

/* Rows [first, first + n): scores of places, or queries, that one product gives for all of them;
 * and their mirror, which adds to dword and dh [n, D]. `h` [n, D]. */
void dg_seq_ask(struct dg_pass *pass, size_t first, size_t n, const float *h);
void dg_seq_ask_back(struct dg_pass *pass, size_t first, size_t n, float *dh);

/* Keys before the first step; after the last one the gradients of what attention is made of. */
void dg_seq_keys(struct dg_pass *pass);
void dg_seq_keys_back(struct dg_pass *pass);

#endif
