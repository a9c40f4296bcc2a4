/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads rows of floats through a view (import_int.h): any type, any strides, with scales. */
#ifndef DG_IMPORT_FORMAT_IMPORT_ROWS_H
#define DG_IMPORT_FORMAT_IMPORT_ROWS_H

#include "import/format/import_int.h"

/* True when the tensor is contiguous in the blob and its type is exactly `stored`. */
bool dg_import_rows_is_plain(const struct dg_import_tensor *tensor, enum dg_dtype stored);

/* Reads rows [first, first + n); a vector is one row. Checks the view against the blob's length. */
enum dg_err dg_import_rows(struct dg_import *import, const struct dg_import_tensor *tensor,
                           size_t first, size_t n, float *rows,
                           struct dg_error *error) DG_MUST_CHECK;

/* Gets the bytes of a plain tensor, borrowed until the next call. */
enum dg_err dg_import_rows_raw(struct dg_import *import, const struct dg_import_tensor *tensor,
                               const void **bytes, struct dg_error *error) DG_MUST_CHECK;

/* Sets *found when a plain I8 tensor contains -128, which our own I8 never does. */
enum dg_err dg_import_rows_has_128(struct dg_import *import, const struct dg_import_tensor *tensor,
                                   bool *found, struct dg_error *error) DG_MUST_CHECK;

/* Gets the scales of a plain I8 tensor by our rule (real = q * scale), one for each row. */
void dg_import_rows_scales(const struct dg_import_tensor *tensor, float *scales);

#endif
