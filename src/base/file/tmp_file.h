/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A file without a name. It takes space in a folder's file system, nobody else can open it, and it
 * disappears when it is closed, however the program ends.
 *
 *     err = dg_tmp_file_open("/var/tmp", &fd, &error);
 *     if (!err)
 *         err = dg_tmp_file_write(fd, text, &error);
 *     ...
 *     err = dg_tmp_file_read_at(fd, 0, bytes, len, &error);
 *     close(fd);
 *
 * Any thread, but only one at a time for each file. */
#ifndef DG_BASE_FILE_TMP_FILE_H
#define DG_BASE_FILE_TMP_FILE_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdint.h>

enum dg_err dg_tmp_file_open(const char *dir, int *fd, struct dg_error *error) DG_MUST_CHECK;

/* Appends `bytes` to the file. */
enum dg_err dg_tmp_file_write(int fd, struct dg_span bytes, struct dg_error *error) DG_MUST_CHECK;

/* The `len` bytes from `from` on; DG_ERR_TRUNCATED when there are fewer. */
enum dg_err dg_tmp_file_read_at(int fd, uint64_t from, char *bytes, size_t len,
                                struct dg_error *error) DG_MUST_CHECK;

/* Makes a new file that does have a name, which the caller may change later: the last six
 * characters of `path` are replaced. Only this user can read it, and programs that this process
 * starts do not inherit it. Returns -1 with errno set on failure. */
int dg_tmp_file_create(char *path);

#endif
