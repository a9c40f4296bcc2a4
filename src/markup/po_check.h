/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Whether the translations of a PO file have the directives of their originals: %s, %1$d, %(name)s,
 * {0}, {name}.
 *
 *     err = dg_po_check(file, translated, retranslated, &out, &n_bad, &error);
 *
 * Directives of C without numbers that come in another order get numbers: "%s: %d" becomes "%2$d
 * ... %1$s". If a directive is missing, occurs twice, or is not in the original, the entry is
 * marked fuzzy. Linear time; any thread. */
#ifndef DG_MARKUP_PO_CHECK_H
#define DG_MARKUP_PO_CHECK_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends `after`, which is `before` with translations; it checks only entries that had none in
 * `before`, or with `all` every entry. *n_bad: entries that were marked, or would be if they were
 * not already. */
enum dg_err dg_po_check(struct dg_span before, struct dg_span after, bool all, struct dg_buf *out,
                        size_t *n_bad, struct dg_error *error) DG_MUST_CHECK;

#endif
