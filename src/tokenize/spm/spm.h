/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A SentencePiece model (.model, .spm): unigram, BPE, word or character. The file is read
 * into memory and used in place there; what else is kept is about a third as large.
 *
 *     struct dg_spm *spm;
 *     struct dg_error error = DG_ERROR_NONE;
 *     err = dg_spm_open("models/fr-en/source.spm", &error, &spm);
 *     struct dg_spm_work *work = dg_spm_work_new();       one for each thread
 *     err = dg_spm_encode(spm, work, text);               spm_encode.h
 *     ... dg_spm_tokens(work, &n) ...
 *     dg_spm_work_free(work);
 *     dg_spm_close(spm);                                  mirror of open and of new
 *
 * The model is immutable: any number of threads may use it at once. Ids and pieces are identical to
 * those of the SentencePiece library, which tests/scripts/spm_exact.sh checks against its tools. */
#ifndef DG_TOKENIZE_SPM_SPM_H
#define DG_TOKENIZE_SPM_SPM_H

#include "base/memory/error.h"
#include "base/memory/span.h"
#include "tokenize/spm/pieces.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_spm;

/* The numbers are the file format's. */
enum dg_spm_kind {
    DG_SPM_UNIGRAM = 1,
    DG_SPM_BPE = 2,
    DG_SPM_WORD = 3,
    DG_SPM_CHAR = 4,
};

/* Reads the file and checks it; a model whose built-in self-test fails is refused. */
enum dg_err dg_spm_open(const char *path, struct dg_error *error,
                        struct dg_spm **spm) DG_MUST_CHECK;

/* The same over bytes in memory, which are borrowed until close. */
enum dg_err dg_spm_new(const uint8_t *bytes, size_t len, struct dg_error *error,
                       struct dg_spm **spm) DG_MUST_CHECK;
void dg_spm_close(struct dg_spm *spm); /* NULL is fine */

enum dg_spm_kind dg_spm_kind(const struct dg_spm *spm);
const char *dg_spm_kind_name(enum dg_spm_kind kind);

/* Number of pieces; ids are 0 to size - 1. */
uint32_t dg_spm_size(const struct dg_spm *spm);

/* Ids of the special pieces; -1 where the model has none. The unknown piece always exists. */
int32_t dg_spm_unk(const struct dg_spm *spm);
int32_t dg_spm_bos(const struct dg_spm *spm);
int32_t dg_spm_eos(const struct dg_spm *spm);
int32_t dg_spm_pad(const struct dg_spm *spm);

/* String, score and type of a piece; `id` must be below the size. The string is borrowed. */
struct dg_span dg_spm_piece(const struct dg_spm *spm, uint32_t id);
float dg_spm_score(const struct dg_spm *spm, uint32_t id);
enum dg_piece_type dg_spm_type(const struct dg_spm *spm, uint32_t id);

/* The id of the piece with exactly this string, or the unknown id. */
uint32_t dg_spm_find(const struct dg_spm *spm, struct dg_span piece);

/* True when unknown characters become byte pieces. */
bool dg_spm_has_byte_fallback(const struct dg_spm *spm);

/* The table of replacements as it lies in the file (charsmap.h), borrowed; empty: there is none. */
struct dg_span dg_spm_charsmap(const struct dg_spm *spm);

/* True when the model puts a space before a text. */
bool dg_spm_adds_space(const struct dg_spm *spm);

/* Bytes of memory, those of the file included if it was opened; and the bytes of the file. */
size_t dg_spm_memory(const struct dg_spm *spm);
size_t dg_spm_file_len(const struct dg_spm *spm);

#endif
