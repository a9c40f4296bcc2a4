/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads standard input line by line, or as a whole, for sub-commands that finish each line before
 * they read the next.
 *
 *     struct dg_lines lines;
 *     dg_lines_init(&lines);
 *     while (!(err = dg_lines_next(&lines, &line, &error)) && line.ptr)
 *         ... line is borrowed until the next call, without its line end ...
 *     dg_lines_deinit(&lines);
 *
 * A line may hold any bytes, NUL too. One thread. */
#ifndef DG_TOOLS_LINES_H
#define DG_TOOLS_LINES_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>

struct dg_lines {
    struct dg_buf buf;
    size_t taken;  /* bytes of `buf` that were returned to the caller */
    size_t seen;   /* bytes of `buf` that are known to have no line end */
    size_t number; /* the number of the line read last, from 1 */
    bool is_eof;
};

void dg_lines_init(struct dg_lines *lines);
void dg_lines_deinit(struct dg_lines *lines);

/* Reads the next line; line->ptr is NULL at the end. DG_ERR_LIMIT for a line longer than 64 MiB,
 * DG_ERR_IO, DG_ERR_NOMEM. */
enum dg_err dg_lines_next(struct dg_lines *lines, struct dg_span *line,
                          struct dg_error *error) DG_MUST_CHECK;

/* For a line that cannot be used: puts "line N: " before the sentence of `error`, where N is the
 * number of the line read last. Returns err. */
enum dg_err dg_lines_refuse(const struct dg_lines *lines, enum dg_err err, struct dg_error *error);

/* Appends all of standard input to `text`, whose maximum limits the document. Nothing may have been
 * read from standard input before. */
enum dg_err dg_lines_document(struct dg_buf *text, struct dg_error *error) DG_MUST_CHECK;

/* Reads all the input that is left, up to 1 GiB. */
enum dg_err dg_lines_all(struct dg_lines *lines, struct dg_span *text,
                         struct dg_error *error) DG_MUST_CHECK;

#endif
