/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: how good a request's translation is, sentence by sentence, as an estimator
 * (model/calibration.h) has it. Sentences are noted as they are told; when all are there, source
 * and translation of each go to the estimator as the two texts of a reading (read.h), all at once.
 *
 *     gathering -> asked -> done
 *                    `---> dropped: its request is gone, it frees itself when the reading's end is
 * told
 *
 * A text's quality is the mean of its sentences', each weighed by the bytes of its source.
 * Consumer's thread. */
#ifndef DG_ENGINE_READ_QUALITY_ESTIMATE_H
#define DG_ENGINE_READ_QUALITY_ESTIMATE_H

#include "base/memory/buf.h"
#include "base/memory/list.h"
#include "engine/read/read.h"
#include "engine/route/served_model.h"

struct dg_judged; /* a sentence */

struct dg_quality_estimate {
    struct dg_list link;    /* in the engine's list, from asked on */
    struct dg_buf texts;    /* of the sentences, source and translation in turn */
    struct dg_judged *list; /* owned; [n] */
    float *qualities;       /* owned; [n] when done */
    size_t n, cap;
    char *model;                       /* owned; the estimator's name, once asked */
    struct dg_calibration calibration; /* its */
    uint64_t id;                       /* the reading's */
    bool is_asked, is_done, is_dropped;
    enum dg_err err; /* when done */
    struct dg_error error;
    void (*wake)(void *arg); /* called when it is done, */
    void *wake_arg;          /* unless NULL */
};

struct dg_quality_estimate *dg_quality_estimate_new(void); /* NULL: no memory */

/* Frees it, now or, where it is asked and not done, when its end is told; then its reading is to be
 * cancelled too. NULL is fine. */
void dg_quality_estimate_drop(struct dg_quality_estimate *estimate);
void dg_quality_estimate_free(struct dg_quality_estimate *estimate); /* of an engine that tells no
                                                                        end any more */

/* A sentence: its source, its translation, the log-probability of the tokens that were said for it
 * and how many those are. */
enum dg_err dg_quality_estimate_note(struct dg_quality_estimate *estimate, struct dg_span source,
                                     struct dg_span text, double logprob,
                                     size_t n_tokens) DG_MUST_CHECK;

/* How it is asked of the engine. */
struct dg_quality_estimate_how {
    struct dg_engine *engine;
    const struct dg_served_model *estimator;
    enum dg_priority priority;
    uint64_t client;
    uint64_t timeout_ms; /* 0: none */
};

/* Without a sentence it is done at once. */
enum dg_err dg_quality_estimate_ask(struct dg_quality_estimate *estimate,
                                    const struct dg_quality_estimate_how *how,
                                    struct dg_error *error) DG_MUST_CHECK;

/* Of one that is done and has sentences. */
double dg_quality_estimate_quality(const struct dg_quality_estimate *estimate);

#endif
