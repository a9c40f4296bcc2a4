/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A whole file mapped read-only, shared by all threads and processes that map it.
 *
 *     struct dg_map_file file;
 *     err = dg_map_file_open(&file, "models/fr-en/source.spm", 1 << 30, &error);
 *     ... file.bytes[0 .. file.len) ...
 *     dg_map_file_close(&file);
 *
 * The mapping outlives renames and deletions of the file. A file that somebody truncates while it
 * is mapped raises SIGBUS when read: model files are replaced by rename, never written in place. */
#ifndef DG_BASE_FILE_MAP_FILE_H
#define DG_BASE_FILE_MAP_FILE_H

#include "base/memory/err.h"
#include "base/memory/error.h"

#include <stddef.h>
#include <stdint.h>

struct dg_map_file {
    const uint8_t *bytes; /* borrowed until close; never NULL after open, even for an empty file */
    size_t len;
};

/* Maps a regular file of at most `max` bytes; anything else is refused with a sentence. */
enum dg_err dg_map_file_open(struct dg_map_file *file, const char *path, size_t max,
                             struct dg_error *error) DG_MUST_CHECK;
void dg_map_file_close(struct dg_map_file *file);

/* Gives the pages back to the system, which reads them again when they are used. This keeps one
 * pass over a large file from counting as this process's memory. */
void dg_map_file_forget(const struct dg_map_file *file);

#endif
