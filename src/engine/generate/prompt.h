/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A text as a language model reads it. Where the tokenizer puts nothing before a text, a model of
 * SentencePiece's gets its beginning from the blueprint, and so does an empty one. */
#ifndef DG_ENGINE_GENERATE_PROMPT_H
#define DG_ENGINE_GENERATE_PROMPT_H

#include "engine/route/served_model.h"

/* *tokens owned (dg_free), [*n]. `reads_special`: the strings of special tokens are these. */
enum dg_err dg_prompt_encode(const struct dg_served_model *model, struct dg_tokenizer_work *work,
                             struct dg_span text, bool reads_special, struct dg_error *error,
                             struct dg_token **tokens, size_t *n) DG_MUST_CHECK;

/* The prompt that asks for the translation of `text`, by the model's template; places are those of
 * `text`, of what stands around it its nearer end. */
enum dg_err dg_prompt_ask(const struct dg_served_model *model, const struct dg_lang_pair *pair,
                          struct dg_tokenizer_work *work, struct dg_span text,
                          struct dg_error *error, struct dg_token **tokens,
                          size_t *n) DG_MUST_CHECK;

#endif
