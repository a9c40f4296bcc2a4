/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

#include "access/usage.h"
#include "tmpdir.h"
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>

static char root[DG_TMPDIR_CAP], path[DG_TMPDIR_CAP + 16];
static struct dg_clock clock;

static void begin(void)
{
    dg_tmpdir_make(root);
    snprintf(path, sizeof path, "%s/usage", root);
    clock = (struct dg_clock)DG_CLOCK_VIRTUAL(1000 * DG_CLOCK_S);
}

static struct dg_usage *open_usage(void)
{
    struct dg_usage *usage = NULL;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(dg_usage_open(&clock, path, &error, &usage) == DG_OK, "%s", error.text);
    return usage;
}

static void add(struct dg_usage *usage, const char *name, uint64_t requests, uint64_t characters)
{
    struct dg_usage_count *count = dg_usage_get(usage, dg_span_cstr(name));
    ck_assert_ptr_nonnull(count);
    dg_usage_add(usage, count, requests, characters);
}

static bool turn(struct dg_usage *usage)
{
    struct dg_usage_write write;
    struct dg_error error = DG_ERROR_NONE;
    if (!dg_usage_begin(usage, &write))
        return false;
    while (dg_usage_gather(usage, &write))
        ;
    dg_usage_run(&write);
    ck_assert_msg(dg_usage_end(usage, &write, &error) == DG_OK, "%s", error.text);
    return true;
}

static void check(struct dg_usage *usage, const char *name, uint64_t requests, uint64_t characters)
{
    struct dg_usage_count *count = dg_usage_get(usage, dg_span_cstr(name));
    ck_assert_ptr_nonnull(count);
    ck_assert_uint_eq(count->requests, requests);
    ck_assert_uint_eq(count->characters, characters);
}

static size_t file_len(void)
{
    struct stat info;
    return stat(path, &info) == 0 ? (size_t)info.st_size : 0;
}

static void spoil(const char *text)
{
    int fd = open(path, O_WRONLY | O_APPEND);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

START_TEST(counts_survive)
{
    begin();
    struct dg_usage *usage = open_usage();
    ck_assert(!turn(usage)); /* nothing to write */
    add(usage, "alice", 1, 100);
    add(usage, "bob", 2, 7);
    ck_assert(turn(usage));
    ck_assert(!turn(usage));
    add(usage, "alice", 1, 11);
    dg_usage_sub(usage, dg_usage_get(usage, DG_SPAN("alice")), 0, 1);
    ck_assert(turn(usage));
    add(usage, "alice", 5, 5000); /* lost, because nobody wrote it */
    dg_usage_close(usage);
    usage = open_usage();
    check(usage, "alice", 2, 110);
    check(usage, "bob", 2, 7);
    check(usage, "carol", 0, 0);
    ck_assert_uint_eq(dg_usage_damaged(usage), 0);
    struct stat info;
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_uint_eq(info.st_mode & 07777, 0600);
    dg_usage_close(usage);
    dg_tmpdir_remove(root);
}
END_TEST

/* The journal is cut at every byte: each time, the state that is read is one that was written. */
START_TEST(a_journal_cut_anywhere_gives_an_earlier_state)
{
    enum { TURNS = 6 };
    begin();
    struct dg_usage *usage = open_usage();
    for (int i = 0; i < TURNS; i++) {
        add(usage, "alice", 1, 10);
        ck_assert(turn(usage));
    }
    dg_usage_close(usage);
    uint64_t last = 6;
    for (size_t len = file_len(); len > 0; len--) {
        ck_assert_int_eq(truncate(path, (off_t)len), 0);
        usage = open_usage();
        struct dg_usage_count *count = dg_usage_get(usage, DG_SPAN("alice"));
        ck_assert_ptr_nonnull(count);
        ck_assert_uint_le(count->requests, last);
        ck_assert_uint_eq(count->characters, count->requests * 10);
        ck_assert_uint_le(dg_usage_damaged(usage), 1);
        last = count->requests;
        dg_usage_close(usage);
    }
    ck_assert_uint_eq(last, 0);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(a_torn_line_does_not_spoil_the_next)
{
    begin();
    struct dg_usage *usage = open_usage();
    add(usage, "alice", 1, 10);
    ck_assert(turn(usage));
    spoil("197001 alice 99 99");
    add(usage, "alice", 1, 10);
    ck_assert(turn(usage));
    dg_usage_close(usage);
    spoil("197001 alice 99 99 0123456789abcdef\nrubbish\n");
    usage = open_usage();
    check(usage, "alice", 2, 20);
    ck_assert_uint_eq(dg_usage_damaged(usage), 3);
    dg_usage_close(usage);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(a_new_month_begins_at_zero)
{
    begin();
    struct dg_usage *usage = open_usage();
    add(usage, "alice", 1, 10);
    ck_assert(turn(usage));
    dg_clock_advance(&clock, 31 * 86400 * DG_CLOCK_S);
    check(usage, "alice", 0, 0);
    dg_usage_close(usage);
    usage = open_usage();
    check(usage, "alice", 0, 0);
    add(usage, "alice", 1, 3);
    ck_assert(turn(usage));
    dg_usage_close(usage);
    usage = open_usage();
    check(usage, "alice", 1, 3);
    dg_usage_close(usage);
    dg_tmpdir_remove(root);
}
END_TEST

/* A clock that is wrongly a year ahead for a while, even at a start, neither makes the server
 * forget usage nor takes months away from a key. */
START_TEST(a_wrong_clock_does_no_harm)
{
    const int64_t year = (int64_t)(365 * 86400 * DG_CLOCK_S);
    begin();
    struct dg_usage *usage = open_usage();
    add(usage, "alice", 2, 20);
    ck_assert(turn(usage));
    dg_clock_set_ahead(&clock, year);
    check(usage, "alice", 2, 20);
    dg_usage_close(usage);
    usage = open_usage(); /* the server believes the clock */
    add(usage, "alice", 1, 10);
    add(usage, "bob", 3, 30);
    ck_assert(turn(usage));
    dg_usage_close(usage);
    dg_clock_set_ahead(&clock, 0);
    usage = open_usage();
    check(usage, "alice", 2, 20);
    check(usage, "bob", 3, 30);
    add(usage, "bob", 1, 1);
    ck_assert(turn(usage));
    dg_clock_advance(&clock, 31 * 86400 * DG_CLOCK_S);
    check(usage, "bob", 0, 0); /* a new month, as usual */
    dg_usage_close(usage);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(the_journal_does_not_grow_for_ever)
{
    begin();
    struct dg_usage *usage = open_usage();
    size_t longest = 0;
    for (int i = 0; i < 3000; i++) {
        add(usage, "alice", 1, 10);
        ck_assert(turn(usage));
        longest = file_len() > longest ? file_len() : longest;
    }
    ck_assert_uint_le(longest, 70000);
    ck_assert_uint_ge(longest, 60000);
    dg_usage_close(usage);
    usage = open_usage();
    check(usage, "alice", 3000, 30000);
    dg_usage_close(usage);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(what_could_not_be_written_is_written_later)
{
    struct dg_usage_write write;
    struct dg_error error = DG_ERROR_NONE;
    begin();
    struct dg_usage *usage = open_usage();
    add(usage, "alice", 1, 10);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert(dg_usage_begin(usage, &write));
    add(usage, "bob", 1, 5); /* while the journal is being written */
    ck_assert(!dg_usage_begin(usage, &(struct dg_usage_write){.fd = -1}));
    while (dg_usage_gather(usage, &write))
        ;
    dg_usage_run(&write);
    ck_assert_int_ne(dg_usage_end(usage, &write, &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "usage was removed"));
    ck_assert(turn(usage));
    dg_usage_close(usage);
    usage = open_usage();
    check(usage, "alice", 1, 10);
    check(usage, "bob", 1, 5);
    dg_usage_close(usage);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(what_changes_during_a_turn_is_in_the_next)
{
    struct dg_usage_write write;
    begin();
    struct dg_usage *usage = open_usage();
    add(usage, "alice", 1, 10);
    ck_assert(turn(usage));
    add(usage, "alice", 1, 10);
    ck_assert(dg_usage_begin(usage, &write));
    ck_assert(!dg_usage_gather(usage, &write));
    add(usage, "alice", 1, 10);
    dg_usage_run(&write);
    ck_assert_int_eq(dg_usage_end(usage, &write, NULL), DG_OK);
    ck_assert(turn(usage));
    ck_assert(!turn(usage));
    dg_usage_close(usage);
    usage = open_usage();
    check(usage, "alice", 3, 30);
    dg_usage_close(usage);
    dg_tmpdir_remove(root);
}
END_TEST

enum { MANY = 4200, SLICE = 4096 };

static void add_many(struct dg_usage *usage, uint64_t requests)
{
    char name[16];
    for (int i = 0; i < dg_unit_rounds(MANY); i++) {
        snprintf(name, sizeof name, "key%d", i);
        add(usage, name, requests, 10 * requests);
    }
}

/* The usage of many keys is written, and written again, in slices; changes between two slices are
 * not lost. */
START_TEST(many_keys_are_copied_in_slices)
{
    struct dg_usage_write write;
    char last[16];
    int n_turns = 0, n_slices = 1;
    snprintf(last, sizeof last, "key%d", dg_unit_rounds(MANY) - 1);
    begin();
    struct dg_usage *usage = open_usage();
    add_many(usage, 1);
    while (turn(usage))
        n_turns++;
    ck_assert(n_turns > 1 || dg_unit_rounds(MANY) <= SLICE);
    ck_assert(!dg_usage_has_changed(usage));
    ck_assert_int_eq(unlink(path), 0);
    add_many(usage, 1);
    ck_assert(dg_usage_begin(usage, &write));
    ck_assert(!write.is_whole);
    while (dg_usage_gather(usage, &write))
        ;
    ck_assert(write.is_cut == (dg_unit_rounds(MANY) > SLICE));
    dg_usage_run(&write);
    ck_assert_int_eq(dg_usage_end(usage, &write, NULL), DG_ERR_NOT_FOUND);
    ck_assert(dg_usage_begin(usage, &write));
    ck_assert(write.is_whole);
    for (; dg_usage_gather(usage, &write); n_slices++) {
        add(usage, "key0", 1, 10); /* key0 has been copied */
        add(usage, last, 1, 10);   /* it was not */
    }
    ck_assert(n_slices > 1 || dg_unit_rounds(MANY) <= SLICE);
    ck_assert(!write.is_cut); /* changes meanwhile may wait a second */
    add(usage, "late", 1, 10);
    dg_usage_run(&write);
    ck_assert_int_eq(dg_usage_end(usage, &write, NULL), DG_OK);
    ck_assert(turn(usage));
    ck_assert(!turn(usage));
    dg_usage_close(usage);
    usage = open_usage();
    check(usage, "key0", (uint64_t)n_slices + 1, 10 * ((uint64_t)n_slices + 1));
    check(usage, "key1", 2, 20);
    check(usage, last, (uint64_t)n_slices + 1, 10 * ((uint64_t)n_slices + 1));
    check(usage, "late", 1, 10);
    dg_usage_close(usage);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(without_a_path_it_counts_in_memory)
{
    struct dg_usage *usage = NULL;
    struct dg_usage_write write;
    clock = (struct dg_clock)DG_CLOCK_VIRTUAL(0);
    ck_assert_int_eq(dg_usage_open(&clock, NULL, NULL, &usage), DG_OK);
    add(usage, "alice", 1, 10);
    check(usage, "alice", 1, 10);
    ck_assert(!dg_usage_begin(usage, &write));
    dg_usage_close(usage);
}
END_TEST

static void count_lines(void *ctx, const struct dg_usage_count *count)
{
    ++*(int *)ctx;
    ck_assert_uint_le(strlen(count->name), DG_KEY_NAME_MAX);
}

START_TEST(only_sound_lines_count)
{
    int n = 0;
    ck_assert_uint_eq(dg_usage_parse(DG_SPAN("# comment\n\n\n"), count_lines, &n), 0);
    ck_assert_uint_eq(
        dg_usage_parse(DG_SPAN("x\n197001 alice 1 10 0000000000000000\n197001"), count_lines, &n),
        3);
    ck_assert_int_eq(n, 0);
}
END_TEST

DG_UNIT(counts_survive, a_journal_cut_anywhere_gives_an_earlier_state,
        a_torn_line_does_not_spoil_the_next, a_new_month_begins_at_zero, a_wrong_clock_does_no_harm,
        the_journal_does_not_grow_for_ever, what_could_not_be_written_is_written_later,
        what_changes_during_a_turn_is_in_the_next, many_keys_are_copied_in_slices,
        without_a_path_it_counts_in_memory, only_sound_lines_count)
