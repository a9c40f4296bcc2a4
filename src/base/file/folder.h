/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Opens a folder whose entries are to be listed.
 *
 *     DIR *dir = dg_folder_open(path);                  NULL with errno set, like opendir()
 *     while ((entry = readdir(dir))) ...
 *     closedir(dir);
 *
 * Any thread. */
#ifndef DG_BASE_FILE_FOLDER_H
#define DG_BASE_FILE_FOLDER_H

#include <dirent.h>

DIR *dg_folder_open(const char *path);

#endif
