/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Puts the inline markup of a sentence into its translation: each tag once, in legal nesting,
 * around the words that came of the words it was around. What came of what is read off the model's
 * attention; where there is none (two models in a row), off the order of the words.
 *
 *     struct dg_tag_placement_target said = {.text = translation, .ends = ends, .n = n, .alignment
 * = attention}; struct dg_tag_placement_source source = {.tokens = tokens, .n = n_source}; err =
 * dg_tag_placement(doc, &part, &source, &said, &out);
 *
 * An element's words may be scattered in the translation; it then goes around the stretch that
 * holds most of them and least of others. A frozen element takes the place of its own text, or of
 * what became of it. Any thread. */
#ifndef DG_MARKUP_TAG_PLACEMENT_H
#define DG_MARKUP_TAG_PLACEMENT_H

#include "markup/doc.h"
#include "tokenize/tokenizer.h"

struct dg_tag_placement_source {
    const struct dg_token *tokens; /* [n] with offsets into the document's plain text */
    size_t n;
};

struct dg_tag_placement_target {
    struct dg_span text; /* the translation, plain */
    const size_t *ends;  /* [n] bytes of the text that were said with each target token */
    size_t n;
    const float *alignment; /* [n, source n] or NULL */
};

/* Appends the sentence with what stands before it. DG_ERR_NOMEM. */
enum dg_err dg_tag_placement(const struct dg_doc *doc, const struct dg_doc_part *part,
                             const struct dg_tag_placement_source *source,
                             const struct dg_tag_placement_target *said,
                             struct dg_buf *out) DG_MUST_CHECK;

#endif
