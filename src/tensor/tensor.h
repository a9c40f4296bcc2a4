/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A tensor as it lies in a file: element type, shape, bytes. It borrows the bytes, which must
 * outlive it. Row-major, little-endian, `data` aligned to the element's size.
 *
 * Weights come in four types. F32, F16 and BF16 are the numbers themselves. I8 is symmetric with
 * one scale per row (output channel):
 *
 *     weight[r][c] = scale[r] * q[r][c],   q from -127 to 127
 *
 * so that a linear layer's result is (integer dot product) * scale[r] * (the input row's own
 * scale). An absent weight (a layer without a bias, say) has `data` NULL. */
#ifndef DG_TENSOR_TENSOR_H
#define DG_TENSOR_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Element types of files: code, name in a safetensors header, bytes of one element. */
#define DG_DTYPE_LIST(X)                                                                           \
    X(DG_DTYPE_F32, "F32", 4)                                                                      \
    X(DG_DTYPE_F16, "F16", 2)                                                                      \
    X(DG_DTYPE_BF16, "BF16", 2)                                                                    \
    X(DG_DTYPE_I8, "I8", 1)                                                                        \
    X(DG_DTYPE_F64, "F64", 8)                                                                      \
    X(DG_DTYPE_U8, "U8", 1)                                                                        \
    X(DG_DTYPE_BOOL, "BOOL", 1)                                                                    \
    X(DG_DTYPE_I16, "I16", 2)                                                                      \
    X(DG_DTYPE_U16, "U16", 2)                                                                      \
    X(DG_DTYPE_I32, "I32", 4)                                                                      \
    X(DG_DTYPE_U32, "U32", 4)                                                                      \
    X(DG_DTYPE_I64, "I64", 8)                                                                      \
    X(DG_DTYPE_U64, "U64", 8)

enum dg_dtype {
#define DG_DTYPE_ENUM(code, name, size) code,
    DG_DTYPE_LIST(DG_DTYPE_ENUM)
#undef DG_DTYPE_ENUM
        DG_DTYPE_COUNT
};

enum { DG_TENSOR_RANK_MAX = 4 };

struct dg_tensor {
    const void *data;                 /* borrowed; NULL when the weight is absent */
    const float *scale;               /* borrowed; [shape[0]], only for I8 */
    size_t shape[DG_TENSOR_RANK_MAX]; /* the first `rank` are meaningful, the rest are 1 */
    enum dg_dtype dtype;
    unsigned rank;
};

/* Return the name ("F16"), and the size of one element in bytes. */
const char *dg_dtype_name(enum dg_dtype dtype);
size_t dg_dtype_size(enum dg_dtype dtype);

/* Finds a type by its name; false when there is none. */
bool dg_dtype_find(const char *name, enum dg_dtype *dtype);

/* Returns true for the types a weight may have when served: F32, F16, BF16, I8. */
static inline bool dg_dtype_is_weight(enum dg_dtype dtype)
{
    return dtype <= DG_DTYPE_I8;
}

static inline bool dg_tensor_present(const struct dg_tensor *tensor)
{
    return tensor->data != NULL;
}

/* Returns the number of elements. It cannot overflow, because shapes were checked against the file
 * when the tensor was made. */
static inline size_t dg_tensor_count(const struct dg_tensor *tensor)
{
    size_t count = 1;
    for (unsigned i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

#endif
