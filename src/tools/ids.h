/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Lines of token ids: "12 7 0". */
#ifndef DG_TOOLS_IDS_H
#define DG_TOOLS_IDS_H

#include "base/err.h"
#include "base/span.h"
#include "base/why.h"

#include <stdint.h>

/* Parses non-negative integers with white space between; *ids is owned (dg_free), also when n is 0. The
 * sentence names the column of what is no id. */
enum dg_err ids_parse(struct dg_span text, int32_t **ids, size_t *n, struct dg_why *why) DG_MUST_CHECK;

#endif
