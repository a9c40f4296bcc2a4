/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Character references: "&amp;", "&#233;", "&#xE9;".
 *
 *     uint32_t cp;
 *     size_t len = dg_entity_match(text, at, DG_ENTITY_HTML, &cp);
 *     if (len == 0)      ... there is no reference at `at`
 *     else if (cp)       ... a reference to this character
 *     else               ... a reference to a character that the table does not know
 *
 * The table has the names of HTML 4 (those of Latin 1 also without a semicolon) and the five of
 * XML. A longer list would improve no translation: unknown references are copied as they are. */
#ifndef DG_MARKUP_ENTITY_H
#define DG_MARKUP_ENTITY_H

#include "base/memory/span.h"

#include <stdbool.h>
#include <stdint.h>

enum dg_entity_kind { DG_ENTITY_HTML, DG_ENTITY_XML };

/* `text.ptr[at]` is '&'. */
size_t dg_entity_match(struct dg_span text, size_t at, enum dg_entity_kind kind, uint32_t *cp);

#endif
