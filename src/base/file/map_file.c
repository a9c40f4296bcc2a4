/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Read-only file mapping over mmap(2). */
#include "base/file/map_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t nothing[1];

enum dg_err dg_map_file_open(struct dg_map_file *file, const char *path, size_t max,
                             struct dg_error *error)
{
    /* O_NONBLOCK: opening a FIFO by mistake must not hang. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return dg_error_set(error, dg_err_from_errno(errno), "cannot open %s: %s", path,
                            strerror(errno));
    enum dg_err err = DG_OK;
    struct stat st;
    void *bytes = NULL;
    if (fstat(fd, &st) != 0) {
        err = dg_error_set(error, dg_err_from_errno(errno), "cannot stat %s: %s", path,
                           strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        err = dg_error_set(error, DG_ERR_INVALID, "%s is %s, expected a regular file", path,
                           S_ISDIR(st.st_mode) ? "a directory" : "not a plain file");
    } else if ((uintmax_t)st.st_size > max) {
        err = dg_error_set(error, DG_ERR_LIMIT, "%s has %jd bytes, expected at most %zu", path,
                           (intmax_t)st.st_size, max);
    } else if (st.st_size > 0) {
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (bytes == MAP_FAILED)
            err = dg_error_set(error, dg_err_from_errno(errno), "cannot map %s: %s", path,
                               strerror(errno));
    }
    close(fd);
    if (err)
        return err;
    file->bytes = bytes ? bytes : nothing;
    file->len = (size_t)st.st_size;
    return DG_OK;
}

void dg_map_file_close(struct dg_map_file *file)
{
    if (file->len > 0)
        munmap((void *)(uintptr_t)file->bytes, file->len);
    file->bytes = NULL;
    file->len = 0;
}

void dg_map_file_forget(const struct dg_map_file *file)
{
    if (file->len > 0)
        (void)madvise((void *)(uintptr_t)file->bytes, file->len, MADV_DONTNEED);
}
