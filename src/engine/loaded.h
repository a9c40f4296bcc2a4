/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A model made ready to serve: its directory, its tokenizer, its packed network, its place with the
 * scheduler. Immutable once loaded; requests hold references, so that a reload can publish a new one
 * while the old finishes its work. Consumer thread only, but for what the scheduler does with it. */
#ifndef DG_ENGINE_LOADED_H
#define DG_ENGINE_LOADED_H

#include "base/err.h"
#include "base/why.h"
#include "decode/decoder.h"
#include "model/dir.h"
#include "model/net.h"
#include "sched/sched.h"
#include "text/langtag.h"
#include "text/tokenizer.h"

struct dg_loaded {
    char *name;           /* owned, as configured: "fr-en" */
    char *source;         /* owned; language of its input, "" when unknown */
    char *target;         /* owned */
    struct dg_langtag source_tag, target_tag; /* the same, canonical; empty texts when unknown */
    struct dg_tokenizer *tokenizer;
    struct dg_net *net;
    struct dg_lex *lex;   /* the model's shortlist, owned; NULL: none, or not wanted */
    struct dg_sched *sched;           /* borrowed */
    struct dg_sched_model *place;
    struct dg_blueprint blueprint;
    struct dg_decoder_limits limits;
    size_t bytes;         /* memory: weights as packed, decoders, tokenizer */
    size_t n_refs;
    uint64_t version;     /* a number of its own, once published */
    unsigned char fingerprint[32]; /* of its files, for a remote cache (remote_value.h), */
    bool has_fingerprint;          /* if there is one */
};

/* Opens the directory `path`, packs its weights and gives it decoders. `limits` are lowered to what the
 * model can take. Languages come from `source` and `target` or, when NULL, from the name ("fr-en",
 * "opus-mt-fr-en"). One reference. */
enum dg_err dg_loaded_open(struct dg_loaded **loaded, struct dg_sched *sched, const char *name,
                           const char *path, const char *source, const char *target,
                           const struct dg_decoder_limits *limits, struct dg_why *why) DG_MUST_CHECK;

struct dg_loaded *dg_loaded_ref(struct dg_loaded *loaded);
void dg_loaded_unref(struct dg_loaded *loaded); /* NULL is fine; the last one waits for the workers */

#endif
