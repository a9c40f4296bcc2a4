/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Encodes target text as target ids with the end token after them, to score or force a given
 * translation. */
#ifndef DG_TOKENIZE_TARGET_IDS_H
#define DG_TOKENIZE_TARGET_IDS_H

#include "tokenize/spm/spm_encode.h"
#include "tokenize/tokenizer.h"

/* *ids is owned (dg_free). */
enum dg_err dg_target_ids(const struct dg_tokenizer *tokenizer, struct dg_spm_work *work,
                          struct dg_span text, int32_t **ids, size_t *n) DG_MUST_CHECK;

#endif
