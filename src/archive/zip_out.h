/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writes a ZIP archive again with some of its members replaced. Everything else is copied as it is,
 * including compressed bytes, names, times, extra fields and gaps, in the order of the original;
 * with nothing replaced, the copy is the original. A replaced member keeps its name, time,
 * attributes and method.
 *
 *     const struct dg_zip_out out = {.replace = replace, .write = write, .ctx = job};
 *     err = dg_zip_out_copy(&zip, &out, &error);
 *
 * Only one new member is in memory at a time. ZIP64 archives are refused. Any thread. */
#ifndef DG_ARCHIVE_ZIP_OUT_H
#define DG_ARCHIVE_ZIP_OUT_H

#include "archive/zip_in.h"
#include "base/memory/span.h"

struct dg_zip_out {
    /* Called for each member, in the order of the archive. Sets *is_new to have the member's
     * contents replaced by *bytes, which are borrowed until the next call. */
    enum dg_err (*replace)(void *ctx, const struct dg_zip_member *member, struct dg_span *bytes,
                           bool *is_new, struct dg_error *error);
    /* Called with the bytes of the new archive, from its beginning to its end. */
    enum dg_err (*write)(void *ctx, struct dg_span bytes, struct dg_error *error);
    void *ctx; /* passed to both */
};

/* DG_ERR_UNSUPPORTED (ZIP64), DG_ERR_FORMAT (members that overlap), DG_ERR_LIMIT (more than 4 GiB),
 * DG_ERR_NOMEM, and whatever the callbacks return. */
enum dg_err dg_zip_out_copy(const struct dg_zip *zip, const struct dg_zip_out *out,
                            struct dg_error *error) DG_MUST_CHECK;

#endif
