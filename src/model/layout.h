/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The one list of a network's parameters: for a blueprint, every weight's canonical name, its shape
 * and its place in struct dg_weights. The reader binds by it, importers are checked against it,
 * random models are made from it, `inspect` counts by it.
 *
 *     struct dg_weights weights;
 *     err = dg_layout_weights_init(&weights, &bp);
 *     err = dg_layout_visit(&bp, &weights, on_item, ctx);
 *     dg_layout_weights_deinit(&weights); */
#ifndef DG_MODEL_LAYOUT_H
#define DG_MODEL_LAYOUT_H

#include "base/memory/err.h"
#include "model/blueprint.h"
#include "model/weights.h"

#include <stdbool.h>
#include <stddef.h>

enum { DG_LAYOUT_NAME_CAP = 96 };

struct dg_layout_item {
    const char *name; /* canonical; borrowed until the callback returns */
    unsigned rank;    /* 1 or 2 */
    size_t shape[2];
    bool is_bias; /* additive: zero when it starts */
    bool is_gain; /* multiplicative: one when it starts */
    bool is_embedding;
    struct dg_tensor *slot; /* where it belongs */
};

/* A result other than DG_OK ends the visit and becomes its result. */
typedef enum dg_err (*dg_layout_fn)(void *ctx, const struct dg_layout_item *item);

/* Calls `fn` for every parameter that the blueprint (already checked) asks for, tied matrices once.
 */
enum dg_err dg_layout_visit(const struct dg_blueprint *bp, struct dg_weights *weights,
                            dg_layout_fn fn, void *ctx) DG_MUST_CHECK;

/* Allocates the layers, every tensor absent. */
enum dg_err dg_layout_weights_init(struct dg_weights *weights,
                                   const struct dg_blueprint *bp) DG_MUST_CHECK;
void dg_layout_weights_deinit(struct dg_weights *weights);

/* Repeats tied matrices in their other roles; call when all that was visited is bound. */
void dg_layout_tie(const struct dg_blueprint *bp, struct dg_weights *weights);

#endif
