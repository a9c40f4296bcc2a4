/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Runs many texts through one network that analyses texts and generates none: an encoder-only
 * network, or a recurrent classifier. dg_decoder uses a dg_analyser for such networks, so that the
 * scheduler serves them like any other.
 *
 *     float values[...];                                    dg_analysis_size numbers
 *     struct dg_analysis read = {.kind = DG_ANALYSIS_LABELS, .values = values};
 *     struct dg_decode_job job = {.src = ids, .n_src = n, .read = &read, .events = &events,
 *                                 .ctx = ctx};
 *     err = dg_decoder_add(decoder, &job, 1, &handle, &error);
 *     dg_decoder_step(decoder);                             calls on_read when `values` are filled
 *
 * The analyser takes the waiting texts in batches, longest waiting first, each batch as large as
 * the encoder allows. For a large network it spreads a batch over many steps, so that other users
 * of the thread have their turns (step_work of decoder.h). The result for a text does not depend,
 * to the bit, on the other texts of its batch. One thread at a time. */
#ifndef DG_DECODE_ANALYSER_H
#define DG_DECODE_ANALYSER_H

#include "base/memory/error.h"
#include "network/net.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dg_analysis_kind {
    /* the head's labels: [labels] for a whole text, [n_src, labels] for its tokens */
    DG_ANALYSIS_LABELS,
    DG_ANALYSIS_WORDS, /* the most probable words at the positions `at`: [n_at, n_best] ids and
                      probabilities, best first */
    DG_ANALYSIS_STATE, /* the encoder's state [D]: the mean over all tokens, or the first token's */
};

enum { DG_ANALYSIS_BEST_MAX = 100 };

/* What to compute for one text, and where to write it. The struct must live until on_read has been
 * called. */
struct dg_analysis {
    enum dg_analysis_kind kind;
    size_t second;       /* index of the first token of a second text; 0: there is none */
    bool probabilities;  /* LABELS: apply a softmax to each row's labels */
    bool first;          /* STATE: the state of the first token instead of the mean */
    const uint32_t *at;  /* WORDS: [n_at] positions, each less than n_src */
    size_t n_at, n_best; /* WORDS; n_best at most DG_ANALYSIS_BEST_MAX */
    float *values;       /* [dg_analysis_size] */
    int32_t *ids;        /* WORDS: [dg_analysis_size]; -1 follows the last word */
};

/* Returns how many numbers the result for a text of n_src tokens has. */
size_t dg_analysis_size(const struct dg_blueprint *bp, const struct dg_analysis *read,
                        size_t n_src);

struct dg_helpers;
struct dg_analyser;
struct dg_decode_job;
struct dg_decoder_limits;

/* Each function works like its dg_decoder counterpart. Of the limits only `sentences`,
 * `source_max`, `batch_tokens`, `step_work` and `kv_tokens` matter. */
enum dg_err dg_analyser_new(struct dg_analyser **analyser, const struct dg_net *net,
                            const struct dg_decoder_limits *limits,
                            struct dg_error *error) DG_MUST_CHECK;
void dg_analyser_free(struct dg_analyser *analyser); /* NULL is fine */
void dg_analyser_lend(struct dg_analyser *analyser, struct dg_helpers *helpers);
enum dg_err dg_analyser_size(const struct dg_net *net, const struct dg_decoder_limits *limits,
                             size_t *bytes, struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_analyser_check(const struct dg_analyser *analyser, const struct dg_decode_job *job,
                              struct dg_error *error) DG_MUST_CHECK;
size_t dg_analyser_n_fitting(const struct dg_analyser *analyser, const struct dg_decode_job *jobs,
                             size_t n);
enum dg_err dg_analyser_add(struct dg_analyser *analyser, const struct dg_decode_job *jobs,
                            size_t n, uint32_t *handles, struct dg_error *error) DG_MUST_CHECK;
size_t dg_analyser_step(struct dg_analyser *analyser); /* texts worked on; 0: none left */
bool dg_analyser_cancel(struct dg_analyser *analyser, uint32_t handle);
size_t dg_analyser_n_texts(const struct dg_analyser *analyser);

#endif
