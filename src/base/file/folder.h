/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Opens a folder to list its entries, builds the paths of files in it, and tells the folder of a
 * path and its owner.
 *
 *     DIR *dir = dg_folder_open(path);                  NULL with errno set, like opendir()
 *     while ((entry = readdir(dir))) ...
 *     closedir(dir);
 *
 * Any thread. */
#ifndef DG_BASE_FILE_FOLDER_H
#define DG_BASE_FILE_FOLDER_H

#include "base/memory/error.h"

#include <dirent.h>
#include <sys/types.h>

DIR *dg_folder_open(const char *path);

enum { DG_PATH_CAP = 4096 };

/* The path of `name` in `dir`. DG_ERR_LIMIT: it is too long. */
enum dg_err dg_folder_path(const char *dir, const char *name, char path[DG_PATH_CAP],
                           struct dg_error *error) DG_MUST_CHECK;

/* Writes the folder that `path` lies in: "." if it names none. What is longer than a path may be is
 * cut. */
void dg_folder_parent(const char *path, char folder[DG_PATH_CAP]);

/* Who owns the folder in which `path` lies, and should own a new file there that root makes; this
 * process's account if there is no such folder. */
void dg_folder_owner(const char *path, uid_t *owner, gid_t *group);

#endif
