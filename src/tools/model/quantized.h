/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Holds the weights of a model in two forms, original and quantized. For each group of weights the
 * caller chooses a form; a network can be made of any such choice. `dragoman quantize` measures
 * with these networks how much quality a type costs.
 *
 *     struct quantized *quantized;
 *     err = quantized_new(&quantized, model, DG_DTYPE_I8, &error);
 *     quantized_switch(quantized, i, false);                      keep this group's original
 *     err = quantized_net(quantized, &net, &error);
 *     quantized_free(quantized);
 *
 * Matrices of products get the requested type. Everything else (vectors, learned positions,
 * relative positions) is small, is read as floats and becomes F16, unless F16 cannot hold its
 * values. One thread. */
#ifndef DG_TOOLS_MODEL_QUANTIZED_H
#define DG_TOOLS_MODEL_QUANTIZED_H

#include "model/layout.h"
#include "model/model_dir.h"
#include "network/net.h"

struct quantized_item {
    char name[DG_LAYOUT_NAME_CAP];
    char group[DG_LAYOUT_NAME_CAP]; /* the same for all matrices that form one product */
    size_t leader;                  /* index of the group's first item */
    bool is_product;                /* a matrix that rows are multiplied by */
    struct dg_tensor from;          /* borrowed from the model */
    struct dg_tensor as; /* data and scale are owned, unless the type is that of `from` */
    bool is_on;          /* the network uses `as`; otherwise it uses `from` */
    bool fits_f16;
    double relative_error; /* norm of the difference over the norm of the weights */
    double most_error;     /* largest difference over the largest weight */
};

struct quantized {
    const struct dg_model *model; /* borrowed */
    enum dg_dtype type;
    struct quantized_item *items; /* [n] in the layout's order */
    size_t n, cap;
};

enum dg_err quantized_new(struct quantized **quantized, const struct dg_model *model,
                          enum dg_dtype type, struct dg_error *error) DG_MUST_CHECK;
void quantized_free(struct quantized *quantized); /* NULL is fine */

/* Sets is_on of all products of item i's group. */
void quantized_switch(struct quantized *quantized, size_t i, bool is_on);

/* Makes the network of the present choice. */
enum dg_err quantized_net(const struct quantized *quantized, struct dg_net **net,
                          struct dg_error *error) DG_MUST_CHECK;

/* Returns the type in which an item is stored: the quantized type if is_on; otherwise, for a
 * product, F16 if I8 was requested, else the original type. DG_DTYPE_F32 for an unknown name. */
enum dg_dtype quantized_stored(const struct quantized *quantized, const char *name);

#endif
