/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: text that a translation is forced to contain, as token ids of the model that
 * translates.
 *
 *     err = dg_forced_tokens_init(&forced, tokenizer, &asked, &error);
 *     dg_forced_tokens_apply(&forced, is_first, &search);        for the search of each sentence
 *     dg_forced_tokens_deinit(&forced);                          when no search uses them any more
 *
 * All zeros means that nothing is forced. */
#ifndef DG_ENGINE_WORDS_FORCED_TOKENS_H
#define DG_ENGINE_WORDS_FORCED_TOKENS_H

#include "decode/search_opts.h"
#include "engine/interface/engine_request.h"
#include "tokenize/tokenizer.h"

struct dg_forced_tokens {
    int32_t *prefix; /* owned; [n_prefix] */
    size_t n_prefix;
    struct dg_constraint *constraints; /* owned; [n], each with one phrase */
    struct dg_phrase *phrases;         /* owned; [n], with ids of their own */
    size_t n;
};

/* Encodes the forced text. DG_ERR_UTF8, DG_ERR_LIMIT and DG_ERR_INVALID (a phrase is empty, or the
 * model cannot write it) come with a sentence. */
enum dg_err dg_forced_tokens_init(struct dg_forced_tokens *forced,
                                  const struct dg_tokenizer *tokenizer,
                                  const struct dg_engine_request *asked,
                                  struct dg_error *error) DG_MUST_CHECK;
void dg_forced_tokens_deinit(struct dg_forced_tokens *forced);

/* Sets in `search` what a sentence is forced to contain; only the first sentence gets the
 * prefix. */
void dg_forced_tokens_apply(const struct dg_forced_tokens *forced, bool is_first,
                            struct dg_search_opts *search);

#endif
