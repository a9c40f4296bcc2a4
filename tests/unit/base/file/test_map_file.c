/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/file/map_file.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "/tmp/dragoman-map-XXXXXX";

static void put_file(const char *bytes, size_t len)
{
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
    close(fd);
}

START_TEST(maps_the_whole_file_and_outlives_its_name)
{
    struct dg_map_file file;
    put_file("a\0b", 3);
    ck_assert_int_eq(dg_map_file_open(&file, path, 3, NULL), DG_OK);
    unlink(path);
    ck_assert_uint_eq(file.len, 3);
    ck_assert(memcmp(file.bytes, "a\0b", 3) == 0);
    dg_map_file_close(&file);
    ck_assert_ptr_null(file.bytes);
}
END_TEST

START_TEST(maps_an_empty_file)
{
    struct dg_map_file file;
    put_file("", 0);
    ck_assert_int_eq(dg_map_file_open(&file, path, 3, NULL), DG_OK);
    ck_assert_uint_eq(file.len, 0);
    ck_assert_ptr_nonnull(file.bytes);
    dg_map_file_close(&file);
    unlink(path);
}
END_TEST

static void expect_refused(const char *name, enum dg_err expected, const char *part)
{
    struct dg_map_file file = {0};
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_map_file_open(&file, name, 2, &error), expected);
    ck_assert_ptr_null(file.bytes);
    ck_assert_ptr_nonnull(strstr(error.text, name));
    ck_assert_ptr_nonnull(strstr(error.text, part));
}

START_TEST(says_why_it_refuses)
{
    put_file("abc", 3);
    expect_refused(path, DG_ERR_LIMIT, "3 bytes, expected at most 2");
    unlink(path);
    expect_refused(path, DG_ERR_NOT_FOUND, "cannot open");
    expect_refused("/tmp", DG_ERR_INVALID, "a directory");
    expect_refused("/dev/null", DG_ERR_INVALID, "expected a regular file");
}
END_TEST

START_TEST(does_not_wait_for_a_fifo)
{
    put_file("", 0);
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect_refused(path, DG_ERR_INVALID, "expected a regular file");
    unlink(path);
}
END_TEST

DG_UNIT(maps_the_whole_file_and_outlives_its_name, maps_an_empty_file, says_why_it_refuses,
        does_not_wait_for_a_fifo)
