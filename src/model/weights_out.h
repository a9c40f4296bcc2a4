/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Stores weights that are given as rows of floats: converts each to its type, adds the scales of I8
 * tensors, and streams everything into one safetensors file. Importers, the quantiser and the
 * random models all write through this, so the rules of the format are in one place:
 *
 *  - matrices may be F32, F16, BF16 or I8; a tensor of rank 1 is never I8 (it becomes F32);
 *  - an I8 tensor NAME comes with NAME_scale, F32 [rows] (tensor/tensor.h);
 *  - a finite number that F16 cannot hold, or a number that is not finite in an I8 tensor, is
 *    refused with the tensor's name.
 *
 * Rows are requested in blocks, possibly twice, because scales are stored before their tensor. */
#ifndef DG_MODEL_WEIGHTS_OUT_H
#define DG_MODEL_WEIGHTS_OUT_H

#include "base/memory/error.h"
#include "tensor/tensor.h"

#include <stddef.h>
#include <stdint.h>

struct dg_weights_out_item {
    const char *name; /* borrowed */
    unsigned rank;    /* 1 or 2 */
    size_t shape[2];
    enum dg_dtype dtype; /* the stored type; see dg_weights_out_dtype */
    bool has_raw;        /* `raw` gives its bytes in exactly this type */
};

struct dg_weights_out_source {
    void *ctx;
    /* Rows [first, first + n) of item `i` as floats; a vector is one row. */
    enum dg_err (*rows)(void *ctx, size_t i, size_t first, size_t n, float *rows,
                        struct dg_error *error);
    /* The bytes of an item with has_raw, borrowed until the next call. May be NULL without such
     * items. */
    enum dg_err (*raw)(void *ctx, size_t i, const void **bytes, struct dg_error *error);
    /* The scales of an I8 item with has_raw, one per row. May be NULL without such items. */
    enum dg_err (*raw_scales)(void *ctx, size_t i, float *scales, struct dg_error *error);
    /* Called after each part with the number of bytes written since the last call. May be NULL. */
    void (*progress)(void *ctx, uint64_t more);
};

/* Returns the type in which a tensor of `rank` is stored when `wanted` is asked for. */
enum dg_dtype dg_weights_out_dtype(enum dg_dtype wanted, unsigned rank);

/* Returns the bytes of data that dg_weights_out_save will write. */
uint64_t dg_weights_out_len(const struct dg_weights_out_item *items, size_t n);

enum dg_err dg_weights_out_save(const char *path, const struct dg_weights_out_item *items, size_t n,
                                const struct dg_weights_out_source *source,
                                struct dg_error *error) DG_MUST_CHECK;

#endif
