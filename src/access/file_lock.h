/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A lock for a file that is replaced by rename. The lock is held on a separate file, PATH.lock,
 * which is never removed. The kernel drops the lock when the process ends, however it ends.
 *
 *     err = dg_file_lock_take(&lock, "/etc/dragoman/keys", 5000, &error);       waits up to 5 s
 *     dg_file_lock_drop(&lock);                                               mirror of take
 *
 * Any thread. */
#ifndef DG_ACCESS_FILE_LOCK_H
#define DG_ACCESS_FILE_LOCK_H

#include "base/memory/error.h"

struct dg_file_lock {
    int fd; /* -1: not held */
};
#define DG_FILE_LOCK_NONE                                                                          \
    {                                                                                              \
        -1                                                                                         \
    }

/* Takes the lock. A lock's file that root makes belongs to the owner of its folder. DG_ERR_BUSY:
 * another process has held it for longer than `wait_ms`. */
enum dg_err dg_file_lock_take(struct dg_file_lock *lock, const char *path, unsigned wait_ms,
                              struct dg_error *error) DG_MUST_CHECK;
void dg_file_lock_drop(struct dg_file_lock *lock); /* a lock that is not held is fine */

#endif
