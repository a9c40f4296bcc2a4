/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: the quality of a request's translation, sentence by sentence, as estimated by
 * another model (model/calibration.h). Sentences are noted as they are translated; when all are
 * there, the source and translation of each go to the estimator as the two texts of a reading
 * (read.h), all at once.
 *
 *     gathering -> asked -> done
 *                    `---> dropped    its request is gone; it is freed when the reading ends
 *
 * A text's quality is the mean over its sentences, each weighted by the bytes of its source.
 * Consumer's thread. */
#ifndef DG_ENGINE_READ_QUALITY_ESTIMATE_H
#define DG_ENGINE_READ_QUALITY_ESTIMATE_H

#include "base/memory/buf.h"
#include "base/memory/list.h"
#include "engine/read/read.h"
#include "engine/models/served_model.h"
#include "engine/task/task.h"

struct dg_judged; /* a sentence */

struct dg_quality_estimate {
    struct dg_list link;    /* linked in the engine's list once the estimator was asked */
    struct dg_buf texts;    /* the source and the translation of each sentence in turn */
    struct dg_judged *list; /* owned; [n] */
    float *qualities;       /* owned; [n]; set at the end */
    size_t n, cap;
    char *model;                       /* owned; the estimator's name, once it was asked */
    struct dg_calibration calibration; /* the calibration of the estimator */
    uint64_t id;                       /* the id of the reading */
    bool is_asked, is_done, is_dropped;
    enum dg_err err; /* set at the end */
    struct dg_error error;
    void (*wake)(void *arg); /* called at the end; may be NULL */
    void *wake_arg;
};

struct dg_quality_estimate *dg_quality_estimate_new(void); /* NULL: no memory */

/* Frees the estimate: at once, or, if its reading is under way, when that ends; the caller cancels
 * the reading too. NULL is fine. */
void dg_quality_estimate_drop(struct dg_quality_estimate *estimate);

/* Frees the estimate at once, for an engine that will no longer report the end of its reading. */
void dg_quality_estimate_free(struct dg_quality_estimate *estimate);

/* Notes a sentence: its source, its translation, and the log-probability and the number of the
 * translation's tokens. */
enum dg_err dg_quality_estimate_note(struct dg_quality_estimate *estimate, struct dg_span source,
                                     struct dg_span text, double logprob,
                                     size_t n_tokens) DG_MUST_CHECK;

/* How the engine is asked for the estimate. */
struct dg_quality_estimate_how {
    struct dg_tasks *tasks;
    const struct dg_served_model *estimator;
    enum dg_priority priority;
    uint64_t client;
    uint64_t timeout_ms; /* 0: none */
};

/* Asks for the estimate. An estimate without sentences is done at once. */
enum dg_err dg_quality_estimate_ask(struct dg_quality_estimate *estimate,
                                    const struct dg_quality_estimate_how *how,
                                    struct dg_error *error) DG_MUST_CHECK;

/* Returns the text's quality, once the estimate is done; the estimate must have sentences. */
double dg_quality_estimate_quality(const struct dg_quality_estimate *estimate);

#endif
