/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* DeepL's API, version 2, at the root of the server, as its official libraries speak it. Errors are
 * {"message":"..."}; every answer carries X-Trace-ID. One thread: the loop's. */
#ifndef DG_API_DEEPL_H
#define DG_API_DEEPL_H

#include "api/call.h"
#include "api/relay.h"

extern const struct dg_dialect dg_deepl_dialect;

enum { DG_DEEPL_CODE = 24 };

/* Writes a code as DeepL prints it: "EN", "PT-BR", "ZH-HANS"; without region and script for `base`. */
void dg_deepl_code(const struct dg_language *language, bool base, char code[DG_DEEPL_CODE]);
void dg_deepl_tag_code(const char *tag, char code[DG_DEEPL_CODE]); /* of a tag that is none of our languages */

/* relay->from and relay->to from source_lang and target_lang; false and the sentence. */
bool dg_deepl_pair(struct dg_relay *relay, struct dg_why *why);

/* formality, model_type and what else is one of a few words; false and the sentence. */
bool dg_deepl_check_words(struct dg_relay *relay, struct dg_why *why);

/* glossary_id and glossary_ids, which need source_lang, into the job's ask; false and the sentence. */
bool dg_deepl_read_glossaries(struct dg_relay *relay, struct dg_why *why);

void dg_deepl_translate(struct dg_call *call);
void dg_deepl_v1_translate(struct dg_call *call); /* as OmegaT asks: GET /v1/translate?target_lang=... */
void dg_deepl_languages(struct dg_call *call);
void dg_deepl_v3_languages(struct dg_call *call);
void dg_deepl_v3_resources(struct dg_call *call);
void dg_deepl_not_included(struct dg_call *call); /* 403: rephrasing, style rules, ...: what some accounts lack */
void dg_deepl_document(struct dg_call *call);
void dg_deepl_document_status(struct dg_call *call);
void dg_deepl_document_result(struct dg_call *call);
void dg_deepl_usage(struct dg_call *call);
void dg_deepl_glossaries_add(struct dg_call *call);
void dg_deepl_glossaries(struct dg_call *call);
void dg_deepl_glossary(struct dg_call *call);
void dg_deepl_glossary_remove(struct dg_call *call);
void dg_deepl_glossary_entries(struct dg_call *call);
void dg_deepl_glossary_pairs(struct dg_call *call);

#endif
