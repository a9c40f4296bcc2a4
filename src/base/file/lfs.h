/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Git-LFS pointers: the small text files that replace large ones when a repository was cloned
 * without its big files. Every reader of weights checks for one first, so that its error says that
 * this file is a pointer rather than that a header is damaged. */
#ifndef DG_BASE_FILE_LFS_H
#define DG_BASE_FILE_LFS_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stdint.h>

static inline bool dg_lfs_is_pointer(const uint8_t *bytes, size_t len)
{
    return dg_span_starts(dg_span_make((const char *)bytes, len),
                          DG_SPAN("version https://git-lfs.github.com/spec/"));
}

static inline enum dg_err dg_lfs_refuse(const char *path, struct dg_error *error)
{
    return dg_error_set(
        error, DG_ERR_NOT_FOUND,
        "%s is only a Git-LFS pointer: the weights were not downloaded; run 'git lfs pull' "
        "where it was cloned, or download the file itself",
        path);
}

#endif
