/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How a language model is asked to translate: a prompt with places for the languages and the text, and what ends its
 * answer.
 *
 *     Translate from {source} to {target}:\n{text}\n          as it is written in a configuration
 *
 *     const struct dg_template_opts opts = {.prompt = "{source}: {text}\\n{target}:", .stop = "\\n", ...};
 *     err = dg_template_new(&template, &opts, &why);
 *     err = dg_template_fill(template, &pair, text, &prompt, &text_at);
 *     ... the search ends with any token of dg_template_ends ...
 *     dg_template_hear(template, said, is_over, &from, &upto);           of what was said, the translation so far
 *
 * Places and escapes are those of text/form.h. Several stop texts have | between them; each must be part of some token, because
 * a search can end only where a token does. What a model says before it, without white space at its ends, is the
 * translation.
 *
 * Immutable; any thread. */
#ifndef DG_ENGINE_TEMPLATE_H
#define DG_ENGINE_TEMPLATE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include "base/why.h"
#include "engine/langs.h"
#include "model/blueprint.h"
#include "text/form.h"
#include "text/tokenizer.h"

enum {
    DG_TEMPLATE_TEXT_MAX = DG_FORM_MAX, /* bytes of a configured prompt, */
    DG_TEMPLATE_STOP_MAX = 200,  /* of the configured stop texts, */
    DG_TEMPLATE_STOPS = 8,       /* and how many these may be */
};

struct dg_template;

struct dg_template_opts {
    const char *prompt, *stop;           /* as configured */
    const struct dg_tokenizer *tokenizer; /* for the ends; NULL: none are listed */
    const struct dg_blueprint *blueprint;
};

/* DG_ERR_INVALID: the prompt has no {text}, or a place that is unknown; DG_ERR_UNSUPPORTED: no token has the stop text. */
enum dg_err dg_template_new(struct dg_template **template, const struct dg_template_opts *opts,
                            struct dg_why *why) DG_MUST_CHECK;
void dg_template_free(struct dg_template *template); /* NULL is fine */

/* Appends the prompt for a text; it begins at *text_at of what was appended. */
enum dg_err dg_template_fill(const struct dg_template *template, const struct dg_pair *pair, struct dg_span text,
                             struct dg_buf *prompt, size_t *text_at) DG_MUST_CHECK;

/* [words of the vocabulary] 1 for tokens that end an answer, as in dg_search_opts; NULL: only the model's own end does. */
const uint8_t *dg_template_ends(const struct dg_template *template);

/* The translation is [*from, *upto) of what was said, as far as it is certain, or all of it. Both only ever grow. */
void dg_template_hear(const struct dg_template *template, struct dg_span said, bool is_over, size_t *from, size_t *upto);

#endif
