/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: the glossary terms (text/terms/glossary.h) that one sentence contains, and
 * whether the translation uses them.
 *
 *     err = dg_terms_find(&terms, &how);                    in the model's input; terms.n 0: none
 *     n = dg_terms_constrain(&terms, constraints, cap);     for the search
 *                                                           (decode/term_placement.h)
 *     err = dg_terms_elide(&terms, &translation, 0);        "le artisan" becomes "l'artisan"
 *     err = dg_terms_check(&terms, translation, scan);      sets is_used and said_at
 *     dg_terms_deinit(&terms);
 *
 * With two models in a row, the second model is forced to use the terms, although it does not see
 * the text in which they were found. There each term belongs where the first model's answer has its
 * translation:
 *
 *     dg_terms_follow(&terms, &said);                       in the first model's answer
 *     dg_terms_tie(&terms, &piece);                         in each piece of it, before _constrain
 *
 * A term is written as the glossary has it, with two exceptions: at the beginning of the
 * translation it gets a capital if the text begins with one; and if its source begins a later
 * sentence of the text, it gets a capital, or capitals, as the source has them. The search is
 * forced to use up to DG_PLACED_MAX terms of a sentence; all terms are checked. */
#ifndef DG_ENGINE_WORDS_TERMS_H
#define DG_ENGINE_WORDS_TERMS_H

#include "decode/search_opts.h"
#include "engine/words/placeholders.h"
#include "text/terms/glossary.h"
#include "tokenize/tokenizer.h"

struct dg_terms_item {
    const struct dg_glossary_term *term;
    size_t from, to;             /* tokens of the source */
    struct dg_constraint demand; /* n_forms 0: the model cannot output it, or there are too many */
    size_t via_at, via_len;      /* how the first of two models translated it; via_len 0: unknown */
    bool is_elsewhere;           /* it belongs to another piece of the first model's output */
    bool is_used;
    size_t said_at, said_len; /* if used: where it lies in the translation */
};

struct dg_terms {
    struct dg_terms_item *items; /* owned; [n] */
    size_t n;
    bool is_alone; /* There is one term and no other word, so that only the term and punctuation are
                      output. */
    struct dg_phrase *phrases; /* owned; [n_phrases], with ids of their own */
    size_t n_phrases;
};

struct dg_terms_how {
    const struct dg_dictionary *const *dictionaries; /* [n_dictionaries] */
    size_t n_dictionaries;
    struct dg_span text;           /* the model's input */
    const struct dg_token *tokens; /* [n_tokens] of `text` */
    size_t n_tokens;
    const struct dg_placeholders *placeholders; /* spans in which terms do not count; may be NULL */
    bool any_case;                              /* `text` has lost the original's case */
    const struct dg_tokenizer *tokenizer; /* the tokenizer of the model that translates; NULL: no
                                             term is forced */
    const char *language;                 /* the language of the translation */
    bool is_only_model; /* No other model translates before it, so it sees the terms' source. */
    struct dg_glossary_scan *scan;
};

enum dg_err dg_terms_find(struct dg_terms *terms, const struct dg_terms_how *how) DG_MUST_CHECK;
void dg_terms_deinit(struct dg_terms *terms); /* all zeros is fine */

/* Removes an item. */
void dg_terms_drop(struct dg_terms *terms, size_t index);

/* The answer of the first of two models. */
struct dg_terms_said {
    const int32_t *ids;     /* [n] */
    const size_t *ends;     /* [n] the length of its text in bytes after each token */
    const float *alignment; /* [n, n_source] */
    size_t n, n_source;
    const uint8_t *joining; /* as in decode/search_opts.h; may be NULL */
};

/* Finds, for each term, the words of the answer that translate its source: via_at, via_len. */
void dg_terms_follow(struct dg_terms *terms, const struct dg_terms_said *said);

/* A piece of that answer, as the second model gets it. */
struct dg_terms_piece {
    size_t at, len; /* in the answer */
    bool is_first;  /* terms whose place is not known belong to this part */
    const struct dg_placeholders *placeholders; /* the placeholders of its input; may be NULL */
    const struct dg_token *tokens;              /* [n_tokens] */
    size_t n_tokens;
};

/* Ties the constraints of the terms that belong to this piece to the piece's tokens, and leaves out
 * the terms of other pieces. */
void dg_terms_tie(struct dg_terms *terms, const struct dg_terms_piece *piece);

/* Returns true when any term is to be forced. */
bool dg_terms_are_demanded(const struct dg_terms *terms);

/* Returns the most tokens that the translation may have if the text consists of one term only,
 * given a source of `n_source` tokens including its end. 0: no such limit. */
size_t dg_terms_longest(const struct dg_terms *terms, size_t n_source);

/* Returns how many constraints it wrote; what they point to belongs to the terms. */
size_t dg_terms_constrain(const struct dg_terms *terms, struct dg_constraint *constraints,
                          size_t cap);

/* Returns true for French, where articles and the like are joined to the term after them. */
bool dg_terms_may_elide(const struct dg_terms *terms, const char *language);

/* Joins articles and the like to the terms after them, in `translation` from `start` on. */
enum dg_err dg_terms_elide(const struct dg_terms *terms, struct dg_buf *translation,
                           size_t start) DG_MUST_CHECK;

/* Sets is_used and said_at of each term. Each stretch of the translation counts for one term
 * only. */
enum dg_err dg_terms_check(struct dg_terms *terms, struct dg_span translation,
                           struct dg_glossary_scan *scan) DG_MUST_CHECK;

#endif
