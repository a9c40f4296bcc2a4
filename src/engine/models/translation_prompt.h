/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How a language model is asked to translate: a prompt with places for the languages and the text,
 * and what ends its answer.
 *
 *     Translate from {source} to {target}:\n{text}\n          as it is written in a configuration
 *     const struct dg_translation_prompt_opts opts = {
 *         .prompt = "{source}: {text}\\n{target}:", .stop = "\\n", ...};
 *     err = dg_translation_prompt_new(&template, &opts, &error);
 *     err = dg_translation_prompt_fill(template, &pair, text, &prompt, &text_at);
 *     ... the search ends with any token of dg_translation_prompt_ends ...
 *     dg_translation_prompt_hear(template, said, is_over, &from, &upto);    the translation so far
 *
 * Places and escapes are those of tokenize/prompt_template.h. Several stop texts are separated by
 * |; each must be part of some token, because a search can end only where a token ends. The
 * translation is the output before the stop text, without the white space at both ends.
 *
 * Immutable; any thread. */
#ifndef DG_ENGINE_MODELS_TRANSLATION_PROMPT_H
#define DG_ENGINE_MODELS_TRANSLATION_PROMPT_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "engine/models/langs.h"
#include "model/blueprint.h"
#include "tokenize/prompt_template.h"
#include "tokenize/tokenizer.h"

enum {
    /* the most bytes of a configured prompt */
    DG_TRANSLATION_PROMPT_TEXT_MAX = DG_PROMPT_TEMPLATE_MAX,
    DG_TRANSLATION_PROMPT_STOP_MAX = 200, /* the most bytes of the configured stop texts */
    DG_TRANSLATION_PROMPT_STOPS = 8,      /* the most stop texts */
};

struct dg_translation_prompt;

struct dg_translation_prompt_opts {
    const char *prompt, *stop;            /* as configured */
    const struct dg_tokenizer *tokenizer; /* finds the tokens that end an answer; NULL: none are
                                             listed */
    const struct dg_blueprint *blueprint;
};

/* DG_ERR_INVALID: the prompt has no {text}, or a place that is unknown; DG_ERR_UNSUPPORTED: no
 * token contains the stop text. */
enum dg_err dg_translation_prompt_new(struct dg_translation_prompt **template,
                                      const struct dg_translation_prompt_opts *opts,
                                      struct dg_error *error) DG_MUST_CHECK;
void dg_translation_prompt_free(struct dg_translation_prompt *template); /* NULL is fine */

/* Appends the prompt for a text; *text_at is the offset of the text in what was appended. */
enum dg_err dg_translation_prompt_fill(const struct dg_translation_prompt *template,
                                       const struct dg_lang_pair *pair, struct dg_span text,
                                       struct dg_buf *prompt, size_t *text_at) DG_MUST_CHECK;

/* Returns [words of the vocabulary] 1 for tokens that end an answer, as in dg_search_opts; NULL:
 * only the model's own end token does. */
const uint8_t *dg_translation_prompt_ends(const struct dg_translation_prompt *template);

/* Finds the translation, [*from, *upto) of `said`, as far as it is certain; all of it when is_over.
 * Both offsets only grow. */
void dg_translation_prompt_hear(const struct dg_translation_prompt *template, struct dg_span said,
                                bool is_over, size_t *from, size_t *upto);

#endif
