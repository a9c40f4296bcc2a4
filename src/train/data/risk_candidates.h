/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Answers that compete: what a model has said of a source, several of it, each with how good it is
 * (lines source<TAB>answer<TAB>score from 0 to 100, those of a source one behind the other, as
 * `dragoman distill --pick all` prints them). Training then lowers the expected badness of what is
 * said, not only the surprise at what should have been said: minimum risk (pass_risk.c,
 * docs/TRAINING.md).
 *
 *     err = dg_risk_candidates_write(dir, files, n_files, &opts, &stats, &error);     once, in a
 * run's training/ err = dg_risk_candidates_open(&rivals, dir, &bp, &error); DG_ERR_NOT_FOUND: the
 * run has none n = dg_risk_candidates_group(&rivals, i, examples);                           0 <= i
 * < rivals.n, [DG_RISK_CANDIDATES_MAX] dg_risk_candidates_close(&rivals);
 *
 *     layout   8 bytes "dgrivals" | u64 n | u64 n_answers | u64 first[n + 1] | f32 cost[n_answers]
 *
 * beside the answers themselves as ids (corpus.h), in the machine's byte order. Everything is
 * checked when it is opened. */
#ifndef DG_TRAIN_DATA_RISK_CANDIDATES_H
#define DG_TRAIN_DATA_RISK_CANDIDATES_H

#include "base/memory/err.h"
#include "base/memory/error.h"
#include "model/blueprint.h"
#include "tokenize/tokenizer.h"
#include "train/data/corpus.h"
#include "train/data/drops.h"
#include "train/data/example.h"
#include "train/data/pairs.h"

#include <stddef.h>
#include <stdint.h>

enum { DG_RISK_CANDIDATES_MAX = 16 }; /* answers of one source */

struct dg_risk_candidates {
    struct dg_corpus answers;
    struct dg_map_file file;
    const uint64_t *first; /* [n + 1] */
    const float *cost;     /* [answers.n] 0, as good as can be, to 1 */
    size_t n;              /* sources */
};

struct dg_risk_candidates_opts {
    const struct dg_tokenizer *tokenizer;
    size_t len_max, len_chars;  /* longest side in tokens and in characters; longer answers are left
                                   out */
    const struct dg_pair *held; /* [n_held] pairs whose sources must not be learned from */
    size_t n_held;
};

struct dg_risk_candidates_stats {
    size_t n_sources, n_answers; /* that were written */
    size_t n_alone;              /* sources that were left out: one answer, or all equally good */
    size_t n_long;               /* answers */
    uint64_t dropped[DG_N_DROPS];
    double cost; /* mean of those written */
};

enum dg_err dg_risk_candidates_write(const char *dir, const char *const *files, size_t n_files,
                                     const struct dg_risk_candidates_opts *opts,
                                     struct dg_risk_candidates_stats *stats,
                                     struct dg_error *error) DG_MUST_CHECK;

enum dg_err dg_risk_candidates_open(struct dg_risk_candidates *candidates, const char *dir,
                                    const struct dg_blueprint *bp,
                                    struct dg_error *error) DG_MUST_CHECK;
void dg_risk_candidates_close(struct dg_risk_candidates *candidates); /* zeroed is fine */

/* The answers to source `i`, 2 to DG_RISK_CANDIDATES_MAX. */
size_t dg_risk_candidates_group(const struct dg_risk_candidates *candidates, size_t i,
                                struct dg_example *examples);

#endif
