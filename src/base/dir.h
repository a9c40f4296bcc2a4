/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A folder, to be listed.
 *
 *     DIR *dir = dg_dir_open(path);                  NULL with errno, as of opendir()
 *     while ((entry = readdir(dir))) ...
 *     closedir(dir);
 *
 * Any thread. */
#ifndef DG_BASE_DIR_H
#define DG_BASE_DIR_H

#include <dirent.h>

DIR *dg_dir_open(const char *path);

#endif
