/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: the terms of glossaries (text/terms/glossary.h) that one sentence has, and
 * what became of them.
 *
 *     err = dg_terms_find(&terms, &how);                  those in what the model gets; terms.n 0:
 * none n = dg_terms_constrain(&terms, constraints, cap);   demanded of the search where their
 * source is (decode/term_placement.h) err = dg_terms_check(&terms, translation, scan);    is_used,
 * and where dg_terms_deinit(&terms);
 *
 * A term is written as the glossary has it. With a capital where it begins the translation of a
 * text that begins with one; as its source, with a capital or in capitals, where that begins a
 * later sentence of the text. Up to DG_PLACED_MAX terms of a sentence are demanded; all are
 * checked. */
#ifndef DG_ENGINE_REQUEST_TERMS_H
#define DG_ENGINE_REQUEST_TERMS_H

#include "decode/opts.h"
#include "engine/request/placeholders.h"
#include "text/terms/glossary.h"
#include "tokenize/tokenizer.h"

struct dg_terms_item {
    const struct dg_glossary_term *term;
    size_t from, to;             /* tokens of the source */
    struct dg_constraint demand; /* n_forms 0: cannot be said, or is one too many */
    bool is_used;
    size_t said_at, said_len; /* of the translation, when used, */
    size_t said_form;         /* as this of the term's targets */
};

struct dg_terms {
    struct dg_terms_item *items; /* owned; [n] */
    size_t n;
    struct dg_phrase *phrases; /* owned; [n_phrases], with ids of their own */
    size_t n_phrases;
};

struct dg_terms_how {
    const struct dg_dictionary *const *dictionaries; /* [n_dictionaries] */
    size_t n_dictionaries;
    struct dg_span text;           /* what the model gets, */
    const struct dg_token *tokens; /* [n_tokens] and its tokens */
    size_t n_tokens;
    const struct dg_placeholders *placeholders; /* what is not to be touched; may be NULL */
    bool any_case;                        /* the case of the text is not that of the original */
    const struct dg_tokenizer *tokenizer; /* of the model that says them; NULL: none is demanded */
    const char *language;                 /* of the translation */
    struct dg_glossary_scan *scan;
};

enum dg_err dg_terms_find(struct dg_terms *terms, const struct dg_terms_how *how) DG_MUST_CHECK;
void dg_terms_deinit(struct dg_terms *terms); /* all zeros is fine */

/* Takes one away. */
void dg_terms_drop(struct dg_terms *terms, size_t index);

/* Returns how many it wrote; what they point to is the terms'. */
size_t dg_terms_constrain(const struct dg_terms *terms, struct dg_constraint *constraints,
                          size_t cap);

/* Each stretch of the translation is counted for one term. */
enum dg_err dg_terms_check(struct dg_terms *terms, struct dg_span translation,
                           struct dg_glossary_scan *scan) DG_MUST_CHECK;

#endif
