/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A model's weights, each twice: as they are and as they would be in a smaller type. Any choice
 * between the two can be made into a network, which is how `dragoman quantize` finds out what a
 * type costs.
 *
 *     struct narrowed *narrowed;
 *     err = narrowed_new(&narrowed, model, DG_DTYPE_I8, &error);
 *     narrowed->items[i].is_on = false;                          this one as it is
 *     err = narrowed_net(narrowed, &net, &error);
 *     narrowed_free(narrowed);
 *
 * Matrices that are multiplied get the type asked for. All else (vectors, learned positions,
 * relative positions) is small, is read as floats and becomes F16; what F16 cannot hold stays as it
 * is. One thread. */
#ifndef DG_TOOLS_MODEL_QUANTIZED_H
#define DG_TOOLS_MODEL_QUANTIZED_H

#include "model/layout.h"
#include "model/model_dir.h"
#include "network/net.h"

struct narrowed_item {
    char name[DG_LAYOUT_NAME_CAP];
    char group[DG_LAYOUT_NAME_CAP]; /* the same for matrices that are one product */
    size_t leader;                  /* first item of the group */
    bool is_product;                /* a matrix that rows are multiplied with */
    struct dg_tensor from;          /* borrowed from the model */
    struct dg_tensor as; /* data and scale owned, unless the type is the one that it had */
    bool is_on;          /* in use: `as`, else `from` */
    bool fits_f16;
    double relative_error; /* norm of the difference over the norm of the weights */
    double most_error;     /* largest difference over the largest weight */
};

struct quantized {
    const struct dg_model *model; /* borrowed */
    enum dg_dtype type;
    struct narrowed_item *items; /* [n] in the layout's order */
    size_t n, cap;
};

enum dg_err narrowed_new(struct quantized **quantized, const struct dg_model *model,
                         enum dg_dtype type, struct dg_error *error) DG_MUST_CHECK;
void narrowed_free(struct quantized *quantized); /* NULL is fine */

/* Switches all products of item i's group. */
void narrowed_switch(struct quantized *quantized, size_t i, bool is_on);

/* The network of the present choice. */
enum dg_err narrowed_net(const struct quantized *quantized, struct dg_net **net,
                         struct dg_error *error) DG_MUST_CHECK;

/* The type that an item is stored in: the narrow one where it is on; a product that is off is kept
 * as F16 where I8 was asked for, else as it is. DG_DTYPE_F32 for a name that is not there. */
enum dg_dtype narrowed_stored(const struct quantized *quantized, const char *name);

#endif
