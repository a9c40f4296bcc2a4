/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/file/folder.h"
#include "tmpdir.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

START_TEST(names_come_and_the_folder_is_not_inherited)
{
    char dir[DG_TMPDIR_CAP], path[DG_TMPDIR_CAP + 16];
    size_t n = 0, n_ours = 0;
    dg_tmpdir_make(dir);
    snprintf(path, sizeof path, "%s/name", dir);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fclose(file);
    DIR *open = dg_folder_open(dir);
    ck_assert_ptr_nonnull(open);
    ck_assert_int_eq(fcntl(dirfd(open), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    for (const struct dirent *entry; (entry = readdir(open)); n++)
        n_ours += strcmp(entry->d_name, "name") == 0;
    closedir(open);
    ck_assert_uint_eq(n, 3); /* with . and .. */
    ck_assert_uint_eq(n_ours, 1);
    errno = 0;
    ck_assert_ptr_null(dg_folder_open(path));
    ck_assert_int_eq(errno, ENOTDIR);
    dg_tmpdir_remove(dir);
    ck_assert_ptr_null(dg_folder_open(dir));
    ck_assert_int_eq(errno, ENOENT);
}
END_TEST

DG_UNIT(names_come_and_the_folder_is_not_inherited)
