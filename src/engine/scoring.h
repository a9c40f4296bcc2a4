/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How likely a model finds given translations: the engine's models, without its queue.
 *
 *     err = dg_scoring_open(&scoring, engine, &request, &why);           consumer thread
 *     err = dg_scoring_run(scoring, source, target, &score, &why);       any thread, one at a time
 *     ... score.logprob, score.ids[i], score.logprobs[i] ...
 *     dg_scoring_close(scoring);                                         consumer thread
 *
 * Each pair is one sequence on either side: nothing is cut, so that what does not fit into the model is
 * refused. A run takes its time: it belongs on a thread that nobody waits for. */
#ifndef DG_ENGINE_SCORING_H
#define DG_ENGINE_SCORING_H

#include "base/err.h"
#include "base/span.h"
#include "base/why.h"
#include "engine/engine.h"

struct dg_scoring;

struct dg_score {
    double logprob;        /* of the whole target, its end included */
    const int32_t *ids;    /* [n_ids] the target's tokens; borrowed until the next run */
    const float *logprobs; /* [n_ids] */
    size_t n_ids, n_source;
};

/* Finds the model as for a translation of `request` and keeps it. Of the request only model, source,
 * target and, to detect the language, text are looked at. Errors as of dg_engine_submit. */
enum dg_err dg_scoring_open(struct dg_scoring **scoring, struct dg_engine *engine,
                            const struct dg_engine_request *request, struct dg_why *why) DG_MUST_CHECK;
void dg_scoring_close(struct dg_scoring *scoring); /* NULL is fine */

const char *dg_scoring_model(const struct dg_scoring *scoring);

/* The target piece of an id, as the vocabulary has it. */
struct dg_span dg_scoring_piece(const struct dg_scoring *scoring, int32_t id);

/* DG_ERR_UTF8; DG_ERR_RANGE: a side has too many tokens; DG_ERR_INTEGRITY: the weights are damaged. */
enum dg_err dg_scoring_run(struct dg_scoring *scoring, struct dg_span source, struct dg_span target,
                           struct dg_score *score, struct dg_why *why) DG_MUST_CHECK;

#endif
