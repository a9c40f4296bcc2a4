/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writes a new document of headings and paragraphs, for files whose text cannot be put back into
 * them. */
#ifndef DG_FILTER_RENDITION_H
#define DG_FILTER_RENDITION_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>

enum dg_rendition { DG_RENDITION_DOCX, DG_RENDITION_ODT, DG_RENDITION_HTML, DG_RENDITION_TXT };

/* "docx", "odt", "html", "txt"; NULL at the end. */
extern const char *const dg_rendition_words[];

/* Reads the word for a kind of document; an empty word means docx. False for any other word. */
bool dg_rendition_of(struct dg_span word, enum dg_rendition *rendition);

/* `html` is a sequence of <h1>, <h2> and <p> with text; `language` a tag, or empty. DG_ERR_FORMAT
 * for other elements. */
enum dg_err dg_rendition_write(enum dg_rendition rendition, struct dg_span html,
                               struct dg_span language, struct dg_buf *out,
                               struct dg_error *error) DG_MUST_CHECK;

#endif
