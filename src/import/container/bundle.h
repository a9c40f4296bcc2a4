/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads the files of a model in the form in which people pass it on: a directory, or a ZIP with one
 * directory at its top. Both are read in the same way, by names relative to that directory.
 *
 *     struct dg_bundle bundle;
 *     err = dg_bundle_open(&bundle, "translate-fr_en.argosmodel", &error);
 *     if (dg_bundle_has(&bundle, "metadata.json"))
 *         err = dg_bundle_read(&bundle, "metadata.json", 1 << 20, &data, &error);
 *     ... data.bytes[0 .. data.len) ...
 *     dg_bundle_data_free(&data);
 *     dg_bundle_close(&bundle); */
#ifndef DG_IMPORT_CONTAINER_BUNDLE_H
#define DG_IMPORT_CONTAINER_BUNDLE_H

#include "base/file/map_file.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "archive/zip_in.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_BUNDLE_PATH_CAP = 4096 };

struct dg_bundle {
    bool is_zip;
    struct dg_zip zip; /* owned, with is_zip */
    /* the directory, or the path of the ZIP itself, for sentences */
    char dir[DG_BUNDLE_PATH_CAP];
    char top[DG_BUNDLE_PATH_CAP / 4]; /* "" or "translate-fr_en/", before every name in a ZIP */
};

struct dg_bundle_data {
    const uint8_t *bytes; /* never NULL */
    size_t len;
    struct dg_map_file map; /* of a directory's file */
    struct dg_zip_data zip; /* of a ZIP's member */
};

enum dg_err dg_bundle_open(struct dg_bundle *bundle, const char *path,
                           struct dg_error *error) DG_MUST_CHECK;
void dg_bundle_close(struct dg_bundle *bundle);

bool dg_bundle_has(const struct dg_bundle *bundle, const char *name);

/* Reads a whole file of at most `max` bytes; it is there until dg_bundle_data_free. */
enum dg_err dg_bundle_read(const struct dg_bundle *bundle, const char *name, size_t max,
                           struct dg_bundle_data *data, struct dg_error *error) DG_MUST_CHECK;

/* Lets the system drop the pages of a large file; it reads them again when they are touched. */
void dg_bundle_data_forget(const struct dg_bundle_data *data);
void dg_bundle_data_free(struct dg_bundle_data *data); /* one that was zeroed is fine */

static inline struct dg_span dg_bundle_data_span(const struct dg_bundle_data *data)
{
    return dg_span_make((const char *)data->bytes, data->len);
}

#endif
