/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* An office document as one text to translate, and the same document with that text translated.
 *
 *     struct dg_office *office;
 *     err = dg_office_new(bytes, "letter.docx", DG_OFFICE_PARTS_MAX, &office, &error);
 *     err = dg_office_text(office, &html, &error);         to be translated as HTML, as a whole
 *     err = dg_office_write(office, source, target, "de", write, ctx, &error);
 *     dg_office_free(office);
 *
 * Only parts that contain text or state its language are unpacked, one at a time, once for reading
 * and again for writing; all others are copied in their packed form. If target equals source, the
 * document is written as it was, byte for byte. part.h describes the text.
 *
 * Memory: the text, the bytes of the largest part, and what is known about its runs, which takes at
 * most about ten times as much as these bytes. Any thread. */
#ifndef DG_OFFICE_OFFICE_H
#define DG_OFFICE_OFFICE_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_office;

/* Whether a file's name, or its ending alone, is that of a kind of document that we read. */
bool dg_office_is_named(struct dg_span name);

/* Whether bytes begin like an archive, or like the older form that encrypted documents have. */
bool dg_office_is(struct dg_span bytes);

/* The type of the document for HTTP, by its name. */
const char *dg_office_type(struct dg_span name);

enum { DG_OFFICE_PARTS_MAX = 256 << 20 };

/* The bytes are borrowed as long as the document lives, and untrusted. All parts with text together
 * may have `parts_max` bytes, DG_OFFICE_PARTS_MAX at most. */
enum dg_err dg_office_new(struct dg_span bytes, const char *name, size_t parts_max,
                          struct dg_office **office, struct dg_error *error) DG_MUST_CHECK;
void dg_office_free(struct dg_office *office); /* NULL is fine */

enum dg_err dg_office_text(const struct dg_office *office, struct dg_buf *html,
                           struct dg_error *error) DG_MUST_CHECK;

/* `source` is what dg_office_text gave, `target` its translation into the language of the tag,
 * which may be empty: then attributes that say the language stay. `write` gets the bytes of the
 * document, from its beginning to its end. */
enum dg_err dg_office_write(const struct dg_office *office, struct dg_span source,
                            struct dg_span target, struct dg_span language,
                            enum dg_err (*write)(void *ctx, struct dg_span bytes,
                                                 struct dg_error *error),
                            void *ctx, struct dg_error *error) DG_MUST_CHECK;

#endif
