/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Draws the curves of a run: writes its log as comma-separated values, and as a picture (SVG) that
 * every browser shows.
 *
 *     err = dg_curve_write("models/fr-en", &error);
 *
 * reads training/log.tsv and writes training/curve.csv and training/curve.svg: the loss of
 * training, the loss of the held-out pairs, and, on an axis of its own, their BLEU. Lines of the
 * log that do not parse are left out. The size of the picture is bounded, however long the log is.
 * One thread. */
#ifndef DG_TRAIN_REPORT_CURVE_H
#define DG_TRAIN_REPORT_CURVE_H

#include "base/memory/buf.h"
#include "base/memory/error.h"

#include <stddef.h>

struct dg_curve_point {
    double step, loss;           /* loss is NaN if the point has only a validation */
    double dev_loss, bleu, chrf; /* NaN: not measured */
    /* for a classifier or an encoder-only model: the figure of its task (validate.h) */
    double task;
};

struct dg_curve {
    struct dg_curve_point *points; /* [n] owned, in the order of the log */
    size_t n, cap;
};

/* Reads the points of a log. DG_ERR_NOT_FOUND when there is no log. */
enum dg_err dg_curve_read(struct dg_curve *curve, const char *log_path,
                          struct dg_error *error) DG_MUST_CHECK;
void dg_curve_deinit(struct dg_curve *curve);

enum dg_err dg_curve_svg(const struct dg_curve *curve, struct dg_buf *out) DG_MUST_CHECK;

enum dg_err dg_curve_write(const char *dir, struct dg_error *error) DG_MUST_CHECK;

#endif
