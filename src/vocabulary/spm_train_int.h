/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Between the files of the trainer: words as characters' numbers, and the pieces that come out. */
#ifndef DG_VOCABULARY_SPM_TRAIN_INT_H
#define DG_VOCABULARY_SPM_TRAIN_INT_H

#include "base/memory/arena.h"
#include "vocabulary/spm_train.h"

/* A stretch of a word that pieces may lie in: after the cuts at digits and between scripts. */
struct train_word {
    uint32_t first, n; /* symbols, in train_words.symbols */
    uint64_t count;
};

struct train_words {
    struct train_word *list; /* [n] in the order of their bytes */
    size_t n;
    uint32_t *symbols; /* owned; numbers of characters at first */
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

/* Learns up to `wanted` pieces of two and more characters by merging, appended to `pieces`, whose
 * first entries are the characters (their index is their number in `words`). Changes the words. */
enum dg_err dg_spm_train_bpe(struct train_words *words, struct train_pieces *pieces, size_t wanted,
                             uint32_t piece_max, struct dg_arena *arena) DG_MUST_CHECK;

/* The same by a unigram language model: `pieces` get their log-probabilities as scores, the
 * characters too. */
enum dg_err dg_spm_train_unigram(const struct train_words *words, struct train_pieces *pieces,
                                 size_t wanted, uint32_t piece_max,
                                 struct dg_arena *arena) DG_MUST_CHECK;

#endif
