/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A run that goes on where an earlier one was interrupted: what a checkpoint stores besides the
 * optimiser, and the files of the run, which are set back to the checkpoint's step. */
#include "base/file/file_out.h"
#include "base/file/text_in.h"
#include "base/memory/error.h"
#include "train/run/checkpoint.h"
#include "train/run/snapshots.h"
#include "train/run/trainer_int.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOG_MAX = 1 << 30 };

/* What a checkpoint stores about a run besides the optimiser. A double is stored as its bits. The
 * last number is stored only when losses are counted by sentence or by the task of an encoder-only
 * model: elsewhere it would equal `tokens`. */
struct kept {
    uint64_t epoch, position, seconds, best, best_step, n_worse, n_skipped;
    uint64_t plain, objective, tokens;
    uint64_t line_seconds, line_loss, line_objective, line_speed;
    uint64_t losses;
};
enum { N_KEPT = sizeof(struct kept) / sizeof(uint64_t) };

static size_t n_kept(const struct dg_trainer *t)
{
    const bool is_enc = dg_blueprint_family(&t->params.bp)->has_head;
    return t->opts.loss == DG_PASS_LOSS_SENTENCE || is_enc ? N_KEPT : N_KEPT - 1;
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static struct kept keep(const struct dg_trainer *t)
{
    return (struct kept){
        .epoch = t->now.epoch,
        .position = t->now.position,
        .seconds = bits_of(t->now.seconds),
        .best = bits_of(t->now.best),
        .best_step = t->now.best_step,
        .n_worse = t->now.n_worse,
        .n_skipped = t->now.n_skipped,
        .plain = bits_of(t->window.plain),
        .objective = bits_of(t->window.loss),
        .tokens = t->window.n_tokens,
        .losses = bits_of(t->window.n_losses),
        .line_seconds = bits_of(t->line_seconds),
        .line_loss = bits_of(t->now.loss),
        .line_objective = bits_of(t->now.objective),
        .line_speed = bits_of(t->now.tokens_per_second),
    };
}

/* Keeps the last `k` snapshots up to now; a resumed run takes the later ones again. */
static void prune(const struct dg_trainer *t, size_t k)
{
    char path[DG_PATH_CAP];
    if (t->opts.optimiser.average_last && dg_trainer_path(t, "training", path, NULL) == DG_OK)
        dg_snapshots_prune(path, t->now.step, k);
}

enum dg_err dg_trainer_save(struct dg_trainer *t, const struct dg_trainer_events *events, void *ctx,
                            struct dg_error *error)
{
    char path[DG_PATH_CAP];
    struct kept kept = keep(t);
    const struct dg_checkpoint point = {&t->params, dg_optimiser_state(t->optimiser),
                                        (uint64_t *)&kept, n_kept(t)};
    enum dg_err err = dg_trainer_path(t, "training/checkpoint.safetensors", path, error);
    if (!err)
        err = dg_checkpoint_save(&point, path, error);
    if (err)
        return dg_error_wrap(error, err,
                             "the checkpoint could not be written; the one before it is whole");
    t->saved_ns = dg_clock_now(&t->clock);
    prune(t, t->opts.optimiser.average_last);
    if (events->on_save)
        events->on_save(ctx, &t->now);
    return DG_OK;
}

/* Cuts a file at the checkpoint's step: the later lines belong to steps that will be done again. */
static enum dg_err cut_log(struct dg_trainer *t, const char *path, struct dg_error *error)
{
    struct dg_text_in in;
    struct dg_buf kept;
    struct dg_span line;
    if (access(path, F_OK) != 0)
        return DG_OK;
    enum dg_err err = dg_text_in_open(&in, path, error);
    if (err)
        return err;
    dg_buf_init(&kept, LOG_MAX);
    while (!err && dg_text_in_line(&in, &line)) {
        const bool is_head = dg_span_starts(line, DG_SPAN("step"));
        if (!is_head && (line.len == 0 || strtoull(line.ptr, NULL, 10) > t->now.step))
            continue;
        err = dg_buf_append_span(&kept, line);
        if (!err)
            err = dg_buf_append_byte(&kept, '\n');
    }
    if (!err)
        err = dg_file_out_save(path, 0644, kept.ptr ? kept.ptr : "", kept.len, error);
    dg_text_in_close(&in);
    dg_buf_deinit(&kept);
    return err;
}

/* Removes the temporary files that killed writers left of any file of the run. */
static void sweep(const struct dg_trainer *t)
{
    static const char *const names[] = {"training/checkpoint.safetensors",
                                        "training/log.tsv",
                                        "training/samples.tsv",
                                        "training/curve.csv",
                                        "training/curve.svg",
                                        "training/scores.tsv",
                                        "training/dev.bin",
                                        "training/test.bin",
                                        "training/recipe.conf",
                                        "model.safetensors",
                                        "card.md"};
    char path[DG_PATH_CAP];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (dg_trainer_path(t, names[i], path, NULL) == DG_OK)
            dg_checkpoint_sweep(path);
}

enum dg_err dg_trainer_resume(struct dg_trainer *t, struct dg_error *error)
{
    char path[DG_PATH_CAP], log[DG_PATH_CAP], samples[DG_PATH_CAP];
    struct kept kept;
    struct dg_optimiser_state state = dg_optimiser_state(t->optimiser);
    const struct dg_checkpoint point = {&t->params, state, (uint64_t *)&kept, n_kept(t)};
    enum dg_err err = dg_trainer_path(t, "training/checkpoint.safetensors", path, error);
    if (!err)
        err = dg_trainer_path(t, "training/log.tsv", log, error);
    if (!err)
        err = dg_trainer_path(t, "training/samples.tsv", samples, error);
    if (err)
        return err;
    sweep(t);
    if (access(path, F_OK) != 0) {
        err = cut_log(t, log, error);
        if (!err)
            err = cut_log(t, samples, error);
        return err ? err
                   : dg_error_set(error, DG_ERR_NOT_FOUND, "%s: there is no checkpoint yet", path);
    }
    err = dg_checkpoint_load(&point, path, error);
    if (err)
        return err;
    t->now.step = *state.step;
    t->now.epoch = kept.epoch;
    t->now.position = (size_t)kept.position;
    t->now.seconds = t->earlier_seconds = double_of(kept.seconds);
    t->now.best = double_of(kept.best);
    t->now.best_step = kept.best_step;
    t->now.n_worse = (size_t)kept.n_worse;
    t->now.n_skipped = kept.n_skipped;
    t->window = (struct dg_pass_sums){.plain = double_of(kept.plain),
                                      .loss = double_of(kept.objective),
                                      .n_tokens = kept.tokens,
                                      .n_losses = n_kept(t) == N_KEPT ? double_of(kept.losses)
                                                                      : (double)kept.tokens};
    t->line_seconds = double_of(kept.line_seconds);
    t->now.loss = double_of(kept.line_loss);
    t->now.objective = double_of(kept.line_objective);
    t->now.tokens_per_second = double_of(kept.line_speed);
    prune(t, DG_SNAPSHOTS_MAX);
    if (t->now.epoch == 0 || t->now.position > t->order.n)
        return dg_error_set(error, DG_ERR_INVALID, "%s belongs to other pairs", path);
    err = cut_log(t, log, error);
    return err ? err : cut_log(t, samples, error);
}
