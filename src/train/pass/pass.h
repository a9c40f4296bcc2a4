/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One way forward and one way back through a network, for a number of sentence pairs at once: the
 * loss of the given targets (teacher forcing under the look-ahead mask) and its gradient with
 * respect to every parameter. docs/TRAINING.md has the mathematics.
 *
 *     struct dg_pass_limits limits = {.source_rows = 1024, .target_rows = 1024, .scores = 1 << 20};
 *     err = dg_pass_new(&pass, &params, &limits, &error);
 *     while (i < n && dg_pass_fits(...)) ...
 *     dg_pass_run(pass, &batch, gradient, &sums);         gradient [params.n] +=
 *     dg_pass_free(pass);
 *
 * Sentences lie end to end, so no padding is computed and none needs a mask. All memory is taken at
 * creation. A pass belongs to one thread; parameters are shared and must not change while it runs.
 * The same call gives the same bits. */
#ifndef DG_TRAIN_PASS_PASS_H
#define DG_TRAIN_PASS_PASS_H

#include "base/memory/err.h"
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
    const struct dg_grad_kernels *kernels; /* NULL: the best */
    const struct dg_products *products;    /* NULL: F32 */
};

/* Masked words (BERT's rule): of the words of a text this share is to be told, eight in ten of
 * which stand there as the mask, one as any word, one as itself. Which ones is drawn by the batch's
 * key and the token's number in the batch. */
struct dg_pass_mask {
    float share;
    int32_t id;
};

/* What a loss is. */
enum dg_pass_loss {
    DG_PASS_LOSS_TOKEN,    /* the mean over target tokens */
    DG_PASS_LOSS_SENTENCE, /* the textbook's of recurrent networks: summed over a sentence's tokens,
                            * until its end or the network's own wrong one; reported divided by the
                            * target's length */
};

struct dg_pass_batch {
    const struct dg_example *examples; /* [n] */
    size_t n;
    float scale; /* of the loss whose gradient is wanted: 1 / (target tokens of the whole batch) */
    float smoothing;   /* mass of the target that is spread over the vocabulary, 0 to below 1 */
    float dropout;     /* of embeddings and of each sub-layer's output, 0 to below 1; of a plain
                        * recurrent network of the     target's words and between layers */
    float dropout_ffn; /* of the feed-forward layer's inner values */
    float guide; /* weight of the links' cross entropy in the loss; 0: attention is left alone */
    size_t guide_head; /* of the last decoder layer, from 1; what is counted, too. 0: the mean of
                          all is counted */
    float teacher; /* plain recurrent networks: share of the sentences that are given the target to
                    * read; the others read what the network itself says */
    float risk;    /* of rivals: weight of their expected cost / sources that have some in the whole
                      batch */
    float sharpness; /* how much what the network believes decides between them: 1 is as it says
                        them */
    enum dg_pass_loss loss;   /* plain recurrent networks; `scale` is then 1 / (pairs of the whole
                                 batch) */
    struct dg_pass_mask mask; /* an encoder's head for words */
    uint64_t key;             /* draws the dropout: seed and number of the step */
    uint64_t source_row, target_row; /* tokens of the whole batch before this part: dropout counts
                                        by them, */
    uint64_t first;                  /* and of a language model by examples too */
};

/* Sums over target tokens (or sentences, where the loss is theirs); += */
struct dg_pass_sums {
    double loss;     /* smoothed */
    double plain;    /* -log p(target): perplexity is exp(plain / n_losses) */
    double n_losses; /* what the two are divided by: tokens, or sentences */
    uint64_t n_tokens;
    uint64_t n_source_tokens;
    double guided;     /* -log of the attention on the linked words, of each linked target word */
    uint64_t n_linked; /* target words with a link */
    uint64_t n_agreed; /* ... whose greatest attention is on a linked word */
    double risk; /* expected cost, of each source that has rivals; they are no part of the counts
                    above */
    uint64_t n_sources;
    uint64_t n_right; /* of a classifier, of an encoder alone: what was found of what was asked */
};

enum dg_err dg_pass_new(struct dg_pass **pass, const struct dg_params *params,
                        const struct dg_pass_limits *limits, struct dg_error *error) DG_MUST_CHECK;
void dg_pass_free(struct dg_pass *pass); /* NULL is fine */

/* Bytes of a pass's memory. */
size_t dg_pass_bytes(const struct dg_pass *pass);

/* Tokens of the longer side of an example; of a language model's, which is one text, of both. */
size_t dg_pass_length(const struct dg_blueprint *bp, const struct dg_example *example);

/* How many of the first `n` examples fit into one run, rivals with all of theirs: 0 when the first
 * is too long. */
size_t dg_pass_n_fitting(const struct dg_pass *pass, const struct dg_example *examples, size_t n);

/* Forward and backward. The examples must fit. */
void dg_pass_run(struct dg_pass *pass, const struct dg_pass_batch *batch, float *gradient,
                 struct dg_pass_sums *sums);

/* How many things are asked of an encoder alone by a batch's example whose first token is number
 * `row` of the batch. */
size_t dg_pass_n_asked(const struct dg_blueprint *bp, const struct dg_pass_batch *batch,
                       const struct dg_example *example, uint64_t row);

/* Whether its word at `t` is asked by the rule of masked words; *id is what stands in its place, or
 * the word itself. */
bool dg_pass_draw_mask(const struct dg_blueprint *bp, const struct dg_pass_batch *batch,
                       const struct dg_example *example, size_t t, uint64_t row, int32_t *id);

/* What an encoder alone said of example `i` of the last run, one for each thing that was asked; of
 * spans two, first and last token; of labels of which any number may be right (DG_LABELS_EACH) one
 * for each label, 1 where it is. Borrowed until the next run. */
struct dg_pass_said {
    int32_t said, truth;
    float number, wanted; /* DG_LABELS_NUMBER */
};

const struct dg_pass_said *dg_pass_said(const struct dg_pass *pass, size_t i, size_t *n);

/* Whether what is said of a text is of each label by itself: right or wrong. */
bool dg_pass_gives_each(const struct dg_blueprint *bp);

/* Forward alone, without dropout: for validation. */
void dg_pass_measure(struct dg_pass *pass, const struct dg_pass_batch *batch,
                     struct dg_pass_sums *sums);

#endif
