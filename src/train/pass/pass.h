/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One forward and one backward pass through a network, for several sentence pairs at once: the loss
 * of the given targets (teacher forcing under the look-ahead mask) and its gradient with respect to
 * every parameter. docs/training/reference.md has the mathematics.
 *
 *     struct dg_pass_limits limits = {.source_rows = 1024, .target_rows = 1024, .scores = 1 << 20};
 *     err = dg_pass_new(&pass, &params, &limits, &error);
 *     n = dg_pass_n_fitting(pass, examples, n);           how many fit into one run
 *     dg_pass_run(pass, &batch, gradient, &sums);         adds to gradient [params.n]
 *     dg_pass_free(pass);
 * Sentences lie end to end, so that there is no padding to compute or to mask. All memory is
 * allocated at creation. A pass belongs to one thread; parameters are shared and must not change
 * while it runs. The same call gives the same bits. */
#ifndef DG_TRAIN_PASS_PASS_H
#define DG_TRAIN_PASS_PASS_H

#include "base/memory/error.h"
#include "tensor/gradient/grad.h"
#include "tensor/gradient/products.h"
#include "train/data/example.h"
#include "train/pass/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_pass; /* opaque */

struct dg_pass_limits {
    size_t source_rows, target_rows;       /* tokens of all sentences together */
    size_t scores;                         /* largest sum of max(n_source, n_target)^2 */
    const struct dg_grad_kernels *kernels; /* NULL: the fastest ones */
    const struct dg_products *products;    /* NULL: F32 */
};

/* Masked words (BERT's rule): the network is to predict this share of a text's words. Of ten such
 * words eight are replaced by the mask, one by a random word, and one stays. The draw depends on
 * the batch's key and the token's number in the batch. */
struct dg_pass_mask {
    float share;
    int32_t id;
};

/* The kinds of loss. */
enum dg_pass_loss {
    DG_PASS_LOSS_TOKEN, /* the mean loss over target tokens */
    /* As textbooks define it for recurrent networks: the sum over a sentence's tokens, up to its
     * end or to the point where the network wrongly ends. It is reported divided by the target's
     * length. */
    DG_PASS_LOSS_SENTENCE,
};

struct dg_pass_batch {
    const struct dg_example *examples; /* [n] */
    size_t n;
    float scale;     /* the factor of the loss: 1 / (target tokens of the whole batch) */
    float smoothing; /* the probability mass of the target that is spread over the vocabulary, from
                        0 to below 1 */
    /* Dropout of embeddings and of each sub-layer's output, from 0 to below 1; in a plain
     * recurrent network, of the target's words and between layers. */
    float dropout;
    float dropout_ffn; /* dropout of the inner values of feed-forward layers */
    float guide; /* weight of the links' cross entropy in the loss; 0: attention is not guided */
    size_t guide_head; /* A head of the last decoder layer, from 1, that is guided and counted in
                          `guided`. 0: the mean of all heads is counted. */
    float teacher;     /* plain recurrent networks: share of the sentences that read the target; the
                        * others read the network's own output */
    float risk; /* the weight of the candidates' expected cost, divided by the number of sources
                   with candidates in the whole batch */
    float sharpness; /* exponent of the probabilities that weigh the candidates: 1 leaves them as
                        they are */
    enum dg_pass_loss loss; /* for plain recurrent networks; with DG_PASS_LOSS_SENTENCE `scale` is 1
                               / (pairs of the whole batch) */
    struct dg_pass_mask mask; /* an encoder's head for words */
    uint64_t key;             /* determines the dropout: the seed and the number of the step */
    uint64_t source_row, target_row; /* tokens of the whole batch before this part, from which
                                        dropout is drawn */
    uint64_t first; /* examples of the whole batch before this part, used in the same way for a
                       language model */
};

/* Sums over target tokens (with DG_PASS_LOSS_SENTENCE: over sentences). Each run adds to them. */
struct dg_pass_sums {
    double loss; /* with label smoothing */
    /* without smoothing: -log p(target), so that perplexity is exp(plain / n_losses) */
    double plain;
    double n_losses; /* the divisor of both losses: tokens, or sentences */
    uint64_t n_tokens;
    uint64_t n_source_tokens;
    /* sum over linked target words of -log of the attention that goes to their links */
    double guided;
    uint64_t n_linked; /* target words with a link */
    uint64_t n_agreed; /* target words whose greatest attention goes to a linked word */
    double risk; /* the expected cost, summed over sources with candidates; the counts above leave
                    these out */
    uint64_t n_sources; /* sources with candidates */
    uint64_t n_right;   /* right predictions of a classifier or an encoder-only model */
};

enum dg_err dg_pass_new(struct dg_pass **pass, const struct dg_params *params,
                        const struct dg_pass_limits *limits, struct dg_error *error) DG_MUST_CHECK;
void dg_pass_free(struct dg_pass *pass); /* NULL is fine */

/* Returns the size of a pass's memory in bytes. */
size_t dg_pass_bytes(const struct dg_pass *pass);

/* Returns the number of tokens of the longer side of an example; for a language model, whose
 * example is one text, of both sides together. */
size_t dg_pass_length(const struct dg_blueprint *bp, const struct dg_example *example);

/* Returns how many of the first `n` examples fit into one run; 0 when the first is too long. The
 * candidates of a source stay together. */
size_t dg_pass_n_fitting(const struct dg_pass *pass, const struct dg_example *examples, size_t n);

/* Runs forward and backward. The examples must fit. */
void dg_pass_run(struct dg_pass *pass, const struct dg_pass_batch *batch, float *gradient,
                 struct dg_pass_sums *sums);

/* Returns how many predictions an encoder-only model makes for an example whose first token is
 * number `row` of the batch. */
size_t dg_pass_n_asked(const struct dg_blueprint *bp, const struct dg_pass_batch *batch,
                       const struct dg_example *example, uint64_t row);

/* Whether the rule of masked words draws the word at position `t` of the example. If so, *id
 * becomes its replacement, which may be the word itself. */
bool dg_pass_draw_mask(const struct dg_blueprint *bp, const struct dg_pass_batch *batch,
                       const struct dg_example *example, size_t t, uint64_t row, int32_t *id);

/* A prediction of an encoder-only model, and the truth. dg_pass_said returns the predictions for
 * example `i` of the last run: for spans two (the first and the last token), for DG_LABELS_EACH one
 * for each label (1 if the text has it). They are borrowed until the next run. */
struct dg_pass_said {
    int32_t said, truth;
    float number, wanted; /* for DG_LABELS_NUMBER */
};

const struct dg_pass_said *dg_pass_said(const struct dg_pass *pass, size_t i, size_t *n);

/* Whether the network predicts each label of a text separately. */
bool dg_pass_gives_each(const struct dg_blueprint *bp);

/* Runs forward only, without dropout: for validation. */
void dg_pass_measure(struct dg_pass *pass, const struct dg_pass_batch *batch,
                     struct dg_pass_sums *sums);

#endif
