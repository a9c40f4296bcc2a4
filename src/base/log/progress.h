/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A progress line for people: how much is done, how fast, and how long the rest will take. It is
 * shown only when stderr is a terminal, at most ten times a second, and wiped at the end, so
 * scripts and logs never see it.
 *
 *     struct dg_progress progress;
 *     dg_progress_start(&progress, "translating", "lines", n_lines, &clock);    0: unknown
 *     dg_progress_show(&progress, n_done);                cheap; call it as often as you like
 *     dg_progress_stop(&progress);                        mirror of start
 *
 *     translating: 1200 of 5000 lines (24 %), 310/s, 12 s left
 *
 * One thread. */
#ifndef DG_BASE_LOG_PROGRESS_H
#define DG_BASE_LOG_PROGRESS_H

#include "base/memory/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_progress {
    const char *what;             /* borrowed */
    const char *unit;             /* borrowed */
    const struct dg_clock *clock; /* borrowed */
    uint64_t total;               /* 0: unknown */
    uint64_t started_ns;
    uint64_t shown_ns; /* when the line was last written */
    bool is_visible;   /* stderr is a terminal */
    bool is_dirty;     /* a line is on the terminal */
};

void dg_progress_start(struct dg_progress *progress, const char *what, const char *unit,
                       uint64_t total, const struct dg_clock *clock);
void dg_progress_show(struct dg_progress *progress, uint64_t n_done);
void dg_progress_stop(struct dg_progress *progress);

/* "12 s", "3 min 20 s", "2 h 5 min" into `room`; returns `room`. */
const char *dg_progress_duration(double seconds, char *room, size_t cap);

/* The line as it would be shown now, into `room`; returns `room`. */
const char *dg_progress_line(const struct dg_progress *progress, uint64_t n_done, char *room,
                             size_t cap);

#endif
