/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Makes HTML from what pdftotext -bbox-layout writes about a PDF: XML of pages, blocks, lines and
 * words with their positions.
 *
 *     err = dg_pdf_read(layout, &html);              "<h1>Cats</h1>\n<p>A cat sleeps.</p>\n"
 *
 * The layout is untrusted, as the PDF is. Linear time, except for sorting the lines in margins. */
#ifndef DG_FILTER_PDF_H
#define DG_FILTER_PDF_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

/* Appends to `html`. DG_ERR_UTF8; DG_ERR_LIMIT: more lines than any document has; DG_ERR_NOMEM. */
enum dg_err dg_pdf_read(struct dg_span layout, struct dg_buf *html) DG_MUST_CHECK;

#endif
