/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One side of a Marian vocabulary in Hugging Face's layout: vocab.json gives every piece an id that
 * differs from the id in the SentencePiece model.
 *
 *     err = dg_marian_vocab_init(&vocab, "models/fr-en/vocab.json", source_spm, target_spm, error);
 *     int32_t id = dg_marian_vocab_from_piece(&vocab, piece_id_in_source_spm);
 *     struct dg_marian_piece piece = dg_marian_vocab_piece(&vocab, id);
 *     dg_marian_vocab_deinit(&vocab);
 *
 * Pieces are looked up in two models, because one vocab.json usually serves both sides; strings
 * that are in neither (">>fra<<", "<pad>") are kept here. Immutable; any thread. */
#ifndef DG_TOKENIZE_MARIAN_VOCAB_H
#define DG_TOKENIZE_MARIAN_VOCAB_H

#include "base/memory/arena.h"
#include "base/memory/error.h"
#include "base/memory/map.h"
#include "base/memory/span.h"
#include "tokenize/spm/spm.h"

#include <stdint.h>

struct dg_marian_vocab {
    const struct dg_spm *models[2]; /* borrowed, in the order in which they are searched; both may
                                       be the same */
    int32_t *from_piece[2]; /* owned; maps piece ids to vocabulary ids; -1: not in the vocabulary */
    int64_t *to_piece;      /* owned; maps vocabulary ids to model * 2^32 + piece id, or -1 */
    uint32_t size;          /* ids are 0 to size - 1 */
    int32_t unk, eos, pad;  /* eos and unk always exist; pad may be -1 */
    struct dg_map extras;   /* maps strings that are not pieces to ids */
    struct dg_arena strings; /* holds the strings of the extras */
};

/* Reads the file. `first` is the model whose pieces this side uses; `second` may be NULL. */
enum dg_err dg_marian_vocab_init(struct dg_marian_vocab *vocab, const char *path,
                                 const struct dg_spm *first, const struct dg_spm *second,
                                 struct dg_error *error) DG_MUST_CHECK;
void dg_marian_vocab_deinit(struct dg_marian_vocab *vocab);

/* The id of a piece of the first model, or the unknown id. */
int32_t dg_marian_vocab_from_piece(const struct dg_marian_vocab *vocab, uint32_t piece);

/* The id of any string, or -1. */
int32_t dg_marian_vocab_find(const struct dg_marian_vocab *vocab, struct dg_span text);

struct dg_marian_piece {
    int model; /* the index of the model that has it; -1: neither model (an extra, or no such id) */
    uint32_t id;         /* its id in that model */
    struct dg_span text; /* "" for an id that the file does not mention */
};

struct dg_marian_piece dg_marian_vocab_piece(const struct dg_marian_vocab *vocab, int32_t id);

/* Bytes of memory. */
size_t dg_marian_vocab_memory(const struct dg_marian_vocab *vocab);

#endif
