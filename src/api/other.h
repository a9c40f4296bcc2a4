/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Smaller APIs that clients speak: DeepLX, MTranServer, Kiss Translator, Immersive Translate, nllb-serve, nllb-api, hcfy,
 * Google's versions 2 and 3, Amazon Translate, OPUS-MT, marian-server, and the chats of OpenAI and Ollama. Several share POST
 * /translate; those functions take a relay whose fields are read (any_translate.c says whose words they are). One thread: the
 * loop's. */
#ifndef DG_API_OTHER_H
#define DG_API_OTHER_H

#include "api/call.h"
#include "api/relay.h"

extern const struct dg_dialect dg_plain_dialect;  /* {"error":"..."} */
extern const struct dg_dialect dg_deeplx_dialect; /* {"code":400,"message":"..."} */
extern const struct dg_dialect dg_mtran_dialect;  /* {"error":"Bad Request","message":"...","requestId":"..."} */
extern const struct dg_dialect dg_google_dialect; /* {"error":{"code":400,"message":"...",...}} */
extern const struct dg_dialect dg_amazon_dialect; /* {"__type":"...","message":"..."} */
extern const struct dg_dialect dg_openai_dialect; /* {"error":{"message":"...","type":"...",...}} */

/* relay->from and relay->to by two fields; "auto", "detect", "" and nothing leave it to be detected. */
bool dg_other_pair(struct dg_relay *relay, const char *from, const char *to, struct dg_why *why);

/* The field's texts from one language to another, and what to answer; or the refusal. Takes the relay. */
void dg_other_go(struct dg_relay *relay, const char *text, const char *from, const char *to,
                 void (*on_whole)(struct dg_relay *relay, struct dg_json_out *out));

void dg_other_deeplx(struct dg_call *call, struct dg_relay *relay);
void dg_other_mtran(struct dg_call *call, struct dg_relay *relay);     /* one text; Kiss Translator, too */
void dg_other_kiss(struct dg_call *call, struct dg_relay *relay);      /* `texts` */
void dg_other_immersive(struct dg_call *call, struct dg_relay *relay); /* `text_list` */
void dg_other_nllb(struct dg_call *call, struct dg_relay *relay);
void dg_other_hcfy(struct dg_call *call, struct dg_relay *relay);      /* `destination` */

/* Routes of their own. */
void dg_other_mtran_batch(struct dg_call *call);
void dg_other_mtran_languages(struct dg_call *call);
void dg_other_version(struct dg_call *call);
void dg_other_heartbeat(struct dg_call *call);
void dg_other_google(struct dg_call *call);
void dg_other_google_detect(struct dg_call *call);
void dg_other_google_languages(struct dg_call *call);
void dg_other_google_v3(struct dg_call *call);
void dg_other_google_v3_detect(struct dg_call *call);
void dg_other_google_v3_languages(struct dg_call *call);
void dg_other_amazon(struct dg_call *call);
void dg_other_nllb_api(struct dg_call *call);        /* one text, by POST or GET */
void dg_other_nllb_api_stream(struct dg_call *call); /* the same as an event */
void dg_other_opus(struct dg_call *call);
void dg_other_opus_languages(struct dg_call *call);
void dg_other_opus_ready(struct dg_call *call);
void dg_other_get_translate(struct dg_call *call); /* marian-server's WebSocket, or nllb-serve's GET */
void dg_other_chat(struct dg_call *call);            /* OpenAI's */
void dg_other_ollama_chat(struct dg_call *call);
void dg_other_ollama_generate(struct dg_call *call); /* one prompt */
void dg_other_ollama_tags(struct dg_call *call);     /* the models */

void dg_other_marian(struct dg_call *call, struct dg_relay *relay);

#endif
