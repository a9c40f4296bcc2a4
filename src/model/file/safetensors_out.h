/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writes a safetensors file tensor by tensor, so that memory holds only the part being written.
 * Either the whole file appears or none. Mirror of safetensors.h.
 *
 *     const struct dg_safetensors_plan plan[] = {{"a.weight", DG_DTYPE_F16, 2, {256, 1024}}, ...};
 *     err = dg_safetensors_save("model.safetensors", plan, n, fill, ctx, &error);
 *
 *     static enum dg_err fill(void *ctx, size_t i, struct dg_safetensors_out *out,
 *                             struct dg_error *error)
 *     {
 *         ... for each part of plan[i] in row-major order ...
 *         return dg_safetensors_out_write(out, part, len, error);
 *     }
 *
 * Tensors are stored after a header padded to 64 bytes, those with the widest elements first, then
 * by name, so that every tensor is aligned for its type. */
#ifndef DG_MODEL_FILE_SAFETENSORS_OUT_H
#define DG_MODEL_FILE_SAFETENSORS_OUT_H

#include "base/memory/error.h"
#include "tensor/tensor.h"

#include <stddef.h>

struct dg_safetensors_plan {
    const char *name; /* borrowed */
    enum dg_dtype dtype;
    unsigned rank;
    size_t shape[DG_TENSOR_RANK_MAX];
};

struct dg_safetensors_out; /* the file while it is written */

/* Called once for each tensor, in the file's order; `i` is its index in the plan. Must write
 * exactly the tensor's bytes. An error ends the writing and removes the file. */
typedef enum dg_err (*dg_safetensors_fill_fn)(void *ctx, size_t i, struct dg_safetensors_out *out,
                                              struct dg_error *error);

enum dg_err dg_safetensors_out_write(struct dg_safetensors_out *out, const void *bytes, size_t len,
                                     struct dg_error *error) DG_MUST_CHECK;

enum dg_err dg_safetensors_save(const char *path, const struct dg_safetensors_plan *plan, size_t n,
                                dg_safetensors_fill_fn fill, void *ctx,
                                struct dg_error *error) DG_MUST_CHECK;

#endif
