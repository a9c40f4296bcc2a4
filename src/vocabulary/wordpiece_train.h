/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Learns a vocabulary for encoders from text: a vocab.txt and a tokenizer_config.json, with which
 * subword.h cuts text as BERT does. Never used by the daemon.
 *
 *     struct dg_wordpiece_train_opts opts = DG_WORDPIECE_TRAIN_OPTS_DEFAULT;
 *     err = dg_wordpiece_train_new(&train, &opts, &error);
 *     while (more) err = dg_wordpiece_train_add(train, text, &error);
 *     err = dg_wordpiece_train_finish(train, &vocab, &error);          the bytes of a vocab.txt
 *     dg_wordpiece_train_free(train);
 *
 * The first five tokens are [PAD], [UNK], [CLS], [SEP] and [MASK]. Then come the characters, each
 * in the form that begins a word and the form that continues one, and then pieces of several
 * characters, learned by merging the most frequent neighbours. Small texts give fewer pieces than
 * `size`. The same texts, in any order, give the same bytes. One thread. */
#ifndef DG_VOCABULARY_WORDPIECE_TRAIN_H
#define DG_VOCABULARY_WORDPIECE_TRAIN_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_wordpiece_train_opts {
    size_t size;        /* the most tokens in all; exceeded only if there are more characters */
    double coverage;    /* share of the text's characters that get a token; ASCII always does */
    uint32_t piece_max; /* most characters of a piece */
    bool lowers;        /* convert text to lower case without accents */
};

#define DG_WORDPIECE_TRAIN_OPTS_DEFAULT                                                            \
    {                                                                                              \
        .size = 8000, .coverage = 0.9998, .piece_max = 16                                          \
    }

struct dg_wordpiece_train; /* opaque */

enum dg_err dg_wordpiece_train_new(struct dg_wordpiece_train **train,
                                   const struct dg_wordpiece_train_opts *opts,
                                   struct dg_error *error) DG_MUST_CHECK;
void dg_wordpiece_train_free(struct dg_wordpiece_train *train); /* NULL is fine */

/* Counts the words of a text, as the tokenizer will cut them. */
enum dg_err dg_wordpiece_train_add(struct dg_wordpiece_train *train, struct dg_span text,
                                   struct dg_error *error) DG_MUST_CHECK;

/* Learns the pieces and appends vocab.txt. DG_ERR_INVALID: there was no text. */
enum dg_err dg_wordpiece_train_finish(struct dg_wordpiece_train *train, struct dg_buf *vocab,
                                      struct dg_error *error) DG_MUST_CHECK;

/* Appends the tokenizer_config.json that belongs to the vocabulary. */
enum dg_err dg_wordpiece_train_config(const struct dg_wordpiece_train_opts *opts,
                                      struct dg_buf *config) DG_MUST_CHECK;

#endif
