/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* There is one growing buffer. Blocks that are read are appended, lines are taken from the front,
 * and the rest moves to the front when more must be read. */
#include "tools/lines.h"
#include "base/memory/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 64 << 10, LINE_MAX_BYTES = 64 << 20, ALL_MAX_BYTES = 1 << 30 };

void dg_lines_init(struct dg_lines *lines)
{
    *lines = (struct dg_lines){.number = 0};
    dg_buf_init(&lines->buf, (size_t)ALL_MAX_BYTES + BLOCK);
}

void dg_lines_deinit(struct dg_lines *lines)
{
    dg_buf_deinit(&lines->buf);
}

static enum dg_err read_block(struct dg_lines *lines, struct dg_error *error)
{
    char block[BLOCK];
    ssize_t n;
    do
        n = read(STDIN_FILENO, block, sizeof block);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return dg_error_errno(error, "standard input");
    lines->is_eof = n == 0;
    enum dg_err err = dg_buf_append(&lines->buf, block, (size_t)n);
    return err ? dg_error_set(error, err, "standard input: %s", dg_err_sentence(err)) : DG_OK;
}

static void drop_taken(struct dg_lines *lines)
{
    dg_buf_consume(&lines->buf, lines->taken);
    lines->taken = 0;
}

enum dg_err dg_lines_next(struct dg_lines *lines, struct dg_span *line, struct dg_error *error)
{
    for (;;) {
        size_t from = lines->taken + lines->seen;
        const char *start = lines->buf.ptr ? lines->buf.ptr + lines->taken : NULL;
        const char *end = lines->buf.len > from
                              ? memchr(lines->buf.ptr + from, '\n', lines->buf.len - from)
                              : NULL;
        size_t left = lines->buf.len - lines->taken;
        if (end || (lines->is_eof && left > 0)) {
            *line = dg_span_make(start, end ? (size_t)(end - start) : left);
            lines->taken += line->len + (end != NULL);
            lines->seen = 0;
            lines->number++;
            return DG_OK;
        }
        if (lines->is_eof) {
            *line = dg_span_make(NULL, 0);
            return DG_OK;
        }
        if (left > LINE_MAX_BYTES)
            return dg_error_set(error, DG_ERR_LIMIT,
                                "line %zu of standard input is longer than %d bytes",
                                lines->number + 1, LINE_MAX_BYTES);
        lines->seen = left;
        drop_taken(lines);
        enum dg_err err = read_block(lines, error);
        if (err)
            return err;
    }
}

enum dg_err dg_lines_refuse(const struct dg_lines *lines, enum dg_err err, struct dg_error *error)
{
    struct dg_error inner = *error;
    return dg_error_set(error, err, "line %zu: %s", lines->number, dg_error_text(&inner, err));
}

enum dg_err dg_lines_document(struct dg_buf *text, struct dg_error *error)
{
    char block[BLOCK];
    size_t n;
    enum dg_err err = DG_OK;
    while (!err && (n = fread(block, 1, sizeof block, stdin)) > 0)
        err = dg_buf_append(text, block, n);
    if (err)
        return dg_error_set(error, err, "the document does not fit into %zu MiB of memory",
                            text->max >> 20);
    return ferror(stdin) ? dg_error_set(error, DG_ERR_IO, "cannot read stdin: %s", strerror(errno))
                         : DG_OK;
}

enum dg_err dg_lines_all(struct dg_lines *lines, struct dg_span *text, struct dg_error *error)
{
    drop_taken(lines);
    while (!lines->is_eof) {
        if (lines->buf.len > ALL_MAX_BYTES)
            return dg_error_set(error, DG_ERR_LIMIT, "standard input is longer than %d bytes",
                                ALL_MAX_BYTES);
        enum dg_err err = read_block(lines, error);
        if (err)
            return err;
    }
    lines->taken = lines->buf.len;
    *text = dg_buf_span(&lines->buf);
    return DG_OK;
}
