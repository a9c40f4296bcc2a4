/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Keeps the scores of a run on several sets of pairs, before and after the training, as a small
 * table in a file.
 *
 *     struct dg_scores scores;
 *     err = dg_scores_read(&scores, path, &error);     empty if there is no such file
 *     dg_scores_put(&scores, &row);                    replaces an earlier row of the same name
 *     err = dg_scores_write(&scores, path, &error);
 *     err = dg_scores_table(&scores, &markdown);
 *
 * One thread. */
#ifndef DG_TRAIN_REPORT_SCORES_H
#define DG_TRAIN_REPORT_SCORES_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_SCORES_MAX = 32, DG_SCORES_NAME_CAP = 64 };

struct dg_scores_row {
    char set[DG_SCORES_NAME_CAP]; /* without tabs */
    bool is_before;
    uint64_t n, n_translated; /* pairs in the set, of which n_translated were translated; the loss
                                 covers all of them */
    double loss;
    double bleu, chrf;           /* of greedy translations; negative: not measured */
    double bleu_beam, chrf_beam; /* of translations with a beam */
    int beam;
    uint64_t n_endless; /* greedy translations that reached no end */
    char task[16]; /* the name of `figure`: "accuracy", "F1", "exact", "correlation"; "": none */
    double figure;
};

struct dg_scores {
    struct dg_scores_row rows[DG_SCORES_MAX];
    size_t n;
};

enum dg_err dg_scores_read(struct dg_scores *scores, const char *path,
                           struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_scores_write(const struct dg_scores *scores, const char *path,
                            struct dg_error *error) DG_MUST_CHECK;

/* Adds or replaces a row. A row beyond DG_SCORES_MAX is dropped; the callers have fewer sets. */
void dg_scores_put(struct dg_scores *scores, const struct dg_scores_row *row);

/* Derives the name of a set from the path of its file: the part after the last slash, cut to fit,
 * with '_' for tabs and bars. */
void dg_scores_name(char name[DG_SCORES_NAME_CAP], const char *path);

/* Appends a table in Markdown, with a line for each set, and a second line for its scores before
 * the run if there are any. */
enum dg_err dg_scores_table(const struct dg_scores *scores, struct dg_buf *out) DG_MUST_CHECK;

#endif
