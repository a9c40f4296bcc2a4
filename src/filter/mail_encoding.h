/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How mail writes bytes and text in ASCII: the transfer encodings of bodies (RFC 2045) and the
 * words of headers (RFC 2047). All functions append to `out`; DG_ERR_NOMEM and DG_ERR_LIMIT are its
 * errors. */
#ifndef DG_FILTER_MAIL_ENCODING_H
#define DG_FILTER_MAIL_ENCODING_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>

enum { DG_MAIL_BASE64_LINE = 76 };

/* Quoted-printable. `is_word`: as in a word of a header, where "_" is a space and lines do not
 * continue. */
enum dg_err dg_mail_decode_quoted(struct dg_span text, bool is_word,
                                  struct dg_buf *out) DG_MUST_CHECK;
enum dg_err dg_mail_encode_quoted(struct dg_span bytes, const char *newline,
                                  struct dg_buf *out) DG_MUST_CHECK;

/* Base64, in lines of at most `width` characters. */
enum dg_err dg_mail_decode_base64(struct dg_span text, struct dg_buf *out) DG_MUST_CHECK;
enum dg_err dg_mail_encode_base64(struct dg_span bytes, size_t width, const char *newline,
                                  struct dg_buf *out) DG_MUST_CHECK;

/* The text of a header, unfolded, as UTF-8. Encoded words in an unknown character set stay as they
 * are. */
enum dg_err dg_mail_decode_header(struct dg_span value, struct dg_buf *out) DG_MUST_CHECK;
/* Folds a header's text, which begins in this column; uses encoded words if any character is not
 * ASCII. */
enum dg_err dg_mail_encode_header(struct dg_span text, size_t column, const char *newline,
                                  struct dg_buf *out) DG_MUST_CHECK;

#endif
