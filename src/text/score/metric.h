/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* BLEU (Papineni et al., 2002) and chrF (Popović, 2015) as sacreBLEU computes them, so that our
 * figures can be compared with others. Statistics are counted per sentence and may be added; a
 * score is computed from the sums.
 *
 *     struct dg_metric *metric = dg_metric_new();
 *     struct dg_bleu_stats sum = {0}, one;
 *     err = dg_bleu_count(metric, &opts, hypothesis, reference, &one);
 *     dg_bleu_add(&sum, &one);
 *     struct dg_bleu bleu = dg_bleu_score(&sum, &opts, false);
 *
 * One reference per sentence. A metric object is scratch memory for one thread. */
#ifndef DG_TEXT_SCORE_METRIC_H
#define DG_TEXT_SCORE_METRIC_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "text/score/metric_split.h"

#include <stdbool.h>
#include <stdint.h>

enum { DG_BLEU_ORDER = 4, DG_CHRF_CHARS = 6, DG_CHRF_WORDS_MAX = 2 };

struct dg_metric;                      /* scratch */
struct dg_metric *dg_metric_new(void); /* NULL: no memory */
void dg_metric_free(struct dg_metric *metric);

/* ---- BLEU ------------------------------------------------------------------------------------ */

enum dg_smooth {
    DG_SMOOTH_EXP,   /* orders without a match count 1/2, 1/4, ... of one */
    DG_SMOOTH_FLOOR, /* orders without a match count `smooth_value` (0.1) matches */
    DG_SMOOTH_ADD_K, /* `smooth_value` (1) is added to the counts above order 1 */
    DG_SMOOTH_NONE,
};

struct dg_bleu_opts {
    enum dg_split split;
    enum dg_smooth smooth;
    double smooth_value; /* negative: the usual value of the method */
    bool lowercase;
};

#define DG_BLEU_OPTS_DEFAULT                                                                       \
    {                                                                                              \
        DG_SPLIT_13A, DG_SMOOTH_EXP, -1, false                                                     \
    }

struct dg_bleu_stats {
    uint64_t correct[DG_BLEU_ORDER];
    uint64_t total[DG_BLEU_ORDER];
    uint64_t hyp_len, ref_len;
};

struct dg_bleu {
    double score;                     /* 0 to 100 */
    double precisions[DG_BLEU_ORDER]; /* in per cent */
    double brevity_penalty;
};

enum dg_err dg_bleu_count(struct dg_metric *metric, const struct dg_bleu_opts *opts,
                          struct dg_span hypothesis, struct dg_span reference,
                          struct dg_bleu_stats *stats) DG_MUST_CHECK;
void dg_bleu_add(struct dg_bleu_stats *sum, const struct dg_bleu_stats *one);

/* `effective_order`: orders for which the hypothesis is too short do not count (for single
 * sentences). */
struct dg_bleu dg_bleu_score(const struct dg_bleu_stats *stats, const struct dg_bleu_opts *opts,
                             bool effective_order);

/* Appends "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0". */
enum dg_err dg_bleu_signature(const struct dg_bleu_opts *opts, bool effective_order,
                              struct dg_buf *out) DG_MUST_CHECK;

/* ---- chrF ------------------------------------------------------------------------------------ */

struct dg_chrf_stats {
    uint64_t hyp[DG_CHRF_CHARS + DG_CHRF_WORDS_MAX];
    uint64_t ref[DG_CHRF_CHARS + DG_CHRF_WORDS_MAX];
    uint64_t match[DG_CHRF_CHARS + DG_CHRF_WORDS_MAX];
};

/* `word_order` 0 is chrF2, 2 is chrF2++. */
enum dg_err dg_chrf_count(struct dg_metric *metric, int word_order, struct dg_span hypothesis,
                          struct dg_span reference, struct dg_chrf_stats *stats) DG_MUST_CHECK;
void dg_chrf_add(struct dg_chrf_stats *sum, const struct dg_chrf_stats *one);
double dg_chrf_score(const struct dg_chrf_stats *stats, int word_order); /* 0 to 100, beta 2 */
enum dg_err dg_chrf_signature(int word_order, struct dg_buf *out) DG_MUST_CHECK;

#endif
