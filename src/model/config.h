/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* config.json and generation_config.json of a model directory, as a blueprint; and back.
 *
 * The field `model_type` says which kind of configuration it is:
 *
 *     marian      Hugging Face's Marian (OPUS-MT): post-norm, sinusoids in halves, eps 1e-5
 *     m2m_100     M2M100 and NLLB: pre-norm, final norms, positions from 2
 *     gpt2, llama, mistral, qwen2   language models (config_lm.h)
 *     dragoman    our own type, for networks that the others cannot describe (docs/MODEL-FILES.md):
 *                 every field of the blueprint by name
 *
 * Numbers out of range, unknown activations and contradictions are refused with file and field;
 * keys that do not matter for inference are ignored. */
#ifndef DG_MODEL_CONFIG_H
#define DG_MODEL_CONFIG_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "model/blueprint.h"

/* Reads the directory's files. The blueprint is checked. */
enum dg_err dg_config_read(struct dg_blueprint *bp, const char *dir,
                           struct dg_error *error) DG_MUST_CHECK;

/* The same from texts; `generation` and `tokenizer` may be empty. `name` stands for config.json. */
enum dg_err dg_config_parse(struct dg_blueprint *bp, struct dg_span config,
                            struct dg_span generation, struct dg_span tokenizer, const char *name,
                            struct dg_error *error) DG_MUST_CHECK;

/* Appends a config.json of type dragoman; mirror of dg_config_parse. */
enum dg_err dg_config_print(const struct dg_blueprint *bp, struct dg_buf *out) DG_MUST_CHECK;

#endif
