/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writes a model's card: what the model is, what it learned from and with which options, how good
 * it is, and what it cannot do. The card is for people, in Markdown: the file card.md of the model
 * directory.
 *
 *     struct dg_card card = {.dir = "models/fr-en", .params = params, ...};
 *     err = dg_card_write(&card, &error);
 *
 * Everything in it was measured or given; nothing is guessed. One thread. */
#ifndef DG_TRAIN_REPORT_CARD_H
#define DG_TRAIN_REPORT_CARD_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "train/data/corpus.h"
#include "train/pass/params.h"
#include "train/report/scores.h"
#include "train/run/trainer.h"

struct dg_card {
    const char *dir; /* the model directory; its last part is the model's name */
    const struct dg_params *params;
    const struct dg_corpus *train; /* the training pairs as ids, each as often as it is repeated */
    size_t n_dev;
    const struct dg_trainer_now *now; /* the state at the end of the run */
    const char *end;                  /* the result of dg_trainer_end_text */
    size_t threads;
    const struct dg_scores *scores;
    const struct dg_validate_report *samples; /* NULL: none */
    /* These are Markdown or plain text. If one is empty, its section says that nothing was
     * given, or is left out. */
    struct dg_span note;        /* what the model is for */
    struct dg_span files;       /* a list of the data's files (training/data.txt) */
    struct dg_span attribution; /* data, licences, thanks */
    struct dg_span recipe;      /* options of the run, as recipe.conf has them */
    struct dg_span history;     /* lines about options that changed during the run */
};

/* Appends the card; DG_ERR_IO or DG_ERR_NOT_FOUND when the model's file cannot be read. */
enum dg_err dg_card_print(const struct dg_card *card, struct dg_buf *out,
                          struct dg_error *error) DG_MUST_CHECK;

/* Writes the card to DIR/card.md. */
enum dg_err dg_card_write(const struct dg_card *card, struct dg_error *error) DG_MUST_CHECK;

#endif
