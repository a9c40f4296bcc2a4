/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Text in encodings other than UTF-8, through ICU.
 *
 *     char name[DG_CHARSET_NAME];
 *     if (dg_charset_detect(bytes, name) && !dg_charset_decode(name, bytes, &utf8, &is_exact)) ...
 *     err = dg_charset_encode(name, text, false, &out, &fits);
 *
 * A byte order mark counts as a character of the text (U+FEFF), so that it is written back. */
#ifndef DG_FILTER_CHARSET_H
#define DG_FILTER_CHARSET_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>

enum { DG_CHARSET_NAME = 40 };

/* Guesses the encoding of bytes that are not UTF-8, or that begin with the byte order mark of
 * another encoding; false for bytes that are not text. */
bool dg_charset_detect(struct dg_span bytes, char name[DG_CHARSET_NAME]);

/* Appends the text. *is_exact: encoding the text gives these bytes again. DG_ERR_UNSUPPORTED: there
 * is no such encoding; DG_ERR_NOMEM, DG_ERR_LIMIT. */
enum dg_err dg_charset_decode(const char *name, struct dg_span bytes, struct dg_buf *utf8,
                              bool *is_exact) DG_MUST_CHECK;

/* Appends the bytes of a text. Characters that the encoding lacks become references ("&#960;") when
 * `has_references`, else *fits is false and nothing is appended. */
enum dg_err dg_charset_encode(const char *name, struct dg_span utf8, bool has_references,
                              struct dg_buf *out, bool *fits) DG_MUST_CHECK;

#endif
