/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How good a network is on held-out pairs: the loss under teacher forcing, and BLEU and chrF of our
 * own decoder's translations of the sources.
 *
 *     struct dg_validate what = {.params = &params, .team = team, .passes = passes, ...};
 *     err = dg_validate_run(&what, &report, &error);
 * A language model that learns from lines has no references: as samples, it continues the first
 * lines from their middles.
 *
 * Called between steps by the thread that owns the team. */
#ifndef DG_TRAIN_RUN_VALIDATE_H
#define DG_TRAIN_RUN_VALIDATE_H

#include "base/memory/err.h"
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
    const struct dg_params *params; /* with the weights to score */
    struct dg_team *team;
    struct dg_pass *const *passes; /* [team size] */
    const struct dg_corpus *dev;   /* the pairs as ids */
    const struct dg_pair *texts;   /* [dev->n] the same pairs as text */
    const struct dg_tokenizer *tokenizer;
    size_t n_translate; /* how many of the first pairs; 0: only the loss */
    int beam;
    size_t guide_head; /* the head of the last layer whose attention is compared with the links,
                          from 1; 0: the mean of all its heads */
    const struct dg_labels *labels; /* for an encoder alone that labels words; else NULL is fine */
    struct dg_pass_mask mask;       /* an encoder's head for words */
};

struct dg_validate_report {
    double loss;       /* -log p per target token */
    size_t n_left_out; /* pairs too long for any pass, which the loss leaves out */
    double accuracy;   /* of a classifier or an encoder alone: the share of labels, or masked words,
                        * that are right, or of texts all of whose labels are right if each may
                        * have any number, in per cent; negative: not measured */
    double f1;         /* of an encoder alone: of entities, of answers' tokens, or of labels if each
                        * text may have any number (over all texts), in per cent; negative: not
                        * measured */
    double macro_f1;   /* the mean of each such label's own F1; negative: not measured */
    double exact;      /* of answers: the share with both ends right, in per cent; negative: not
                        * measured */
    double correlation; /* of numbers: Pearson's; NaN: not measured */
    double bleu, chrf;  /* 0 to 100; negative: not measured */
    double agreement;   /* share of the linked target words whose attention is greatest on a linked
                           word; negative: no links */
    size_t n_loops;     /* translations that went in circles or did not end */
    char samples[DG_VALIDATE_SAMPLES][3][200]; /* source, translation, reference (of a
                                                * line: its beginning, the model's
                                                * continuation, the true one); cut to fit */
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
