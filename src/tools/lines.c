/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Line by line over getline(3). */
#include "tools/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

void dg_lines_init(struct dg_lines *lines, FILE *from, const char *name)
{
    *lines = (struct dg_lines){.from = from, .name = name};
}

bool dg_lines_next(struct dg_lines *lines, struct dg_span *line)
{
    ssize_t len = getline(&lines->line, &lines->cap, lines->from);
    if (len < 0)
        return false;
    if (len > 0 && lines->line[len - 1] == '\n')
        len--;
    *line = dg_span_make(lines->line, (size_t)len);
    lines->n++;
    return true;
}

int dg_lines_refuse(const struct dg_lines *lines, const char *sentence)
{
    fprintf(stderr, "%s: line %zu: %s\n", lines->name, lines->n, sentence);
    return 1;
}

int dg_lines_finish(struct dg_lines *lines)
{
    int status = 0;
    if (ferror(lines->from) || fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "%s: reading or writing failed: %s\n", lines->name, strerror(errno));
        status = 1;
    }
    free(lines->line);
    return status;
}
