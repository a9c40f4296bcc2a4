/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A model: at hand, with its tokenizer, its packed network and its place with the scheduler; or only known, a
 * stand-in that says what it is and what it would take until somebody asks for it.
 *
 *     err = dg_loaded_open(&loaded, &opts, &(struct dg_engine_model){.name = "fr-en", .path = path}, &why);
 *     if (dg_loaded_is_at_hand(loaded)) ...
 *     dg_loaded_unref(loaded);
 *
 * Immutable once made; requests hold references, so that a reload can publish a new one while the old
 * finishes its work. References are the consumer thread's. The mapping of the directory is let go as soon as
 * the weights are packed, so that they are in memory once. */
#ifndef DG_ENGINE_LOADED_H
#define DG_ENGINE_LOADED_H

#include "base/err.h"
#include "base/why.h"
#include "decode/decoder.h"
#include "engine/budget.h"
#include "engine/carry.h"
#include "engine/engine.h"
#include "engine/langs.h"
#include "model/calibration.h"
#include "model/labels.h"
#include "model/dir.h"
#include "model/net.h"
#include "sched/sched.h"
#include "text/tokenizer.h"

#include <stdbool.h>

struct dg_engine_cache_stats;
struct dg_engine_quality_stats;
struct dg_template;

/* The ids that an encoder alone has around its texts and in place of hidden words; -1: there is none. */
struct dg_marks {
    int32_t cls, sep, mask;
};

struct dg_loaded {
    char *name;           /* owned, as configured: "fr-en" */
    char *path;           /* owned */
    char *source, *target, *formal, *informal; /* owned; as configured, for the next time that it is opened */
    char *prompt, *stop;    /* owned; likewise, of the template */
    bool is_told_by_files, has_own_langs; /* these two, and the languages, are not configured but the directory's own */
    char *judges;           /* owned; likewise, of an estimator */
    struct dg_calibration calibration; /* of an estimator, */
    bool is_estimator;                 /* if it is one */
    struct dg_template *template;     /* owned; how it is asked to translate; NULL in a stand-in, and where it is not */
    size_t n_prompt;                  /* tokens of it around a text */
    struct dg_langs *langs; /* a reference; what it reads and says, one of each or many */
    struct dg_tokenizer *tokenizer;   /* NULL in a stand-in, and so are */
    struct dg_net *net;
    struct dg_lex *lex;               /* the model's shortlist, owned; NULL also: none, or not wanted */
    struct dg_sched_model *place;
    struct dg_sched *sched;           /* borrowed */
    struct dg_ledger *ledger;         /* borrowed */
    struct dg_blueprint blueprint;
    struct dg_carry_words carry_words; /* what stands for spans that must survive */
    struct dg_marks marks;    /* of encoders alone */
    struct dg_labels *labels; /* owned; of models that tell some, else NULL; NULL in a stand-in too */
    uint8_t *joining; /* owned; [target words] 1 for pieces that go on with the word before */
    struct dg_decoder_limits limits;
    size_t bytes;         /* memory it takes, or would take: weights as packed, decoders, tokenizer */
    bool is_paid;         /* the ledger has promised them */
    bool is_leaving;      /* and expects them back */
    struct dg_engine_cache_stats *cache_counts; /* borrowed: hits, joined and misses of this model */
    struct dg_engine_quality_stats *quality_counts; /* borrowed: what it said as an estimator */
    size_t n_refs;
    uint64_t version;     /* a number of its own, once published */
    unsigned char fingerprint[32]; /* of its files, for a remote cache (remote_value.h), */
    bool has_fingerprint;          /* if there is one */
    void (*bury)(void *arg, struct dg_loaded *loaded); /* gets what the last reference let go of, to call */
    void *bury_arg;                                    /* dg_loaded_free where waiting hurts nobody; or NULL */
};

struct dg_loaded_opts {
    struct dg_sched *sched;
    struct dg_ledger *ledger;
    struct dg_decoder_limits limits; /* lowered to what the model can take, and what fits */
    size_t bytes_each;               /* what one model should take at most, if it can do with less; 0: any */
    struct dg_sched_stats *counts;   /* the scheduler's of this model, as of dg_sched_count_into; or NULL */
    struct dg_engine_cache_stats *cache_counts; /* of this model, the consumer's to count into */
    struct dg_engine_quality_stats *quality_counts; /* likewise */
    bool is_stand_in;
    bool wants_fingerprint;
};

/* Opens the model's directory, packs its weights and gives it decoders; or, for a stand-in, checks the files and
 * measures. Languages are those configured or else of the vocabulary or the name (langs.h).
 * One reference. DG_ERR_LIMIT: it can never fit into the ledger; DG_ERR_BUSY: not now,
 * beside what is there. Any thread. */
enum dg_err dg_loaded_open(struct dg_loaded **loaded, const struct dg_loaded_opts *opts,
                           const struct dg_engine_model *model, struct dg_why *why) DG_MUST_CHECK;

/* As it was configured; borrowed. */
static inline struct dg_engine_model dg_loaded_model(const struct dg_loaded *loaded)
{
    return (struct dg_engine_model){.name = loaded->name, .path = loaded->path,
                                    .source = loaded->has_own_langs ? "" : loaded->source,
                                    .target = loaded->has_own_langs ? "" : loaded->target,
                                    .formal = loaded->formal, .informal = loaded->informal,
                                    .template = loaded->is_told_by_files ? "" : loaded->prompt,
                                    .stop = loaded->is_told_by_files ? "" : loaded->stop,
                                    .judges = loaded->judges};
}

/* It can be asked for translations: every model but those that read, and language models without a template. */
static inline bool dg_loaded_translates(const struct dg_loaded *loaded)
{
    return !dg_blueprint_is_reader(&loaded->blueprint) && (loaded->blueprint.family != DG_FAMILY_LM || *loaded->prompt);
}

/* An encoder that says one number of two texts. */
static inline bool dg_loaded_says_number(const struct dg_blueprint *bp)
{
    return bp->family == DG_FAMILY_ENC && bp->enc.head == DG_HEAD_POOLED && bp->enc.rule == DG_LABELS_NUMBER && bp->decoder.V == 1;
}

/* The models whose translations an estimator judges, with commas between; NULL: it is none. */
static inline const char *dg_loaded_judges(const struct dg_loaded *loaded)
{
    return !loaded->is_estimator ? NULL : *loaded->judges ? loaded->judges : loaded->calibration.judges;
}

/* A stand-in for a model that is at hand. NULL: no memory. */
struct dg_loaded *dg_loaded_stand_in(const struct dg_loaded *loaded);

static inline bool dg_loaded_is_at_hand(const struct dg_loaded *loaded)
{
    return loaded->place != NULL;
}

struct dg_loaded *dg_loaded_ref(struct dg_loaded *loaded);
void dg_loaded_unref(struct dg_loaded *loaded); /* NULL is fine; the last one buries, or frees */

/* Waits for workers that look at it. Any thread, when nobody refers to it. */
void dg_loaded_free(struct dg_loaded *loaded);

#endif
