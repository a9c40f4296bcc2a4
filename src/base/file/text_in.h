/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A whole text file in memory: a plain file is mapped; a gzip file, recognised by its first two
 * bytes and not by its name, is inflated.
 *
 *     struct dg_text_in in;
 *     err = dg_text_in_open(&in, "pairs.tsv.gz", &error);
 *     while (dg_text_in_line(&in, &line)) ...               without the newline or CR LF
 *     dg_text_in_close(&in);
 *
 * One thread. The limit of DG_TEXT_IN_MAX bytes applies to the inflated text. */
#ifndef DG_BASE_FILE_TEXT_IN_H
#define DG_BASE_FILE_TEXT_IN_H

#include "base/file/map_file.h"
#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>

#define DG_TEXT_IN_MAX ((size_t)8 << 30)

struct dg_text_in {
    struct dg_map_file file;
    struct dg_buf inflated;
    struct dg_span text; /* all of it; borrowed until close */
    size_t at;           /* where the next line begins */
};

enum dg_err dg_text_in_open(struct dg_text_in *in, const char *path,
                            struct dg_error *error) DG_MUST_CHECK;
void dg_text_in_close(struct dg_text_in *in);

/* The next line; false after the last one, which need not end in a newline. */
bool dg_text_in_line(struct dg_text_in *in, struct dg_span *line);

#endif
