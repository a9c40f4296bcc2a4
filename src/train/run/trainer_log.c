/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* training/log.tsv, a line for each window and each validation, and training/samples.tsv, the
 * translations that validations made. */
#include "base/memory/error.h"
#include "train/run/trainer_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES_MAX = 1 << 30 };

enum dg_err dg_trainer_open_log(struct dg_trainer *t, struct dg_error *error)
{
    static const char head[] = "step\tepoch\tseconds\tloss\tobjective\tnorm\trate\ttokens_per_"
                               "second\tdev_loss\tbleu\tchrf\ttask\n";
    char path[DG_PATH_CAP];
    enum dg_err err = dg_trainer_path(t, "training/log.tsv", path, error);
    if (err)
        return err;
    t->log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (t->log < 0)
        return dg_error_errno(error, "cannot open %s", path);
    if (lseek(t->log, 0, SEEK_END) == 0 && write(t->log, head, sizeof head - 1) < 0)
        return dg_error_errno(error, "cannot write %s", path);
    return DG_OK;
}

/* Until the first line of the log, the means are those of the steps so far, since no window is
 * complete yet. */
struct dg_trainer_now dg_trainer_now_of(const struct dg_trainer *t)
{
    struct dg_trainer_now now = t->now;
    const double seconds = now.seconds - t->line_seconds;
    if (now.loss <= 0.0 && t->window.n_losses > 0.0) {
        now.loss = t->window.plain / t->window.n_losses;
        now.objective = t->window.loss / t->window.n_losses;
        now.tokens_per_second = seconds > 0.0 ? (double)t->window.n_tokens / seconds : 0.0;
    }
    return now;
}

enum dg_err dg_trainer_put_line(struct dg_trainer *t, const struct dg_validate_report *report,
                                struct dg_error *error)
{
    char line[320], scores[96] = "\t\t\t";
    const struct dg_validate_figure task =
        report ? dg_validate_task(report) : (struct dg_validate_figure){"", NAN};
    if (report && report->bleu >= 0.0)
        snprintf(scores, sizeof scores, "%.6f\t%.2f\t%.2f\t", report->loss, report->bleu,
                 report->chrf);
    else if (report && isfinite(task.value))
        snprintf(scores, sizeof scores, "%.6f\t\t\t%.4f", report->loss, task.value);
    else if (report)
        snprintf(scores, sizeof scores, "%.6f\t\t\t", report->loss);
    const struct dg_trainer_now now = dg_trainer_now_of(t);
    const int n = snprintf(line, sizeof line,
                           "%" PRIu64 "\t%" PRIu64 "\t%.1f\t%.6f\t%.6f\t%.4f\t%.4g\t%.0f\t%s\n",
                           now.step, now.epoch, now.seconds, now.loss, now.objective, now.norm,
                           now.rate, now.tokens_per_second, scores);
    if (write(t->log, line, (size_t)n) != n)
        return dg_error_set(error, DG_ERR_IO, "the log could not be written: %s", strerror(errno));
    return DG_OK;
}

/* Writes one line for each sample; characters that would end a line or a column become spaces. */
enum dg_err dg_trainer_put_samples(const struct dg_trainer *t,
                                   const struct dg_validate_report *report, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    struct dg_buf text;
    enum dg_err err = dg_trainer_path(t, "training/samples.tsv", path, error);
    if (err || report->n_samples == 0)
        return err;
    dg_buf_init(&text, SAMPLES_MAX);
    for (size_t i = 0; i < report->n_samples && !err; i++) {
        err = dg_buf_printf(&text, "%" PRIu64, t->now.step);
        for (size_t j = 0; j < 3 && !err; j++) {
            err = dg_buf_append_byte(&text, '\t');
            for (const char *at = report->samples[i][j]; *at && !err; at++)
                err = dg_buf_append_byte(&text, (unsigned char)*at < 0x20 ? ' ' : *at);
        }
        if (!err)
            err = dg_buf_append_byte(&text, '\n');
    }
    const int fd = err ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (!err && (fd < 0 || write(fd, text.ptr, text.len) != (ssize_t)text.len))
        err = dg_error_errno(error, "cannot write %s", path);
    if (fd >= 0)
        close(fd);
    dg_buf_deinit(&text);
    return err;
}
