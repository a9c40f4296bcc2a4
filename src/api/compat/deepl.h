/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* DeepL's API, version 2, at the root of the server, as its official libraries speak it. Errors are
 * {"message":"..."}; every answer carries X-Trace-ID. One thread: the loop's. */
#ifndef DG_API_COMPAT_DEEPL_H
#define DG_API_COMPAT_DEEPL_H

#include "api/compat/compat.h"
#include "api/http/call.h"
#include "api/v1/glossaries.h"

extern const struct dg_dialect dg_deepl_dialect;

enum { DG_DEEPL_CODE = 24 };

/* Writes a code as DeepL prints it: "EN", "PT-BR", "ZH-HANS"; without region and script for `base`.
 */
void dg_deepl_code(const struct dg_language *language, bool base, char code[DG_DEEPL_CODE]);
void dg_deepl_tag_code(const char *tag, char code[DG_DEEPL_CODE]); /* of a tag outside of our
                                                                      languages */

/* Sets compat->from and compat->to from source_lang and target_lang. False: refused, with a
 * sentence. */
bool dg_deepl_pair(struct dg_compat *compat, struct dg_error *error);

/* Checks formality, model_type and the other fields that take one of a few words. False: refused,
 * with a sentence. */
bool dg_deepl_check_words(struct dg_compat *compat, struct dg_error *error);

/* Reads glossary_id and glossary_ids, which need source_lang, into the job's options. False:
 * refused, with a sentence. */
bool dg_deepl_read_glossaries(struct dg_compat *compat, struct dg_error *error);

void dg_deepl_translate(struct dg_call *call);
void dg_deepl_v1_translate(struct dg_call *call); /* as OmegaT asks: GET
                                                     /v1/translate?target_lang=... */
void dg_deepl_languages(struct dg_call *call);
void dg_deepl_v3_languages(struct dg_call *call);
void dg_deepl_v3_resources(struct dg_call *call);
void dg_deepl_not_included(struct dg_call *call); /* 403, as for an account without the feature:
                                                     rephrasing, style rules, ... */
void dg_deepl_document(struct dg_call *call);
void dg_deepl_document_status(struct dg_call *call);
void dg_deepl_document_result(struct dg_call *call);

struct dg_bulk_job;
/* Gives back what a document has cost if it failed (dg_bulk_bill_fn); `api` is the api. */
void dg_deepl_document_bill(void *api, const struct dg_bulk_job *job);
void dg_deepl_usage(struct dg_call *call);
void dg_deepl_glossaries_add(struct dg_call *call);
void dg_deepl_glossaries(struct dg_call *call);
void dg_deepl_glossary(struct dg_call *call);
void dg_deepl_glossary_remove(struct dg_call *call);
void dg_deepl_glossary_entries(struct dg_call *call);
void dg_deepl_glossary_pairs(struct dg_call *call);

void dg_deepl_v3_glossaries_add(struct dg_call *call);
void dg_deepl_v3_glossaries(struct dg_call *call);
void dg_deepl_v3_glossary(struct dg_call *call);
void dg_deepl_v3_glossary_patch(struct dg_call *call);
void dg_deepl_v3_glossary_remove(struct dg_call *call);
void dg_deepl_v3_glossary_entries(struct dg_call *call);
void dg_deepl_v3_dictionary_put(struct dg_call *call);
void dg_deepl_v3_dictionary_remove(struct dg_call *call);

/* ---- What both versions of glossaries share -------------------------------------------------- */

enum { DG_DEEPL_COLUMNS = 2 /* columns in a table of entries */ };

/* Errors of glossaries have a second sentence, `detail`; it may be NULL. */
void dg_deepl_glossary_fail(struct dg_call *call, int status, const char *message,
                            const char *detail);

/* Answers for a glossary that this server does not know. */
void dg_deepl_glossary_fail_unknown(struct dg_call *call);

/* Answers for a change that failed. */
void dg_deepl_glossary_failed(struct dg_call *call, const struct dg_glossaries_change *change);

/* Puts a language code in lower case, as DeepL prints the codes of glossaries. */
void dg_deepl_put_glossary_code(struct dg_json_out *out, const char *key, const char *code);

/* Read the glossary's name, and the fields of a part, which have a prefix ("dictionaries[0].").
 * Return what is wrong with them, or NULL. */
const char *dg_deepl_read_name(const struct dg_compat *compat, struct dg_span *name);
const char *dg_deepl_read_part(const struct dg_compat *compat, const char *prefix,
                               struct dg_glossaries_part *part, struct dg_span *entries);

/* The `read` function of a change: applies its parts to its base. */
enum dg_err dg_deepl_read_parts(struct dg_glossaries_change *change) DG_MUST_CHECK;

/* The step after a compat request, whose key may be in its fields, has passed the gate. It takes
 * `compat`. */
struct dg_deepl_step {
    void (*go_on)(struct dg_call *call, struct dg_compat *compat);
};
void dg_deepl_pass(struct dg_compat *compat, const struct dg_deepl_step *next);

#endif
