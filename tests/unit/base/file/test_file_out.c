/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/file/file_out.h"
#include "base/file/map_file.h"
#include "base/memory/mem.h"
#include "tmpdir.h"
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static char root[DG_TMPDIR_CAP], path[DG_TMPDIR_CAP + 16];

static void start(void)
{
    dg_tmpdir_make(root);
    snprintf(path, sizeof path, "%s/file", root);
}

START_TEST(a_file_appears_whole_when_it_is_closed)
{
    start();
    struct dg_file_out *out;
    struct dg_map_file file;
    size_t len = 1000 * 1000;
    uint8_t *bytes = dg_try_malloc(len);
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(i * 31 + i / 256);
    ck_assert_int_eq(dg_file_out_open(&out, path, 0640, NULL), DG_OK);
    for (size_t at = 0, n = 1; at < len; at += n, n = n * 3 + 1) {
        n = n < len - at ? n : len - at;
        ck_assert_int_eq(dg_file_out_write(out, bytes + at, n, NULL), DG_OK);
    }
    ck_assert_uint_eq(dg_file_out_len(out), len);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(dg_file_out_close(out, DG_OK, NULL), DG_OK);
    ck_assert_int_eq(dg_map_file_open(&file, path, len, NULL), DG_OK);
    ck_assert_uint_eq(file.len, len);
    ck_assert_int_eq(memcmp(file.bytes, bytes, len), 0);
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0640);
    ck_assert_uint_eq(dg_tmpdir_count(root), 1);
    dg_map_file_close(&file);
    dg_free(bytes);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(a_failure_leaves_what_was_there)
{
    start();
    struct dg_file_out *out;
    ck_assert_int_eq(dg_file_out_save(path, 0644, "old", 3, NULL), DG_OK);
    ck_assert_int_eq(dg_file_out_open(&out, path, 0644, NULL), DG_OK);
    ck_assert_int_eq(dg_file_out_write(out, "new and longer", 14, NULL), DG_OK);
    ck_assert_int_eq(dg_file_out_close(out, DG_ERR_CANCELLED, NULL), DG_ERR_CANCELLED);
    struct dg_map_file file;
    ck_assert_int_eq(dg_map_file_open(&file, path, 100, NULL), DG_OK);
    ck_assert_uint_eq(file.len, 3);
    ck_assert_uint_eq(dg_tmpdir_count(root), 1);
    dg_map_file_close(&file);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(says_where_it_could_not_write)
{
    struct dg_file_out *out;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_file_out_open(&out, "/nowhere/at/all", 0644, &error), DG_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "/nowhere/at/all"));
    if (access("/dev/full", W_OK) == 0) { /* files cannot be made in a folder there */
        ck_assert_int_ne(dg_file_out_open(&out, "/dev/full/x", 0644, &error), DG_OK);
        ck_assert_ptr_nonnull(strstr(error.text, "/dev/full/x"));
    }
}
END_TEST

static unsigned mode_of(const char *name)
{
    struct stat st;
    return lstat(name, &st) == 0 ? st.st_mode : 0;
}

START_TEST(an_existing_file_keeps_its_mode)
{
    start();
    ck_assert_int_eq(dg_file_out_save(path, 0600, "old", 3, NULL), DG_OK);
    ck_assert_int_eq(dg_file_out_save(path, 0644, "new", 3, NULL), DG_OK);
    ck_assert_uint_eq(mode_of(path), S_IFREG | 0600);
    ck_assert_int_eq(chmod(path, 0400), 0);
    struct dg_error error = DG_ERROR_NONE;
    const enum dg_err err = dg_file_out_save(path, 0644, "newer", 5, &error);
    ck_assert_int_eq(err, geteuid() == 0 ? DG_OK : DG_ERR_DENIED);
    ck_assert_uint_eq(mode_of(path), S_IFREG | 0400);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(a_link_stays_and_the_file_behind_it_is_replaced)
{
    start();
    char link[sizeof path], folder[sizeof path], target[sizeof path + 8];
    struct dg_map_file file;
    struct dg_error error = DG_ERROR_NONE;
    snprintf(link, sizeof link, "%s/link", root);
    snprintf(folder, sizeof folder, "%s/folder", root);
    snprintf(target, sizeof target, "%s/target", folder);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    ck_assert_int_eq(symlink("folder/target", link), 0);
    ck_assert_int_eq(dg_file_out_save(link, 0644, "new", 3, &error), DG_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, link));
    ck_assert_int_eq(dg_file_out_save(target, 0640, "old", 3, NULL), DG_OK);
    ck_assert_int_eq(dg_file_out_save(link, 0644, "newer", 5, NULL), DG_OK);
    ck_assert_uint_eq(mode_of(link) & S_IFMT, S_IFLNK);
    ck_assert_uint_eq(mode_of(target), S_IFREG | 0640);
    ck_assert_int_eq(dg_map_file_open(&file, target, 100, NULL), DG_OK);
    ck_assert_uint_eq(file.len, 5);
    ck_assert_uint_eq(dg_tmpdir_count(root), 2);
    ck_assert_uint_eq(dg_tmpdir_count(folder), 1);
    dg_map_file_close(&file);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(a_fifo_or_a_device_is_written_into)
{
    start();
    char read_back[16];
    struct dg_file_out *out;
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(dg_file_out_save(path, 0644, "text", 4, NULL), DG_OK);
    ck_assert_int_eq(read(fd, read_back, sizeof read_back), 4);
    ck_assert_uint_eq(mode_of(path), S_IFIFO | 0600);
    ck_assert_int_eq(dg_file_out_open(&out, path, 0644, NULL), DG_OK);
    ck_assert_int_eq(dg_file_out_close(out, DG_ERR_CANCELLED, NULL), DG_ERR_CANCELLED);
    ck_assert_uint_eq(mode_of(path), S_IFIFO | 0600);
    close(fd);
    ck_assert_int_eq(unlink(path), 0);
    /* Like /dev/null, but never that file itself: a failing test would destroy it. Only root may
     * make a device, and not even root everywhere. */
    if (mknod(path, S_IFCHR | 0666, makedev(1, 3)) == 0) {
        fd = open(path, O_WRONLY);
        if (fd >= 0) {
            ck_assert_int_eq(dg_file_out_save(path, 0644, "text", 4, NULL), DG_OK);
            close(fd);
        }
        ck_assert_uint_eq(mode_of(path) & S_IFMT, S_IFCHR);
    }
    ck_assert_int_ne(dg_file_out_save(root, 0644, "text", 4, NULL), DG_OK);
    dg_tmpdir_remove(root);
}
END_TEST

DG_UNIT(a_file_appears_whole_when_it_is_closed, a_failure_leaves_what_was_there,
        says_where_it_could_not_write, an_existing_file_keeps_its_mode,
        a_link_stays_and_the_file_behind_it_is_replaced, a_fifo_or_a_device_is_written_into)
