/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Lines of text as they stand on a page, from left to right, in the order in which they are read.
 *
 *     bool is_rtl;
 *     err = dg_bidi_reorder(line, len, &is_rtl);         in place
 *
 * A line without letters that are written from right to left stays as it is. What is mirrored on
 * the page (brackets) is taken for what it looks like. */
#ifndef DG_FILTER_BIDI_H
#define DG_FILTER_BIDI_H

#include "base/memory/error.h"

#include <stdbool.h>
#include <stddef.h>

/* *is_rtl: most of the line's letters are written from right to left. DG_ERR_NOMEM. */
enum dg_err dg_bidi_reorder(char *line, size_t len, bool *is_rtl) DG_MUST_CHECK;

#endif
