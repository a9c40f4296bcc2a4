/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Character references: "&amp;", "&#233;", "&#xE9;".
 *
 *     uint32_t cp;
 *     size_t len = dg_entity_match(text, at, DG_ENTITY_HTML, &cp);     0: what stands at `at` is no
 * reference if (len && cp) ... one character else if (len)  ... a reference all the same: to a
 * character that this table does not name
 *
 * Named are those of HTML 4, those of Latin 1 also without their semicolon; of XML the five. A
 * longer list would help nobody's translation: what is not named is carried along as it is. */
#ifndef DG_MARKUP_ENTITY_H
#define DG_MARKUP_ENTITY_H

#include "base/memory/span.h"

#include <stdbool.h>
#include <stdint.h>

enum dg_entity_kind { DG_ENTITY_HTML, DG_ENTITY_XML };

/* `text.ptr[at]` is '&'. */
size_t dg_entity_match(struct dg_span text, size_t at, enum dg_entity_kind kind, uint32_t *cp);

#endif
