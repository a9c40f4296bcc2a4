/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One example to learn from, as ids: a pair of sentences, a text with labels, or a text with its
 * continuation. The stores of examples (corpus.h, bitext.h, risk_candidates.h) own the arrays; an
 * example borrows them. */
#ifndef DG_TRAIN_DATA_EXAMPLE_H
#define DG_TRAIN_DATA_EXAMPLE_H

#include "train/data/word_links.h"

#include <stdint.h>

/* A pair. Ids are within the vocabularies; both sides end with the end token. For an encoder-only
 * model the source is the input, [cls] text [sep] or [cls] text [sep] pair [sep], as the server
 * lays it out; target[0] is where the second text's segment begins (0: there is none). What follows
 * in the target depends on the head:
 *
 *     WORDS    nothing
 *     POOLED   the label's number; any number of them in ascending order (DG_LABELS_EACH); or the
 *              bits of a float (DG_LABELS_NUMBER)
 *     TOKENS   n_source labels, DG_EXAMPLE_UNSAID for tokens without a label
 *     SPANS    the answer's first token and its last; 0, 0: there is none
 *
 * For a language model the source is only read (the token that texts begin with, or a prompt), and
 * the target is its continuation. */
struct dg_example {
    const int32_t *source; /* borrowed */
    const int32_t *target;
    uint32_t n_source, n_target; /* 1 or more */
    const struct dg_link *links; /* [n_links] by target: word alignment; borrowed */
    uint32_t n_links;            /* 0: links are not known */
    /* How many minimum-risk candidates the source has, and which of them this example is; 0: it
     * has none. The candidates of a source follow one another (risk_candidates.h). Only
     * Transformers that translate use them. */
    uint32_t n_candidates, candidate;
    float cost; /* cost of the candidate, 0 (good) to 1 (bad) */
};

enum { DG_EXAMPLE_UNSAID = -1 };

#endif
