/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The single list of a network's parameters: for a blueprint, every weight's canonical name, shape
 * and place in struct dg_weights. bind.h uses this list to bind a file's tensors, importers are
 * checked against it, random models are made from it, and `inspect` counts parameters with it.
 *
 *     struct dg_weights weights;
 *     err = dg_layout_weights_init(&weights, &bp);
 *     err = dg_layout_visit(&bp, &weights, on_item, ctx);
 *     dg_layout_weights_deinit(&weights); */
#ifndef DG_MODEL_LAYOUT_H
#define DG_MODEL_LAYOUT_H

#include "base/memory/error.h"
#include "model/blueprint.h"
#include "model/weights.h"

#include <stdbool.h>
#include <stddef.h>

enum { DG_LAYOUT_NAME_CAP = 96 };

struct dg_layout_item {
    const char *name; /* canonical; borrowed until the callback returns */
    unsigned rank;    /* 1 or 2 */
    size_t shape[2];
    bool is_bias; /* an additive vector, which is initially zero */
    bool is_gain; /* a multiplicative vector, which is initially one */
    bool is_embedding;
    struct dg_tensor *slot; /* its member in struct dg_weights */
};

/* A result other than DG_OK ends the visit, which then returns it. */
typedef enum dg_err (*dg_layout_fn)(void *ctx, const struct dg_layout_item *item);

/* Calls `fn` for every parameter that the (checked) blueprint requires, once for tied matrices. */
enum dg_err dg_layout_visit(const struct dg_blueprint *bp, struct dg_weights *weights,
                            dg_layout_fn fn, void *ctx) DG_MUST_CHECK;

/* Allocates the layers; all tensors are absent at first. */
enum dg_err dg_layout_weights_init(struct dg_weights *weights,
                                   const struct dg_blueprint *bp) DG_MUST_CHECK;
void dg_layout_weights_deinit(struct dg_weights *weights);

/* Copies tied matrices to their other roles. Call it when all visited parameters are bound. */
void dg_layout_tie(const struct dg_blueprint *bp, struct dg_weights *weights);

#endif
