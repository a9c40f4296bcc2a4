/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writes a new ZIP archive, its members without compression and without times, so that the same
 * contents give the same bytes.
 *
 *     struct dg_zip_new zip;
 *     dg_zip_new_init(&zip, &out);
 *     dg_zip_new_add(&zip, "mimetype", bytes);
 *     err = dg_zip_new_end(&zip); */
#ifndef DG_ARCHIVE_ZIP_NEW_H
#define DG_ARCHIVE_ZIP_NEW_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdint.h>

enum { DG_ZIP_NEW_MEMBERS = 16 };

struct dg_zip_new {
    struct dg_buf *out; /* borrowed */
    size_t begin;       /* entries of the directory */
    struct dg_zip_new_member {
        const char *name; /* borrowed */
        uint32_t at, len, crc;
    } members[DG_ZIP_NEW_MEMBERS];
    size_t n;
    enum dg_err err; /* the first failure; later calls do nothing */
};

void dg_zip_new_init(struct dg_zip_new *zip, struct dg_buf *out);
void dg_zip_new_add(struct dg_zip_new *zip, const char *name, struct dg_span bytes);
enum dg_err dg_zip_new_end(struct dg_zip_new *zip) DG_MUST_CHECK;

#endif
