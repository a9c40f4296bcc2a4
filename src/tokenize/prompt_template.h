/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A prompt template: the instruction that a language model reads around a text, with placeholders
 * for the text and the languages.
 *
 *     Translate from {source} to {target}:\n{text}\n          as it is written in a configuration
 *
 *     err = dg_prompt_template_check(form, &error);
 *     err = dg_prompt_template_fill(form, &names, text, &prompt, &text_at);
 *     err = dg_prompt_template_encode(&coder, work, dg_buf_span(&prompt), text_at,
 *                                     text_at + text.len, &error, &tokens, &n);
 *
 * Placeholders: {source} and {target} (English names), {source-code} and {target-code}, {text}
 * (exactly once). Escapes: \n, \t, \\, \{ and \|. Serving (engine/generate/translation_prompt.h)
 * and training (train/data/texts.h) make the same tokens from the same template. */
#ifndef DG_TOKENIZE_PROMPT_TEMPLATE_H
#define DG_TOKENIZE_PROMPT_TEMPLATE_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "tokenize/tokenizer.h"

enum { DG_PROMPT_TEMPLATE_MAX = 2000 }; /* bytes of a template */

/* DG_ERR_INVALID: the template does not have exactly one {text}, or has an unknown placeholder or
 * escape; DG_ERR_LIMIT: it is too long. */
enum dg_err dg_prompt_template_check(struct dg_span form, struct dg_error *error) DG_MUST_CHECK;

struct dg_prompt_template_names {
    struct dg_span source, target, source_code, target_code;
};

/* Appends the checked template with its placeholders filled in. The text begins at byte *text_at of
 * what was appended. */
enum dg_err dg_prompt_template_fill(struct dg_span form,
                                    const struct dg_prompt_template_names *names,
                                    struct dg_span text, struct dg_buf *out,
                                    size_t *text_at) DG_MUST_CHECK;

/* Takes the next byte from `text`, decoding an escape. */
enum dg_err dg_prompt_template_next_byte(struct dg_span *text, char *byte,
                                         struct dg_error *error) DG_MUST_CHECK;

/* How prompts become ids. If the tokenizer itself puts nothing before a text (as SentencePiece's
 * does not), a prompt begins with `bos`, and an empty prompt with `bos` or else `eos`. -1: the
 * vocabulary has no such token. */
struct dg_prompt_template_coder {
    const struct dg_tokenizer *tokenizer; /* borrowed */
    int32_t bos, eos;
};

/* Encodes a filled template whose text is [from, to) of `prompt`. Strings of special tokens become
 * those tokens in the template, but stay text in the text, which is not trusted. All is encoded
 * together, because words run over the seams; if that made a special token of the text, the three
 * parts are encoded one by one. *tokens is owned (dg_free), [*n]; offsets are those of the prompt.
 */
enum dg_err dg_prompt_template_encode(const struct dg_prompt_template_coder *coder,
                                      struct dg_tokenizer_work *work, struct dg_span prompt,
                                      size_t from, size_t to, struct dg_error *error,
                                      struct dg_token **tokens, size_t *n) DG_MUST_CHECK;

/* Encodes a prompt without a template. `reads_special`: a special token's string is that token. */
enum dg_err dg_prompt_template_encode_plain(const struct dg_prompt_template_coder *coder,
                                            struct dg_tokenizer_work *work, struct dg_span text,
                                            bool reads_special, struct dg_error *error,
                                            struct dg_token **tokens, size_t *n) DG_MUST_CHECK;

#endif
