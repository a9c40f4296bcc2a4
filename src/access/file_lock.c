/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* flock(2), retried every few milliseconds, because it has no wait with a time limit. */
#include "access/file_lock.h"
#include "base/file/folder.h"
#include "base/memory/error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_CAP = 4096 + 8, TURN_MS = 10 };

static enum dg_err wait_for(int fd, const char *path, unsigned wait_ms, struct dg_error *error)
{
    for (unsigned waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited += TURN_MS) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return dg_error_errno(error, "cannot lock %s", path);
        if (waited >= wait_ms)
            return dg_error_set(error, DG_ERR_BUSY, "%s is held by another process", path);
        poll(NULL, 0, TURN_MS);
    }
    return DG_OK;
}

/* Makes the file if there is none. One that root makes belongs to the folder's owner, or the
 * service whose folder it is could not take the lock. Only a new file is given away: an existing
 * one may be another name of a file that is none of ours. */
static int open_lock(const char *name)
{
    uid_t owner;
    gid_t group;
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;
    dg_folder_owner(name, &owner, &group);
    if (geteuid() == 0 && fchown(fd, owner, group) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

enum dg_err dg_file_lock_take(struct dg_file_lock *lock, const char *path, unsigned wait_ms,
                              struct dg_error *error)
{
    char name[PATH_CAP];
    if (snprintf(name, sizeof name, "%s.lock", path) >= (int)sizeof name)
        return dg_error_set(error, DG_ERR_RANGE, "the path %.60s... is too long", path);
    const int fd = open_lock(name);
    if (fd < 0)
        return dg_error_errno(error, "cannot open %s", name);
    enum dg_err err = wait_for(fd, name, wait_ms, error);
    if (err)
        close(fd);
    else
        lock->fd = fd;
    return err;
}

void dg_file_lock_drop(struct dg_file_lock *lock)
{
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
}
