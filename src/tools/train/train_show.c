/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A terminal has one line of progress, written over; a log has a line now and then. */
#include "tools/train/train_show.h"
#include "base/log/progress.h"
#include "train/report/curve.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void train_show_wipe(struct train_show *show)
{
    if (show->is_dirty)
        fputs("\r\x1b[K", stderr);
    show->is_dirty = false;
}

void train_show_say(void *ctx, const char *line)
{
    (void)ctx;
    fprintf(stderr, "%s\n", line);
}

/* Returns how much of the run is done: the greatest share of its steps, epochs or time. Negative:
 * the run has no limit. */
static double share_done(const struct train_show *show, const struct dg_trainer_now *now)
{
    const struct train_options *flags = show->flags;
    double share = -1.0;
    if (flags->ending.steps)
        share = fmax(share, (double)now->step / (double)flags->ending.steps);
    if (flags->ending.epochs && now->n)
        share = fmax(share, ((double)now->epoch - 1.0 + (double)now->position / (double)now->n) /
                                (double)flags->ending.epochs);
    if (flags->ending.time_ms)
        share = fmax(share, now->seconds * 1000.0 / (double)flags->ending.time_ms);
    return share < 1.0 ? share : 1.0;
}

static const char *left_text(const struct train_show *show, const struct dg_trainer_now *now,
                             char *room, size_t cap)
{
    char time[48];
    const double share = share_done(show, now);
    room[0] = '\0';
    if (share > 0.0 && now->seconds > 0.0)
        snprintf(room, cap, ", at most %s left",
                 dg_progress_duration(now->seconds * (1.0 - share) / share, time, sizeof time));
    return room;
}

/* epoch 3 [#####.....] 52 %, step 1200, loss 2.345, 4100 tokens/s, at most 1 h 2 min left */
void train_show_step(void *ctx, const struct dg_trainer_now *now)
{
    struct train_show *show = ctx;
    char left[80], bar[21];
    if (!show->is_terminal || now->seconds - show->shown < 0.25)
        return;
    show->shown = now->seconds;
    const double share = now->n ? (double)now->position / (double)now->n : 0.0;
    const size_t filled = (size_t)(share * 20.0);
    memset(bar, '.', 20);
    memset(bar, '#', filled);
    bar[20] = '\0';
    fprintf(stderr,
            "\repoch %" PRIu64 " [%s] %.0f %%, step %" PRIu64 ", loss %.3f, %.0f tokens/s%s\x1b[K",
            now->epoch, bar, 100.0 * share, now->step, now->loss, now->tokens_per_second,
            left_text(show, now, left, sizeof left));
    show->is_dirty = true;
}

void train_show_line(void *ctx, const struct dg_trainer_now *now)
{
    struct train_show *show = ctx;
    char left[80];
    if (show->is_terminal)
        return;
    fprintf(stderr,
            "step %" PRIu64 ", epoch %" PRIu64
            ", loss %.4f, rate %.3g, norm %.2f, %.0f tokens/s%s\n",
            now->step, now->epoch, now->loss, now->rate, now->norm, now->tokens_per_second,
            left_text(show, now, left, sizeof left));
}

void train_show_valid(void *ctx, const struct dg_trainer_now *now,
                      const struct dg_validate_report *report, bool is_best)
{
    struct train_show *show = ctx;
    struct dg_error error = DG_ERROR_NONE;
    char time[48];
    train_show_wipe(show);
    /* A curve that cannot be drawn must not end the run. */
    const enum dg_err err = dg_curve_write(show->dir, &error);
    if (err)
        fprintf(stderr, "the curve could not be drawn: %s\n", dg_error_text(&error, err));
    fprintf(stderr, "step %" PRIu64 " after %s: held-out loss %.4f", now->step,
            dg_progress_duration(now->seconds, time, sizeof time), report->loss);
    if (!isfinite(report->correlation)) /* for numbers, the figure is a squared error */
        fprintf(stderr, " (perplexity %.2f)", exp(report->loss));
    if (report->accuracy >= 0.0)
        fprintf(stderr, ", %.2f %% of the %s right", report->accuracy,
                show->flags->data.task == MASKED ? "masked words"
                : report->macro_f1 >= 0.0        ? "texts with all labels"
                                                 : "labels");
    if (report->exact >= 0.0)
        fprintf(stderr, ", %.2f %% of the answers right", report->exact);
    if (report->f1 >= 0.0)
        fprintf(stderr, ", F1 %.2f", report->f1);
    if (report->macro_f1 >= 0.0)
        fprintf(stderr, " (of each label by itself, the mean, %.2f)", report->macro_f1);
    if (isfinite(report->correlation))
        fprintf(stderr, ", correlation %.4f", report->correlation);
    if (report->bleu >= 0.0)
        fprintf(stderr, ", BLEU %.2f, chrF %.2f, %zu without end", report->bleu, report->chrf,
                report->n_loops);
    if (report->agreement >= 0.0)
        fprintf(stderr, ", attention on %.1f %% of the linked words", 100.0 * report->agreement);
    fprintf(stderr, is_best ? ": the best so far\n" : "; the best was at step %" PRIu64 "\n",
            now->best_step);
    const int64_t parts = show->flags->learning.part_tokens,
                  longest = show->flags->learning.len_max;
    if (report->n_left_out)
        fprintf(stderr,
                "    without %zu of the held-out examples, which are longer than %" PRId64
                " tokens (--part-tokens)\n",
                report->n_left_out, parts > longest ? parts : longest);
    for (size_t i = 0; i < report->n_samples; i++)
        fprintf(stderr, "    %s\n      -> %s\n       = %s\n", report->samples[i][0],
                report->samples[i][1], report->samples[i][2]);
}
