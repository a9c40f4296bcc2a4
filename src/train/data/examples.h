/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Lessons (labelled_data.h) as examples of an encoder alone (pass.h), in a corpus file: the ids
 * that the server would give the network for such texts, and what is to be said of them.
 *
 *     err = dg_examples_write(path, &making, lessons, n, &stats, &error);
 *     err = dg_corpus_open(&corpus, path, making.bp, &error);
 *
 * A text that is too long is cut where the server cuts it (labels, numbers), or becomes several
 * examples: stretches of words (words, tags), windows over the context that overlap by a quarter
 * (answers); in a window without the answer there is none. Of a word the first piece has the label,
 * and so has every further part of it that the tokenizer takes for a word of its own, as what goes
 * on ("I-PER" behind "B-PER"). One thread. */
#ifndef DG_TRAIN_DATA_EXAMPLES_H
#define DG_TRAIN_DATA_EXAMPLES_H

#include "base/memory/err.h"
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
    const struct dg_labels *labels; /* LABEL, LABELS, TAGS */
    size_t len_max;                 /* tokens of an example */
};

struct dg_examples_stats {
    size_t n_written;
    size_t n_cut;  /* texts that were longer */
    size_t n_lost; /* lessons that gave nothing: a question that leaves no room, an answer between
                      tokens */
    uint64_t n_tokens, n_unknown;
};

/* DG_ERR_NOT_FOUND: a label that is none of them. DG_ERR_RANGE: no room for a word beside what
 * stands around texts. */
enum dg_err dg_examples_write(const char *path, const struct dg_examples_making *making,
                              const struct dg_labelled_text *labelled_data, size_t n,
                              struct dg_examples_stats *stats,
                              struct dg_error *error) DG_MUST_CHECK;

/* Which lessons a head learns from. */
enum dg_labelled_text_kind dg_examples_kind(const struct dg_blueprint *bp);

/* The label of a word's further parts: "I-PER" of "B-PER" where there is one, else the same. */
bool dg_examples_goes_on(const struct dg_labels *labels, struct dg_span label, size_t *number);

#endif
