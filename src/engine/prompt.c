/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The work is text/form.h's. */
#include "engine/prompt.h"
#include "engine/template.h"
#include "text/form.h"

enum { PROMPT_MAX = 1 << 24 };

static struct dg_form_coder coder_of(const struct dg_loaded *model)
{
    return (struct dg_form_coder){.tokenizer = model->tokenizer, .bos = model->blueprint.bos_id,
                                  .eos = model->blueprint.eos_id};
}

enum dg_err dg_prompt_encode(const struct dg_loaded *model, struct dg_tokenizer_work *work, struct dg_span text,
                             bool reads_special, struct dg_why *why, struct dg_token **tokens, size_t *n)
{
    const struct dg_form_coder coder = coder_of(model);
    return dg_form_encode_plain(&coder, work, text, reads_special, why, tokens, n);
}

static uint32_t place(uint32_t at, size_t from, size_t to)
{
    return (uint32_t)((at < from ? from : at > to ? to : at) - from);
}

enum dg_err dg_prompt_ask(const struct dg_loaded *model, const struct dg_pair *pair, struct dg_tokenizer_work *work,
                          struct dg_span text, struct dg_why *why, struct dg_token **tokens, size_t *n)
{
    const struct dg_form_coder coder = coder_of(model);
    struct dg_buf prompt;
    size_t from = 0;
    dg_buf_init(&prompt, PROMPT_MAX);
    enum dg_err err = dg_template_fill(model->template, pair, text, &prompt, &from);
    err = err ? dg_why_set(why, err, "no memory for a prompt")
              : dg_form_encode(&coder, work, dg_buf_span(&prompt), from, from + text.len, why, tokens, n);
    dg_buf_deinit(&prompt);
    for (size_t i = 0; !err && i < *n; i++) {
        (*tokens)[i].begin = place((*tokens)[i].begin, from, from + text.len);
        (*tokens)[i].end = place((*tokens)[i].end, from, from + text.len);
    }
    return err;
}
