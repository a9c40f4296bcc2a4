/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman get PAIR...: fetches a model of the catalogue, of OPUS-MT or of Hugging Face, checks,
 * imports and tries it, and puts it where the daemon finds it. */
#include "tools/tools.h"

#include "base/file/file_out.h"
#include "base/log/progress.h"
#include "fetch/source_firefox.h"
#include "fetch/source_hf.h"
#include "tools/command.h"
#include "tools/get/daemon.h"
#include "tools/get/get.h"
#include "tools/get/install.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

enum { PAIRS_MAX = 200 };

static const char *const types[] = {"as-stored", "f32", "f16", "bf16", "i8", NULL};

struct options {
    int help, type;
    struct get_flags get;
    const char *source, *kind, *version, *all_with, *as;
    bool small, yes, again, print_urls, accept_unpinned, update_catalogue, reload;
};

static const struct dg_opt_row rows[] = {
    {DG_OPT_STRING(struct options, source), "source", .unit = "NAME", .flags = DG_OPT_COMMAND_LINE,
     .heading = "Which",
     .help =
         "fetch only models of firefox, firefox-archive, argos, or opus (OPUS-MT at Hugging Face)"},
    {DG_OPT_STRING(struct options, kind), "kind", .unit = "KIND", .flags = DG_OPT_COMMAND_LINE,
     .help = "fetch only this kind: tiny, base-memory, base"},
    {DG_OPT_STRING(struct options, version), "version", .unit = "VERSION",
     .flags = DG_OPT_COMMAND_LINE, .help = "fetch only this version"},
    {DG_OPT_BOOL(struct options, small), "small", .flags = DG_OPT_COMMAND_LINE,
     .help = "fetch the smallest model instead of the best"},
    {DG_OPT_STRING(struct options, all_with), "all-with", .unit = "LANG",
     .flags = DG_OPT_COMMAND_LINE, .help = "fetch every pair with this language"},
    {DG_OPT_BOOL(struct options, again), "again", .flags = DG_OPT_COMMAND_LINE,
     .help = "fetch also what is already installed"},
    {DG_OPT_STRING(struct options, as), "as", .unit = "NAME", .flags = DG_OPT_COMMAND_LINE,
     .help = "the directory's name, for one model (default: its pair of languages)"},
    {DG_OPT_ENUM(struct options, type), "type", .words = types, .flags = DG_OPT_COMMAND_LINE,
     .help = "the weights' type, as dragoman import knows it"},
    {DG_OPT_BOOL(struct options, yes), "yes", .letter = 'y', .heading = "How",
     .flags = DG_OPT_COMMAND_LINE, .help = "do not ask for confirmation"},
    {DG_OPT_BOOL(struct options, print_urls), "print-urls", .flags = DG_OPT_COMMAND_LINE,
     .help = "only print what would be fetched, one address a line"},
    {DG_OPT_BOOL(struct options, accept_unpinned), "accept-unpinned", .flags = DG_OPT_COMMAND_LINE,
     .help = "accept files without a published hash; theirs is noted and checked from then on"},
    {DG_OPT_BOOL(struct options, reload), "reload", .flags = DG_OPT_COMMAND_LINE,
     .help = "have the running server serve the new models at once"},
    {DG_OPT_BOOL(struct options, update_catalogue), "update-catalogue",
     .flags = DG_OPT_COMMAND_LINE,
     .help = "fetch Mozilla's list as it is now, show what is new, and keep it"},
    GET_FLAGS(struct options, get, 0),
    DG_OPT_HELP(struct options, help),
};

static enum dg_err check(const void *values, const char *name, struct dg_error *error)
{
    const struct options *opt = values;
    (void)name;
    if (*opt->get.mirror && !dg_catalogue_is_url(dg_span_cstr(opt->get.mirror)))
        return dg_error_set(error, DG_ERR_INVALID,
                            "option 'mirror': read '%s', expected an https address",
                            opt->get.mirror);
    if (*opt->as && !dg_catalogue_is_name(dg_span_cstr(opt->as)))
        return dg_error_set(error, DG_ERR_INVALID,
                            "option 'as': read '%s', expected a plain name such as fr-en", opt->as);
    return DG_OK;
}

static const struct dg_opt_table table = {
    .program = "dragoman get",
    .summary = "Fetches models and installs them. PAIR is de-en, opus:de-en, or "
               "hf:OWNER/NAME[@REVISION].",
    DG_OPT_ROWS(rows, struct options),
    .args = "[PAIR...]",
    .args_max = PAIRS_MAX,
    .env_prefix = "DRAGOMAN_GET_",
    .check = check,
};

/* The state of one run. */
struct work {
    const struct options *opt;
    struct dg_clock clock;
    struct dg_progress progress;
    char what[128]; /* the beginning of the progress line */
    bool has_progress;
    struct dg_transfer *transfer;
    struct dg_catalogue catalogue;
    bool has_catalogue;
    struct library library;
    struct get_plan plan;
    struct install *install;
    const volatile sig_atomic_t *stop;
    const char *name; /* the name of the package that is being fetched */
};

/* ---- Progress -------------------------------------------------------------------------------- */

static void end_step(struct work *work)
{
    if (work->has_progress)
        dg_progress_stop(&work->progress);
    work->has_progress = false;
}

static void on_step(void *ctx, const char *step, uint64_t total)
{
    struct work *work = ctx;
    end_step(work);
    snprintf(work->what, sizeof work->what, "%s %s", step, work->name);
    dg_progress_start(&work->progress, work->what, "KiB", total >> 10, &work->clock);
    work->has_progress = true;
}

static void on_bytes(void *ctx, uint64_t n_bytes)
{
    struct work *work = ctx;
    if (work->has_progress)
        dg_progress_show(&work->progress, n_bytes >> 10);
}

static void on_transfer(void *ctx, uint64_t n_bytes)
{
    struct work *work = ctx;
    if (work->install)
        install_on_file_bytes(work->install, n_bytes);
}

static void on_say(void *ctx, const char *sentence)
{
    struct work *work = ctx;
    if (work->has_progress)
        dg_progress_stop(&work->progress); /* the line appears again with the next bytes */
    fprintf(stderr, "dragoman get: %s\n", sentence);
}

/* ---- The plan -------------------------------------------------------------------------------- */

static bool is_installed(const struct work *work, const struct dg_package *package)
{
    const struct library_item *item = library_find(&work->library, package->name);
    if (!item || !item->is_own || work->opt->again)
        return false;
    return item->has_origin && strcmp(item->package.from, package->from) == 0 &&
           strcmp(item->package.kind, package->kind) == 0 &&
           strcmp(item->package.version, package->version) == 0;
}

static enum dg_err full(struct dg_error *error)
{
    return dg_error_set(error, DG_ERR_LIMIT, "too many models at a time");
}

static enum dg_err reload(const struct work *work, const struct dg_package *package,
                          const char *path, struct dg_error *error)
{
    char whole[DG_MODEL_FOLDERS_PATH];
    if (!realpath(path, whole))
        snprintf(whole, sizeof whole, "%s", path);
    enum dg_err err =
        daemon_load(&work->opt->get, package->name, whole, package->source, package->target, error);
    if (err)
        return dg_error_wrap(error, err, "%s is installed, but not served yet", package->name);
    fprintf(stderr, "dragoman get: the server now serves %s\n", package->name);
    return DG_OK;
}

/* Removes the last package from the plan when it is installed already, or planned twice. With
 * --reload, a model that is installed already is also loaded into the daemon. */
static enum dg_err keep_new(struct work *work, struct dg_package *package, struct dg_error *error)
{
    const size_t last = work->plan.n - 1;
    bool is_double = false;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < last; i++)
        is_double = is_double || strcmp(work->plan.packages[i].name, package->name) == 0;
    if (!is_double && !work->opt->print_urls && is_installed(work, package)) {
        fprintf(stderr, "dragoman get: %s is already installed: %s %s %.12s\n", package->name,
                package->from, package->kind, package->version);
        is_double = true;
        if (work->opt->reload)
            err = reload(work, package, library_find(&work->library, package->name)->path, error);
    }
    if (is_double)
        get_plan_drop_last(&work->plan);
    return err;
}

static enum dg_err plan_model(struct work *work, const struct dg_catalogue_model *model,
                              struct dg_error *error)
{
    struct dg_package *package = get_plan_add(&work->plan);
    if (!package)
        return full(error);
    enum dg_err err = dg_package_from_model(package, &work->catalogue, model, error);
    if (err)
        return err;
    if (*work->opt->as)
        package->name = work->opt->as;
    return keep_new(work, package, error);
}

static enum dg_err plan_hf(struct work *work, const struct dg_hf *hf, struct dg_error *error)
{
    struct dg_package *package = get_plan_add(&work->plan);
    if (!package)
        return full(error);
    enum dg_err err = dg_hf_list(work->transfer, hf, package, error);
    if (err)
        return err;
    if (*work->opt->as)
        package->name = work->opt->as;
    return keep_new(work, package, error);
}

static enum dg_err need_catalogue(struct work *work, struct dg_error *error)
{
    if (work->has_catalogue)
        return DG_OK;
    enum dg_err err = get_open_catalogue(&work->opt->get, work->transfer, &work->catalogue, error);
    work->has_catalogue = !err;
    return err;
}

static struct dg_catalogue_choice_opts choice_opts(const struct options *opt)
{
    return (struct dg_catalogue_choice_opts){
        .source = opt->source, .kind = opt->kind, .version = opt->version, .small = opt->small};
}

static enum dg_err plan_pair(struct work *work, const char *pair, struct dg_error *error)
{
    struct dg_model_choice choice;
    struct dg_hf hf;
    char opus[128];
    const struct dg_catalogue_choice_opts opts = choice_opts(work->opt);
    if (strcmp(work->opt->source, "opus") == 0 && !strchr(pair, ':')) {
        snprintf(opus, sizeof opus, "opus:%s", pair);
        pair = opus;
    }
    if (dg_hf_parse(&hf, pair))
        return plan_hf(work, &hf, error);
    if (strchr(pair, ':'))
        return dg_error_set(error, DG_ERR_USAGE,
                            "'%s': expected opus:FROM-TO or hf:OWNER/NAME[@REVISION]", pair);
    enum dg_err err = need_catalogue(work, error);
    if (!err)
        err = dg_catalogue_choice_find(&work->catalogue, pair, &opts, &choice, error);
    if (err == DG_ERR_INVALID && work->has_catalogue)
        err = DG_ERR_USAGE;
    if (!err && choice.n == 2)
        fprintf(stderr,
                "dragoman get: there is no model for %s; it takes two, through English: %s-%s and "
                "%s-%s\n",
                pair, choice.models[0]->source, choice.models[0]->target, choice.models[1]->source,
                choice.models[1]->target);
    if (!err && choice.n == 2 && *work->opt->as)
        err = dg_error_set(error, DG_ERR_USAGE, "--as names one model, and %s needs two", pair);
    for (size_t i = 0; !err && i < choice.n; i++)
        err = plan_model(work, choice.models[i], error);
    return err;
}

/* Plans every pair that has the language, each with its best model. */
static enum dg_err plan_all_with(struct work *work, const char *language, struct dg_error *error)
{
    const struct dg_catalogue_choice_opts opts = choice_opts(work->opt);
    enum dg_err err = need_catalogue(work, error);
    size_t n = 0;
    for (size_t i = 0; !err && i < work->catalogue.n_models; i++) {
        const struct dg_catalogue_model *model = &work->catalogue.models[i];
        if (strcasecmp(model->source, language) != 0 && strcasecmp(model->target, language) != 0)
            continue;
        if (model != dg_catalogue_choice_best(&work->catalogue, dg_span_cstr(model->source),
                                              dg_span_cstr(model->target), &opts))
            continue;
        if (!work->opt->accept_unpinned && !*model->files[0].sha256)
            continue;
        n++;
        err = plan_model(work, model, error);
    }
    return err || n ? err
                    : dg_error_set(error, DG_ERR_NOT_FOUND,
                                   "the catalogue has no model with %s; 'dragoman models "
                                   "--available' lists what there is",
                                   language);
}

static enum dg_err make_plan(struct work *work, const struct dg_opt_set *set,
                             struct dg_error *error)
{
    enum dg_err err = DG_OK;
    if (*work->opt->as && (dg_opt_n_args(set) != 1 || *work->opt->all_with))
        return dg_error_set(error, DG_ERR_USAGE, "--as names one model; give one PAIR");
    if (*work->opt->all_with)
        err = plan_all_with(work, work->opt->all_with, error);
    for (size_t i = 0; !err && i < dg_opt_n_args(set); i++)
        err = plan_pair(work, dg_opt_arg(set, i), error);
    return err;
}

/* ---- Installing ------------------------------------------------------------------------------ */

static void say_next(const struct work *work, const struct dg_package *package,
                     const struct install_result *result)
{
    if (*result->note)
        fprintf(stderr, "dragoman get: note: %s\n", result->note);
    fprintf(stderr, "dragoman get: %s is installed in %s\n", package->name, result->path);
    fprintf(stderr, "    %s  ->  %s\n", result->sentence,
            *result->translation ? result->translation : "(nothing)");
    if (!work->opt->reload && *package->source)
        fprintf(stderr,
                "    next: dragoman translate --from %s --to %s \"%s\"; a running server serves it "
                "after its next reload\n",
                package->source, package->target, result->sentence);
}

static enum dg_err hint(enum dg_err err, const struct dg_package *package, struct dg_error *error)
{
    char said[DG_ERROR_CAP];
    snprintf(said, sizeof said, "%s", dg_error_text(error, err));
    if (err == DG_ERR_NOT_FOUND && strncmp(package->from, "firefox", 7) == 0)
        return dg_error_set(error, err,
                            "%s; the publisher has newer models: run 'dragoman get "
                            "--update-catalogue' and try again",
                            said);
    if (err == DG_ERR_CANCELLED || err == DG_ERR_IO || err == DG_ERR_TRUNCATED)
        return dg_error_set(error, err,
                            "%s: %s; nothing is installed, and the same command goes on where this "
                            "one ended",
                            package->name, said);
    if (err == DG_ERR_NO_SPACE)
        return dg_error_set(error, err,
                            "%s: %s; make room and give the same command again: it goes on from "
                            "here",
                            package->name, said);
    return dg_error_set(error, err, "%s: %s", package->name, said);
}

static enum dg_err install_all(struct work *work, struct dg_error *error)
{
    const struct install_opts opts = {.transfer = work->transfer,
                                      .type = work->opt->type,
                                      .stop = work->stop,
                                      .on_step = on_step,
                                      .on_bytes = on_bytes,
                                      .ctx = work};
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < work->plan.n && !err; i++) {
        struct dg_package *package = &work->plan.packages[i];
        struct install_result result;
        work->name = package->name;
        err = install_package(work->install, package, &opts, &result, error);
        end_step(work);
        if (err)
            return hint(err, package, error);
        say_next(work, package, &result);
        if (work->opt->reload)
            err = reload(work, package, result.path, error);
    }
    return err;
}

static enum dg_err refuse_unpinned(const struct dg_package *package, struct dg_error *error)
{
    return dg_error_set(error, DG_ERR_INTEGRITY,
                        "the publisher of %s states no hash to check it by; with --accept-unpinned "
                        "it is taken as it comes, and its hash is noted and checked from then on",
                        package->name);
}

static enum dg_err run_plan(struct work *work, struct dg_error *error)
{
    char dir[DG_MODEL_FOLDERS_PATH];
    if (work->opt->print_urls) {
        get_plan_print_urls(&work->plan, work->opt->get.mirror);
        return DG_OK;
    }
    if (work->plan.n == 0)
        return DG_OK;
    enum dg_err err = get_models_dir(&work->opt->get, dir, error);
    if (!err)
        err = get_plan_show(&work->plan, &work->library, dir, error);
    for (size_t i = 0; !err && i < work->plan.n; i++)
        if (!work->opt->accept_unpinned && !dg_package_is_pinned(&work->plan.packages[i]))
            err = refuse_unpinned(&work->plan.packages[i], error);
    if (!err && !work->opt->yes && !get_confirm("Go on?"))
        err = dg_error_set(error, DG_ERR_CANCELLED, "nothing was fetched");
    if (!err)
        err = install_begin(&work->install, dir, error);
    return err ? err : install_all(work, error);
}

/* ---- A newer catalogue ----------------------------------------------------------------------- */

static bool has_model(const struct dg_catalogue *catalogue, const struct dg_catalogue_model *model)
{
    for (size_t i = 0; i < catalogue->n_models; i++) {
        const struct dg_catalogue_model *other = &catalogue->models[i];
        if (strcmp(other->from->name, model->from->name) == 0 &&
            strcmp(other->source, model->source) == 0 &&
            strcmp(other->target, model->target) == 0 && strcmp(other->kind, model->kind) == 0 &&
            strcmp(other->version, model->version) == 0)
            return true;
    }
    return false;
}

static size_t show_missing(const struct dg_catalogue *in, const struct dg_catalogue *from,
                           const char *what)
{
    size_t n = 0;
    for (size_t i = 0; i < from->n_models; i++) {
        const struct dg_catalogue_model *model = &from->models[i];
        if (has_model(in, model))
            continue;
        printf("%s %s-%s, %s %s\n", what, model->source, model->target, model->kind,
               model->version);
        n++;
    }
    return n;
}

static enum dg_err update_catalogue(struct work *work, struct dg_error *error)
{
    char path[DG_MODEL_FOLDERS_PATH], date[16], dir[DG_MODEL_FOLDERS_PATH];
    struct dg_catalogue fresh;
    struct dg_buf text;
    struct tm tm;
    const time_t now = time(NULL);
    gmtime_r(&now, &tm);
    strftime(date, sizeof date, "%Y-%m-%d", &tm);
    enum dg_err err = need_catalogue(work, error);
    if (!err)
        err = dg_firefox_list(work->transfer, &work->catalogue, date, &fresh, error);
    if (err)
        return err;
    const size_t n_new = show_missing(&work->catalogue, &fresh, "new:");
    const size_t n_gone = show_missing(&fresh, &work->catalogue, "gone:");
    dg_buf_init(&text, 2 * (size_t)DG_CATALOGUE_BYTES_MAX);
    err = dg_catalogue_print(&fresh, &text);
    if (!err)
        err = get_models_dir(&work->opt->get, dir, error);
    if (!err)
        err = install_begin(&work->install, dir, error);
    if (!err)
        err = get_own_catalogue(&work->opt->get, path, error);
    if (!err)
        err = dg_file_out_save(path, 0644, text.ptr, text.len, error);
    if (!err)
        fprintf(stderr,
                "dragoman get: the catalogue of %s has %zu models, %zu of them new, %zu are gone; "
                "it is in %s\n",
                date, fresh.n_models, n_new, n_gone, path);
    install_end(work->install);
    work->install = NULL;
    dg_buf_deinit(&text);
    dg_catalogue_free(&work->catalogue);
    work->catalogue = fresh;
    return err;
}

/* ---- The command ----------------------------------------------------------------------------- */

int dg_cmd_get(int argc, char **argv)
{
    struct dg_opt_set *set = NULL;
    int exit_code = 0;
    if (!get_command(&table, argc, argv, &set, &exit_code))
        return exit_code;
    struct dg_error error = DG_ERROR_NONE;
    struct work work = {.opt = dg_opt_values(set), .clock = DG_CLOCK_REAL};
    struct dg_transfer_opts transfer = get_transfer_opts(&work.opt->get);
    const bool has_pairs = dg_opt_n_args(set) > 0 || *work.opt->all_with;
    transfer.stop = work.stop = dg_command_stop();
    /* so that write() fails with an error when a file reaches the limit */
    signal(SIGXFSZ, SIG_IGN);
    transfer.progress = on_transfer;
    transfer.say = on_say;
    transfer.ctx = &work;
    enum dg_err err = DG_OK;
    if (!has_pairs && !work.opt->update_catalogue)
        err = dg_error_set(&error, DG_ERR_USAGE,
                           "which model? Expected a pair such as de-en; 'dragoman models "
                           "--available' lists what there is");
    if (!err)
        err = dg_transfer_new(&work.transfer, &transfer, &error);
    if (!err)
        err = library_read(&work.library, &work.opt->get, &error);
    if (!err && work.opt->update_catalogue)
        err = update_catalogue(&work, &error);
    if (!err && has_pairs)
        err = make_plan(&work, set, &error);
    if (!err && has_pairs)
        err = run_plan(&work, &error);
    if (err)
        fprintf(stderr, "dragoman get: %s\n", dg_error_text(&error, err));
    install_end(work.install);
    get_plan_free(&work.plan);
    library_free(&work.library);
    if (work.has_catalogue)
        dg_catalogue_free(&work.catalogue);
    dg_transfer_free(work.transfer);
    dg_opt_set_free(set);
    return !err ? 0 : err == DG_ERR_USAGE ? 2 : 1;
}
