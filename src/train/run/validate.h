/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How good a network is on held-out pairs: the loss under teacher forcing, and BLEU and chrF of
 * what our own decoder makes of the sources.
 *
 *     struct dg_validate what = {.params = &params, .team = team, .passes = passes, ...};
 *     err = dg_validate_run(&what, &report, &error);
 *
 * A language model that learns from lines has nothing to be compared with: the first of these are
 * gone on with from their middles, as samples.
 *
 * Called between steps by the thread that owns the team. The text of translations and references
 * goes through the model's own tokenizer on both sides, so that scores compare across vocabularies
 * only when `references` holds the true text. */
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
    const struct dg_params *params; /* with the weights to judge */
    struct dg_team *team;
    struct dg_pass *const *passes; /* [team size] */
    const struct dg_corpus *dev;   /* the pairs as ids */
    const struct dg_pair *texts;   /* [dev->n] the same pairs as text */
    const struct dg_tokenizer *tokenizer;
    size_t n_translate; /* of the first pairs; 0: no scores, only the loss */
    int beam;
    size_t guide_head; /* whose attention is compared with the links: from 1, 0: the mean of the
                          last layer */
    const struct dg_labels *labels; /* of words, for an encoder alone; NULL is fine */
    struct dg_pass_mask mask;       /* an encoder's head for words */
};

struct dg_validate_report {
    double loss;       /* -log p for each target token */
    size_t n_left_out; /* pairs that no pass has room for: the loss says nothing of them */
    double accuracy; /* of a classifier or an encoder alone: what was found of labels (of any number
                      * of them: texts all of whose were), of masked words, in per cent; negative:
                      * of another network */
    double f1;       /* of an encoder alone: of entities, of answers' tokens, of labels of which any
                      * number may be right       (all texts' together), in per cent; negative: not
                      * measured */
    double macro_f1; /* the mean of each such label's own; negative */
    double exact; /* of answers: those that begin and end where they should, in per cent; negative
                   */
    double correlation; /* of numbers, Pearson's; NaN: not measured */
    double bleu, chrf;  /* 0 to 100; negative: not measured */
    double agreement;   /* share of the linked target words whose attention is greatest on a linked
                           word; negative: no links */
    size_t n_loops;     /* translations that went in circles or did not end */
    char samples[DG_VALIDATE_SAMPLES][3][200]; /* source, translation, reference (of a line: its
                                                * beginning, how it is gone on with, how it goes
                                                * on); cut to fit */
    size_t n_samples;
};

/* The one figure that a task is judged by, and its name: "correlation", "exact", "F1", "accuracy";
 * NaN: there is none. */
struct dg_validate_figure {
    const char *name;
    double value;
};

struct dg_validate_figure dg_validate_task(const struct dg_validate_report *report);

enum dg_err dg_validate_run(const struct dg_validate *what, struct dg_validate_report *report,
                            struct dg_error *error) DG_MUST_CHECK;

#endif
