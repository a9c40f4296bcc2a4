/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A form: the text that a language model is given in place of another, with places for that text
 * and for languages.
 *
 *     Translate from {source} to {target}:\n{text}\n          as it is written in a configuration
 *
 *     err = dg_prompt_template_check(form, &error);
 *     err = dg_prompt_template_fill(form, &names, text, &prompt, &text_at);
 *     err = dg_prompt_template_encode(&coder, work, dg_buf_span(&prompt), text_at, text_at +
 * text.len, &error, &tokens, &n);
 *
 * Places: {source} and {target} (English names), {source-code} and {target-code}, {text} (once).
 * \n, \t, \\, \{ and \| are what they mostly are. Served models
 * (engine/generate/translation_prompt.h) and those that are trained (train/data/texts.h) read by
 * the same form the same tokens. */
#ifndef DG_TOKENIZE_PROMPT_TEMPLATE_H
#define DG_TOKENIZE_PROMPT_TEMPLATE_H

#include "base/memory/buf.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "tokenize/tokenizer.h"

enum { DG_PROMPT_TEMPLATE_MAX = 2000 }; /* bytes of a form */

/* DG_ERR_INVALID: it has no {text}, or more than one, or a place or an escape that is unknown;
 * DG_ERR_LIMIT: it is too long. */
enum dg_err dg_prompt_template_check(struct dg_span form, struct dg_error *error) DG_MUST_CHECK;

struct dg_prompt_template_names {
    struct dg_span source, target, source_code, target_code;
};

/* Appends the form, which was checked, with a text in its place; that begins at *text_at of what
 * was appended. */
enum dg_err dg_prompt_template_fill(struct dg_span form,
                                    const struct dg_prompt_template_names *names,
                                    struct dg_span text, struct dg_buf *out,
                                    size_t *text_at) DG_MUST_CHECK;

/* Takes the next byte from `text`, an escape undone. */
enum dg_err dg_prompt_template_next_byte(struct dg_span *text, char *byte,
                                         struct dg_error *error) DG_MUST_CHECK;

/* How prompts become ids. Where the tokenizer puts nothing before a text (SentencePiece's), a
 * prompt begins with `bos`; an empty one with that or with `eos`. -1: there is none. */
struct dg_prompt_template_coder {
    const struct dg_tokenizer *tokenizer; /* borrowed */
    int32_t bos, eos;
};

/* A text with a form around it: [from, to) of `prompt`, a stranger's, whose signs are text; those
 * of the form are signs. Both are encoded together, because words run over the seam; should a sign
 * come out of the text that way, the three parts are encoded one by one. *tokens owned (dg_free),
 * [*n]; their places are those of the prompt. */
enum dg_err dg_prompt_template_encode(const struct dg_prompt_template_coder *coder,
                                      struct dg_tokenizer_work *work, struct dg_span prompt,
                                      size_t from, size_t to, struct dg_error *error,
                                      struct dg_token **tokens, size_t *n) DG_MUST_CHECK;

/* A prompt without a form. `reads_special`: the strings of special tokens are these. */
enum dg_err dg_prompt_template_encode_plain(const struct dg_prompt_template_coder *coder,
                                            struct dg_tokenizer_work *work, struct dg_span text,
                                            bool reads_special, struct dg_error *error,
                                            struct dg_token **tokens, size_t *n) DG_MUST_CHECK;

#endif
