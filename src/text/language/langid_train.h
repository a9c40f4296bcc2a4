/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Learns the model of langid.h from labelled sentences. Used by `dragoman langid-train`, never by
 * the daemon. See langid_train.c for the method and docs/internals/langid.md for what was measured.
 *
 *     struct dg_langid_train_opts opts = DG_LANGID_TRAIN_OPTS_DEFAULT;
 *     struct dg_buf model;
 *     dg_buf_init(&model, 1 << 20);
 *     err = dg_langid_train(tsv, &opts, &model, &error);    tsv: lines "tag<TAB>sentence"
 *
 * The same input, options and machine give the same bytes. One thread; takes minutes. */
#ifndef DG_TEXT_LANGUAGE_LANGID_TRAIN_H
#define DG_TEXT_LANGUAGE_LANGID_TRAIN_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_langid_train_opts {
    size_t size_max;        /* the most bytes of the model */
    unsigned epochs;        /* passes over the lines with all n-grams, before the best are chosen */
    unsigned epochs_pruned; /* passes with the chosen n-grams */
    /* the share of each language's lines, at the end, that serves for calibration */
    double held_out;
    bool keep_held_out; /* these lines never train the weights that are written */
    uint64_t seed;
    bool verbose; /* reports progress on stderr */
};

#define DG_LANGID_TRAIN_OPTS_DEFAULT                                                               \
    {                                                                                              \
        .size_max = 1000000, .epochs = 40, .epochs_pruned = 40, .held_out = 0.1, .seed = 1         \
    }

/* Appends the model to `out`. DG_ERR_FORMAT for lines that are not "tag<TAB>text", DG_ERR_LIMIT for
 * too many languages, DG_ERR_NOMEM. */
enum dg_err dg_langid_train(struct dg_span tsv, const struct dg_langid_train_opts *opts,
                            struct dg_buf *out, struct dg_error *error) DG_MUST_CHECK;

#endif
