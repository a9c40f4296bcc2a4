/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Pairs of sentences as ids in memory, in the order in which they were added. The ids stand for
 * words, numbered as they come, or for the pieces of a model's vocabulary.
 *
 *     struct dg_bitext bitext;
 *     err = dg_bitext_init(&bitext, NULL);
 *     err = dg_bitext_add(&bitext, source, target, &error);        any number of times
 *     ... bitext.n, dg_bitext_get(&bitext, i), bitext.n_source, bitext.n_target ...
 *     dg_bitext_deinit(&bitext);
 *
 * Words are separated by blanks. Without a tokenizer the texts must live as long as the bitext. One
 * thread writes; several may read. */
#ifndef DG_TRAIN_DATA_BITEXT_H
#define DG_TRAIN_DATA_BITEXT_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/map.h"
#include "base/memory/span.h"
#include "tokenize/tokenizer.h"
#include "train/data/example.h"

struct dg_bitext {
    const struct dg_tokenizer *tokenizer; /* borrowed; NULL: texts are split into words */
    struct dg_tokenizer_work *source_work;
    struct dg_spm_work *target_work;
    struct dg_map words[2];
    struct dg_buf ids;     /* array of int32_t */
    struct dg_buf offsets; /* array of uint64_t, [2 n + 1] */
    size_t n;
    size_t n_source, n_target; /* all ids are below these numbers */
};

enum dg_err dg_bitext_init(struct dg_bitext *bitext,
                           const struct dg_tokenizer *tokenizer) DG_MUST_CHECK;
void dg_bitext_deinit(struct dg_bitext *bitext); /* mirror; after a failed init it is fine */

/* Adds a pair; either side may be empty. Pieces come without the end token. DG_ERR_UTF8 comes from
 * the tokenizer. */
enum dg_err dg_bitext_add(struct dg_bitext *bitext, struct dg_span source, struct dg_span target,
                          struct dg_error *error) DG_MUST_CHECK;

/* Returns pair `i`, 0 <= i < n, borrowed until the next addition. It fits dg_aligner_pairs, with
 * the bitext as `ctx`. */
struct dg_example dg_bitext_get(const void *bitext, size_t i);

#endif
