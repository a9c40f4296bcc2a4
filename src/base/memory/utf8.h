/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* UTF-8: validates, decodes, encodes, counts and clips.
 *
 * Valid means valid by the Unicode standard's table 3-7: shortest forms only, no surrogates, at
 * most U+10FFFF.
 *
 *     size_t bad_at;
 *     if (!dg_utf8_valid(text, &bad_at))
 *         return dg_error_set(error, DG_ERR_UTF8, "invalid UTF-8 at byte %zu", bad_at);
 *
 *     uint32_t cp;
 *     for (size_t at = 0, len; (len = dg_utf8_decode(text, at, &cp)) > 0; at += len)
 *         ...                                stops at the end, or at the first bad byte */
#ifndef DG_BASE_MEMORY_UTF8_H
#define DG_BASE_MEMORY_UTF8_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_UTF8_MAX_LEN = 4, DG_UTF8_REPLACEMENT = 0xFFFD };

/* True when all of `text` is valid. Otherwise *bad_at (unless NULL) is the offset of the first
 * invalid sequence; a sequence that the end cuts off is invalid. */
bool dg_utf8_valid(struct dg_span text, size_t *bad_at) DG_MUST_CHECK;

/* Writes the code point that starts at `at` to *cp and returns its length (1 to 4). Returns 0, with
 * *cp untouched, at the end of the text and where the bytes are invalid. */
size_t dg_utf8_decode(struct dg_span text, size_t at, uint32_t *cp) DG_MUST_CHECK;

/* Writes the bytes of `cp` and returns how many (1 to 4); 0 for a surrogate or past U+10FFFF. */
size_t dg_utf8_encode(uint32_t cp, char out[DG_UTF8_MAX_LEN]) DG_MUST_CHECK;

/* Number of code points in a valid text; in an invalid one, the number of bytes that are not
 * continuation bytes. */
size_t dg_utf8_count(struct dg_span text);

/* The longest part from the start that is at most `max` bytes and does not split a code point. */
struct dg_span dg_utf8_clip(struct dg_span text, size_t max);

/* True for characters of scripts that are written without spaces between words: Chinese, Japanese,
 * Thai, Lao, Burmese, Khmer. */
bool dg_cp_is_unspaced(uint32_t cp);

/* True for characters that do not belong to words: quotation marks, dashes, symbols, pictures.
 * Must not be called for ASCII. */
bool dg_cp_is_sign(uint32_t cp);

#endif
