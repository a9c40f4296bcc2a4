/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/log/progress.h"
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

static struct dg_clock clock_ = DG_CLOCK_VIRTUAL(0);

START_TEST(says_how_far_how_fast_and_how_long_yet)
{
    struct dg_progress progress;
    char room[160];
    dg_progress_start(&progress, "translating", "lines", 5000, &clock_);
    ck_assert_str_eq(dg_progress_line(&progress, 0, room, sizeof room),
                     "translating: 0 of 5000 lines (0 %)");
    dg_clock_advance(&clock_, 4 * DG_CLOCK_S);
    ck_assert_str_eq(dg_progress_line(&progress, 1200, room, sizeof room),
                     "translating: 1200 of 5000 lines (24 %), 300/s, 13 s left");
    ck_assert_str_eq(dg_progress_line(&progress, 2, room, sizeof room),
                     "translating: 2 of 5000 lines (0 %), 0.5/s, 2 h 46 min left");
    ck_assert_str_eq(dg_progress_line(&progress, 6000, room, sizeof room),
                     "translating: 6000 of 5000 lines (120 %), 1500/s, 0 s left");
    ck_assert_str_eq(dg_progress_line(&progress, 100, room, 12), "translating");
}
END_TEST

START_TEST(does_without_a_total)
{
    struct dg_progress progress;
    char room[160];
    dg_progress_start(&progress, "reading", "bytes", 0, &clock_);
    dg_clock_advance(&clock_, DG_CLOCK_S);
    ck_assert_str_eq(dg_progress_line(&progress, 50, room, sizeof room), "reading: 50 bytes, 50/s");
}
END_TEST

/* What arrives on stderr when it is a pipe, or is treated as a terminal. */
static const char *shown(bool as_terminal)
{
    static char text[4096];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    int saved = dup(STDERR_FILENO);
    ck_assert_int_ge(dup2(ends[1], STDERR_FILENO), 0);
    struct dg_progress progress;
    dg_progress_start(&progress, "x", "y", 100, &clock_);
    bool was_visible = progress.is_visible;
    progress.is_visible = as_terminal;
    for (uint64_t i = 0; i < 100; i++) {
        dg_progress_show(&progress, i);
        dg_clock_advance(&clock_, 5 * DG_CLOCK_MS);
    }
    dg_progress_stop(&progress);
    dg_progress_stop(&progress);
    ck_assert_int_ge(dup2(saved, STDERR_FILENO), 0);
    close(saved);
    close(ends[1]);
    ssize_t n = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    ck_assert(!was_visible);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

START_TEST(shows_nothing_where_there_is_no_terminal)
{
    ck_assert_str_eq(shown(false), "");
}
END_TEST

START_TEST(rewrites_one_line_at_most_ten_times_a_second_and_wipes_it)
{
    const char *text = shown(true);
    int n_lines = 0;
    for (const char *at = text; *at; at++)
        n_lines += *at == '\r';
    ck_assert_int_eq(n_lines, 5 + 1); /* half a second, and the line that clears it */
    ck_assert_ptr_null(strchr(text, '\n'));
    ck_assert(strcmp(text + strlen(text) - 4, "\r\x1B[K") == 0);
}
END_TEST

DG_UNIT(says_how_far_how_fast_and_how_long_yet, does_without_a_total,
        shows_nothing_where_there_is_no_terminal,
        rewrites_one_line_at_most_ten_times_a_second_and_wipes_it)
