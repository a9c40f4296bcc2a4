/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Smaller APIs that clients speak: DeepLX, MTranServer, Kiss Translator, Immersive Translate,
 * nllb-serve, nllb-api, hcfy, Lingva, SimplyTranslate, Mozhi, Google's versions 2 and 3, Amazon
 * Translate, OPUS-MT, marian-server, and the chats of OpenAI and Ollama. Several share POST
 * /translate; the functions for it take a compat request whose fields were read (any_translate.c
 * decides which API they belong to). One thread: the loop's. */
#ifndef DG_API_COMPAT_COMPAT_ROUTES_H
#define DG_API_COMPAT_COMPAT_ROUTES_H

#include "api/compat/compat.h"
#include "api/http/call.h"

extern const struct dg_dialect dg_plain_dialect;  /* {"error":"..."} */
extern const struct dg_dialect dg_deeplx_dialect; /* {"code":400,"message":"..."} */
extern const struct dg_dialect dg_mtran_dialect;  /* {"error":"Bad
                                                     Request","message":"...","requestId":"..."} */
extern const struct dg_dialect dg_google_dialect; /* {"error":{"code":400,"message":"...",...}} */
extern const struct dg_dialect dg_amazon_dialect; /* {"__type":"...","message":"..."} */
extern const struct dg_dialect dg_openai_dialect; /* {"error":{"message":"...","type":"...",...}} */

/* Sets compat->from and compat->to from two fields; "auto", "detect", "" and an absent field mean
 * that the source is detected. */
bool dg_compat_pair(struct dg_compat *compat, const char *from, const char *to,
                    struct dg_error *error);

/* Translates the texts of the field `text` and answers with `on_whole`, or answers with the
 * refusal. Takes `compat`. */
void dg_compat_go(struct dg_compat *compat, const char *text, const char *from, const char *to,
                  void (*on_whole)(struct dg_compat *compat, struct dg_json_out *out));

void dg_compat_deeplx(struct dg_call *call, struct dg_compat *compat);
void dg_compat_mtran(struct dg_call *call, struct dg_compat *compat); /* one text; Kiss Translator,
                                                                         too */
void dg_compat_kiss(struct dg_call *call, struct dg_compat *compat);  /* `texts` */
void dg_compat_immersive(struct dg_call *call, struct dg_compat *compat); /* `text_list` */
void dg_compat_nllb(struct dg_call *call, struct dg_compat *compat);
void dg_compat_hcfy(struct dg_call *call, struct dg_compat *compat); /* `destination` */
/* SimplyTranslate, Mozhi */
void dg_compat_frontend(struct dg_call *call, struct dg_compat *compat);

/* Routes that exist in one API only. */
void dg_compat_mtran_batch(struct dg_call *call);
void dg_compat_mtran_languages(struct dg_call *call);
void dg_compat_version(struct dg_call *call);
void dg_compat_heartbeat(struct dg_call *call);
void dg_compat_google(struct dg_call *call);
void dg_compat_google_detect(struct dg_call *call);
void dg_compat_google_languages(struct dg_call *call);
void dg_compat_google_v3(struct dg_call *call);
void dg_compat_google_v3_detect(struct dg_call *call);
void dg_compat_google_v3_languages(struct dg_call *call);
void dg_compat_amazon(struct dg_call *call);
void dg_compat_nllb_api(struct dg_call *call);        /* one text, by POST or GET */
void dg_compat_nllb_api_stream(struct dg_call *call); /* the same answer as an event */
void dg_compat_lingva(struct dg_call *call);
void dg_compat_lingva_languages(struct dg_call *call);
void dg_compat_frontend_get(struct dg_call *call);
void dg_compat_mozhi_languages(struct dg_call *call);
void dg_compat_simply_languages(struct dg_call *call);
void dg_compat_opus(struct dg_call *call); /* SimplyTranslate and Mozhi, too */
void dg_compat_opus_languages(struct dg_call *call);
void dg_compat_opus_ready(struct dg_call *call);
void dg_compat_get_translate(struct dg_call *call); /* marian-server's WebSocket, or nllb-serve's
                                                       GET */
void dg_compat_chat(struct dg_call *call);          /* OpenAI's */
void dg_compat_ollama_chat(struct dg_call *call);
void dg_compat_ollama_generate(struct dg_call *call); /* one prompt */
void dg_compat_ollama_tags(struct dg_call *call);     /* the models */

void dg_compat_marian(struct dg_call *call, struct dg_compat *compat);

#endif
