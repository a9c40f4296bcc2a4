/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Generation: a language model continues a prompt. Generations share the scheduler, batches and
 * caches with translations; each prompt is one ticket.
 *
 *     struct dg_generate ask = DG_GENERATE_DEFAULT;
 *     ask.prompt = DG_SPAN("The little house");
 *     err = dg_engine_generate(engine, &ask, &events, ctx, &error, &retry_ms, &id);
 *     ... dg_engine_poll calls the events ...
 *     dg_engine_cancel(engine, id);            to stop early
 *
 * Deltas, joined, are the text. Text that may be the beginning of a stop text is held back; the
 * stop text itself is never shown. The names of special tokens in the prompt are ordinary text
 * unless the client asks otherwise (`reads_special`), because a stranger's text in a prompt must
 * not be able to end the user's turn.
 *
 * One thread, the consumer's. */
#ifndef DG_ENGINE_GENERATE_GENERATE_H
#define DG_ENGINE_GENERATE_GENERATE_H

#include "engine/interface/engine_request.h"

struct dg_engine;

enum { DG_GENERATE_STOPS_MAX = 16, DG_GENERATE_STOP_BYTES = 256 };

struct dg_generate {
    /* valid UTF-8; copied. With an empty prompt the model begins by itself, if it has a token for
     * that. */
    struct dg_span prompt;
    const char *model;            /* NULL: the only language model */
    struct dg_search_opts search; /* max_len counts tokens of the answer; max_ratio is ignored. What
                                     this points to lives until on_done. */
    enum dg_priority priority;
    uint64_t client;     /* as in struct dg_engine_request */
    uint64_t timeout_ms; /* 0: none */
    bool reads_special;  /* the names of special tokens in the prompt stand for these tokens */
    const struct dg_span *stops; /* [n_stops] copied; the answer ends before the first of these */
    size_t n_stops;              /* each has 1 to DG_GENERATE_STOP_BYTES bytes */
    const char *const *only;     /* [n_only] as of a translation */
    size_t n_only;
};

#define DG_GENERATE_DEFAULT                                                                        \
    {                                                                                              \
        .search = DG_SEARCH_OPTS_DEFAULT, .priority = DG_PRIORITY_NORMAL                           \
    }

struct dg_generated {
    enum dg_err err;
    const char *error;            /* a sentence; NULL: only the standard text of `err` applies */
    struct dg_span text;          /* the best answer */
    const struct dg_span *others; /* [n_others] the other answers, best first */
    size_t n_others;
    enum dg_finish finish;
    bool was_stopped; /* ended by a stop text; `finish` is then EOS */
    bool repaired;
    double logprob; /* the sum of the log-probabilities of the best answer's tokens */
    const char *model;
    size_t n_tokens_in, n_tokens_out;
    uint64_t queue_ns, first_ns, total_ns;
};

struct dg_generate_events {
    void (*on_delta)(void *ctx, struct dg_span text); /* may be NULL */
    /* Called once for each accepted request. */
    void (*on_done)(void *ctx, const struct dg_generated *result);
};

/* Errors as of dg_engine_submit; DG_ERR_LIMIT or DG_ERR_RANGE when the prompt is too long. */
enum dg_err dg_engine_generate(struct dg_engine *engine, const struct dg_generate *ask,
                               const struct dg_generate_events *events, void *ctx,
                               struct dg_error *error, uint64_t *retry_ms,
                               uint64_t *id) DG_MUST_CHECK;

#endif
