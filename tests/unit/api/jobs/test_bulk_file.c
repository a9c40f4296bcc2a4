/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "api/jobs/bulk_file.h"
#include "base/memory/mem.h"
#include "tmpdir.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char dir[DG_TMPDIR_CAP];
    char in[DG_BULK_PATH_MAX], out[DG_BULK_PATH_MAX];
};

static void open_place(struct place *place)
{
    dg_tmpdir_make(place->dir);
    ck_assert_int_eq(dg_bulk_path(place->in, place->dir, "job", "in"), DG_OK);
    ck_assert_int_eq(dg_bulk_path(place->out, place->dir, "job", "out"), DG_OK);
}

static void close_place(struct place *place)
{
    dg_tmpdir_remove(place->dir);
}

static off_t size_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? info.st_size : -1;
}

static void write_out(const struct place *place, const char *text)
{
    struct dg_error error = DG_ERROR_NONE;
    int fd = -1;
    unlink(place->out);
    ck_assert_int_eq(dg_bulk_file_append(&fd, place->out, dg_span_cstr(text), true, &error), DG_OK);
    close(fd);
}

START_TEST(lines_are_counted_with_a_last_one_that_has_no_newline)
{
    static const struct {
        const char *text;
        size_t n;
    } cases[] = {{"", 0},     {"a", 1},    {"a\n", 1},     {"\n", 1},
                 {"\n\n", 2}, {"a\nb", 2}, {"a\n\nb\n", 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_uint_eq(dg_bulk_count_lines(dg_span_cstr(cases[i].text)), cases[i].n);
}
END_TEST

START_TEST(what_is_written_is_read_and_nothing_is_overwritten)
{
    struct dg_error error = DG_ERROR_NONE;
    struct place place;
    char bytes[8];
    size_t n = 9;
    int fd = -1;
    open_place(&place);
    ck_assert_int_eq(dg_bulk_file_create(place.in, DG_SPAN("0123456789"), &error), DG_OK);
    ck_assert_int_ne(dg_bulk_file_create(place.in, DG_SPAN("x"), &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, place.in));
    ck_assert_int_eq(dg_bulk_file_read(&fd, place.in, 3, bytes, sizeof bytes, &n, &error), DG_OK);
    ck_assert_uint_eq(n, 7);
    ck_assert_int_eq(memcmp(bytes, "3456789", 7), 0);
    ck_assert_int_eq(dg_bulk_file_read(&fd, place.in, 10, bytes, sizeof bytes, &n, &error), DG_OK);
    ck_assert_uint_eq(n, 0);
    close(fd);
    fd = -1;
    ck_assert_int_ne(dg_bulk_file_read(&fd, place.out, 0, bytes, sizeof bytes, &n, &error), DG_OK);
    close_place(&place);
}
END_TEST

START_TEST(a_job_resumes_after_its_last_whole_line_wherever_it_was_cut)
{
    static const char in[] = "one\n\nthree\nfour";
    static const char out[] = "eins\n\n\nvier\n"; /* three failed: it is empty though its line is
                                                     not */
    static const size_t line_ends[] = {4, 5, 11, 15};
    struct dg_error error = DG_ERROR_NONE;
    struct place place;
    open_place(&place);
    ck_assert_int_eq(dg_bulk_file_create(place.in, dg_span_cstr(in), &error), DG_OK);
    for (size_t cut = 0; cut < sizeof out; cut++) {
        char text[32];
        struct dg_bulk_resume resume = {.n_done = 99};
        snprintf(text, sizeof text, "%.*s", (int)cut, out);
        write_out(&place, text);
        ck_assert_int_eq(dg_bulk_file_resume(place.in, place.out, true, &resume, &error), DG_OK);
        size_t n = 0;
        for (size_t i = 0; i < cut; i++)
            n += text[i] == '\n';
        ck_assert_uint_eq(resume.n_done, n);
        ck_assert_uint_eq(resume.in_at, n ? line_ends[n - 1] : 0);
        ck_assert_uint_eq(resume.n_failed, n >= 3 ? 1 : 0);
        ck_assert_int_eq(size_of(place.out), (off_t)resume.out_bytes);
        ck_assert(resume.out_bytes == 0 || out[resume.out_bytes - 1] == '\n');
    }
    close_place(&place);
}
END_TEST

START_TEST(failures_in_json_are_recognised_by_their_second_member)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_bulk_resume resume;
    struct place place;
    open_place(&place);
    ck_assert_int_eq(dg_bulk_file_create(place.in, DG_SPAN("{}\n{}\n{}\n"), &error), DG_OK);
    write_out(&place, "{\"line\":1,\"error\":{\"code\":\"x\"}}\n"
                      "{\"line\":2,\"id\":\",\\\"error\\\":\",\"text\":\",\\\"error\\\":\"}\n");
    ck_assert_int_eq(dg_bulk_file_resume(place.in, place.out, false, &resume, &error), DG_OK);
    ck_assert_uint_eq(resume.n_done, 2);
    ck_assert_uint_eq(resume.n_failed, 1);
    close_place(&place);
}
END_TEST

/* A limit on the size of files acts like a full disk, and needs no special rights. */
START_TEST(what_finds_no_room_is_undone_and_can_be_appended_later)
{
    struct dg_error error = DG_ERROR_NONE;
    struct rlimit limit;
    struct place place;
    char bytes[32];
    size_t n = 0;
    int fd = -1, in_fd = -1;
    open_place(&place);
    write_out(&place, "eins\n");
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit small = {.rlim_cur = 8, .rlim_max = limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    const enum dg_err err = dg_bulk_file_append(&fd, place.out, DG_SPAN("zwei\n"), true, &error);
    const enum dg_err in_err = dg_bulk_file_create(place.in, DG_SPAN("0123456789"), &error);
    setrlimit(RLIMIT_FSIZE, &limit); /* done before anything is printed, because the output may be a
                                        file */
    ck_assert_int_eq(err, DG_ERR_NO_SPACE);
    ck_assert_int_eq(in_err, DG_ERR_NO_SPACE);
    ck_assert_int_eq(size_of(place.in), -1);
    ck_assert_int_eq(size_of(place.out), 5);
    ck_assert_int_eq(dg_bulk_file_append(&fd, place.out, DG_SPAN("zwei\n"), true, &error), DG_OK);
    ck_assert_int_eq(dg_bulk_file_read(&in_fd, place.out, 0, bytes, sizeof bytes, &n, &error),
                     DG_OK);
    ck_assert_int_eq(n, 10);
    ck_assert_int_eq(memcmp(bytes, "eins\nzwei\n", 10), 0);
    close(fd);
    close(in_fd);
    close_place(&place);
}
END_TEST

START_TEST(files_that_do_not_belong_together_are_refused)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_bulk_resume resume;
    struct place place;
    open_place(&place);
    ck_assert_int_eq(dg_bulk_file_resume(place.in, place.out, true, &resume, &error),
                     DG_ERR_FORMAT);
    ck_assert_int_eq(dg_bulk_file_create(place.in, DG_SPAN("one\n"), &error), DG_OK);
    ck_assert_int_eq(dg_bulk_file_resume(place.in, place.out, true, &resume, &error),
                     /* not begun */
                     DG_OK);
    ck_assert_uint_eq(resume.n_done, 0);
    write_out(&place, "a\nb\n");
    ck_assert_int_eq(dg_bulk_file_resume(place.in, place.out, true, &resume, &error),
                     DG_ERR_FORMAT);
    ck_assert_int_eq(size_of(place.out), 4); /* nothing was cut off */
    close_place(&place);
}
END_TEST

DG_UNIT(lines_are_counted_with_a_last_one_that_has_no_newline,
        what_is_written_is_read_and_nothing_is_overwritten,
        a_job_resumes_after_its_last_whole_line_wherever_it_was_cut,
        failures_in_json_are_recognised_by_their_second_member,
        what_finds_no_room_is_undone_and_can_be_appended_later,
        files_that_do_not_belong_together_are_refused)
