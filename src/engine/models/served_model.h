/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A model: either loaded, with its tokenizer, its packed network and its entry in the scheduler, or
 * a stand-in, which only describes the model and the memory it would take.
 *
 *     const struct dg_engine_model model = {.name = "fr-en", .path = path};
 *     err = dg_served_model_open(&served, &opts, &model, &error);
 *     if (dg_served_model_is_at_hand(served)) ...
 *     dg_served_model_unref(served);
 *
 * Immutable once made; requests hold references, so that a reload can publish a new version while
 * the old one finishes its work. Only the consumer's thread changes the reference count. The
 * directory is unmapped as soon as the weights are packed, so that they are in memory once. */
#ifndef DG_ENGINE_MODELS_SERVED_MODEL_H
#define DG_ENGINE_MODELS_SERVED_MODEL_H

#include "base/memory/error.h"
#include "decode/decoder.h"
#include "engine/interface/engine_model.h"
#include "engine/words/placeholders.h"
#include "engine/models/budget.h"
#include "engine/models/langs.h"
#include "model/calibration.h"
#include "model/good_for.h"
#include "model/labels.h"
#include "model/model_dir.h"
#include "network/net.h"
#include "sched/sched.h"
#include "tokenize/tokenizer.h"

#include <stdbool.h>

struct dg_engine_cache_stats;
struct dg_engine_quality_stats;
struct dg_translation_prompt;

/* The ids that an encoder-only model has around its texts and in place of hidden words; -1:
 * none. */
struct dg_marks {
    int32_t cls, sep, mask;
};

struct dg_served_model {
    char *name;                                /* owned, as configured: "fr-en" */
    char *path;                                /* owned */
    char *source, *target, *formal, *informal; /* owned; as configured, kept for when the model is
                                                  opened again */
    char *prompt, *stop;                       /* owned; the template, kept for the same purpose */
    bool is_told_by_files, has_own_langs;   /* the template, or the languages, come from the model's
                                               directory rather than from the configuration */
    char *judges;                           /* owned; of an estimator, kept for the same purpose */
    struct dg_calibration calibration;      /* only if is_estimator */
    enum dg_good_for good_for;              /* as its card says */
    bool is_estimator;                      /* the model estimates the quality of translations */
    struct dg_translation_prompt *template; /* Owned; the prompt by which it translates; NULL in a
                                               stand-in, and if it has no template. */
    size_t n_prompt;                        /* tokens that the template puts around a text */
    struct dg_langs *langs;                 /* one reference; the languages of both sides */
    struct dg_tokenizer *tokenizer;         /* NULL in a stand-in, as are the next three */
    struct dg_net *net;
    const struct dg_nodes *nodes; /* borrowed from the scheduler; the memory nodes that have copies
                                     of the network; NULL: there is one for all workers */
    struct dg_lexicon *lex;       /* the model's shortlist, owned; NULL also if it has none or it is
                                     unused */
    struct dg_sched_model *place;
    struct dg_sched *sched;   /* borrowed */
    struct dg_ledger *ledger; /* borrowed */
    struct dg_blueprint blueprint;
    struct dg_placeholders_words carry_words; /* words that stand for spans which must survive */
    struct dg_marks marks;                    /* for encoder-only models */
    struct dg_labels *labels; /* owned; of a classifier; NULL for others and in a stand-in */
    uint8_t *joining;         /* owned; [target words]; 1 for pieces that continue a word */
    struct dg_decoder_limits limits;
    size_t bytes;    /* memory that it takes, or would take: all copies of the weights as packed,
                        decoders, tokenizer */
    bool is_paid;    /* the ledger has promised these bytes */
    bool is_leaving; /* the ledger expects these bytes back */
    /* borrowed: hits, joined and misses of this model */
    struct dg_engine_cache_stats *cache_counts;
    struct dg_engine_quality_stats *quality_counts; /* borrowed: qualities that it has estimated */
    size_t n_refs;
    uint64_t version;              /* a number that no other published model has */
    unsigned char fingerprint[32]; /* of the model's files, for a remote cache (remote_value.h) */
    bool has_fingerprint;          /* `fingerprint` is set */
    /* Called when the last reference is gone, so that dg_served_model_free runs on a thread that
     * may wait. NULL: unref frees the model itself. */
    void (*bury)(void *arg, struct dg_served_model *served);
    void *bury_arg;
};

struct dg_served_model_opts {
    struct dg_sched *sched;
    struct dg_ledger *ledger;
    struct dg_decoder_limits limits; /* lowered to what the model supports and to what fits into
                                        memory */
    size_t bytes_each; /* the most that one model should take if it can do with less; 0: no limit */
    struct dg_sched_stats *counts; /* the scheduler's counts of this model (dg_sched_count_into); or
                                      NULL */
    struct dg_engine_cache_stats *cache_counts;     /* counts of this model, kept by the consumer */
    struct dg_engine_quality_stats *quality_counts; /* counts of this model, kept by the consumer */
    bool is_stand_in;
    bool wants_fingerprint;
};

/* Opens the model's directory, packs its weights and gives it decoders; for a stand-in, only checks
 * the files and measures them. The languages are those configured, or else those of the vocabulary
 * or the name (langs.h). One reference. DG_ERR_LIMIT: the model can never fit into the ledger;
 * DG_ERR_BUSY: it does not fit at present. Any thread. */
enum dg_err dg_served_model_open(struct dg_served_model **served,
                                 const struct dg_served_model_opts *opts,
                                 const struct dg_engine_model *model,
                                 struct dg_error *error) DG_MUST_CHECK;

/* Returns the model's configuration; borrowed. */
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

/* Returns true when the model can translate: every model can, except readers and language models
 * without a template. */
static inline bool dg_served_model_translates(const struct dg_served_model *served)
{
    return !dg_blueprint_is_reader(&served->blueprint) &&
           (!dg_blueprint_family(&served->blueprint)->has_prompt || *served->prompt);
}

/* Returns true for an encoder that scores two texts with one number. */
static inline bool dg_served_model_says_number(const struct dg_blueprint *bp)
{
    return dg_blueprint_family(bp)->has_head && bp->enc.head == DG_HEAD_POOLED &&
           bp->enc.rule == DG_LABELS_NUMBER && bp->decoder.V == 1;
}

/* Returns the models whose translations an estimator judges, separated by commas; NULL: it is not
 * an estimator. */
static inline const char *dg_served_model_judges(const struct dg_served_model *served)
{
    return !served->is_estimator ? NULL
           : *served->judges     ? served->judges
                                 : served->calibration.judges;
}

/* Makes a stand-in for a loaded model. NULL: no memory. */
struct dg_served_model *dg_served_model_stand_in(const struct dg_served_model *served);

static inline bool dg_served_model_is_at_hand(const struct dg_served_model *served)
{
    return served->place != NULL;
}

struct dg_served_model *dg_served_model_ref(struct dg_served_model *served);
void dg_served_model_unref(struct dg_served_model *served); /* NULL is fine; the last calls `bury`,
                                                               or frees the model */

/* Frees a model that has no references left, after waiting for workers that still look at it. Any
 * thread. */
void dg_served_model_free(struct dg_served_model *served);

#endif
