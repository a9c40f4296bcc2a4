/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Learns a SentencePiece model from text. `dragoman train-vocab` uses it, and so does `dragoman
 * train` when no vocabulary is given. Never used by the daemon.
 *
 *     struct dg_spm_train_opts opts = DG_SPM_TRAIN_OPTS_DEFAULT;
 *     err = dg_spm_train_new(&train, &opts, &error);
 *     while (more) err = dg_spm_train_add(train, line);            any number of lines
 *     err = dg_spm_train_finish(train, &model, &error);              the bytes of a .spm file
 *     dg_spm_train_free(train);
 *
 * The same lines, in any order, give the same bytes. The model's ids are the network's: 0 is the
 * end token </s>, 1 is <unk>, and the pieces follow. dragoman and SentencePiece's own spm_encode
 * give the same pieces with it. One thread. */
#ifndef DG_VOCABULARY_SPM_TRAIN_H
#define DG_VOCABULARY_SPM_TRAIN_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "tokenize/spm/spm.h"

#include <stdbool.h>
#include <stdint.h>

struct dg_spm_train_opts {
    enum dg_spm_kind kind; /* DG_SPM_BPE, DG_SPM_UNIGRAM, or DG_SPM_WORD: the most frequent words
                              between spaces */
    uint32_t size;         /* pieces in all; with DG_SPM_WORD, at most */
    double coverage;       /* share of the text's characters that get a piece, rarest left out */
    uint32_t piece_max;    /* most characters of a piece */
    bool ascii;            /* dg_charsmap_build_ascii instead of NFKC */
    bool byte_fallback;    /* add 256 pieces for the bytes of characters that have no piece */
};

#define DG_SPM_TRAIN_OPTS_DEFAULT                                                                  \
    {                                                                                              \
        .kind = DG_SPM_BPE, .size = 8000, .coverage = 0.9998, .piece_max = 16                      \
    }

enum { DG_SPM_TRAIN_SIZE_MAX = 250000 };

struct dg_spm_train; /* opaque */

enum dg_err dg_spm_train_new(struct dg_spm_train **train, const struct dg_spm_train_opts *opts,
                             struct dg_error *error) DG_MUST_CHECK;
void dg_spm_train_free(struct dg_spm_train *train); /* NULL is fine */

/* Counts the words of a line of UTF-8. */
enum dg_err dg_spm_train_add(struct dg_spm_train *train, struct dg_span line) DG_MUST_CHECK;

/* Learns the pieces and appends the model. DG_ERR_RANGE when the size cannot be reached; the
 * sentence says which size can. */
enum dg_err dg_spm_train_finish(struct dg_spm_train *train, struct dg_buf *model,
                                struct dg_error *error) DG_MUST_CHECK;

#endif
