/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Temporary name, buffer, fsync, rename, fsync of the folder. */
#include "base/file/file_out.h"
#include "base/file/tmp_file.h"
#include "base/memory/error.h"
#include "base/memory/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 256 * 1024 };

struct dg_file_out {
    int fd;
    char *path;      /* owned; where it will be */
    char *temporary; /* owned; where it is */
    size_t buffered;
    uint64_t len;
    uint8_t buffer[BUFFER_BYTES];
};

static void release(struct dg_file_out *out)
{
    if (out->fd >= 0)
        close(out->fd);
    dg_free(out->path);
    dg_free(out->temporary);
    dg_free(out);
}

enum dg_err dg_file_out_open(struct dg_file_out **out, const char *path, unsigned mode,
                             struct dg_error *error)
{
    static const char suffix[] = ".XXXXXX";
    size_t len = strlen(path);
    struct stat before;
    if (stat(path, &before) == 0 && !S_ISREG(before.st_mode))
        return dg_error_set(error, DG_ERR_INVALID, "%s is not a regular file, and is not replaced",
                            path);
    struct dg_file_out *opened = dg_try_malloc(sizeof *opened);
    char *temporary = dg_try_malloc(len + sizeof suffix);
    if (!opened || !temporary) {
        dg_free(opened);
        dg_free(temporary);
        return DG_ERR_NOMEM;
    }
    memcpy(temporary, path, len);
    memcpy(temporary + len, suffix, sizeof suffix);
    opened->path = dg_xstrdup(path);
    opened->temporary = temporary;
    opened->buffered = 0;
    opened->len = 0;
    opened->fd = dg_tmp_file_create(temporary);
    if (opened->fd >= 0 && fchmod(opened->fd, (mode_t)mode) == 0) {
        *out = opened;
        return DG_OK;
    }
    enum dg_err err = dg_error_errno(error, "cannot create %s", path);
    if (opened->fd >= 0)
        unlink(temporary);
    release(opened);
    return err;
}

static enum dg_err write_all(struct dg_file_out *out, const uint8_t *bytes, size_t len,
                             struct dg_error *error)
{
    while (len) {
        ssize_t n = write(out->fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dg_error_errno(error, "cannot write %s", out->path);
        bytes += n;
        len -= (size_t)n;
    }
    return DG_OK;
}

static enum dg_err flush(struct dg_file_out *out, struct dg_error *error)
{
    size_t len = out->buffered;
    out->buffered = 0;
    return write_all(out, out->buffer, len, error);
}

enum dg_err dg_file_out_write(struct dg_file_out *out, const void *bytes, size_t len,
                              struct dg_error *error)
{
    enum dg_err err = DG_OK;
    out->len += len;
    if (len > sizeof out->buffer - out->buffered)
        err = flush(out, error);
    if (!err && len >= sizeof out->buffer)
        return write_all(out, bytes, len, error);
    if (!err && len) {
        memcpy(out->buffer + out->buffered, bytes, len);
        out->buffered += len;
    }
    return err;
}

enum dg_err dg_file_out_own(struct dg_file_out *out, uid_t owner, gid_t group,
                            struct dg_error *error)
{
    return fchown(out->fd, owner, group) == 0
               ? DG_OK
               : dg_error_errno(error, "cannot give %s to its new owner", out->path);
}

uint64_t dg_file_out_len(const struct dg_file_out *out)
{
    return out->len;
}

enum dg_err dg_file_out_sync_dir(const char *dir, struct dg_error *error)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return dg_error_errno(error, "cannot open %s", dir);
    enum dg_err err = DG_OK;
    /* Some file systems cannot sync a folder; they are then responsible for its entries. */
    if (fsync(fd) != 0 && errno != EINVAL && errno != EROFS)
        err = dg_error_errno(error, "cannot sync %s", dir);
    close(fd);
    return err;
}

static enum dg_err sync_parent(const char *path, struct dg_error *error)
{
    char *dir = dg_xstrdup(path);
    char *slash = strrchr(dir, '/');
    if (slash == dir)
        slash[1] = '\0';
    else if (slash)
        *slash = '\0';
    enum dg_err err = dg_file_out_sync_dir(slash ? dir : ".", error);
    dg_free(dir);
    return err;
}

enum dg_err dg_file_out_close(struct dg_file_out *out, enum dg_err err, struct dg_error *error)
{
    if (!err)
        err = flush(out, error);
    if (!err && fsync(out->fd) != 0)
        err = dg_error_errno(error, "cannot sync %s", out->path);
    if (close(out->fd) != 0 && !err)
        err = dg_error_errno(error, "cannot close %s", out->path);
    out->fd = -1;
    if (!err && rename(out->temporary, out->path) != 0)
        err = dg_error_errno(error, "cannot move %s into place", out->path);
    if (err)
        unlink(out->temporary);
    else
        err = sync_parent(out->path, error);
    release(out);
    return err;
}

enum dg_err dg_file_out_save(const char *path, unsigned mode, const void *bytes, size_t len,
                             struct dg_error *error)
{
    struct dg_file_out *out;
    enum dg_err err = dg_file_out_open(&out, path, mode, error);
    if (err)
        return err;
    err = dg_file_out_write(out, bytes, len, error);
    return dg_file_out_close(out, err, error);
}
