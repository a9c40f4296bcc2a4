/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What became of the terms of a glossary, as the API and the tool tell it. */
#ifndef DG_ENGINE_TERMS_JSON_H
#define DG_ENGINE_TERMS_JSON_H

#include "base/json_out.h"

struct dg_engine_result;

/* An array, a term each; bytes are those of the text and of its translation. */
void dg_engine_put_terms(struct dg_json_out *out, const struct dg_engine_result *result);

#endif
