/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Puts a line of text whose characters come as they stand on a page, from left to right, into the
 * order in which it is read.
 *
 *     bool is_rtl;
 *     err = dg_bidi_reorder(line, len, &is_rtl);         in place
 *
 * A line without right-to-left letters stays as it is. A character that is mirrored on the page (a
 * bracket) is taken for what it looks like. */
#ifndef DG_FILTER_BIDI_H
#define DG_FILTER_BIDI_H

#include "base/memory/error.h"

#include <stdbool.h>
#include <stddef.h>

/* *is_rtl: most of the line's letters are written from right to left. DG_ERR_NOMEM. */
enum dg_err dg_bidi_reorder(char *line, size_t len, bool *is_rtl) DG_MUST_CHECK;

#endif
