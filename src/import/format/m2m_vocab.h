/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The vocabularies of M2M100 and NLLB. Hugging Face computes their ids in Python; the import
 * computes them once, and writes them into the vocab.json and source.spm that the tokenizer
 * reads. */
#ifndef DG_IMPORT_FORMAT_M2M_VOCAB_H
#define DG_IMPORT_FORMAT_M2M_VOCAB_H

#include "import/format/import_int.h"

/* True for a directory of either kind that contains its SentencePiece model. */
bool dg_m2m_vocab_is(const struct dg_import *import, const char *dir);

/* Adds vocab.json and source.spm to the files of the import. */
enum dg_err dg_m2m_vocab_add(struct dg_import *import, const char *dir,
                             struct dg_error *error) DG_MUST_CHECK;

#endif
