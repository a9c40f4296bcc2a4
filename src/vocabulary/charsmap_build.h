/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Makes the table of character replacements that a vocabulary of our own carries: Unicode's NFKC
 * from ICU, with the habits of translation on top (controls go, every kind of space is a space).
 * Mirror of charsmap.h, which reads it, as SentencePiece's own library does.
 *
 *     struct dg_buf blob;
 *     dg_buf_init(&blob, 8 << 20);
 *     err = dg_charsmap_build_nfkc(&blob, &error);
 *
 * Takes a fraction of a second. Any thread. */
#ifndef DG_VOCABULARY_CHARSMAP_BUILD_H
#define DG_VOCABULARY_CHARSMAP_BUILD_H

#include "base/memory/buf.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stddef.h>

/* What a key becomes. Neither holds a NUL. */
struct dg_charsmap_rule {
    struct dg_span from; /* not empty */
    struct dg_span to;   /* may be empty */
};

/* Appends the table of these rules; keys are different from each other. They are sorted in place.
 */
enum dg_err dg_charsmap_build(struct dg_charsmap_rule *rules, size_t n,
                              struct dg_buf *blob) DG_MUST_CHECK;

/* The textbook's for recurrent networks: lower case, no accents, a space before . ! ?, and nothing
 * else than these and a to z, spaces in its place. For Latin text: letters of other scripts stay
 * what they are. */
enum dg_err dg_charsmap_build_ascii(struct dg_buf *blob, struct dg_error *error) DG_MUST_CHECK;

enum dg_err dg_charsmap_build_nfkc(struct dg_buf *blob, struct dg_error *error) DG_MUST_CHECK;

#endif
