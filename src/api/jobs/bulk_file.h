/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The files of a bulk job: ID.in as it was uploaded, ID.out with one line for each line of it, in
 * order, and ID.json, which says what is to be done and how it ended. Nothing else is known about a
 * job: one that was interrupted, at whatever point, continues after the last whole line of ID.out.
 *
 *     dg_bulk_path(path, dir, id, "in");
 *     err = dg_bulk_file_create(path, body, &error);
 *     err = dg_bulk_file_read(&fd, path, at, bytes, sizeof bytes, &n, &error);    opens fd if -1
 *     err = dg_bulk_file_append(&fd, path, lines, sync, &error);
 *     err = dg_bulk_file_resume(in_path, out_path, how, &resume, &error);         cuts half a line
 *
 * These functions wait for the disk, so the loop does not call them. Any thread; one at a time for
 * each file. */
#ifndef DG_API_JOBS_BULK_FILE_H
#define DG_API_JOBS_BULK_FILE_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_BULK_ID_LEN = 32, DG_BULK_PATH_MAX = 1024 };

/* Makes the path DIR/ID.KIND. DG_ERR_RANGE: `path` (DG_BULK_PATH_MAX bytes) is too short for it. */
enum dg_err dg_bulk_path(char *path, const char *dir, const char *id,
                         const char *kind) DG_MUST_CHECK;

/* Counts the lines of a text; a last line without a newline counts, too. */
size_t dg_bulk_count_lines(struct dg_span text);

/* Writes a new file and waits until it is on the disk. What was written is removed on failure. */
enum dg_err dg_bulk_file_create(const char *path, struct dg_span body,
                                struct dg_error *error) DG_MUST_CHECK;

/* Reads at most `cap` bytes from `at`; *n is 0 at the end. */
enum dg_err dg_bulk_file_read(int *fd, const char *path, uint64_t at, char *bytes, size_t cap,
                              size_t *n, struct dg_error *error) DG_MUST_CHECK;

/* Appends whole lines to the file, which is made if it does not exist. `sync`: waits until all of
 * the file is on the disk. After a failure, any part of the lines that was written is cut off
 * again. DG_ERR_NO_SPACE: that was done, and the lines may be appended later. */
enum dg_err dg_bulk_file_append(int *fd, const char *path, struct dg_span lines, bool sync,
                                struct dg_error *error) DG_MUST_CHECK;

/* How far a job has come. */
struct dg_bulk_resume {
    size_t n_done, n_failed; /* numbers of lines */
    uint64_t in_at;          /* where the next line of the input begins */
    uint64_t out_bytes;
};

/* Reads both files. A line of JSON counts as failed when its second member is "error", a line of
 * text when it is empty and the line that it answers is not. DG_ERR_FORMAT: the files do not belong
 * together. */
enum dg_err dg_bulk_file_resume(const char *in_path, const char *out_path, bool is_text,
                                struct dg_bulk_resume *resume,
                                struct dg_error *error) DG_MUST_CHECK;

#endif
