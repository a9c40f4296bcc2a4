/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "api/jobs/bulk_scratch.h"
#include "tmpdir.h"
#include "unit.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

/* Makes a folder as a server left it some time ago, with a lock that may be held; returns the lock,
 * open. */
static int leave(const char *dir, const char *name, mode_t mode, bool is_held)
{
    char path[2 * DG_TMPDIR_CAP], lock[2 * DG_TMPDIR_CAP + 8];
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    snprintf(lock, sizeof lock, "%s/lock", path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    const int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    if (is_held)
        ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
    ck_assert_int_eq(chmod(path, mode), 0);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, old, 0), 0);
    return fd;
}

static bool has(const char *dir, const char *name)
{
    char path[2 * DG_TMPDIR_CAP];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

START_TEST(it_is_made_and_goes_with_all_that_is_in_it)
{
    char dir[DG_TMPDIR_CAP], path[DG_BULK_PATH_MAX];
    struct dg_error error = DG_ERROR_NONE;
    struct stat info;
    dg_tmpdir_make(dir);
    ck_assert_int_eq(dg_bulk_scratch_make(dir, path, &error), DG_OK);
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_int_eq(info.st_mode & 07777, 0700);
    close(leave(path, "inner", 0700, false));
    dg_bulk_scratch_remove(path);
    ck_assert_int_eq(stat(path, &info), 0); /* it removes no folders but its own */
    dg_tmpdir_remove(path);
    ck_assert_int_eq(dg_bulk_scratch_make(dir, path, &error), DG_OK);
    dg_bulk_scratch_remove(path);
    ck_assert_uint_eq(dg_tmpdir_count(dir), 0);
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(what_a_dead_server_left_is_removed_and_nothing_else)
{
    static const struct {
        const char *name;
        mode_t mode;
        bool is_held, stays;
    } rows[] = {
        {"dragoman-documents-AAAAAA", 0700, false, false},
        {"dragoman-documents-BBBBBB", 0700, true, true},
        {"dragoman-documents-CCCCCC", 0755, false, true},
        {"dragoman-documents-long.name", 0700, false, true},
        {"another-documents-DDDDDD", 0700, false, true},
    };
    enum { N = sizeof rows / sizeof *rows };
    char dir[DG_TMPDIR_CAP], path[DG_BULK_PATH_MAX];
    struct dg_error error = DG_ERROR_NONE;
    int locks[N];
    dg_tmpdir_make(dir);
    for (size_t i = 0; i < N; i++)
        locks[i] = leave(dir, rows[i].name, rows[i].mode, rows[i].is_held);
    ck_assert_int_eq(dg_bulk_scratch_make(dir, path, &error), DG_OK);
    for (size_t i = 0; i < N; i++) {
        ck_assert_msg(has(dir, rows[i].name) == rows[i].stays, "%s", rows[i].name);
        close(locks[i]);
    }
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(a_place_that_cannot_be_used_is_told)
{
    char path[DG_BULK_PATH_MAX], name[DG_BULK_PATH_MAX + 10];
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_ne(dg_bulk_scratch_make("/nowhere", path, &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "/nowhere"));
    ck_assert_str_eq(path, "");
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(dg_bulk_scratch_make(name, path, &error), DG_ERR_RANGE);
    ck_assert_str_eq(path, "");
}
END_TEST

DG_UNIT(it_is_made_and_goes_with_all_that_is_in_it,
        what_a_dead_server_left_is_removed_and_nothing_else, a_place_that_cannot_be_used_is_told)
