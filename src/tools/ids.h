/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Token ids, read from lines ("12 7 0") or made from texts. */
#ifndef DG_TOOLS_IDS_H
#define DG_TOOLS_IDS_H

#include "base/memory/error.h"
#include "base/memory/span.h"
#include "tokenize/tokenizer.h"

#include <stdint.h>

/* Parses non-negative integers separated by white space. The caller frees *ids (dg_free), also when
 * n is 0. The error's sentence names the column of the first text that is not an id. */
enum dg_err ids_parse(struct dg_span text, int32_t **ids, size_t *n,
                      struct dg_error *error) DG_MUST_CHECK;

/* Makes the ids of a text with the tokenizer. The caller frees *ids (dg_free), also when n is 0. */
enum dg_err ids_encode(const struct dg_tokenizer *tokenizer, struct dg_tokenizer_work *work,
                       struct dg_span text, const struct dg_tokenizer_opts *opts, int32_t **ids,
                       size_t *n, struct dg_error *error) DG_MUST_CHECK;

#endif
