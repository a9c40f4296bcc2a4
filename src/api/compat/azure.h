/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Azure Translator's version 3: translate, detect, breaksentence and languages. It shares three
 * paths with LibreTranslate, and every request of its clients has "api-version" in the query, by
 * which dg_azure_asks recognises them. A body is an array: [{"Text":"..."}]. Errors are
 * {"error":{"code":400036,"message":"..."}}, with Azure's own numbers. Most numbers follow from the
 * kind of the failure; for the others, the failure's `code` is the number in digits. Places and
 * lengths are in UTF-16 units, as its clients count. One thread: the loop's. */
#ifndef DG_API_COMPAT_AZURE_H
#define DG_API_COMPAT_AZURE_H

#include "api/compat/compat.h"
#include "api/http/call.h"

extern const struct dg_dialect dg_azure_dialect;

bool dg_azure_asks(const struct dg_call *call);

void dg_azure_translate(struct dg_call *call);
void dg_azure_detect(struct dg_call *call);
void dg_azure_sentences(struct dg_call *call);
void dg_azure_languages(struct dg_call *call);

/* ---- Between azure.c and azure_translate.c --------------------------------------------------- */

/* Reads the texts of the body. False: the request was answered, and `compat` dropped. */
bool dg_azure_read(struct dg_compat *compat, struct dg_span **texts, size_t *n);

/* Returns how many UTF-16 units a valid text has. */
size_t dg_azure_length(struct dg_span text);

void dg_azure_put_detected(struct dg_json_out *out, const char *code, double score);

#endif
