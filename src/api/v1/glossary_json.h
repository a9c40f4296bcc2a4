/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The terms of a glossary as JSON:
 *     [{"source": "chat", "target": "cat"},
 *      {"source": "SSH", "target": ["SSH", "ssh"], "exact": true},
 *      ["lit", "bed", "bunk"]]
 *     {"chat": "cat", "lit": ["bed", "bunk"]}
 *
 *     err = dg_glossary_json_add(glossary, json, "terms", max, &error);
 *
 * Its mirror, which writes the first form, is dg_engine_put_glossary (engine/request/terms_json.h).
 *
 * Any thread. */
#ifndef DG_API_V1_GLOSSARY_JSON_H
#define DG_API_V1_GLOSSARY_JSON_H

#include "base/json/json.h"
#include "text/terms/glossary.h"

/* Adds the terms to the dictionary begun last. DG_ERR_LIMIT: more than `max` terms. */
enum dg_err dg_glossary_json_add(struct dg_glossary *glossary, const struct dg_json *terms,
                                 const char *name, size_t max,
                                 struct dg_error *error) DG_MUST_CHECK;

#endif
