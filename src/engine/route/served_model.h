/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A model: at hand, with its tokenizer, its packed network and its place with the scheduler; or
 * only known, a stand-in that says what it is and what it would take until somebody asks for it.
 *
 *     err = dg_served_model_open(&loaded, &opts, &(struct dg_engine_model){.name = "fr-en", .path =
 * path}, &error); if (dg_served_model_is_at_hand(loaded)) ... dg_served_model_unref(loaded);
 *
 * Immutable once made; requests hold references, so that a reload can publish a new one while the
 * old finishes its work. References are the consumer thread's. The mapping of the directory is let
 * go as soon as the weights are packed, so that they are in memory once. */
#ifndef DG_ENGINE_ROUTE_SERVED_MODEL_H
#define DG_ENGINE_ROUTE_SERVED_MODEL_H

#include "base/memory/err.h"
#include "base/memory/error.h"
#include "decode/decoder.h"
#include "engine/engine.h"
#include "engine/request/placeholders.h"
#include "engine/route/budget.h"
#include "engine/route/langs.h"
#include "model/calibration.h"
#include "model/labels.h"
#include "model/model_dir.h"
#include "network/net.h"
#include "sched/sched.h"
#include "tokenize/tokenizer.h"

#include <stdbool.h>

struct dg_engine_cache_stats;
struct dg_engine_quality_stats;
struct dg_translation_prompt;

/* The ids that an encoder alone has around its texts and in place of hidden words; -1: there is
 * none. */
struct dg_marks {
    int32_t cls, sep, mask;
};

struct dg_served_model {
    char *name;                                /* owned, as configured: "fr-en" */
    char *path;                                /* owned */
    char *source, *target, *formal, *informal; /* owned; as configured, for the next time that it is
                                                  opened */
    char *prompt, *stop;                       /* owned; likewise, of the template */
    bool is_told_by_files, has_own_langs;   /* these two, and the languages, are not configured but
                                               the directory's own */
    char *judges;                           /* owned; likewise, of an estimator */
    struct dg_calibration calibration;      /* of an estimator, */
    bool is_estimator;                      /* if it is one */
    struct dg_translation_prompt *template; /* owned; how it is asked to translate; NULL in a
                                               stand-in, and where it is not */
    size_t n_prompt;                        /* tokens of it around a text */
    struct dg_langs *langs;         /* a reference; what it reads and says, one of each or many */
    struct dg_tokenizer *tokenizer; /* NULL in a stand-in, and so are */
    struct dg_net *net;
    struct dg_lex *lex; /* the model's shortlist, owned; NULL also: none, or not wanted */
    struct dg_sched_model *place;
    struct dg_sched *sched;   /* borrowed */
    struct dg_ledger *ledger; /* borrowed */
    struct dg_blueprint blueprint;
    struct dg_placeholders_words carry_words; /* what stands for spans that must survive */
    struct dg_marks marks;                    /* of encoders alone */
    struct dg_labels *labels; /* owned; of models that tell some, else NULL; NULL in a stand-in too
                               */
    uint8_t *joining; /* owned; [target words] 1 for pieces that go on with the word before */
    struct dg_decoder_limits limits;
    size_t bytes;    /* memory it takes, or would take: weights as packed, decoders, tokenizer */
    bool is_paid;    /* the ledger has promised them */
    bool is_leaving; /* and expects them back */
    struct dg_engine_cache_stats *cache_counts; /* borrowed: hits, joined and misses of this model
                                                 */
    struct dg_engine_quality_stats *quality_counts; /* borrowed: what it said as an estimator */
    size_t n_refs;
    uint64_t version;              /* a number of its own, once published */
    unsigned char fingerprint[32]; /* of its files, for a remote cache (remote_value.h), */
    bool has_fingerprint;          /* if there is one */
    void (*bury)(void *arg, struct dg_served_model *served); /* gets what the last reference let go
                                                                of, to call */
    void *bury_arg; /* dg_served_model_free where waiting hurts nobody; or NULL */
};

struct dg_served_model_opts {
    struct dg_sched *sched;
    struct dg_ledger *ledger;
    struct dg_decoder_limits limits; /* lowered to what the model can take, and what fits */
    size_t bytes_each; /* what one model should take at most, if it can do with less; 0: any */
    struct dg_sched_stats *counts; /* the scheduler's of this model, as of dg_sched_count_into; or
                                      NULL */
    struct dg_engine_cache_stats *cache_counts; /* of this model, the consumer's to count into */
    struct dg_engine_quality_stats *quality_counts; /* likewise */
    bool is_stand_in;
    bool wants_fingerprint;
};

/* Opens the model's directory, packs its weights and gives it decoders; or, for a stand-in, checks
 * the files and measures. Languages are those configured or else of the vocabulary or the name
 * (langs.h). One reference. DG_ERR_LIMIT: it can never fit into the ledger; DG_ERR_BUSY: not now,
 * beside what is there. Any thread. */
enum dg_err dg_served_model_open(struct dg_served_model **served,
                                 const struct dg_served_model_opts *opts,
                                 const struct dg_engine_model *model,
                                 struct dg_error *error) DG_MUST_CHECK;

/* As it was configured; borrowed. */
static inline struct dg_engine_model dg_served_model_describe(const struct dg_served_model *served)
{
    return (struct dg_engine_model){.name = served->name,
                                    .path = served->path,
                                    .source = served->has_own_langs ? "" : served->source,
                                    .target = served->has_own_langs ? "" : served->target,
                                    .formal = served->formal,
                                    .informal = served->informal,
                                    .template = served->is_told_by_files ? "" : served->prompt,
                                    .stop = served->is_told_by_files ? "" : served->stop,
                                    .judges = served->judges};
}

/* It can be asked for translations: every model but those that read, and language models without a
 * template. */
static inline bool dg_served_model_translates(const struct dg_served_model *served)
{
    return !dg_blueprint_is_reader(&served->blueprint) &&
           (served->blueprint.family != DG_FAMILY_LM || *served->prompt);
}

/* An encoder that says one number of two texts. */
static inline bool dg_served_model_says_number(const struct dg_blueprint *bp)
{
    return bp->family == DG_FAMILY_ENC && bp->enc.head == DG_HEAD_POOLED &&
           bp->enc.rule == DG_LABELS_NUMBER && bp->decoder.V == 1;
}

/* The models whose translations an estimator judges, with commas between; NULL: it is none. */
static inline const char *dg_served_model_judges(const struct dg_served_model *served)
{
    return !served->is_estimator ? NULL
           : *served->judges     ? served->judges
                                 : served->calibration.judges;
}

/* A stand-in for a model that is at hand. NULL: no memory. */
struct dg_served_model *dg_served_model_stand_in(const struct dg_served_model *served);

static inline bool dg_served_model_is_at_hand(const struct dg_served_model *served)
{
    return served->place != NULL;
}

struct dg_served_model *dg_served_model_ref(struct dg_served_model *served);
void dg_served_model_unref(struct dg_served_model *served); /* NULL is fine; the last one buries, or
                                                               frees */

/* Waits for workers that look at it. Any thread, when nobody refers to it. */
void dg_served_model_free(struct dg_served_model *served);

#endif
