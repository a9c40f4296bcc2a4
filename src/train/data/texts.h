/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The training data of language models as ids (corpus.h):
 *
 *     lines     source: the token that texts begin with        target: the line and the end token
 *     packed    the same texts end to end, cut wherever an example is full
 *     prompts   source: a template with one side of a pair     target: the other side, end token
 *
 * The source is only read, not learned. A line that is longer than the network's context continues
 * in the next example, after its last token; a prompt and answer that are together too long are
 * left out.
 *
 *     struct dg_texts_opts opts = {.tokenizer = tokenizer, .bp = &bp, .len_max = 128};
 *     err = dg_texts_write(path, &opts, pairs, n, &stats, &error); */
#ifndef DG_TRAIN_DATA_TEXTS_H
#define DG_TRAIN_DATA_TEXTS_H

#include "base/memory/error.h"
#include "model/blueprint.h"
#include "text/language/langtag.h"
#include "tokenize/tokenizer.h"
#include "train/data/corpus.h"

#include <stdbool.h>

struct dg_texts_opts {
    const struct dg_tokenizer *tokenizer;
    const struct dg_blueprint *bp; /* its lm.ask.form, if set, turns the sources of pairs into
                                      prompts */
    size_t len_max;                /* the most tokens that the network reads at once */
    bool is_packed;                /* for lines only */
    bool is_one_each; /* One example for each line or pair, cut if it is too long. This is for
                         held-out texts. */
};

/* Lines are the targets of `pairs`; each is written as often as its `repeat` says. */
enum dg_err dg_texts_write(const char *path, const struct dg_texts_opts *opts,
                           const struct dg_pair *pairs, size_t n, struct dg_corpus_stats *stats,
                           struct dg_error *error) DG_MUST_CHECK;

/* A blueprint's form with the names of its languages, which are the names that a served model uses
 * (engine/models/langs.h). */
struct dg_texts_form {
    struct dg_span form; /* borrowed from the blueprint; empty: it has no form */
    struct {
        struct dg_langtag tag;
        char name[64]; /* the language's name in English */
    } source, target;
};

enum dg_err dg_texts_form_init(struct dg_texts_form *form, const struct dg_blueprint *bp,
                               struct dg_error *error) DG_MUST_CHECK;

/* Appends the text that the network reads in place of a pair's source. *text_at becomes the
 * position at which the source begins in it. */
enum dg_err dg_texts_prompt(const struct dg_texts_form *form, struct dg_span source,
                            struct dg_buf *out, size_t *text_at) DG_MUST_CHECK;

/* Checks that a form that names languages has exactly one on each side. */
enum dg_err dg_texts_check(const struct dg_blueprint *bp, struct dg_error *error) DG_MUST_CHECK;

#endif
