/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Sub-commands that are filters: each line of stdin becomes something on stdout.
 *
 *     struct dg_lines lines;
 *     dg_lines_init(&lines, stdin, "dragoman tokenize");
 *     struct dg_span line;
 *     while (dg_lines_next(&lines, &line))                borrowed until the next call, without \n
 *         ...
 *     return dg_lines_finish(&lines);                     exit status: 1 if reading or writing
 * failed
 *
 * Lines may hold any bytes, NUL included, and be as long as memory allows. One thread. */
#ifndef DG_TOOLS_LINES_H
#define DG_TOOLS_LINES_H

#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct dg_lines {
    FILE *from;       /* borrowed */
    const char *name; /* of the command, for messages */
    char *line;       /* owned */
    size_t cap;
    size_t n; /* lines read so far */
};

void dg_lines_init(struct dg_lines *lines, FILE *from, const char *name);
bool dg_lines_next(struct dg_lines *lines, struct dg_span *line);

/* Says on stderr what is wrong with the line read last; returns 1. */
int dg_lines_refuse(const struct dg_lines *lines, const char *sentence);

/* Flushes stdout and frees; mirror of init. */
int dg_lines_finish(struct dg_lines *lines);

#endif
