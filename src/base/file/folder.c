/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* opendir() would do, except that the thread sanitizer sees closedir() close a descriptor whose
 * opening it never saw, and then reports a race with the thread that used the same number before.
 */
#include "base/file/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

DIR *dg_folder_open(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !dir) {
        const int number = errno;
        close(fd);
        errno = number;
    }
    return dir;
}

enum dg_err dg_folder_path(const char *dir, const char *name, char path[DG_PATH_CAP],
                           struct dg_error *error)
{
    const int n = snprintf(path, DG_PATH_CAP, "%s/%s", dir, name);
    return n > 0 && n < DG_PATH_CAP
               ? DG_OK
               : dg_error_set(error, DG_ERR_LIMIT, "the path %.80s... is too long", dir);
}

void dg_folder_parent(const char *path, char folder[DG_PATH_CAP])
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    while (len > 0 && path[len - 1] != '/')
        len--;
    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len == 0)
        snprintf(folder, DG_PATH_CAP, ".");
    else
        snprintf(folder, DG_PATH_CAP, "%.*s", (int)(len < DG_PATH_CAP ? len : DG_PATH_CAP), path);
}

void dg_folder_owner(const char *path, uid_t *owner, gid_t *group)
{
    char folder[DG_PATH_CAP];
    struct stat info;
    dg_folder_parent(path, folder);
    if (stat(folder, &info) != 0)
        info = (struct stat){.st_uid = geteuid(), .st_gid = getegid()};
    *owner = info.st_uid;
    *group = info.st_gid;
}
