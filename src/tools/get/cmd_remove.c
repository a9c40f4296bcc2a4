/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman remove PAIR...: removes installed models, and the files that unfinished fetches of them
 * left. */
#include "tools/tools.h"

#include "tools/get/daemon.h"
#include "tools/get/get.h"
#include "tools/get/install.h"

#include <stdio.h>
#include <string.h>

enum { PAIRS_MAX = 200 };

struct options {
    int help;
    bool yes, reload;
    struct get_flags get;
};

static const struct dg_opt_row rows[] = {
    {DG_OPT_BOOL(struct options, yes), "yes", .letter = 'y', .flags = DG_OPT_COMMAND_LINE,
     .help = "do not ask for confirmation"},
    {DG_OPT_BOOL(struct options, reload), "reload", .flags = DG_OPT_COMMAND_LINE,
     .help = "have the running server let the models go first"},
    GET_FLAGS(struct options, get, DG_OPT_NO_FLAG),
    DG_OPT_HELP(struct options, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman remove",
    .summary = "Removes installed models.",
    DG_OPT_ROWS(rows, struct options),
    .args = "PAIR...",
    .args_min = 1,
    .args_max = PAIRS_MAX,
    .env_prefix = "DRAGOMAN_GET_",
};

static enum dg_err remove_one(const struct options *opt, struct install *install,
                              const struct library *library, const char *name,
                              struct dg_error *error)
{
    const struct library_item *item = library_find(library, name);
    char size[GET_SIZE], question[512];
    if (!dg_catalogue_is_name(dg_span_cstr(name)))
        return dg_error_set(error, DG_ERR_USAGE, "'%s' is not the name of a model", name);
    if (item && !item->is_own)
        return dg_error_set(error, DG_ERR_DENIED,
                            "%s lies in %s, which is not yours to change here; %s is", item->name,
                            item->path, library->own);
    if (item) {
        name = item->name;
        snprintf(question, sizeof question, "Remove %s (%s)?", name, get_size(item->bytes, size));
        if (!opt->yes && !get_confirm(question))
            return dg_error_set(error, DG_ERR_CANCELLED, "nothing was removed");
    }
    enum dg_err err = item && opt->reload ? daemon_unload(&opt->get, name, error) : DG_OK;
    if (!err)
        err = install_remove(install, name, error);
    if (!err)
        fprintf(stderr, "dragoman remove: %s is removed%s\n", name,
                item && !opt->reload ? "; a running server serves it until its next reload" : "");
    return err;
}

int dg_cmd_remove(int argc, char **argv)
{
    struct dg_opt_set *set = NULL;
    int exit_code = 0;
    if (!get_command(&table, argc, argv, &set, &exit_code))
        return exit_code;
    struct dg_error error = DG_ERROR_NONE;
    const struct options *opt = dg_opt_values(set);
    struct library library = {0};
    struct install *install = NULL;
    char dir[DG_MODEL_FOLDERS_PATH];
    enum dg_err err = library_read(&library, &opt->get, &error);
    if (!err)
        err = get_models_dir(&opt->get, dir, &error);
    if (!err)
        err = install_begin(&install, dir, &error);
    for (size_t i = 0; !err && i < dg_opt_n_args(set); i++)
        err = remove_one(opt, install, &library, dg_opt_arg(set, i), &error);
    if (err)
        fprintf(stderr, "dragoman remove: %s\n", dg_error_text(&error, err));
    install_end(install);
    library_free(&library);
    dg_opt_set_free(set);
    return !err ? 0 : err == DG_ERR_USAGE ? 2 : 1;
}
