/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/file/file_out.h"
#include "base/file/map_file.h"
#include "base/memory/mem.h"
#include "tmpdir.h"
#include "unit.h"

#include <sys/stat.h>

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

START_TEST(what_is_not_a_file_is_not_replaced)
{
    start();
    struct dg_error error = DG_ERROR_NONE;
    struct stat st;
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(dg_file_out_save(path, 0644, "new", 3, &error), DG_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "/file is not a regular file"));
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert(S_ISFIFO(st.st_mode));
    ck_assert_uint_eq(dg_tmpdir_count(root), 1);
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

DG_UNIT(a_file_appears_whole_when_it_is_closed, a_failure_leaves_what_was_there,
        what_is_not_a_file_is_not_replaced, says_where_it_could_not_write)
