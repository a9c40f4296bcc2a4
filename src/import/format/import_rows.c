/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Elements are read with memcpy, since blobs of foreign files may be at any address. Rows are read
 * in small tiles, so that a transposed matrix is read a cache line at a time. */
#include "import/format/import_rows.h"
#include "base/memory/mem.h"
#include "tensor/convert.h"

#include <string.h>

enum { TILE_ROWS = 16 };

static size_t rows_of(const struct dg_import_tensor *tensor)
{
    return tensor->info.rank == 2 ? tensor->info.shape[0] : 1;
}

static size_t cols_of(const struct dg_import_tensor *tensor)
{
    return tensor->info.rank == 2   ? tensor->info.shape[1]
           : tensor->info.rank == 1 ? tensor->info.shape[0]
                                    : 1;
}

bool dg_import_rows_is_plain(const struct dg_import_tensor *tensor, enum dg_dtype stored)
{
    return tensor->info.dtype == stored && (tensor->n_scales > 0) == (stored == DG_DTYPE_I8) &&
           (tensor->strides[1] == 1 || cols_of(tensor) == 1) &&
           (tensor->strides[0] == cols_of(tensor) || rows_of(tensor) == 1);
}

/* Computes the last element's index; false when it does not fit 64 bits. */
static bool last_element(const struct dg_import_tensor *tensor, size_t *last)
{
    size_t rows = rows_of(tensor), cols = cols_of(tensor), down, across;
    if (rows == 0 || cols == 0)
        return false;
    return dg_mul(rows - 1, tensor->strides[0], &down) &&
           dg_mul(cols - 1, tensor->strides[1], &across) && dg_add(tensor->offset, down, last) &&
           dg_add(*last, across, last);
}

static enum dg_err load(struct dg_import *import, const struct dg_import_tensor *tensor,
                        const uint8_t **bytes, struct dg_error *error)
{
    size_t len, last, end;
    enum dg_err err = import->load(import->ctx, tensor->blob, bytes, &len, error);
    if (err)
        return dg_error_wrap(error, err, "tensor %s", tensor->info.name);
    if (!last_element(tensor, &last) || !dg_add(last, 1, &end) ||
        !dg_mul(end, dg_dtype_size(tensor->info.dtype), &end) || end > len)
        return dg_error_set(
            error, DG_ERR_TRUNCATED,
            "tensor %s: its shape and offset reach past the %zu bytes that are stored",
            tensor->info.name, len);
    return DG_OK;
}

enum dg_err dg_import_rows_raw(struct dg_import *import, const struct dg_import_tensor *tensor,
                               const void **bytes, struct dg_error *error)
{
    const uint8_t *start;
    enum dg_err err = load(import, tensor, &start, error);
    if (!err)
        *bytes = start + tensor->offset * dg_dtype_size(tensor->info.dtype);
    return err;
}

enum dg_err dg_import_rows_has_128(struct dg_import *import, const struct dg_import_tensor *tensor,
                                   bool *found, struct dg_error *error)
{
    enum { PIECE = 1 << 20 };
    const size_t len = rows_of(tensor) * cols_of(tensor);
    enum dg_err err = DG_OK;
    *found = false;
    for (size_t at = 0; at < len && !err && !*found; at += PIECE) {
        /* read again for each piece, so that the reader can release the earlier pages */
        const void *bytes;
        err = dg_import_rows_raw(import, tensor, &bytes, error);
        *found =
            !err && memchr((const char *)bytes + at, 0x80, len - at < PIECE ? len - at : PIECE);
    }
    return err;
}

void dg_import_rows_scales(const struct dg_import_tensor *tensor, float *scales)
{
    for (size_t r = 0; r < rows_of(tensor); r++) {
        float scale = tensor->scales[tensor->n_scales > 1 ? r : 0];
        scales[r] = tensor->scale_divides ? 1 / scale : scale;
    }
}

/* Returns one element; `at` counts elements. */
static inline float element(enum dg_dtype dtype, const uint8_t *bytes, size_t at)
{
    float f32;
    double f64;
    uint16_t half;
    int16_t i16;
    switch (dtype) {
    case DG_DTYPE_F32:
        memcpy(&f32, bytes + 4 * at, 4);
        return f32;
    case DG_DTYPE_F16:
        memcpy(&half, bytes + 2 * at, 2);
        return dg_convert_f16(half);
    case DG_DTYPE_BF16:
        memcpy(&half, bytes + 2 * at, 2);
        return dg_convert_bf16(half);
    case DG_DTYPE_F64:
        memcpy(&f64, bytes + 8 * at, 8);
        return (float)f64;
    case DG_DTYPE_I16:
        memcpy(&i16, bytes + 2 * at, 2);
        return (float)i16;
    default: /* I8; the matching has refused all other types */
        return (float)(int8_t)bytes[at];
    }
}

static void apply_scales(const struct dg_import_tensor *tensor, size_t first, size_t n, size_t cols,
                         float *rows)
{
    for (size_t r = 0; r < n && tensor->n_scales; r++) {
        float scale = tensor->scales[tensor->n_scales > 1 ? first + r : 0];
        for (size_t c = 0; c < cols; c++)
            rows[r * cols + c] =
                tensor->scale_divides ? rows[r * cols + c] / scale : rows[r * cols + c] * scale;
    }
}

enum dg_err dg_import_rows(struct dg_import *import, const struct dg_import_tensor *tensor,
                           size_t first, size_t n, float *rows, struct dg_error *error)
{
    const uint8_t *bytes;
    enum dg_err err = load(import, tensor, &bytes, error);
    if (err)
        return err;
    size_t cols = cols_of(tensor);
    enum dg_dtype dtype = tensor->info.dtype;
    size_t across = tensor->strides[1], down = tensor->strides[0];
    size_t start = tensor->offset + first * down;
    if (dtype == DG_DTYPE_F32 && across == 1) {
        for (size_t r = 0; r < n; r++)
            memcpy(rows + r * cols, bytes + 4 * (start + r * down), 4 * cols);
    } else if (across <= down || n == 1) {
        for (size_t r = 0; r < n; r++)
            for (size_t c = 0; c < cols; c++)
                rows[r * cols + c] = element(dtype, bytes, start + r * down + c * across);
    } else {
        for (size_t tile = 0; tile < n; tile += TILE_ROWS) {
            size_t end = n - tile < TILE_ROWS ? n : tile + TILE_ROWS;
            for (size_t c = 0; c < cols; c++)
                for (size_t r = tile; r < end; r++)
                    rows[r * cols + c] = element(dtype, bytes, start + r * down + c * across);
        }
    }
    apply_scales(tensor, first, n, cols, rows);
    return DG_OK;
}
