/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman train: makes a model directory that the daemon serves from sentence pairs. src/train
 * does the work; train_options.h has the options, train_recipe.h keeps them with the run,
 * train_show.h shows how far it is.
 *
 * On SIGINT or SIGTERM the run finishes its step, writes a checkpoint and says how to continue. A
 * second signal ends the program at once; only the work since the last checkpoint is then lost. */
#include "base/file/folder.h"
#include "base/log/progress.h"
#include "model/model_dir.h"
#include "tools/command.h"
#include "tools/tools.h"
#include "tools/train/train_options.h"
#include "tools/train/train_recipe.h"
#include "tools/train/train_show.h"
#include "tools/train/training_report.h"
#include "train/run/setup.h"
#include "train/run/trainer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t n_signals;

static void on_signal(int number)
{
    n_signals = 1;
    signal(number, SIG_DFL); /* a second signal ends the process at once */
}

static bool should_stop(void *ctx)
{
    (void)ctx;
    return n_signals > 0;
}

static const struct dg_trainer_events events = {.should_stop = should_stop,
                                                .on_step = train_show_step,
                                                .on_line = train_show_line,
                                                .on_valid = train_show_valid};

/* ---- The run --------------------------------------------------------------------------------- */

/* Allows one trainer at a time in a directory; the lock ends with the process. */
static enum dg_err lock(const char *dir, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    enum dg_err err = dg_folder_path(dir, "training/lock", path, error);
    if (err)
        return err;
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return dg_error_errno(error, "cannot open %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return dg_error_set(error, DG_ERR_BUSY, "%s: another dragoman train is at work there", dir);
    }
    return DG_OK;
}

static bool has_checkpoint(const char *dir)
{
    char path[DG_PATH_CAP];
    return dg_folder_path(dir, "training/checkpoint.safetensors", path, NULL) == DG_OK &&
           access(path, F_OK) == 0;
}

/* Adds a line such as "step 1200: --time 4h (was 2h)". */
static enum dg_err put_history(const char *dir, uint64_t step, struct dg_span text,
                               struct dg_error *error)
{
    char path[DG_PATH_CAP];
    enum dg_err err = dg_folder_path(dir, "training/history.txt", path, error);
    if (err || text.len == 0)
        return err;
    FILE *out = fopen(path, "ae");
    const bool ok =
        out && fprintf(out, "after step %" PRIu64 ":%.*s\n", step, DG_SPAN_FMT(text)) > 0;
    const int code = errno;
    if ((out && fclose(out) != 0) || !ok)
        err = dg_error_set(error, dg_err_from_errno(code ? code : EIO), "cannot write %s: %s", path,
                           strerror(code));
    return err;
}

/* Makes the steps and, unless somebody stopped the run, does what belongs to its end. */
static enum dg_err run_trainer(const struct train_options *flags, const char *dir,
                               const struct dg_setup *setup, struct dg_trainer *trainer,
                               size_t threads, struct dg_error *error)
{
    enum dg_trainer_end end = DG_TRAINER_STOPPED;
    const struct training_report ending = {
        .dir = dir,
        .setup = setup,
        .trainer = trainer,
        .tests = &flags->report.test,
        .swap = flags->data.swap,
        .n_translate = (size_t)flags->report.test_pairs,
        .beam = (int)flags->report.test_beam,
        .threads = threads,
    };
    struct train_show show = {
        .flags = flags, .dir = dir, .is_terminal = isatty(STDERR_FILENO) == 1};
    const struct dg_trainer_now *now = dg_trainer_now(trainer);
    char time[48];
    enum dg_err err = training_report_keep_tests(&ending, error);
    if (!err && *flags->data.init && now->step == 0)
        err = training_report_score(&ending, true, error);
    if (!err)
        err = dg_trainer_run(trainer, &events, &show, &end, error);
    train_show_wipe(&show);
    if (err)
        return err;
    fprintf(stderr, "%s after step %" PRIu64 " and %s", dg_trainer_end_text(end), now->step,
            dg_progress_duration(now->seconds, time, sizeof time));
    if (end == DG_TRAINER_STOPPED) {
        fprintf(stderr, "; to go on: dragoman train --resume %s\n", dir);
        return DG_OK;
    }
    fprintf(stderr, "; the model is %s (of step %" PRIu64 ")\n", dir,
            now->best_step ? now->best_step : now->step);
    return training_report_finish(&ending, dg_trainer_end_text(end), error);
}

static enum dg_err train_model(const struct train_options *flags, const char *dir, bool is_resumed,
                               struct dg_span history, struct dg_error *error)
{
    struct dg_setup setup;
    struct dg_model *init = NULL;
    struct dg_trainer *trainer = NULL;
    enum dg_err err = training_report_keep(dir, "note.md", flags->report.note, error);
    if (!err)
        err = training_report_keep(dir, "attribution.md", flags->report.attribution, error);
    if (!err)
        err = dg_setup_open(&setup, dir, error);
    if (err)
        return err;
    struct dg_trainer_opts opts = train_trainer_opts(flags, dir);
    opts.mask = (struct dg_pass_mask){(float)flags->learning.mask_share, setup.mask_id};
    setup.len_max = opts.len_max;
    if (setup.n_dev_cut)
        fprintf(stderr,
                "%zu of the held-out examples are longer than the %zu tokens that the network "
                "reads: what lies beyond is not judged\n",
                setup.n_dev_cut, setup.bp.source_len_max);
    const struct dg_trainer_data data = {
        &setup.train,    &setup.dev,   setup.dev_texts,
        setup.tokenizer, setup.labels, setup.candidates.n ? &setup.candidates : NULL};
    /* from then on the checkpoint contains all of it */
    if (*flags->data.init && !has_checkpoint(dir))
        err = dg_model_open(&init, flags->data.init, error);
    if (!err)
        err = dg_trainer_new(&trainer, &opts, &setup.bp, &data,
                             init ? dg_model_weights(init) : NULL, error);
    if (!err && is_resumed)
        err = dg_trainer_resume(trainer, error);
    if (err == DG_ERR_NOT_FOUND && is_resumed)
        err = DG_OK; /* the run was prepared, but stopped before the first checkpoint: it begins
                        anew */
    if (!err)
        err = put_history(dir, dg_trainer_now(trainer)->step, history, error);
    if (!err) {
        fprintf(stderr,
                "%zu parameters, %zu thread%s, products of %s, %.0f MB of memory; %s step %" PRIu64
                "\n",
                dg_trainer_params(trainer)->n, opts.threads, opts.threads == 1 ? "" : "s",
                dg_products_find(opts.products)->name, (double)dg_trainer_bytes(trainer) / 1e6,
                dg_trainer_now(trainer)->step ? "going on after" : "beginning at",
                dg_trainer_now(trainer)->step);
        err = run_trainer(flags, dir, &setup, trainer, opts.threads, error);
    }
    dg_trainer_free(trainer);
    dg_model_unref(init);
    dg_setup_close(&setup);
    return err;
}

/* Removes the folder of a run that failed before it wrote anything. */
static void remove_empty(const char *dir, const char *folder)
{
    char path[DG_PATH_CAP];
    if (dg_folder_path(folder, "lock", path, NULL) == DG_OK)
        unlink(path);
    if (rmdir(folder) == 0)
        rmdir(dir);
}

static enum dg_err begin(const struct dg_opt_set *set, struct dg_error *error)
{
    struct train_options with = *(const struct train_options *)dg_opt_values(set);
    const struct train_options *flags = &with;
    const char *files[TRAIN_FILES_MAX];
    struct dg_setup_opts opts;
    uint32_t repeat[TRAIN_FILES_MAX];
    char recipe[DG_PATH_CAP], folder[DG_PATH_CAP];
    enum dg_err err = train_options_complete(&with, error);
    opts = train_setup_opts(flags);
    if (!err)
        err = dg_folder_path(flags->out, "training/recipe.conf", recipe, error);
    if (!err)
        err = dg_folder_path(flags->out, "training", folder, error);
    if (!err && access(recipe, F_OK) == 0)
        return dg_error_set(error, DG_ERR_EXISTS,
                            "%s already holds a run; to continue it: dragoman train --resume %s",
                            flags->out, flags->out);
    for (size_t i = 0; i < dg_opt_n_args(set); i++)
        files[i] = dg_opt_arg(set, i);
    if (!err && flags->data.repeat.n && flags->data.repeat.n != dg_opt_n_args(set))
        return dg_error_set(error, DG_ERR_USAGE,
                            "--repeat has %zu numbers for %zu files, expected one each",
                            flags->data.repeat.n, dg_opt_n_args(set));
    if (!err)
        err = train_options_repeat(&flags->data.repeat, repeat, error);
    if (flags->data.repeat.n)
        opts.repeat = repeat;
    const bool is_new = !err && mkdir(flags->out, 0777) == 0;
    if (!err && ((!is_new && errno != EEXIST) || (mkdir(folder, 0777) != 0 && errno != EEXIST)))
        err = dg_error_errno(error, "cannot make %s", folder);
    if (!err)
        err = lock(flags->out, error);
    const bool is_ours = !err;
    if (!err)
        err = dg_setup_make(flags->out, files, dg_opt_n_args(set), &opts, train_show_say, NULL,
                            error);
    if (err && is_ours && is_new)
        remove_empty(flags->out, folder);
    if (!err)
        err = train_recipe_save(set, flags->out, error);
    return err ? err : train_model(flags, flags->out, false, DG_SPAN(""), error);
}

/* When a run is resumed, the options are read a second time, over those of its recipe. */
static struct {
    int argc;
    char **argv;
} command_line;

static enum dg_err go_on(const char *dir, struct dg_error *error)
{
    struct dg_opt_set *set = NULL;
    struct dg_buf history;
    dg_buf_init(&history, TRAIN_RECIPE_MAX);
    enum dg_err err =
        train_recipe_load(&set, &history, dir, command_line.argc, command_line.argv, error);
    if (!err)
        err = lock(dir, error);
    if (!err)
        err = train_recipe_save(set, dir, error);
    if (!err)
        err = train_model(dg_opt_values(set), dir, true, dg_buf_span(&history), error);
    dg_opt_set_free(set);
    dg_buf_deinit(&history);
    return err;
}

static enum dg_err check_usage(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct train_options *flags = dg_opt_values(set);
    if (*flags->resume && (*flags->out || dg_opt_n_args(set)))
        return dg_error_set(error, DG_ERR_USAGE,
                            "--resume continues with its own pairs and directory; expected neither "
                            "--out nor PAIRS");
    if (!*flags->resume && (!*flags->out || (!dg_opt_n_args(set) && !*flags->data.source)))
        return dg_error_set(error, DG_ERR_USAGE,
                            "expected --out DIR and files of pairs, or --resume DIR");
    return DG_OK;
}

static enum dg_err run_train(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct train_options *flags = dg_opt_values(set);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    enum dg_err err = check_usage(set, error);
    if (err)
        return err;
    return *flags->resume ? go_on(flags->resume, error) : begin(set, error);
}

int dg_cmd_train(int argc, char **argv)
{
    command_line.argc = argc;
    command_line.argv = argv;
    return dg_command(&train_table, argc, argv, run_train);
}
