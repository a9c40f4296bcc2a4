/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Plain files. An append is one write if the kernel takes it whole; otherwise it is undone. */
#include "api/jobs/bulk_file.h"
#include "base/memory/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MODE = 0600 };

enum dg_err dg_bulk_path(char *path, const char *dir, const char *id, const char *kind)
{
    int len = snprintf(path, DG_BULK_PATH_MAX, "%s/%s.%s", dir, id, kind);
    return len < 0 || len >= DG_BULK_PATH_MAX ? DG_ERR_RANGE : DG_OK;
}

size_t dg_bulk_count_lines(struct dg_span text)
{
    size_t n = 0;
    for (size_t at = 0; at < text.len; n++) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        at = end ? (size_t)(end - text.ptr) + 1 : text.len;
    }
    return n;
}

static enum dg_err write_all(int fd, struct dg_span bytes, const char *path, struct dg_error *error)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dg_error_errno(error, "cannot write %s", path);
        bytes = dg_span_sub(bytes, (size_t)n, bytes.len);
    }
    return DG_OK;
}

static enum dg_err open_as(int *fd, const char *path, int flags, struct dg_error *error)
{
    if (*fd >= 0)
        return DG_OK;
    *fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    return *fd < 0 ? dg_error_errno(error, "cannot open %s", path) : DG_OK;
}

enum dg_err dg_bulk_file_create(const char *path, struct dg_span body, struct dg_error *error)
{
    int fd = -1;
    enum dg_err err = open_as(&fd, path, O_WRONLY | O_CREAT | O_EXCL, error);
    if (err)
        return err;
    err = write_all(fd, body, path, error);
    if (!err && fsync(fd) != 0)
        err = dg_error_errno(error, "cannot sync %s", path);
    if (close(fd) != 0 && !err)
        err = dg_error_errno(error, "cannot close %s", path);
    if (err)
        unlink(path);
    return err;
}

enum dg_err dg_bulk_file_read(int *fd, const char *path, uint64_t at, char *bytes, size_t cap,
                              size_t *n, struct dg_error *error)
{
    enum dg_err err = open_as(fd, path, O_RDONLY, error);
    if (err)
        return err;
    ssize_t got;
    do
        got = pread(*fd, bytes, cap, (off_t)at);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return dg_error_errno(error, "cannot read %s", path);
    *n = (size_t)got;
    return DG_OK;
}

enum dg_err dg_bulk_file_append(int *fd, const char *path, struct dg_span lines, bool sync,
                                struct dg_error *error)
{
    struct stat before;
    enum dg_err err = open_as(fd, path, O_WRONLY | O_CREAT | O_APPEND, error);
    if (!err && fstat(*fd, &before) != 0)
        err = dg_error_errno(error, "cannot look at %s", path);
    if (err)
        return err;
    err = write_all(*fd, lines, path, error);
    if (!err && sync && fdatasync(*fd) != 0)
        err = dg_error_errno(error, "cannot sync %s", path);
    if (err && ftruncate(*fd, before.st_size) != 0)
        err = dg_error_wrap(error, DG_ERR_IO,
                            "the lines that were written in part could not be removed");
    return err;
}

/* ---- Resuming -------------------------------------------------------------------------------- */

/* Reads a file line by line, without the newlines. */
struct lines {
    FILE *file; /* NULL: the file does not exist, which counts as an empty one */
    char *text; /* owned, by getline */
    size_t cap;
    uint64_t at; /* the position after the line */
};

static enum dg_err open_lines(struct lines *lines, const char *path, struct dg_error *error)
{
    *lines = (struct lines){.file = fopen(path, "rbe")};
    return !lines->file && errno != ENOENT ? dg_error_errno(error, "cannot open %s", path) : DG_OK;
}

static void close_lines(struct lines *lines)
{
    if (lines->file)
        fclose(lines->file);
    free(lines->text);
}

static bool next_line(struct lines *lines, struct dg_span *line, bool *is_whole)
{
    ssize_t len = lines->file ? getline(&lines->text, &lines->cap, lines->file) : -1;
    if (len <= 0)
        return false;
    lines->at += (uint64_t)len;
    *is_whole = lines->text[len - 1] == '\n';
    *line = dg_span_make(lines->text, (size_t)len - *is_whole);
    return true;
}

static bool says_error(struct dg_span line)
{
    const char *comma = line.len ? memchr(line.ptr, ',', line.len) : NULL;
    static const char error[] = ",\"error\":";
    size_t left = comma ? line.len - (size_t)(comma - line.ptr) : 0;
    return left >= sizeof error - 1 && memcmp(comma, error, sizeof error - 1) == 0;
}

static enum dg_err compare(struct lines *in, struct lines *out, bool is_text,
                           struct dg_bulk_resume *resume, struct dg_error *error)
{
    struct dg_span line, answer;
    bool is_whole, has_newline;
    while (next_line(out, &answer, &is_whole) && is_whole) {
        if (!next_line(in, &line, &has_newline))
            return dg_error_set(error, DG_ERR_FORMAT,
                                "the result has more lines than the input, which has %zu",
                                resume->n_done);
        resume->n_done++;
        resume->n_failed += is_text ? answer.len == 0 && line.len > 0 : says_error(answer);
        resume->in_at = in->at;
        resume->out_bytes = out->at;
    }
    return DG_OK;
}

enum dg_err dg_bulk_file_resume(const char *in_path, const char *out_path, bool is_text,
                                struct dg_bulk_resume *resume, struct dg_error *error)
{
    struct dg_bulk_resume found = {.n_done = 0};
    struct lines in, out;
    enum dg_err err = open_lines(&in, in_path, error);
    enum dg_err out_err = open_lines(&out, out_path, error);
    if (!err)
        err = out_err;
    if (!err && !in.file)
        err = dg_error_set(error, DG_ERR_FORMAT, "%s is missing", in_path);
    if (!err)
        err = compare(&in, &out, is_text, &found, error);
    if (!err && out.file && truncate(out_path, (off_t)found.out_bytes) != 0)
        err = dg_error_errno(error, "cannot cut %s", out_path);
    close_lines(&in);
    close_lines(&out);
    if (!err)
        *resume = found;
    return err;
}
