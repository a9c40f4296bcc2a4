/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The configurations of language models, as blueprints (config.h reads the files and calls this):
 *
 *     gpt2        GPT-2: learned positions, layer norms, one matrix for queries, keys and values
 *     llama       Llama 1 to 3: rotary positions, RMS norms, gated SiLU
 *     mistral     like llama, with a window; the context is limited to the window
 *     qwen2       like llama, with biases on queries, keys and values
 *     dragoman    our own type, with "family": "language-model" */
#ifndef DG_MODEL_CONFIG_LM_H
#define DG_MODEL_CONFIG_LM_H

#include "base/json/json.h"
#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "model/blueprint.h"

/* The foreign kinds, by `model_type`. */
enum dg_config_lm {
    DG_CONFIG_LM_GPT2,
    DG_CONFIG_LM_LLAMA,
    DG_CONFIG_LM_MISTRAL,
    DG_CONFIG_LM_QWEN2
};

/* Read everything but the token ids into a blueprint of defaults. */
enum dg_err dg_config_lm_read_foreign(struct dg_blueprint *bp, const struct dg_json *config,
                                      enum dg_config_lm type, struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_config_lm_read_own(struct dg_blueprint *bp, const struct dg_json *config,
                                  struct dg_error *error) DG_MUST_CHECK;

/* Reads an `eos_token_id` that is a list: the first is the end token, the others stop tokens. */
enum dg_err dg_config_lm_read_stops(struct dg_blueprint *bp, const struct dg_json *config,
                                    struct dg_error *error) DG_MUST_CHECK;

/* Limits lengths that the other files state to the context. */
void dg_config_lm_clamp(struct dg_blueprint *bp);

/* Prints what dg_config_lm_read_own reads, as the first members of an object that stays open. */
enum dg_err dg_config_lm_print(const struct dg_blueprint *bp, struct dg_buf *out) DG_MUST_CHECK;

#endif
