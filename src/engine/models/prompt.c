/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Thin wrappers around tokenize/prompt_template.h. */
#include "engine/models/prompt.h"
#include "engine/models/translation_prompt.h"
#include "tokenize/prompt_template.h"

enum { PROMPT_MAX = 1 << 24 };

static struct dg_prompt_template_coder coder_of(const struct dg_served_model *model)
{
    return (struct dg_prompt_template_coder){.tokenizer = model->tokenizer,
                                             .bos = model->blueprint.bos_id,
                                             .eos = model->blueprint.eos_id};
}

enum dg_err dg_prompt_encode(const struct dg_served_model *model, struct dg_tokenizer_work *work,
                             struct dg_span text, bool reads_special, struct dg_error *error,
                             struct dg_token **tokens, size_t *n)
{
    const struct dg_prompt_template_coder coder = coder_of(model);
    return dg_prompt_template_encode_plain(&coder, work, text, reads_special, error, tokens, n);
}

static uint32_t place(uint32_t at, size_t from, size_t to)
{
    return (uint32_t)((at < from ? from : at > to ? to : at) - from);
}

enum dg_err dg_prompt_ask(const struct dg_served_model *model, const struct dg_lang_pair *pair,
                          struct dg_tokenizer_work *work, struct dg_span text,
                          struct dg_error *error, struct dg_token **tokens, size_t *n)
{
    const struct dg_prompt_template_coder coder = coder_of(model);
    struct dg_buf prompt;
    size_t from = 0;
    dg_buf_init(&prompt, PROMPT_MAX);
    enum dg_err err = dg_translation_prompt_fill(model->template, pair, text, &prompt, &from);
    err = err ? dg_error_set(error, err, "no memory for a prompt")
              : dg_prompt_template_encode(&coder, work, dg_buf_span(&prompt), from, from + text.len,
                                          error, tokens, n);
    dg_buf_deinit(&prompt);
    for (size_t i = 0; !err && i < *n; i++) {
        (*tokens)[i].begin = place((*tokens)[i].begin, from, from + text.len);
        (*tokens)[i].end = place((*tokens)[i].end, from, from + text.len);
    }
    return err;
}
