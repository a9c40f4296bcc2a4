/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Standard input line by line, or whole, for sub-commands that answer each line at once.
 *
 *     struct stdin_lines lines;
 *     stdin_lines_init(&lines);
 *     while (!(err = stdin_lines_next(&lines, &line, &why)) && line.ptr)
 *         ... line is borrowed until the next call, without its line end ...
 *     stdin_lines_deinit(&lines);
 *
 * A line may hold any bytes, NUL too. One thread. */
#ifndef DG_TOOLS_STDIN_LINES_H
#define DG_TOOLS_STDIN_LINES_H

#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include "base/why.h"

#include <stdbool.h>
#include <stddef.h>

struct stdin_lines {
    struct dg_buf buf;
    size_t taken; /* bytes of buf that were given out */
    size_t seen;  /* bytes of buf that hold no line end */
    size_t number;
    bool is_eof;
};

void stdin_lines_init(struct stdin_lines *lines);
void stdin_lines_deinit(struct stdin_lines *lines);

/* The next line; line->ptr is NULL at the end. DG_ERR_LIMIT past 64 MiB, DG_ERR_IO, DG_ERR_NOMEM. */
enum dg_err stdin_lines_next(struct stdin_lines *lines, struct dg_span *line,
                             struct dg_why *why) DG_MUST_CHECK;

/* All that is left, up to 1 GiB. */
enum dg_err stdin_lines_all(struct stdin_lines *lines, struct dg_span *text,
                            struct dg_why *why) DG_MUST_CHECK;

#endif
