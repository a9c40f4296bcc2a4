/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Marian's binary container (.bin), as Bergamot and Firefox ship it: headers, names, shapes,
 * padding, then the items back to back, used in place. Every length is checked before it is used; a
 * refusal names the file, the offset and the field.
 *
 *     struct dg_marian_bin file;
 *     err = dg_marian_bin_parse(&file, bytes, len, "model.bin", &error);      borrows the bytes
 *     const struct dg_marian_item *item = dg_marian_bin_find(&file, "Wemb");
 *     dg_marian_bin_close(&file); */
#ifndef DG_IMPORT_CONTAINER_MARIAN_BIN_H
#define DG_IMPORT_CONTAINER_MARIAN_BIN_H

#include "base/memory/arena.h"
#include "base/memory/error.h"
#include "tensor/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_marian_item {
    const char *name; /* in the arena */
    uint64_t type;    /* as in the file */
    enum dg_dtype dtype;
    /* Quantised: numbers are q / multiplier. Except for embeddings, the data of a matrix is
     * transposed although its shape is not. */
    bool is_intgemm;
    float multiplier;
    unsigned rank;
    size_t shape[DG_TENSOR_RANK_MAX]; /* dimensions past the rank are 1 */
    const uint8_t *bytes;             /* borrowed */
    size_t len;                       /* of the numbers, without multiplier and padding */
    size_t stored_len;                /* the same with multiplier and padding */
};

struct dg_marian_bin {
    const char *name; /* of the file, for sentences; borrowed */
    struct dg_arena arena;
    struct dg_marian_item *items; /* [n_items] in the order of the file; in the arena */
    size_t n_items;
};

/* True when a file begins like this container. That includes version 2, which is encrypted. */
bool dg_marian_bin_is(const uint8_t *bytes, size_t len);

enum dg_err dg_marian_bin_parse(struct dg_marian_bin *file, const uint8_t *bytes, size_t len,
                                const char *name, struct dg_error *error) DG_MUST_CHECK;
void dg_marian_bin_close(struct dg_marian_bin *file);

/* Returns the item of this name; NULL when there is none. */
const struct dg_marian_item *dg_marian_bin_find(const struct dg_marian_bin *file, const char *name);

#endif
