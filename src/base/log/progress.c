/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The progress line. The rate is the mean of the whole run so far, so that short stalls do not make
 * the remaining time jump. */
#include "base/log/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_CAP = 160 };

void dg_progress_start(struct dg_progress *progress, const char *what, const char *unit,
                       uint64_t total, const struct dg_clock *clock)
{
    *progress = (struct dg_progress){.what = what,
                                     .unit = unit,
                                     .clock = clock,
                                     .total = total,
                                     .started_ns = dg_clock_now(clock),
                                     .is_visible = isatty(STDERR_FILENO) == 1};
}

const char *dg_progress_duration(double seconds, char *room, size_t cap)
{
    const uint64_t s = seconds > 0.0 ? (uint64_t)(seconds + 0.5) : 0;
    if (s < 60)
        snprintf(room, cap, "%" PRIu64 " s", s);
    else if (s < 3600)
        snprintf(room, cap, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
    else
        snprintf(room, cap, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
    return room;
}

const char *dg_progress_line(const struct dg_progress *progress, uint64_t n_done, char *room,
                             size_t cap)
{
    double seconds = (double)(dg_clock_now(progress->clock) - progress->started_ns) / 1e9;
    double rate = seconds > 0 ? (double)n_done / seconds : 0;
    char rate_text[32] = "";
    if (rate > 0)
        snprintf(rate_text, sizeof rate_text, rate < 10 ? ", %.1f/s" : ", %.0f/s", rate);
    if (progress->total == 0) {
        snprintf(room, cap, "%s: %" PRIu64 " %s%s", progress->what, n_done, progress->unit,
                 rate_text);
        return room;
    }
    uint64_t left = n_done < progress->total ? progress->total - n_done : 0;
    char left_text[48] = "";
    double seconds_left = rate > 0 ? (double)left / rate : 0;
    if (rate > 0 && seconds_left < 1e9) {
        char duration[40];
        dg_progress_duration(seconds_left, duration, sizeof duration);
        snprintf(left_text, sizeof left_text, ", %s left", duration);
    }
    snprintf(room, cap, "%s: %" PRIu64 " of %" PRIu64 " %s (%.0f %%)%s%s", progress->what, n_done,
             progress->total, progress->unit, 100.0 * (double)n_done / (double)progress->total,
             rate_text, left_text);
    return room;
}

/* A carriage return, the line, and "erase to the end of the line". */
static void put_line(const char *line)
{
    char bytes[LINE_CAP + 8];
    int len = snprintf(bytes, sizeof bytes, "\r%s\x1B[K", line);
    ssize_t n = write(STDERR_FILENO, bytes, (size_t)len);
    (void)n; /* the loss of a progress line does not matter */
}

void dg_progress_show(struct dg_progress *progress, uint64_t n_done)
{
    if (!progress->is_visible)
        return;
    uint64_t now = dg_clock_now(progress->clock);
    if (progress->is_dirty && now - progress->shown_ns < 100 * DG_CLOCK_MS)
        return;
    char line[LINE_CAP];
    put_line(dg_progress_line(progress, n_done, line, sizeof line));
    progress->shown_ns = now;
    progress->is_dirty = true;
}

void dg_progress_stop(struct dg_progress *progress)
{
    if (progress->is_dirty)
        put_line("");
    progress->is_dirty = false;
}
