/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Puts the inline markup of a sentence into its translation: each tag once, in legal nesting,
 * around the translations of the words that it surrounded. The model's attention tells which word
 * became which; without it (two models in a row), the order of the words does.
 *
 *     struct dg_tag_placement_source source = {.tokens = tokens, .n = n_source};
 *     struct dg_tag_placement_target target = {.text = translation, .ends = ends, .n = n,
 *                                              .alignment = attention};
 *     err = dg_tag_placement(doc, &part, &source, &target, &out);
 *
 * If an element's words are scattered in the translation, it goes around the stretch with most of
 * them and fewest others. A frozen element replaces its own text, or the translation of it. Any
 * thread. */
#ifndef DG_MARKUP_TAG_PLACEMENT_H
#define DG_MARKUP_TAG_PLACEMENT_H

#include "markup/doc.h"
#include "tokenize/tokenizer.h"

struct dg_tag_placement_source {
    const struct dg_token *tokens; /* [n] with offsets into the document's plain text */
    size_t n;
};

struct dg_tag_placement_target {
    struct dg_span text; /* the translation as plain text */
    const size_t *ends;  /* [n] length of the text after each target token */
    size_t n;
    const float *alignment; /* [n, source n] or NULL */
};

/* Appends the translated sentence, preceded by the markup that stood before it. DG_ERR_NOMEM. */
enum dg_err dg_tag_placement(const struct dg_doc *doc, const struct dg_doc_part *part,
                             const struct dg_tag_placement_source *source,
                             const struct dg_tag_placement_target *said,
                             struct dg_buf *out) DG_MUST_CHECK;

#endif
