/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A whole file as bytes: mapped read-only, or read into memory.
 *
 *     struct dg_map_file file;
 *     err = dg_map_file_open(&file, "models/fr-en/model.safetensors", SIZE_MAX / 2, &error);
 *     ... file.bytes[0 .. file.len) ...
 *     err = dg_map_file_check(&file, "models/fr-en/model.safetensors", &error);
 *     dg_map_file_close(&file);
 *
 * dg_map_file_read makes a copy: nothing that happens to the file later changes it. It suits files
 * that the daemon keeps in use (vocabularies, shortlists) and small files.
 *
 * dg_map_file_open maps: it takes no memory of its own, and outlives renames and deletions of the
 * file. It suits large files that are read once, such as weights while a model loads. A program
 * that writes to the file changes the mapped bytes, and a read past the end of a file that has
 * become shorter raises SIGBUS. After dg_map_file_guard, such a read either ends the program with
 * an error message, or replaces the whole mapping by zeros from then on; dg_map_file_check tells
 * whether the file is still as it was when it was opened. A SIGBUS outside these mappings is
 * handled as usual. */
#ifndef DG_BASE_FILE_MAP_FILE_H
#define DG_BASE_FILE_MAP_FILE_H

#include "base/memory/error.h"

#include <stddef.h>
#include <stdint.h>

struct dg_mapping; /* opaque: one of the mappings that are open now */

struct dg_map_file {
    const uint8_t *bytes; /* borrowed until close; never NULL after open, even for an empty file */
    size_t len;
    struct dg_mapping *mapping; /* NULL: the bytes are a copy, or there are none */
};

enum { DG_MAP_FILES_MAX = 256 }; /* mappings at a time, of the whole process */

/* Maps a regular file of at most `max` bytes; anything else is refused with an error message. */
enum dg_err dg_map_file_open(struct dg_map_file *file, const char *path, size_t max,
                             struct dg_error *error) DG_MUST_CHECK;

/* The same, but with the bytes copied into memory. */
enum dg_err dg_map_file_read(struct dg_map_file *file, const char *path, size_t max,
                             struct dg_error *error) DG_MUST_CHECK;

void dg_map_file_close(struct dg_map_file *file); /* mirror of either */

/* DG_ERR_INTEGRITY when the mapped file was written to or shortened since it was opened, or could
 * not be read; `path` is for the error message. Always DG_OK for a copy. */
enum dg_err dg_map_file_check(const struct dg_map_file *file, const char *path,
                              struct dg_error *error) DG_MUST_CHECK;

/* Gives the pages of a mapping back to the system, which reads them again when they are used. This
 * keeps one pass over a large file from counting as this process's memory. */
void dg_map_file_forget(const struct dg_map_file *file);

/* What happens when a mapped file has become shorter and is read past its new end. */
enum dg_map_file_guard {
    DG_MAP_FILE_ENDS,    /* one line on stderr, and exit with 1: for commands */
    DG_MAP_FILE_GOES_ON, /* zeros: for the daemon, which checks what it has mapped */
};

/* Installs the handler of SIGBUS for the whole process. Call it once, when the process starts. */
void dg_map_file_guard(enum dg_map_file_guard guard);

#endif
