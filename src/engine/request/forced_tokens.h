/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: text that is demanded of a translation, as ids of the model that makes it.
 *
 *     err = dg_forced_tokens_init(&demands, tokenizer, &asked, &error);
 *     dg_forced_tokens_apply(&demands, is_first, &search);        for the search of each sentence
 *     dg_forced_tokens_deinit(&demands);                          when no search uses them any more
 *
 * All zeros is "nothing is demanded". */
#ifndef DG_ENGINE_REQUEST_FORCED_TOKENS_H
#define DG_ENGINE_REQUEST_FORCED_TOKENS_H

#include "decode/opts.h"
#include "engine/engine.h"
#include "tokenize/tokenizer.h"

struct dg_forced_tokens {
    int32_t *prefix; /* owned; [n_prefix] */
    size_t n_prefix;
    struct dg_constraint *constraints; /* owned; [n], each of one form: */
    struct dg_phrase *phrases;         /* owned; [n], with ids of their own */
    size_t n;
};

/* DG_ERR_UTF8, DG_ERR_LIMIT, DG_ERR_INVALID (an empty phrase) with a sentence. */
enum dg_err dg_forced_tokens_init(struct dg_forced_tokens *forced,
                                  const struct dg_tokenizer *tokenizer,
                                  const struct dg_engine_request *asked,
                                  struct dg_error *error) DG_MUST_CHECK;
void dg_forced_tokens_deinit(struct dg_forced_tokens *forced);

/* Points `search` at what is demanded of a sentence: the prefix is the first one's. */
void dg_forced_tokens_apply(const struct dg_forced_tokens *forced, bool is_first,
                            struct dg_search_opts *search);

#endif
