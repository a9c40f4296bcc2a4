/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "access/file_lock.h"
#include "tmpdir.h"
#include "unit.h"

#include <string.h>
#include <sys/stat.h>

static char root[DG_TMPDIR_CAP], path[DG_TMPDIR_CAP + 16], name[DG_TMPDIR_CAP + 24];

static void start(void)
{
    dg_tmpdir_make(root);
    snprintf(path, sizeof path, "%s/keys", root);
    snprintf(name, sizeof name, "%s.lock", path);
}

START_TEST(only_one_holds_the_lock)
{
    start();
    struct dg_file_lock lock = DG_FILE_LOCK_NONE, other = DG_FILE_LOCK_NONE;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_file_lock_take(&lock, path, 0, NULL), DG_OK);
    ck_assert_int_eq(dg_file_lock_take(&other, path, 0, &error), DG_ERR_BUSY);
    ck_assert_ptr_nonnull(strstr(error.text, name));
    dg_file_lock_drop(&lock);
    ck_assert_int_eq(dg_file_lock_take(&other, path, 0, NULL), DG_OK);
    dg_file_lock_drop(&other);
    dg_file_lock_drop(&other);
    dg_tmpdir_remove(root);
}
END_TEST

/* Or the service, whose folder it is, could no longer change its keys. */
START_TEST(a_lock_that_root_makes_belongs_to_the_owner_of_the_folder)
{
    start();
    struct dg_file_lock lock = DG_FILE_LOCK_NONE;
    struct stat folder, made;
    if (geteuid() == 0)
        ck_assert_int_eq(chown(root, 12345, 23456), 0);
    ck_assert_int_eq(stat(root, &folder), 0);
    ck_assert_int_eq(dg_file_lock_take(&lock, path, 0, NULL), DG_OK);
    ck_assert_int_eq(stat(name, &made), 0);
    ck_assert_uint_eq(made.st_mode & 07777, 0600);
    ck_assert_uint_eq(made.st_uid, folder.st_uid);
    if (geteuid() == 0)
        ck_assert_uint_eq(made.st_gid, 23456);
    dg_file_lock_drop(&lock);
    /* An existing file is used as it is. */
    if (geteuid() == 0)
        ck_assert_int_eq(chown(name, 0, 0), 0);
    ck_assert_int_eq(dg_file_lock_take(&lock, path, 0, NULL), DG_OK);
    ck_assert_int_eq(stat(name, &made), 0);
    ck_assert_uint_eq(made.st_uid, geteuid());
    dg_file_lock_drop(&lock);
    dg_tmpdir_remove(root);
}
END_TEST

DG_UNIT(only_one_holds_the_lock, a_lock_that_root_makes_belongs_to_the_owner_of_the_folder)
