/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Everybody may be able to make files in that place. So a folder counts as that of a server that is
 * gone only if it belongs to this account, has the name and the mode that this file gives, and
 * nobody holds the lock that bulk.c takes on the file `lock` in it. */
#include "api/jobs/bulk_scratch.h"
#include "base/file/folder.h"
#include "base/memory/error.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "dragoman-documents-"

enum {
    SUFFIX = 6,
    GRACE_S = 60 /* a server that has just made its folder has not locked it yet */
};

void dg_bulk_scratch_remove(const char *path)
{
    char name[DG_PATH_CAP];
    DIR *folder = dg_folder_open(path);
    for (struct dirent *item; folder && (item = readdir(folder));)
        if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0 &&
            dg_folder_path(path, item->d_name, name, NULL) == DG_OK)
            unlink(name);
    if (folder)
        closedir(folder);
    rmdir(path);
}

static bool is_left(const char *path)
{
    char lock[DG_PATH_CAP];
    struct stat info;
    if (lstat(path, &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
        (info.st_mode & 07777) != 0700 || info.st_mtime + GRACE_S > time(NULL) ||
        dg_folder_path(path, "lock", lock, NULL) != DG_OK)
        return false;
    const int fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    const bool is_held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;
    if (fd >= 0)
        close(fd);
    return !is_held;
}

static void sweep(const char *dir)
{
    char path[DG_PATH_CAP];
    DIR *folder = dg_folder_open(dir);
    for (struct dirent *item; folder && (item = readdir(folder));)
        if (strncmp(item->d_name, PREFIX, sizeof PREFIX - 1) == 0 &&
            strlen(item->d_name) == sizeof PREFIX - 1 + SUFFIX &&
            dg_folder_path(dir, item->d_name, path, NULL) == DG_OK && is_left(path))
            dg_bulk_scratch_remove(path);
    if (folder)
        closedir(folder);
}

enum dg_err dg_bulk_scratch_make(const char *dir, char path[DG_BULK_PATH_MAX],
                                 struct dg_error *error)
{
    sweep(dir);
    const int len = snprintf(path, DG_BULK_PATH_MAX, "%s/" PREFIX "XXXXXX", dir);
    if (len < 0 || len >= DG_BULK_PATH_MAX) {
        *path = '\0';
        return dg_error_set(error, DG_ERR_RANGE, "the path %s is too long", dir);
    }
    if (mkdtemp(path))
        return DG_OK;
    *path = '\0';
    return dg_error_errno(error, "cannot make a folder in %s", dir);
}
