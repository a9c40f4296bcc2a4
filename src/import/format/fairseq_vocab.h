/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The vocabularies of XLM-RoBERTa and CamemBERT, for directories that have only
 * sentencepiece.bpe.model. The ids are fairseq's, which Hugging Face computes in Python. The import
 * computes them once, and writes them as the tokenizer.json that Hugging Face would make. */
#ifndef DG_IMPORT_FORMAT_FAIRSEQ_VOCAB_H
#define DG_IMPORT_FORMAT_FAIRSEQ_VOCAB_H

#include "base/memory/buf.h"
#include "import/format/import_int.h"
#include "tokenize/spm/spm.h"

enum dg_fairseq_vocab { DG_FAIRSEQ_NONE, DG_FAIRSEQ_XLM_ROBERTA, DG_FAIRSEQ_CAMEMBERT };

/* Finds which of the two kinds a directory without tokenizer.json is. */
enum dg_err dg_fairseq_vocab_kind(struct dg_import *import, const char *dir,
                                  enum dg_fairseq_vocab *kind,
                                  struct dg_error *error) DG_MUST_CHECK;

/* Adds tokenizer.json to the files of the import. */
enum dg_err dg_fairseq_vocab_add(struct dg_import *import, const char *dir,
                                 enum dg_fairseq_vocab kind, struct dg_error *error) DG_MUST_CHECK;

/* Appends the contents of that file to `out`. */
enum dg_err dg_fairseq_vocab_write(const struct dg_spm *spm, enum dg_fairseq_vocab kind,
                                   struct dg_buf *out, struct dg_error *error) DG_MUST_CHECK;

#endif
