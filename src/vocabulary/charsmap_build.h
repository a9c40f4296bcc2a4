/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Builds the table of character replacements for a vocabulary that we train: Unicode's NFKC from
 * ICU, with the rules that are usual for translation (control characters are dropped, every kind of
 * space becomes a space). charsmap.h reads the table, and so does SentencePiece's library.
 *
 *     struct dg_buf blob;
 *     dg_buf_init(&blob, 8 << 20);
 *     err = dg_charsmap_build_nfkc(&blob, &error);
 *
 * Building takes a fraction of a second. Any thread. */
#ifndef DG_VOCABULARY_CHARSMAP_BUILD_H
#define DG_VOCABULARY_CHARSMAP_BUILD_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stddef.h>

/* A key and its replacement. Neither contains a NUL. */
struct dg_charsmap_rule {
    struct dg_span from; /* not empty */
    struct dg_span to;   /* may be empty */
};

/* Appends the table of these rules, whose keys must be distinct. Sorts the rules in place. */
enum dg_err dg_charsmap_build(struct dg_charsmap_rule *rules, size_t n,
                              struct dg_buf *blob) DG_MUST_CHECK;

/* Appends the table that textbooks use for recurrent networks: text becomes lower case without
 * accents, with a space before . ! ?, and spaces replace everything but these marks and a to z. For
 * Latin text: letters of other scripts stay as they are. */
enum dg_err dg_charsmap_build_ascii(struct dg_buf *blob, struct dg_error *error) DG_MUST_CHECK;

enum dg_err dg_charsmap_build_nfkc(struct dg_buf *blob, struct dg_error *error) DG_MUST_CHECK;

#endif
