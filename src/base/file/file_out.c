/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Temporary name, buffer, fsync, rename, fsync of the folder. Without a temporary name there is
 * only what `path` opens: a device or a FIFO. */
#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "base/file/tmp_file.h"
#include "base/memory/error.h"
#include "base/memory/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 256 * 1024 };

struct dg_file_out {
    int fd;
    char *path;      /* owned; where it will be */
    char *temporary; /* owned; where it is; NULL: it is written in place */
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

/* Gives the new file the rights of the one that it will replace. */
static int inherit(int fd, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;
    struct stat now;
    if (fstat(fd, &now) != 0)
        return -1;
    /* Only if need be, because the service may not call fchown. Rights of a group that cannot be
     * kept would be those of another group. */
    const bool is_same = now.st_uid == old->st_uid && now.st_gid == old->st_gid;
    if (!is_same && fchown(fd, old->st_uid, old->st_gid) != 0 && now.st_gid != old->st_gid &&
        fchown(fd, (uid_t)-1, old->st_gid) != 0)
        mode &= ~(mode_t)0070;
    return fchmod(fd, mode);
}

/* `old`: the file of this name, NULL if there is none. */
static int make_temporary(struct dg_file_out *out, const struct stat *old, unsigned mode)
{
    out->fd = dg_tmp_file_create(out->temporary);
    if (out->fd < 0)
        return -1;
    if ((old ? inherit(out->fd, old) : fchmod(out->fd, (mode_t)mode)) == 0)
        return 0;
    unlink(out->temporary);
    return -1;
}

/* Finds what is at `path`, and in `real` where the file is that will be replaced. */
static enum dg_err look(const char *path, char real[PATH_MAX], struct stat *old, bool *exists,
                        struct dg_error *error)
{
    struct stat link;
    *exists = stat(path, old) == 0;
    if (!*exists && lstat(path, &link) == 0)
        return dg_error_errno(error, "cannot write %s, which is a link", path);
    if (!*exists || !S_ISREG(old->st_mode))
        return DG_OK;
    if (access(path, W_OK) != 0 || !realpath(path, real))
        return dg_error_errno(error, "cannot write %s", path);
    return DG_OK;
}

enum dg_err dg_file_out_open(struct dg_file_out **out, const char *path, unsigned mode,
                             struct dg_error *error)
{
    static const char suffix[] = ".XXXXXX";
    char real[PATH_MAX];
    struct stat old;
    bool exists;
    enum dg_err err = look(path, real, &old, &exists, error);
    if (err)
        return err;
    const bool is_file = !exists || S_ISREG(old.st_mode);
    const char *place = exists && is_file ? real : path;
    size_t len = strlen(place);
    struct dg_file_out *opened = dg_try_malloc(sizeof *opened);
    if (!opened)
        return DG_ERR_NOMEM;
    opened->fd = -1;
    opened->path = dg_try_malloc(len + 1);
    opened->temporary = is_file ? dg_try_malloc(len + sizeof suffix) : NULL;
    opened->buffered = 0;
    opened->len = 0;
    if (!opened->path || (is_file && !opened->temporary)) {
        release(opened);
        return DG_ERR_NOMEM;
    }
    memcpy(opened->path, place, len + 1);
    if (is_file) {
        memcpy(opened->temporary, place, len);
        memcpy(opened->temporary + len, suffix, sizeof suffix);
        err = make_temporary(opened, exists ? &old : NULL, mode) == 0
                  ? DG_OK
                  : dg_error_errno(error, "cannot create %s", path);
    } else {
        opened->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        err = opened->fd >= 0 ? DG_OK : dg_error_errno(error, "cannot write %s", path);
    }
    if (err)
        release(opened);
    else
        *out = opened;
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

enum dg_err dg_file_out_close(struct dg_file_out *out, enum dg_err err, struct dg_error *error)
{
    char folder[DG_PATH_CAP];
    if (!err)
        err = flush(out, error);
    if (!err && out->temporary && fsync(out->fd) != 0)
        err = dg_error_errno(error, "cannot sync %s", out->path);
    if (close(out->fd) != 0 && !err)
        err = dg_error_errno(error, "cannot close %s", out->path);
    out->fd = -1;
    if (!err && out->temporary && rename(out->temporary, out->path) != 0)
        err = dg_error_errno(error, "cannot move %s into place", out->path);
    if (err && out->temporary) {
        unlink(out->temporary);
    } else if (out->temporary) {
        dg_folder_parent(out->path, folder);
        err = dg_file_out_sync_dir(folder, error);
    }
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
