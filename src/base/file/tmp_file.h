/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A file without a name: it takes room in a folder, nobody else can open it, and it is gone once it
 * is closed, whichever way the program ends.
 *
 *     err = dg_tmp_file_open("/var/tmp", &fd, &error);
 *     if (!err)
 *         err = dg_tmp_file_write(fd, text, &error);
 *     ...
 *     err = dg_tmp_file_read(fd, bytes, len, &error);        from its beginning
 *     close(fd);
 *
 * Any thread, one at a time for each file. */
#ifndef DG_BASE_FILE_TMP_FILE_H
#define DG_BASE_FILE_TMP_FILE_H

#include "base/memory/err.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

enum dg_err dg_tmp_file_open(const char *dir, int *fd, struct dg_error *error) DG_MUST_CHECK;

/* At the end of it. */
enum dg_err dg_tmp_file_write(int fd, struct dg_span bytes, struct dg_error *error) DG_MUST_CHECK;

/* The first `len` bytes; DG_ERR_TRUNCATED when there are fewer. */
enum dg_err dg_tmp_file_read(int fd, char *bytes, size_t len, struct dg_error *error) DG_MUST_CHECK;

/* A new file that does have a name, for who gives it another later: the last six characters of
 * `path` are replaced. Readable by this user only, closed in programs started from here. -1 with
 * errno when there is none. */
int dg_tmp_file_create(char *path);

#endif
