/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Tokenises a text for a language model. If the tokenizer puts no token before a text, the
 * blueprint's beginning token is added for a SentencePiece model, and for an empty text. */
#ifndef DG_ENGINE_MODELS_PROMPT_H
#define DG_ENGINE_MODELS_PROMPT_H

#include "engine/models/served_model.h"

/* Tokenises `text`; the caller owns *tokens [*n] (dg_free). `reads_special`: the names of special
 * tokens in the text become these tokens. */
enum dg_err dg_prompt_encode(const struct dg_served_model *model, struct dg_tokenizer_work *work,
                             struct dg_span text, bool reads_special, struct dg_error *error,
                             struct dg_token **tokens, size_t *n) DG_MUST_CHECK;

/* Tokenises the prompt that asks for the translation of `text` by the model's template. Token
 * offsets refer to `text`; a token outside `text` has the offset of the nearer end. */
enum dg_err dg_prompt_ask(const struct dg_served_model *model, const struct dg_lang_pair *pair,
                          struct dg_tokenizer_work *work, struct dg_span text,
                          struct dg_error *error, struct dg_token **tokens,
                          size_t *n) DG_MUST_CHECK;

#endif
