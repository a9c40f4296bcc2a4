/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Scores given translations: computes how likely they are according to a model of the engine.
 * Scoring does not use the engine's queue.
 *
 *     err = dg_scoring_open(&scoring, engine, &request, &error);       consumer thread
 *     err = dg_scoring_run(scoring, source, target, &score, &error);   any thread, one at a time
 *     ... score.logprob, score.target[i].id, score.logprobs[i] ...
 *     dg_scoring_close(scoring);                                       consumer thread
 *
 * Each side of a pair is one sequence: nothing is cut, and a text that does not fit into the model
 * is refused. A run takes long, so it should run on a thread that nobody waits for. */
#ifndef DG_ENGINE_SCORING_H
#define DG_ENGINE_SCORING_H

#include "base/memory/error.h"
#include "base/memory/span.h"
#include "engine/engine.h"

#include <stddef.h>
#include <stdint.h>

struct dg_scoring;

/* A token, and the bytes of the text that it stands for; the end token has none. */
struct dg_score_token {
    int32_t id;
    uint32_t begin, end;
};

/* Everything is borrowed until the next run. */
struct dg_score {
    double logprob;                      /* of the whole target, including its end */
    const struct dg_score_token *source; /* [n_source] */
    const struct dg_score_token *target; /* [n_target] */
    const float *logprobs;               /* [n_target] */
    const float *attention;              /* [n_target, n_source] when asked for, else NULL */
    size_t n_source, n_target;
    double length_penalty; /* the model's own: a search divides logprob by n_target to this power */
};

/* Finds the model as for a translation of `request` and keeps it. Reads only the request's model,
 * source, target and, to detect the language, text. Errors as of dg_engine_submit. */
enum dg_err dg_scoring_open(struct dg_scoring **scoring, struct dg_engine *engine,
                            const struct dg_engine_request *request,
                            struct dg_error *error) DG_MUST_CHECK;
void dg_scoring_close(struct dg_scoring *scoring); /* NULL is fine */

/* For use after open has returned DG_ERR_BUSY: waits, as a translation would, until the model is
 * loaded, and then calls on_done. The caller then opens again; `*id` is for dg_engine_cancel.
 * Errors are those of dg_engine_submit. */
enum dg_err dg_scoring_await(struct dg_engine *engine, const struct dg_engine_request *request,
                             const struct dg_engine_events *events, void *ctx,
                             struct dg_error *error, uint64_t *id) DG_MUST_CHECK;

const char *dg_scoring_model(const struct dg_scoring *scoring);

/* Says how many decoder layers and heads attend to the source. */
void dg_scoring_shape(const struct dg_scoring *scoring, size_t *n_layers, size_t *n_heads);

/* Makes later runs return the attention of each target token: layer from 1 (0: the last), head from
 * 1 (0: the mean of all). DG_ERR_RANGE: the model has no such layer or head. */
enum dg_err dg_scoring_want_attention(struct dg_scoring *scoring, size_t layer, size_t head,
                                      struct dg_error *error) DG_MUST_CHECK;

/* Returns the piece of an id in the target vocabulary. */
struct dg_span dg_scoring_piece(const struct dg_scoring *scoring, int32_t id);

/* Scores a pair of texts. DG_ERR_UTF8; DG_ERR_RANGE: a side has too many tokens; DG_ERR_INTEGRITY:
 * the weights are damaged. */
enum dg_err dg_scoring_run(struct dg_scoring *scoring, struct dg_span source, struct dg_span target,
                           struct dg_score *score, struct dg_error *error) DG_MUST_CHECK;

#endif
