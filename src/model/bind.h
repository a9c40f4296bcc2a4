/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Binds the tensors of a safetensors file to the weights that a blueprint requires.
 *
 * One error names all faults together: missing tensors, unknown tensors, wrong shapes, wrong types,
 * missing scales. Other programs' names for tied matrices are understood; copies of tied matrices
 * and stored sinusoid tables are ignored. */
#ifndef DG_MODEL_BIND_H
#define DG_MODEL_BIND_H

#include "base/memory/arena.h"
#include "base/memory/error.h"
#include "model/blueprint.h"
#include "model/file/safetensors.h"
#include "model/layout.h"
#include "model/weights.h"

#include <stdbool.h>
#include <stddef.h>

/* Binds the tensors of `file`. `weights` was made by dg_layout_weights_init. Tensors whose bytes
 * are misaligned for their type are copied into `copies`; all others point into the file. One field
 * of `bp` may change: output_bias becomes false when the file has no such tensor. */
enum dg_err dg_bind_weights(struct dg_weights *weights, struct dg_blueprint *bp,
                            const struct dg_safetensors *file, struct dg_arena *copies,
                            struct dg_error *error) DG_MUST_CHECK;

/* ---- The matching alone, for importers ------------------------------------------------------- */

/* What is known of a tensor before its bytes are read. */
struct dg_tensor_info {
    const char *name; /* borrowed; canonical */
    enum dg_dtype dtype;
    unsigned rank;
    size_t shape[DG_TENSOR_RANK_MAX]; /* dimensions past the rank are 1 */
};

enum { DG_BIND_NO_SCALE = -1 };

/* `index` is the tensor for `item`; `scale` is the tensor of its scales, or DG_BIND_NO_SCALE. */
typedef enum dg_err (*dg_bind_fn)(void *ctx, const struct dg_layout_item *item, size_t index,
                                  long scale);

struct dg_bind_table {
    const struct dg_tensor_info *infos; /* [n] sorted by name (strcmp) */
    size_t n;
    /* A foreign file: F64 is accepted, and the importer knows the scales of I8 tensors. */
    bool foreign;
};

/* Calls `fn` for each weight of the blueprint that the table has; the sentence names all faults. */
enum dg_err dg_bind_match(struct dg_weights *weights, struct dg_blueprint *bp,
                          const struct dg_bind_table *table, dg_bind_fn fn, void *ctx,
                          struct dg_error *error) DG_MUST_CHECK;

#endif
