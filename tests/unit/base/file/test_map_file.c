/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/file/map_file.h"
#include "base/thread/pool.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

/* A few pages, whatever the size of a page is. */
enum { LARGE = 4 * 65536 };

static void put_large_file(void)
{
    static char bytes[LARGE];
    memset(bytes, 'a', sizeof bytes);
    put_file(bytes, sizeof bytes);
}

START_TEST(a_copy_has_nothing_to_do_with_its_file)
{
    struct dg_map_file file;
    put_large_file();
    if (dg_map_file_read(&file, path, LARGE, NULL) == DG_OK) {
        ck_assert_int_eq(truncate(path, 0), 0);
        ck_assert_uint_eq(file.len, LARGE);
        ck_assert_int_eq(file.bytes[0], 'a');
        ck_assert_int_eq(file.bytes[LARGE - 1], 'a');
        dg_map_file_forget(&file); /* there is nothing to forget */
        ck_assert_int_eq(file.bytes[LARGE - 1], 'a');
        ck_assert_int_eq(dg_map_file_check(&file, path, NULL), DG_OK);
        dg_map_file_close(&file);
        ck_assert_int_eq(dg_map_file_read(&file, path, 0, NULL), DG_OK);
        ck_assert_uint_eq(file.len, 0);
        ck_assert_ptr_nonnull(file.bytes);
        dg_map_file_close(&file);
    }
    unlink(path);
}
END_TEST

static void expect_changed(const struct dg_map_file *file)
{
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_map_file_check(file, path, &error), DG_ERR_INTEGRITY);
    ck_assert_ptr_nonnull(strstr(error.text, path));
    ck_assert_ptr_nonnull(strstr(error.text, "changed while it was read"));
}

START_TEST(a_guarded_mapping_that_is_cut_gives_zeros_and_tells)
{
    struct dg_map_file file, other;
    dg_map_file_guard(DG_MAP_FILE_GOES_ON);
    put_large_file();
    ck_assert_int_eq(dg_map_file_open(&file, path, LARGE, NULL), DG_OK);
    ck_assert_int_eq(dg_map_file_open(&other, "/proc/self/exe", SIZE_MAX / 2, NULL), DG_OK);
    ck_assert_int_eq(dg_map_file_check(&file, path, NULL), DG_OK);
    ck_assert_int_eq(truncate(path, 0), 0);
    const volatile uint8_t *bytes = file.bytes;
    ck_assert_int_eq(bytes[LARGE - 1], 0);
    ck_assert_int_eq(bytes[0], 0);
    expect_changed(&file);
    ck_assert_int_eq(dg_map_file_check(&other, "", NULL), DG_OK);
    ck_assert(memcmp(other.bytes, "\177ELF", 4) == 0);
    dg_map_file_close(&file);

    /* A new mapping has the place in the table, and works like any other. */
    unlink(path);
    put_large_file();
    ck_assert_int_eq(dg_map_file_open(&file, path, LARGE, NULL), DG_OK);
    ck_assert_int_eq(dg_map_file_check(&file, path, NULL), DG_OK);
    ck_assert_int_eq(file.bytes[LARGE - 1], 'a');
    dg_map_file_close(&file);
    dg_map_file_close(&other);
    unlink(path);
}
END_TEST

START_TEST(a_mapping_that_was_written_to_or_filled_again_tells)
{
    struct dg_map_file file;
    struct stat st;
    put_large_file();
    ck_assert_int_eq(dg_map_file_open(&file, path, LARGE, NULL), DG_OK);
    ck_assert_int_eq(stat(path, &st), 0);
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = st.st_mtim.tv_sec + 1}};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0); /* as a write would change it */
    expect_changed(&file);
    dg_map_file_close(&file);
    ck_assert_int_eq(dg_map_file_open(&file, path, LARGE, NULL), DG_OK);
    ck_assert_int_eq(truncate(path, LARGE - 1), 0);
    expect_changed(&file);
    dg_map_file_close(&file);
    unlink(path);
}
END_TEST

/* Calls the function in a child process; returns the child's status. */
static int status_of(void (*function)(void))
{
    int status = 0;
    fflush(NULL);
    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        function();
        _exit(77);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

static void read_cut_file(void)
{
    struct dg_map_file file;
    put_large_file();
    if (dg_map_file_open(&file, path, LARGE, NULL) || truncate(path, 0) || unlink(path))
        _exit(78);
    (void)*(const volatile uint8_t *)(file.bytes + LARGE - 1);
}

static void a_command(void)
{
    dg_map_file_guard(DG_MAP_FILE_ENDS);
    read_cut_file();
}

static void read_in_a_pool(void *arg)
{
    const struct dg_map_file *file = arg;
    const volatile uint8_t *bytes = file->bytes;
    ck_assert_int_eq(bytes[LARGE - 1], 0);
}

/* Models are loaded on the threads of a pool, which block other signals. */
START_TEST(threads_of_a_pool_are_guarded)
{
    struct dg_pool_opts opts = {.n_threads = 1, .max_jobs = 1};
    struct dg_pool *pool;
    struct dg_map_file file;
    dg_map_file_guard(DG_MAP_FILE_GOES_ON);
    put_large_file();
    ck_assert_int_eq(dg_map_file_open(&file, path, LARGE, NULL), DG_OK);
    ck_assert_int_eq(truncate(path, 0), 0);
    ck_assert_int_eq(dg_pool_new(&opts, &pool), DG_OK);
    ck_assert_int_eq(dg_pool_submit(pool, read_in_a_pool, &file), DG_OK);
    dg_pool_wait(pool);
    dg_pool_free(pool);
    expect_changed(&file);
    dg_map_file_close(&file);
    unlink(path);
}
END_TEST

START_TEST(a_command_whose_input_is_cut_ends)
{
    const int status = status_of(a_command);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 1);
}
END_TEST

static void fault_elsewhere(void)
{
    signal(SIGBUS, SIG_DFL); /* a sanitizer's handler would report it */
    dg_map_file_guard(DG_MAP_FILE_GOES_ON);
    put_large_file();
    int fd = open(path, O_RDWR);
    unlink(path);
    const volatile char *bytes = mmap(NULL, LARGE, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED || ftruncate(fd, 0) != 0)
        _exit(78);
    (void)bytes[0];
}

static void sent_by_somebody(void)
{
    signal(SIGBUS, SIG_DFL);
    dg_map_file_guard(DG_MAP_FILE_GOES_ON);
    raise(SIGBUS);
}

START_TEST(any_other_sigbus_takes_its_usual_way)
{
    void (*const all[])(void) = {fault_elsewhere, sent_by_somebody};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const int status = status_of(all[i]);
        ck_assert(WIFSIGNALED(status));
        ck_assert_int_eq(WTERMSIG(status), SIGBUS);
    }
}
END_TEST

START_TEST(a_mapping_too_many_is_refused)
{
    static struct dg_map_file files[DG_MAP_FILES_MAX];
    struct dg_map_file more = {0};
    struct dg_error error = DG_ERROR_NONE;
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_cur < 1024 ? limit.rlim_max : limit.rlim_cur;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    put_file("abc", 3);
    for (size_t i = 0; i < DG_MAP_FILES_MAX; i++)
        ck_assert_int_eq(dg_map_file_open(&files[i], path, 3, NULL), DG_OK);
    ck_assert_int_eq(dg_map_file_open(&more, path, 3, &error), DG_ERR_NO_FILES);
    ck_assert_ptr_nonnull(strstr(error.text, "256 files are mapped already"));
    ck_assert_ptr_null(more.bytes);
    for (size_t i = 0; i < DG_MAP_FILES_MAX; i++)
        dg_map_file_close(&files[i]);
    unlink(path);
}
END_TEST

DG_UNIT(maps_the_whole_file_and_outlives_its_name, maps_an_empty_file, says_why_it_refuses,
        does_not_wait_for_a_fifo, a_copy_has_nothing_to_do_with_its_file,
        a_guarded_mapping_that_is_cut_gives_zeros_and_tells, threads_of_a_pool_are_guarded,
        a_mapping_that_was_written_to_or_filled_again_tells, a_command_whose_input_is_cut_ends,
        any_other_sigbus_takes_its_usual_way, a_mapping_too_many_is_refused)
