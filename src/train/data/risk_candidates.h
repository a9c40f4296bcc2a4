/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Candidates of minimum-risk training: several translations of a source by a model, each with its
 * score. The files have lines source<TAB>answer<TAB>score, with scores from 0 to 100 and the lines
 * of a source one after the other, as `dragoman distill --pick all` prints them. Training then
 * lowers the expected cost of the model's translations, and not only the loss on the reference
 * (pass_risk.c, docs/training/reference.md).
 *
 *     err = dg_risk_candidates_write(dir, files, n_files, &opts, &stats, &error);   once, into a
 *                                                                                   run's training/
 *     err = dg_risk_candidates_open(&candidates, dir, &bp, &error);   DG_ERR_NOT_FOUND: there are
 *                                                                     none
 *     n = dg_risk_candidates_group(&candidates, i, examples);         0 <= i < candidates.n
 *     dg_risk_candidates_close(&candidates);
 *
 *     layout   8 bytes "dgrivals" | u64 n | u64 n_answers | u64 first[n + 1] | f32 cost[n_answers]
 *
 * in the machine's byte order. The answers themselves are stored as ids in another file (corpus.h).
 * Everything is checked when the files are opened. */
#ifndef DG_TRAIN_DATA_RISK_CANDIDATES_H
#define DG_TRAIN_DATA_RISK_CANDIDATES_H

#include "base/memory/error.h"
#include "model/blueprint.h"
#include "tokenize/tokenizer.h"
#include "train/data/corpus.h"
#include "train/data/drop_reasons.h"
#include "train/data/example.h"
#include "train/data/pairs.h"

#include <stddef.h>
#include <stdint.h>

enum { DG_RISK_CANDIDATES_MAX = 16 }; /* answers of one source */

struct dg_risk_candidates {
    struct dg_corpus answers;
    struct dg_map_file file;
    const uint64_t *first; /* [n + 1] */
    const float *cost;     /* [answers.n] from 0 (perfect) to 1 */
    size_t n;              /* number of sources */
};

struct dg_risk_candidates_opts {
    const struct dg_tokenizer *tokenizer;
    size_t len_max, len_chars;  /* the longest side in tokens and in characters; longer answers are
                                   left out */
    const struct dg_pair *held; /* [n_held] pairs whose sources must not be learned from */
    size_t n_held;
};

struct dg_risk_candidates_stats {
    size_t n_sources, n_answers; /* numbers of sources and answers that were written */
    /* sources left out because they have only one answer, or answers that are all equally good */
    size_t n_alone;
    size_t n_long; /* answers left out because they are too long */
    uint64_t dropped[DG_N_DROPS];
    double cost; /* the mean cost of the answers that were written */
};

enum dg_err dg_risk_candidates_write(const char *dir, const char *const *files, size_t n_files,
                                     const struct dg_risk_candidates_opts *opts,
                                     struct dg_risk_candidates_stats *stats,
                                     struct dg_error *error) DG_MUST_CHECK;

enum dg_err dg_risk_candidates_open(struct dg_risk_candidates *candidates, const char *dir,
                                    const struct dg_blueprint *bp,
                                    struct dg_error *error) DG_MUST_CHECK;
void dg_risk_candidates_close(struct dg_risk_candidates *candidates); /* all zeros is fine */

/* Fills `examples`, which has room for DG_RISK_CANDIDATES_MAX, with the answers of source `i` (at
 * least 2), and returns their number. */
size_t dg_risk_candidates_group(const struct dg_risk_candidates *candidates, size_t i,
                                struct dg_example *examples);

#endif
