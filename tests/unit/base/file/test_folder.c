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

START_TEST(a_path_is_whole_or_refused)
{
    static char long_dir[DG_PATH_CAP];
    char path[DG_PATH_CAP];
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_folder_path("a/b", "c", path, &error), DG_OK);
    ck_assert_str_eq(path, "a/b/c");
    memset(long_dir, 'd', DG_PATH_CAP - 3);
    ck_assert_int_eq(dg_folder_path(long_dir, "c", path, &error), DG_OK);
    ck_assert_uint_eq(strlen(path), DG_PATH_CAP - 1);
    ck_assert_int_eq(dg_folder_path(long_dir, "cc", path, &error), DG_ERR_LIMIT);
    ck_assert_ptr_nonnull(strstr(error.text, "is too long"));
}
END_TEST

START_TEST(a_path_lies_in_a_folder)
{
    static const char *const cases[][2] = {{"a", "."},    {"", "."},    {"/a", "/"},
                                           {"/", "/"},    {"a/b", "a"}, {"/a//b//", "/a"},
                                           {"./a/", "."}, {"//a", "/"}};
    char folder[DG_PATH_CAP];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dg_folder_parent(cases[i][0], folder);
        ck_assert_str_eq(folder, cases[i][1]);
    }
}
END_TEST

DG_UNIT(names_come_and_the_folder_is_not_inherited, a_path_is_whole_or_refused,
        a_path_lies_in_a_folder)
