/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writes glossary terms as the API and the tool show them: the terms found in a text, and those of
 * a glossary. */
#ifndef DG_ENGINE_REQUEST_TERMS_JSON_H
#define DG_ENGINE_REQUEST_TERMS_JSON_H

#include "base/json/json_out.h"

struct dg_dictionary;
struct dg_engine_result;

/* Writes an array of the terms found; offsets are bytes of the text and of its translation. */
void dg_engine_put_terms(struct dg_json_out *out, const struct dg_engine_result *result);

/* Writes an array of {"source", "target", "exact"}, as the "terms" of a request's "glossary". */
void dg_engine_put_glossary(struct dg_json_out *out, const struct dg_dictionary *dictionary);

#endif
