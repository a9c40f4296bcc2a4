/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* All parameters of a network as one array of floats, so that an optimiser, a sum over threads and
 * a checkpoint are loops over one array; and the same parameters as views by their roles in the
 * network.
 *
 *     struct dg_params params;
 *     err = dg_params_init(&params, &bp, &error);
 *     dg_params_randomise(&params, seed);
 *     ... params.weights.transformer.encoder_layers[0].self.q.weight ...    views into params.w
 *     err = dg_params_save(&params, params.w, DG_DTYPE_F16, "model.safetensors", &error);
 *     dg_params_deinit(&params);
 * Gradients and moments are arrays of the same length: the gradient of the weight w[i] is g[i].
 * Matrices come first, in the order of model/layout.h, then vectors; so the matrices of queries,
 * keys and values are adjacent, as are their biases, and one product serves all three. */
#ifndef DG_TRAIN_PASS_PARAMS_H
#define DG_TRAIN_PASS_PARAMS_H

#include "base/memory/error.h"
#include "model/blueprint.h"
#include "model/layout.h"
#include "model/weights.h"

#include <stddef.h>
#include <stdint.h>

struct dg_param {
    char name[DG_LAYOUT_NAME_CAP];
    unsigned rank;
    size_t shape[2];
    size_t at; /* index of the first element in the array */
    size_t len;
    bool is_bias, is_gain, is_embedding;
};

struct dg_params {
    struct dg_blueprint bp;
    struct dg_weights weights; /* views into w */
    float *w;                  /* [n] owned */
    size_t n;
    struct dg_param *list; /* [n_list] owned */
    size_t n_list;
};

/* Checks the blueprint and allocates; values are zeros. DG_ERR_UNSUPPORTED for an encoder-only
 * model whose head cannot be trained. */
enum dg_err dg_params_init(struct dg_params *params, const struct dg_blueprint *bp,
                           struct dg_error *error) DG_MUST_CHECK;
void dg_params_deinit(struct dg_params *params);

/* Sets the start values: matrices uniform with Glorot's bound, embeddings normal with deviation
 * 1/sqrt(D), gains 1, biases 0; plain recurrent networks as in PyTorch. The same seed gives the
 * same bits on every machine. */
void dg_params_randomise(struct dg_params *params, uint64_t seed);

/* Copies a model's weights into `params`. The model's blueprint must have the same parameters; only
 * the head of an encoder-only model may differ, and parameters of the head that do not fit keep
 * their values. */
enum dg_err dg_params_load(struct dg_params *params, const struct dg_weights *from,
                           struct dg_error *error) DG_MUST_CHECK;

/* Writes `w` (params->w, or an average of the same length) as model.safetensors of `dtype`. */
enum dg_err dg_params_save(const struct dg_params *params, const float *w, enum dg_dtype dtype,
                           const char *path, struct dg_error *error) DG_MUST_CHECK;

#endif
