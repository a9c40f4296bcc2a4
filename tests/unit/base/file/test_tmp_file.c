/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/file/tmp_file.h"
#include "tmpdir.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t n_names(const char *dir)
{
    DIR *stream = opendir(dir);
    size_t n = 0;
    ck_assert_ptr_nonnull(stream);
    while (readdir(stream))
        n++;
    closedir(stream);
    return n - 2; /* . and .. */
}

START_TEST(what_is_written_is_read_and_has_no_name)
{
    char dir[DG_TMPDIR_CAP], bytes[9] = "";
    struct dg_error error = DG_ERROR_NONE;
    struct stat info;
    int fd = -1;
    dg_tmpdir_make(dir);
    ck_assert_int_eq(dg_tmp_file_open(dir, &fd, &error), DG_OK);
    ck_assert_uint_eq(n_names(dir), 0);
    ck_assert_int_eq(fstat(fd, &info), 0);
    ck_assert_uint_eq(info.st_mode & 0777, 0600);
    ck_assert_int_eq(dg_tmp_file_write(fd, DG_SPAN("Le "), &error), DG_OK);
    ck_assert_int_eq(dg_tmp_file_write(fd, DG_SPAN(""), &error), DG_OK);
    ck_assert_int_eq(dg_tmp_file_write(fd, DG_SPAN("chat."), &error), DG_OK);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(dg_tmp_file_read_at(fd, 0, bytes, 8, &error), DG_OK);
        ck_assert_str_eq(bytes, "Le chat.");
    }
    ck_assert_int_eq(dg_tmp_file_read_at(fd, 0, bytes, 9, &error), DG_ERR_TRUNCATED);
    close(fd);
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_named)
{
    struct dg_error error = DG_ERROR_NONE;
    int fd = -1;
    ck_assert_int_ne(dg_tmp_file_open("/nowhere/at/all", &fd, &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "/nowhere/at/all"));
    ck_assert_int_eq(fd, -1);
    ck_assert_int_ne(dg_tmp_file_write(-1, DG_SPAN("x"), &error), DG_OK);
    ck_assert_int_ne(dg_tmp_file_read_at(-1, 0, error.text, 1, &error), DG_OK);
}
END_TEST

START_TEST(a_named_one_is_new_and_not_inherited)
{
    char dir[DG_TMPDIR_CAP], paths[2][DG_TMPDIR_CAP + 16];
    struct stat info;
    dg_tmpdir_make(dir);
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/file.XXXXXX", dir);
        int fd = dg_tmp_file_create(paths[i]);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        ck_assert_int_eq(fstat(fd, &info), 0);
        ck_assert_uint_eq(info.st_mode & 0777, 0600);
        ck_assert_int_eq(access(paths[i], F_OK), 0);
        close(fd);
    }
    ck_assert_str_ne(paths[0], paths[1]);
    char nowhere[] = "/nowhere/at/all.XXXXXX";
    ck_assert_int_eq(dg_tmp_file_create(nowhere), -1);
    ck_assert_int_eq(errno, ENOENT);
    dg_tmpdir_remove(dir);
}
END_TEST

DG_UNIT(what_is_written_is_read_and_has_no_name, a_folder_that_is_not_there_is_named,
        a_named_one_is_new_and_not_inherited)
