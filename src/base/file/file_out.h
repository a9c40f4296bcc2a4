/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A file that appears whole or not at all. It is written under a temporary name in the same folder,
 * synced and renamed; then the folder is synced. What is not a regular file (a device, a FIFO) is
 * never replaced: the bytes are written into it, as they come.
 *
 *     struct dg_file_out *out;
 *     err = dg_file_out_open(&out, "models/fr-en/manifest.txt", 0644, &error);
 *     if (!err)
 *         err = dg_file_out_write(out, bytes, len, &error);
 *     ...
 *     err = dg_file_out_close(out, err, &error);            keeps the file only when err is DG_OK
 *
 * Small writes are gathered in a buffer. One thread. */
#ifndef DG_BASE_FILE_FILE_OUT_H
#define DG_BASE_FILE_FILE_OUT_H

#include "base/memory/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dg_file_out;

/* An existing file is replaced when this one is closed, not before. Its mode, and where possible
 * its owner, stay; `mode` is that of a new file. DG_ERR_DENIED when the existing file must not be
 * written. If `path` is a symbolic link, the link stays and the file that it points to is replaced;
 * DG_ERR_NOT_FOUND when there is none. */
enum dg_err dg_file_out_open(struct dg_file_out **out, const char *path, unsigned mode,
                             struct dg_error *error) DG_MUST_CHECK;

enum dg_err dg_file_out_write(struct dg_file_out *out, const void *bytes, size_t len,
                              struct dg_error *error) DG_MUST_CHECK;

/* Sets the file's owner and group, which only root may do. */
enum dg_err dg_file_out_own(struct dg_file_out *out, uid_t owner, gid_t group,
                            struct dg_error *error) DG_MUST_CHECK;

/* Bytes written so far. */
uint64_t dg_file_out_len(const struct dg_file_out *out);

/* Mirror of open. When `err` is DG_OK, the file takes its final name, and the result says whether
 * that succeeded; otherwise everything is removed and `err` is returned. `out` is freed either way.
 */
enum dg_err dg_file_out_close(struct dg_file_out *out, enum dg_err err,
                              struct dg_error *error) DG_MUST_CHECK;

/* Syncs a folder, so that the names in it survive a power cut. */
enum dg_err dg_file_out_sync_dir(const char *dir, struct dg_error *error) DG_MUST_CHECK;

/* Open, write and close in one call, for content that is in memory. */
enum dg_err dg_file_out_save(const char *path, unsigned mode, const void *bytes, size_t len,
                             struct dg_error *error) DG_MUST_CHECK;

#endif
