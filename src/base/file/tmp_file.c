/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* On Linux the file never has a name (O_TMPFILE); on other systems, and on file systems without
 * that flag, it has one for a moment. */
#define _GNU_SOURCE 1 /* O_TMPFILE */
#include "base/file/tmp_file.h"
#include "base/memory/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 + 64, NAME_CHARS = 6, TRIES = 100 };

/* mkstemp() would do, except that for a moment a program that another thread starts could inherit
 * the file, and that the thread sanitizer does not see it open a descriptor. */
int dg_tmp_file_create(char *path)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    char *name = path + strlen(path) - NAME_CHARS;
    int fd = -1;
    for (int i = 0; i < TRIES && fd < 0 && (i == 0 || errno == EEXIST); i++) {
        unsigned char random[NAME_CHARS];
        if (getentropy(random, sizeof random) != 0)
            return -1;
        for (size_t k = 0; k < NAME_CHARS; k++)
            name[k] = letters[random[k] % (sizeof letters - 1)];
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    return fd;
}

static int make_nameless(const char *dir)
{
#ifdef O_TMPFILE
    return open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
#else
    (void)dir;
    errno = EOPNOTSUPP;
    return -1;
#endif
}

/* Named until it is open. */
static int make_named(const char *dir)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s/.dragoman-XXXXXX", dir);
    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = dg_tmp_file_create(path);
    if (fd >= 0)
        unlink(path);
    return fd;
}

enum dg_err dg_tmp_file_open(const char *dir, int *fd, struct dg_error *error)
{
    int made = make_nameless(dir);
    if (made < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT))
        made = make_named(dir);
    if (made < 0)
        return dg_error_errno(error, "cannot make a file in %s", dir);
    *fd = made;
    return DG_OK;
}

enum dg_err dg_tmp_file_write(int fd, struct dg_span bytes, struct dg_error *error)
{
    for (size_t at = 0; at < bytes.len;) {
        ssize_t n = write(fd, bytes.ptr + at, bytes.len - at);
        if (n < 0 && errno != EINTR)
            return dg_error_errno(error, "cannot write a temporary file");
        at += n > 0 ? (size_t)n : 0;
    }
    return DG_OK;
}

enum dg_err dg_tmp_file_read_at(int fd, uint64_t from, char *bytes, size_t len,
                                struct dg_error *error)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = pread(fd, bytes + at, len - at, (off_t)(from + at));
        if (n < 0 && errno != EINTR)
            return dg_error_errno(error, "cannot read a temporary file");
        if (n == 0)
            return dg_error_set(error, DG_ERR_TRUNCATED,
                                "a temporary file: read %zu bytes, expected %zu", at, len);
        at += n > 0 ? (size_t)n : 0;
    }
    return DG_OK;
}
