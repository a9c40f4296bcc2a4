/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Opens a model directory: reads config.json into a blueprint, maps model.safetensors read-only,
 * and finds, checks and binds every weight. Nothing is copied except tensors that another program
 * has left misaligned, so a model opens in milliseconds and processes share its pages.
 *
 *     struct dg_model *model;
 *     err = dg_model_open(&model, "models/fr-en", &error);
 *     const struct dg_blueprint *bp = dg_model_blueprint(model);
 *     const struct dg_weights *weights = dg_model_weights(model);
 *     ...
 *     dg_model_unref(model);
 *
 * The model is immutable after opening. References may be taken and dropped by any thread; the last
 * one unmaps the file. The tokenizers open the vocabularies (*.spm, vocab.json). */
#ifndef DG_MODEL_MODEL_DIR_H
#define DG_MODEL_MODEL_DIR_H

#include "base/memory/error.h"
#include "model/blueprint.h"
#include "model/weights.h"

struct dg_model; /* opaque, shared (ref) */

/* Opens the directory `path` with one reference. The sentence names all missing, extra and wrongly
 * shaped tensors together: as many as fit, and then how many more there are. */
enum dg_err dg_model_open(struct dg_model **model, const char *path,
                          struct dg_error *error) DG_MUST_CHECK;

struct dg_model *dg_model_ref(struct dg_model *model);
void dg_model_unref(struct dg_model *model); /* mirror of open and ref; NULL is fine */

/* Borrowed until the last unref. */
const struct dg_blueprint *dg_model_blueprint(const struct dg_model *model);
const struct dg_weights *dg_model_weights(const struct dg_model *model);

/* Returns DG_ERR_INTEGRITY when the file was written to or truncated since it was opened, because
 * the weights that were read are then not the original ones. Call it after reading the weights
 * (base/file/map_file.h). */
enum dg_err dg_model_check(const struct dg_model *model, struct dg_error *error) DG_MUST_CHECK;

/* Releases the file's pages to the system, which reads them again when they are used. */
void dg_model_forget(const struct dg_model *model);

#endif
