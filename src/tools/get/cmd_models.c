/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman models: lists the installed models; with --available, those that can be fetched. */
#include "tools/tools.h"

#include "base/json/json.h"
#include "fetch/catalogue_choice.h"
#include "model/good_for.h"
#include "tools/get/daemon.h"
#include "tools/get/get.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct options {
    int help;
    bool available;
    struct get_flags get;
};

static const struct dg_opt_row rows[] = {
    {DG_OPT_BOOL(struct options, available), "available", .letter = 'a',
     .flags = DG_OPT_COMMAND_LINE,
     .help = "what dragoman get can fetch instead, of all languages or of LANG"},
    GET_FLAGS(struct options, get, 0),
    DG_OPT_HELP(struct options, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman models",
    .summary = "Lists the models that are installed, or those that can be fetched.",
    DG_OPT_ROWS(rows, struct options),
    .args = "[LANG]",
    .args_max = 1,
    .env_prefix = "DRAGOMAN_GET_",
};

/* ---- Models that can be fetched -------------------------------------------------------------- */

static bool is_of(const struct dg_catalogue_model *model, const char *language)
{
    return !*language || strcasecmp(model->source, language) == 0 ||
           strcasecmp(model->target, language) == 0 ||
           (strcasecmp(language, "zh") == 0 &&
            (strncasecmp(model->source, "zh", 2) == 0 || strncasecmp(model->target, "zh", 2) == 0));
}

static void print_available(const struct dg_catalogue *catalogue,
                            const struct dg_catalogue_model *model)
{
    const struct dg_catalogue_choice_opts any = {0};
    const struct dg_catalogue_model *scored = dg_catalogue_choice_scored(catalogue, model);
    const bool is_best = model == dg_catalogue_choice_best(catalogue, dg_span_cstr(model->source),
                                                           dg_span_cstr(model->target), &any);
    char name[DG_CATALOGUE_CHOICE_NAME], size[GET_SIZE], memory[GET_SIZE], bleu[16] = "-",
                                                                           comet[16] = "-";
    dg_catalogue_choice_name(model, name);
    if (scored && scored->bleu >= 0)
        snprintf(bleu, sizeof bleu, "%s%.1f", scored == model ? "" : "~", scored->bleu);
    if (scored && scored->comet >= 0)
        snprintf(comet, sizeof comet, "%s%.3f", scored == model ? "" : "~", scored->comet);
    printf("%c %-11s %-16s %-12s %-8s %8s %8s  %6s %7s  %s%s\n", is_best ? '*' : ' ', name,
           model->from->name, model->kind, *model->version ? model->version : "-",
           get_size(dg_catalogue_choice_packed(model), size),
           get_size(dg_catalogue_choice_unpacked(model), memory), bleu, comet, model->from->licence,
           dg_catalogue_choice_is_trial(model) ? "; a trial version"
           : *model->files[0].sha256           ? ""
                                               : "; without a published hash");
}

static enum dg_err list_available(const struct options *opt, const char *language,
                                  struct dg_error *error)
{
    const struct dg_transfer_opts transfer_opts = get_transfer_opts(&opt->get);
    struct dg_transfer *transfer = NULL;
    struct dg_catalogue catalogue;
    size_t n = 0;
    enum dg_err err = dg_transfer_new(&transfer, &transfer_opts, error);
    if (!err)
        err = get_open_catalogue(&opt->get, transfer, &catalogue, error);
    dg_transfer_free(transfer);
    if (err)
        return err;
    for (size_t i = 0; i < catalogue.n_models; i++) {
        if (!is_of(&catalogue.models[i], language))
            continue;
        if (n++ == 0)
            printf("  %-11s %-16s %-12s %-8s %8s %8s  %6s %7s  %s\n", "pair", "source", "kind",
                   "version", "fetch", "memory", "BLEU", "COMET", "licence");
        print_available(&catalogue, &catalogue.models[i]);
    }
    if (n == 0)
        err = dg_error_set(error, DG_ERR_NOT_FOUND,
                           "the catalogue of %s has no model with %s; other models: opus:FROM-TO, "
                           "hf:OWNER/NAME",
                           catalogue.date, language);
    else
        fprintf(stderr,
                "* is what 'dragoman get PAIR' fetches; ~ is the score of an earlier version of "
                "the same kind. Scores are Mozilla's, on FLORES. The lists are of %s.\n",
                catalogue.date);
    dg_catalogue_free(&catalogue);
    return err;
}

/* ---- Installed models ------------------------------------------------------------------------ */

static const char *is_served(const struct dg_json *served, const char *name)
{
    const struct dg_json *list = dg_json_get(served, "models");
    struct dg_span id;
    if (!served)
        return "-";
    for (size_t i = 0; i < dg_json_len(list); i++)
        if (dg_json_get_string(dg_json_at(list, i), "name", DG_JSON_REQUIRED, NULL, &id) == DG_OK &&
            dg_span_eq(id, dg_span_cstr(name)))
            return "yes";
    return "no";
}

static void print_installed(const struct library_item *item, const struct dg_json *served)
{
    const struct dg_package *package = &item->package;
    const char *good_for = dg_good_for_name(dg_good_for_read(item->path));
    char size[GET_SIZE], scores[DG_PACKAGE_SCORES], from[160];
    dg_package_scores(package->bleu, package->comet, package->scores_are_older, scores);
    if (!*scores)
        snprintf(scores, sizeof scores, "%s%s", good_for ? "good for: " : "no scores",
                 good_for ? good_for : "");
    snprintf(from, sizeof from, "%s%s%.12s%s%s",
             item->has_origin ? package->from : "not by dragoman get", *package->version ? " " : "",
             package->version, *package->fetched ? ", " : "", package->fetched);
    printf("%-11s %-12s %8s  %-6s  %-46s  %s; %s\n", item->name,
           *package->kind ? package->kind : "-", get_size(item->bytes, size),
           is_served(served, item->name), from, scores,
           *package->licence  ? package->licence
           : item->has_origin ? "licence not known"
                              : "see its card.md");
}

static enum dg_err list_installed(const struct options *opt, const char *language,
                                  struct dg_error *error)
{
    struct library library;
    struct dg_json *served = NULL;
    size_t n = 0;
    enum dg_err err = library_read(&library, &opt->get, error);
    if (err)
        return err;
    if (daemon_models(&opt->get, &served, NULL) != DG_OK)
        served = NULL;
    for (size_t i = 0; i < library.n; i++) {
        const size_t len = strlen(language);
        const char *name = library.items[i].name, *last = strrchr(name, '-');
        if (len && !(strncasecmp(name, language, len) == 0 && name[len] == '-') &&
            !(last && strcasecmp(last + 1, language) == 0))
            continue;
        if (n++ == 0)
            printf("%-11s %-12s %8s  %-6s  %-46s  %s\n", "pair", "kind", "size", "served", "from",
                   "scores; licence");
        print_installed(&library.items[i], served);
    }
    if (n == 0)
        fprintf(stderr, "dragoman models: none%s%s; 'dragoman get de-en' fetches one\n",
                *language ? " with " : "", language);
    dg_json_free(served);
    library_free(&library);
    return DG_OK;
}

int dg_cmd_models(int argc, char **argv)
{
    struct dg_opt_set *set = NULL;
    int exit_code = 0;
    if (!get_command(&table, argc, argv, &set, &exit_code))
        return exit_code;
    struct dg_error error = DG_ERROR_NONE;
    const struct options *opt = dg_opt_values(set);
    const char *language = dg_opt_n_args(set) ? dg_opt_arg(set, 0) : "";
    enum dg_err err = opt->available ? list_available(opt, language, &error)
                                     : list_installed(opt, language, &error);
    if (err)
        fprintf(stderr, "dragoman models: %s\n", dg_error_text(&error, err));
    dg_opt_set_free(set);
    return err ? 1 : 0;
}
