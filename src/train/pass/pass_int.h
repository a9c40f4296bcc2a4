/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the files of a pass share: everything that the forward pass keeps for the backward pass.
 *
 * The stream is a chain of matrices [M, D], all of which are kept: the embedding, then the output
 * of each sub-layer. A sub-layer f keeps two of them, wherever its norm is:
 *
 *     post-norm    mid = x + drop(f(x))      out = norm(mid)
 *     pre-norm     mid = norm(x)             out = x + drop(f(mid))
 * The backward pass updates the gradient of the stream in `dx`, in place. Ms, Mt: tokens of all
 * sources and of all targets of a run. */
#ifndef DG_TRAIN_PASS_PASS_INT_H
#define DG_TRAIN_PASS_PASS_INT_H

#include "train/pass/pass.h"

#include <stdbool.h>

struct pass_sub {
    float *mid, *out; /* [M, D] */
    float *stats;     /* [M, 2] of the norm */
};

/* Self-attention: q, k, v are columns of one matrix [M, 3D]. Cross: q [Mt, D], k and v of one [Ms,
 * 2D]. */
struct pass_attention {
    struct pass_sub sub;
    float *wide; /* [M, 3D], or [Mt, D] */
    float *kv;   /* only in cross-attention: [Ms, 2D] */
    float *p;    /* attention probabilities: for each sentence [H, T, S] */
    float *z;    /* [M, D] */
};

struct pass_ffn {
    struct pass_sub sub;
    float *hidden; /* [M, F] after activation and dropout */
    float *pre;    /* [M, F] before the activation; NULL with RELU, whose output is enough */
};

struct pass_encoder_layer {
    struct pass_attention self;
    struct pass_ffn ffn;
};

/* What some decoders use in place of self-attention (docs/MODEL.md). */
struct pass_cell {
    struct pass_sub sub;
    float *wide; /* SSRU: candidates [M, D], then forget gates [M, D]; AAN: its two gates, if it has
                    them */
    float *state;  /* [M, D] SSRU: c; AAN: the mean */
    float *y;      /* AAN: [M, D], the output of its feed-forward layers */
    float *hidden; /* AAN: [depth - 1] of [M, aan_F] after the activation */
    float *pre;    /* the same before the activation; NULL with RELU, which needs only its output */
};

struct pass_decoder_layer {
    struct pass_attention self;
    struct pass_cell cell; /* a layer uses either this or `self` */
    struct pass_attention cross;
    struct pass_ffn ffn;
};

/* One side's rows. */
struct pass_side {
    float *x0;                  /* [M, D] before an embedding's norm; NULL without one */
    float *x;                   /* [M, D] what enters the first layer */
    float *stats;               /* [M, 2] of the embedding's norm */
    float *final, *final_stats; /* the stack's norm; NULL without one */
    float *positions;           /* [longest, D] of sinusoids */
    size_t n_positions;         /* positions that are filled */
    uint64_t row;               /* the first row of this run in the whole batch */
    size_t M;
};

/* A pass's memory is one block. A first walk over its arrays (block NULL) counts the bytes; a
 * second one hands out the parts. */
struct dg_pass_carve {
    char *block;
    size_t used;
    bool overflow;
};

void *dg_pass_carve(struct dg_pass_carve *c, size_t n, size_t size);
float *dg_pass_carve_floats(struct dg_pass_carve *c, size_t rows, size_t columns);
void dg_pass_carve_sub(struct dg_pass_carve *c, struct pass_sub *sub, size_t M, size_t D);

struct seq_pass; /* pass_seq.h */
struct enc_pass; /* pass_enc.c */
struct lm_pass;  /* pass_lm.c */

struct dg_pass {
    const struct dg_params *params;
    const struct dg_grad_kernels *k;
    const struct dg_products *products;
    void *product_scratch;
    struct dg_pass_limits limits;
    enum dg_op_act act;
    const struct dg_pass_batch *batch; /* the batch of the run under way */
    bool is_training;                  /* the run uses dropout and has a backward pass */
    struct dg_pass_sums *sums;         /* the sums of the run under way */
    float *gradient;                   /* [params.n] of the run under way */

    struct pass_side source, target;
    struct pass_encoder_layer *encoder; /* [encoder.n_layers] */
    struct pass_decoder_layer *decoder;

    /* for a plain recurrent network, which uses only this, the logits and scratch */
    struct seq_pass *seq;
    struct enc_pass *enc; /* for an encoder-only model, in place of the members for the target */
    struct lm_pass *lm;   /* for a language model, in addition to the members for the target */

    float *dx;       /* [max(Ms, Mt), D] gradient of the stream */
    float *dmid;     /* gradient of a sub-layer's output or input */
    float *dz;       /* gradient of attention's output */
    float *dwide;    /* [max(Ms, Mt), max(3D, F)] */
    float *dkv;      /* [Ms, 2D] */
    float *dencoded; /* [Ms, D] */
    float *scratch;  /* scratch memory of attention */
    float *guide;    /* [scores] a head's attention over one sentence */
    float *logits;   /* [logits_rows, V] */
    size_t logits_rows;
    float *weights; /* [Mt] of candidates: the scale of an example's gradient */

    void *block;
    size_t bytes;
};

/* Returns the gradient of a parameter. */
static inline float *pass_gradient(const struct dg_pass *pass, const struct dg_tensor *tensor)
{
    return pass->gradient + ((const float *)tensor->data - pass->params->w);
}

static inline const float *pass_weight(const struct dg_tensor *tensor)
{
    return tensor->data;
}

/* ---- Products, as the pass computes them (tensor/gradient/products.h) ------------------------ */

static inline void pass_nt(const struct dg_pass *pass, float *c, size_t ld_c, const float *a,
                           size_t ld_a, const float *b, size_t ld_b, size_t M, size_t N, size_t K,
                           float beta)
{
    pass->products->nt(c, ld_c, a, ld_a, b, ld_b, M, N, K, beta, pass->product_scratch);
}

static inline void pass_nn(const struct dg_pass *pass, float *c, size_t ld_c, const float *a,
                           size_t ld_a, const float *b, size_t ld_b, size_t M, size_t N, size_t K,
                           float beta)
{
    pass->products->nn(c, ld_c, a, ld_a, b, ld_b, M, N, K, beta, pass->product_scratch);
}

static inline void pass_tn(const struct dg_pass *pass, float *c, size_t ld_c, const float *a,
                           size_t ld_a, const float *b, size_t ld_b, size_t M, size_t N, size_t K,
                           float beta)
{
    pass->products->tn(c, ld_c, a, ld_a, b, ld_b, M, N, K, beta, pass->product_scratch);
}

/* ---- The frame of sub-layers (pass_linear_norm.c) -------------------------------------------- */

/* Begins a sub-layer and returns the input of f. */
const float *dg_pass_enter(struct dg_pass *pass, struct pass_sub *sub,
                           const struct dg_norm_weights *w, const float *x, size_t M);

/* Ends a sub-layer. The output [M, D] of f is in pass->dmid, which the forward pass does not use
 * otherwise. */
float *dg_pass_leave(struct dg_pass *pass, struct pass_sub *sub, const struct dg_norm_weights *w,
                     const float *x, const struct pass_side *side, uint64_t site);

/* Turns dx of the sub-layer's output into the gradient of f's output, in pass->dmid; the gradient
 * of the residual stays in dx. */
void dg_pass_leave_back(struct dg_pass *pass, struct pass_sub *sub, const struct dg_norm_weights *w,
                        const struct pass_side *side, uint64_t site);

/* Returns where the gradient of f's input is to be written: with post-norm it is added to dx, with
 * pre-norm it stays in dmid until enter_back. */
float *dg_pass_input_gradient(struct dg_pass *pass, float *beta);
void dg_pass_enter_back(struct dg_pass *pass, struct pass_sub *sub, const struct dg_norm_weights *w,
                        const float *x, size_t M);

/* y[M][N] = x W^T, without the bias and with it. W is [N, K], which may be several adjacent
 * matrices. */
void dg_pass_multiply(const struct dg_pass *pass, float *y, const float *x,
                      const struct dg_linear_weights *w, size_t M, size_t N, size_t K);
void dg_pass_linear(const struct dg_pass *pass, float *y, const float *x,
                    const struct dg_linear_weights *w, size_t M, size_t N, size_t K);

/* Adds the gradients of weight and bias, and computes dx = beta dx + dy W, unless dx is NULL. */
void dg_pass_linear_back(const struct dg_pass *pass, float *dx, float beta, const float *dy,
                         const float *x, const struct dg_linear_weights *w, size_t M, size_t N,
                         size_t K);

/* ---- Sub-layers (pass_sub.c, pass_cell.c): forward returns the stream after the sub-layer; back
 * turns dx into the gradient of the stream before it. */

float *dg_pass_self(struct dg_pass *pass, struct pass_attention *kept,
                    const struct dg_attention_weights *w, const float *x, bool is_target,
                    uint64_t site);
void dg_pass_self_back(struct dg_pass *pass, struct pass_attention *kept,
                       const struct dg_attention_weights *w, const float *x, bool is_target,
                       uint64_t site);

float *dg_pass_cross(struct dg_pass *pass, struct pass_attention *kept,
                     const struct dg_attention_weights *w, const float *x, const float *encoded,
                     uint64_t site);
void dg_pass_cross_back(struct dg_pass *pass, struct pass_attention *kept,
                        const struct dg_attention_weights *w, const float *x, const float *encoded,
                        uint64_t site);

float *dg_pass_ffn(struct dg_pass *pass, struct pass_ffn *kept, const struct dg_ffn_weights *w,
                   const float *x, bool is_target, uint64_t site);
void dg_pass_ffn_back(struct dg_pass *pass, struct pass_ffn *kept, const struct dg_ffn_weights *w,
                      const float *x, bool is_target, uint64_t site);

float *dg_pass_cell(struct dg_pass *pass, struct pass_cell *kept, const struct dg_decoder_layer *w,
                    const float *x, uint64_t site);
void dg_pass_cell_back(struct dg_pass *pass, struct pass_cell *kept,
                       const struct dg_decoder_layer *w, const float *x, uint64_t site);

/* Attention with vectors for distances (pass_relative.c), otherwise like the kernels attend and
 * attend_back. The backward function adds to the gradients of the vectors. */
void dg_pass_attend_relative(const struct dg_pass *pass, float *z, float *p,
                             const struct dg_grad_attention *a,
                             const struct dg_attention_weights *w);
void dg_pass_attend_relative_back(const struct dg_pass *pass, float *dq, float *dk, float *dv,
                                  const float *dz, float *p, const struct dg_grad_attention *a,
                                  const struct dg_attention_weights *w);

/* Applies a norm with its weights to a whole stream; and its backward pass (dx may be dy). */
void dg_pass_norm(const struct dg_pass *pass, float *y, float *stats, const float *x,
                  const struct dg_norm_weights *w, size_t M);
void dg_pass_norm_back(const struct dg_pass *pass, float *dx, bool add, const float *dy,
                       const float *x, const float *stats, const struct dg_norm_weights *w,
                       size_t M);

struct dg_grad_drop dg_pass_drop(const struct dg_pass *pass, float p, uint64_t site, uint64_t row);

/* ---- Guided attention (pass_guide.c) --------------------------------------------------------- */

/* Whether this attention is the one that the links guide, or that is compared with them. */
bool dg_pass_is_guided(const struct dg_pass *pass, const struct pass_attention *kept);

/* After the forward pass: counts how far the attention p [H, T, S] of a sentence agrees with its
 * links. */
void dg_pass_guide_count(struct dg_pass *pass, const struct dg_example *example, const float *p,
                         const struct dg_grad_attention *a);

/* Called before and after the backward pass of a sentence, which overwrites p. `keep` saves the
 * head's attention; `back` adds the gradient of the links' loss to dq [T, ld_q] and dk [S,
 * ld_kv]. */
void dg_pass_guide_keep(struct dg_pass *pass, const float *p, const struct dg_grad_attention *a);
void dg_pass_guide_back(struct dg_pass *pass, const struct dg_example *example, float *dq,
                        float *dk, const struct dg_grad_attention *a);

/* ---- Minimum risk (pass_risk.c) -------------------------------------------------------------- */

/* Turns the -log p of the batch's examples [n], of which only candidates count, into the scales of
 * their gradients, and adds the risk to the loss. */
void dg_pass_risk_weigh(struct dg_pass *pass, float *nll, struct dg_pass_sums *sums);

/* ---- Plain recurrent networks (pass_seq.c) --------------------------------------------------- */

enum dg_err dg_pass_seq_new(struct seq_pass **seq, const struct dg_blueprint *bp) DG_MUST_CHECK;
void dg_pass_seq_free(struct seq_pass *seq); /* NULL is fine */
void dg_pass_seq_carve(struct dg_pass *pass, struct dg_pass_carve *c);
void dg_pass_seq_run(struct dg_pass *pass, struct dg_pass_sums *sums);

/* ---- Encoder-only models (pass_enc.c) -------------------------------------------------------- */

enum dg_err dg_pass_enc_new(struct enc_pass **enc) DG_MUST_CHECK;
void dg_pass_enc_free(struct enc_pass *enc); /* NULL is fine */
void dg_pass_enc_carve(struct dg_pass *pass, struct dg_pass_carve *c);
void dg_pass_enc_run(struct dg_pass *pass, struct dg_pass_sums *sums);

/* Returns the id in row `m` of the run; words may be masked. */
int32_t dg_pass_enc_id(const struct dg_pass *pass, size_t m);

/* ---- The encoder's layers (pass.c) ----------------------------------------------------------- */

/* Runs the layers from the embedded sources to the output of the stack; the backward function turns
 * dx of the output into dx of the embedded sources. */
const float *dg_pass_layers(struct dg_pass *pass, const struct dg_encoder_layer *w,
                            const struct dg_norm_weights *norm);
void dg_pass_layers_back(struct dg_pass *pass, const struct dg_encoder_layer *w,
                         const struct dg_norm_weights *norm);

/* ---- Language models (pass_lm.c) ------------------------------------------------------------- */

enum dg_err dg_pass_lm_new(struct lm_pass **lm, const struct dg_blueprint *bp) DG_MUST_CHECK;
void dg_pass_lm_free(struct lm_pass *lm); /* NULL is fine */
void dg_pass_lm_carve(struct dg_pass *pass, struct dg_pass_carve *c);
void dg_pass_lm_fill(struct dg_pass *pass); /* fills the tables, after carving */
void dg_pass_lm_run(struct dg_pass *pass, struct dg_pass_sums *sums);

/* ---- Embedding and loss (pass_embed_loss.c) -------------------------------------------------- */

void dg_pass_embed(struct dg_pass *pass, bool is_target, uint64_t site);
void dg_pass_embed_back(struct dg_pass *pass, bool is_target, uint64_t site);

/* Computes the loss over h [M, D], a row for each target token; with is_training dx becomes its
 * gradient. */
void dg_pass_loss(struct dg_pass *pass, const float *h, size_t M, struct dg_pass_sums *sums);

#endif
