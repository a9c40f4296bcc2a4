/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Shared by the files of the trainer: words as numbers of characters, and the learned pieces. */
#ifndef DG_VOCABULARY_SPM_TRAIN_INT_H
#define DG_VOCABULARY_SPM_TRAIN_INT_H

#include "base/memory/arena.h"
#include "vocabulary/spm_train.h"

/* A part of a word, cut at digits and between scripts; no piece crosses its ends. */
struct train_word {
    uint32_t first, n; /* symbols, in train_words.symbols */
    uint64_t count;
};

struct train_words {
    struct train_word *list; /* [n] in the order of their bytes */
    size_t n;
    uint32_t *symbols; /* owned; at first each is the number of a character */
    size_t n_symbols;
};

/* A piece or a character. */
struct train_piece {
    struct dg_span text; /* in the trainer's arena */
    float score;
    uint32_t n_chars;
};

struct train_pieces {
    struct train_piece *list; /* [n], room for `cap` */
    size_t n, cap;
};

/* Learns up to `wanted` pieces of two or more characters by merging (BPE) and appends them to
 * `pieces`. The first entries of `pieces` are the characters; their indexes are the numbers in
 * `words`. Changes the words. */
enum dg_err dg_spm_train_bpe(struct train_words *words, struct train_pieces *pieces, size_t wanted,
                             uint32_t piece_max, struct dg_arena *arena) DG_MUST_CHECK;

/* Does the same with a unigram language model. The scores of all pieces, including the characters,
 * become their log-probabilities. */
enum dg_err dg_spm_train_unigram(const struct train_words *words, struct train_pieces *pieces,
                                 size_t wanted, uint32_t piece_max,
                                 struct dg_arena *arena) DG_MUST_CHECK;

#endif
