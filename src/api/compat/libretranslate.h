/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* LibreTranslate's API at its paths. Errors are {"error":"a sentence"}, word for word, because
 * clients show and compare them. The defects of its own server are not copied: the language of
 * each text of an array is detected separately, and HTML keeps its white space and entities. One
 * thread: the loop's. */
#ifndef DG_API_COMPAT_LIBRETRANSLATE_H
#define DG_API_COMPAT_LIBRETRANSLATE_H

#include "api/compat/compat.h"
#include "api/http/call.h"

extern const struct dg_dialect dg_libretranslate_dialect;

/* Returns a confidence of 0 to 1 as a percentage. */
int dg_libretranslate_percent(float confidence);

/* Finds the source or target that `field` names; "auto" gives NULL. False, with a sentence: it is
 * missing or not a language of this server. */
bool dg_libretranslate_language(const struct dg_compat *compat, const char *field, unsigned side,
                                const struct dg_language **language, struct dg_error *error);

/* Returns true if a model translates from compat->from to compat->to; otherwise false, with a
 * sentence. */
bool dg_libretranslate_pair(const struct dg_compat *compat, struct dg_error *error);

/* Takes `compat`, whose fields the caller has read. */
void dg_libretranslate_translate(struct dg_call *call, struct dg_compat *compat);

void dg_libretranslate_detect(struct dg_call *call);
void dg_libretranslate_languages(struct dg_call *call);
void dg_libretranslate_translate_file(struct dg_call *call);
void dg_libretranslate_download_file(struct dg_call *call);
void dg_libretranslate_settings(struct dg_call *call);
void dg_libretranslate_health(struct dg_call *call);
void dg_libretranslate_spec(struct dg_call *call);
void dg_libretranslate_suggest(struct dg_call *call);

#endif
