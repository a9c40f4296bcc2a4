/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Terms of glossaries as the API and the tool write them: what became of them, and what they are.
 */
#ifndef DG_ENGINE_REQUEST_TERMS_JSON_H
#define DG_ENGINE_REQUEST_TERMS_JSON_H

#include "base/json/json_out.h"

struct dg_dictionary;
struct dg_engine_result;

/* An array, a term each; bytes are those of the text and of its translation. */
void dg_engine_put_terms(struct dg_json_out *out, const struct dg_engine_result *result);

/* An array of {"source", "target", "exact"}, which a request's "glossary" takes as its "terms". */
void dg_engine_put_glossary(struct dg_json_out *out, const struct dg_dictionary *dictionary);

#endif
