/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A recipe is the dump of the options. On resuming it is read twice, as it was and with the command
 * line over it, to tell which options changed and whether they may. */
#include "tools/train/train_recipe.h"
#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "tools/train/train_options.h"

#include <unistd.h>

enum dg_err train_recipe_save(const struct dg_opt_set *set, const char *dir, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    struct dg_buf text;
    dg_buf_init(&text, TRAIN_RECIPE_MAX);
    enum dg_err err = dg_folder_path(dir, "training/recipe.conf", path, error);
    if (!err)
        err = dg_opt_dump(set, &text);
    if (!err)
        err = dg_file_out_save(path, 0644, text.ptr, text.len, error);
    dg_buf_deinit(&text);
    return err;
}

struct difference {
    enum dg_err err;
    struct dg_error *error;
    struct dg_buf *history; /* changed options, for the card */
};

static void on_change(void *ctx, const struct dg_opt_change *change)
{
    struct difference *difference = ctx;
    if (!change->row || change->row->flags & DG_OPT_COMMAND_LINE || difference->err)
        return;
    if (change->allowed) {
        difference->err = dg_buf_printf(difference->history, " --%s %s (was %s)", change->row->name,
                                        change->now, change->was);
        return;
    }
    difference->err = dg_error_set(
        difference->error, DG_ERR_USAGE,
        "--%s is %s in this run and cannot become %s; start another in a new directory",
        change->row->name, change->was, change->now);
}

enum dg_err train_recipe_load(struct dg_opt_set **set, struct dg_buf *history, const char *dir,
                              int argc, char **argv, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    struct dg_opt_set *was = NULL, *now = NULL;
    enum dg_err err = dg_folder_path(dir, "training/recipe.conf", path, error);
    if (!err && access(dir, F_OK) != 0)
        err = dg_error_errno(error, "cannot resume %s", dir);
    if (!err && access(path, F_OK) != 0)
        err = dg_error_set(
            error, DG_ERR_NOT_FOUND,
            "%s is missing: the run's preparation never finished; start it again with --out", path);
    if (!err)
        err = dg_opt_set_new(&train_table, &was);
    if (!err)
        err = dg_opt_read_file(was, path, error);
    if (!err)
        err = dg_opt_set_new(&train_table, &now);
    if (!err)
        err = dg_opt_read_file(now, path, error);
    if (!err)
        err = dg_opt_read_args(now, argc, argv, error);
    if (!err)
        err = dg_opt_check(now, error);
    struct difference difference = {.error = error, .history = history};
    if (!err)
        err = dg_opt_compare(was, now, on_change, &difference);
    if (!err)
        err = difference.err;
    dg_opt_set_free(was);
    if (err)
        dg_opt_set_free(now);
    else
        *set = now;
    return err;
}
