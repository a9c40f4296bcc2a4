/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Measures how good a network is on held-out pairs: the loss under teacher forcing, and BLEU and
 * chrF of the translations that our own decoder makes of the sources.
 *
 *     struct dg_validate what = {.params = &params, .team = team, .passes = passes, ...};
 *     err = dg_validate_run(&what, &report, &error);
 * A language model that learns from lines has no references: as samples, it continues the first
 * lines from their middles.
 *
 * Called between steps by the thread that owns the team. */
#ifndef DG_TRAIN_RUN_VALIDATE_H
#define DG_TRAIN_RUN_VALIDATE_H

#include "base/memory/error.h"
#include "model/labels.h"
#include "tokenize/tokenizer.h"
#include "train/data/corpus.h"
#include "train/data/pairs.h"
#include "train/pass/params.h"
#include "train/pass/pass.h"
#include "train/pass/team.h"

#include <stdint.h>

enum { DG_VALIDATE_SAMPLES = 3 };

struct dg_validate {
    const struct dg_params *params; /* these hold the weights to validate */
    struct dg_team *team;
    struct dg_pass *const *passes; /* [team size] */
    const struct dg_corpus *dev;   /* the held-out pairs as ids */
    const struct dg_pair *texts;   /* [dev->n] the same pairs as text */
    const struct dg_tokenizer *tokenizer;
    size_t n_translate; /* how many pairs are translated, from the first on; 0: only the loss is
                           computed */
    int beam;
    size_t guide_head; /* The head of the last layer whose attention is compared with the links,
                          from 1; 0: the mean of all its heads. */
    /* for an encoder-only model that labels words; others may pass NULL */
    const struct dg_labels *labels;
    struct dg_pass_mask mask; /* for an encoder's head for words */
};

struct dg_validate_report {
    double loss;       /* -log p per target token */
    size_t n_left_out; /* pairs that the loss leaves out because they are too long for any pass */
    /* For a classifier or an encoder-only model, in per cent: the share of labels, or of masked
     * words, that are right; if a text may have any number of labels, the share of texts whose
     * labels are all right. Negative: not measured. */
    double accuracy;
    /* For an encoder-only model, in per cent: the F1 of entities, of the tokens of answers, or of
     * labels over all texts if a text may have any number of them. Negative: not measured. */
    double f1;
    double macro_f1; /* the mean of the F1 of each of these labels; negative: not measured */
    double exact;    /* for answers: the share whose both ends are right, in per cent; negative: not
                        measured */
    double correlation; /* for numbers: Pearson's correlation; NaN: not measured */
    double bleu, chrf;  /* 0 to 100; negative: not measured */
    double agreement;   /* the share of linked target words whose attention is greatest on a linked
                           word; negative: there are no links */
    size_t n_loops;     /* translations that repeat themselves or do not end */
    /* The source, the translation and the reference. For a line: its beginning, the model's
     * continuation and the true one. Cut to fit. */
    char samples[DG_VALIDATE_SAMPLES][3][200];
    size_t n_samples;
};

/* The main figure of a task, and its name: "correlation", "exact", "F1", "accuracy"; NaN: there is
 * none. */
struct dg_validate_figure {
    const char *name;
    double value;
};

struct dg_validate_figure dg_validate_task(const struct dg_validate_report *report);

enum dg_err dg_validate_run(const struct dg_validate *what, struct dg_validate_report *report,
                            struct dg_error *error) DG_MUST_CHECK;

#endif
