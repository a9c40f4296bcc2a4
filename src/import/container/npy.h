/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The .npy array format: a magic, a version, the length of a header that is a Python dict in text,
 * and the raw numbers. The reader supports versions 1 to 3, little-endian numbers and C order. It
 * parses the header with a small grammar and evaluates nothing. */
#ifndef DG_IMPORT_CONTAINER_NPY_H
#define DG_IMPORT_CONTAINER_NPY_H

#include "base/memory/error.h"
#include "tensor/tensor.h"

struct dg_npy {
    enum dg_dtype dtype;
    unsigned rank;
    size_t shape[DG_TENSOR_RANK_MAX]; /* dimensions past the rank are 1 */
    size_t offset;                    /* of the first number */
    size_t len;                       /* bytes of numbers; the array ends the file */
};

/* Parses an array. `name` is the file's name in error sentences. */
enum dg_err dg_npy_parse(struct dg_npy *npy, const uint8_t *bytes, size_t len, const char *name,
                         struct dg_error *error) DG_MUST_CHECK;

#endif
