/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Turns labelled texts (labelled_data.h) into examples for an encoder-only model (example.h), in a
 * corpus file: the ids that the server would give the network for such texts, and the right
 * answers.
 *
 *     err = dg_examples_write(path, &making, labelled_data, n, &stats, &error);
 *     err = dg_corpus_open(&corpus, path, making.bp, &error);
 * A text that is too long is cut where the server cuts it (labels, numbers), or becomes several
 * examples: stretches of words (words, tags), or windows over the context that overlap by a quarter
 * (answers). A window without the answer counts as one without an answer. The first piece of a word
 * has its label; if the tokenizer splits the word into several of its own words, each further one
 * has the continuing label ("I-PER" after "B-PER"). One thread. */
#ifndef DG_TRAIN_DATA_EXAMPLES_H
#define DG_TRAIN_DATA_EXAMPLES_H

#include "base/memory/error.h"
#include "model/blueprint.h"
#include "model/labels.h"
#include "tokenize/hf/subword.h"
#include "train/data/labelled_data.h"

#include <stddef.h>
#include <stdint.h>

struct dg_examples_making {
    const struct dg_subword *subword;
    const struct dg_blueprint *bp;
    const struct dg_labels *labels; /* for LABEL, LABELS and TAGS */
    size_t len_max;                 /* the most tokens of an example */
};

struct dg_examples_stats {
    size_t n_written;
    size_t n_cut;  /* texts that were cut because they were too long */
    size_t n_lost; /* texts that gave no example: a question that leaves no room for its context, or
                      an answer that does not begin and end with tokens */
    uint64_t n_tokens, n_unknown;
};

/* DG_ERR_NOT_FOUND: an unknown label. DG_ERR_RANGE: the tokens around a text leave no room for a
 * word. */
enum dg_err dg_examples_write(const char *path, const struct dg_examples_making *making,
                              const struct dg_labelled_text *labelled_data, size_t n,
                              struct dg_examples_stats *stats,
                              struct dg_error *error) DG_MUST_CHECK;

/* Returns the kind of labelled text that the network's head learns from. */
enum dg_labelled_text_kind dg_examples_kind(const struct dg_blueprint *bp);

/* Finds the label of a word's further parts: "I-PER" for "B-PER" if that label exists, otherwise
 * the same label. */
bool dg_examples_goes_on(const struct dg_labels *labels, struct dg_span label, size_t *number);

#endif
