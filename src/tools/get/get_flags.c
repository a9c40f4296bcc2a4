/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads options from files, finds the catalogue, and has small functions that several sub-commands
 * use. */
#include "tools/get/get_flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef DG_SYSCONFDIR
#define DG_SYSCONFDIR "/etc"
#endif

bool get_command(const struct dg_opt_table *table, int argc, char *const *argv,
                 struct dg_opt_set **set, int *exit_code)
{
    struct dg_error error = DG_ERROR_NONE;
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char own[DG_MODEL_FOLDERS_PATH] = "";
    if (!dg_opt_command(table, argc, argv, set, exit_code))
        return false;
    if (config && config[0] == '/')
        snprintf(own, sizeof own, "%s/dragoman/get.conf", config);
    else if (home && home[0] == '/')
        snprintf(own, sizeof own, "%s/.config/dragoman/get.conf", home);
    const char *const files[] = {own, DG_SYSCONFDIR "/dragoman/get.conf"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!*files[i] || access(files[i], F_OK) != 0)
            continue;
        enum dg_err err = dg_opt_read_file(*set, files[i], &error);
        if (err) {
            fprintf(stderr, "%s: %s\n", table->program, dg_error_text(&error, err));
            dg_opt_set_free(*set);
            *exit_code = 2;
            return false;
        }
        break;
    }
    return true;
}

/* ---- Paths ----------------------------------------------------------------------------------- */

enum dg_err get_models_dir(const struct get_flags *flags, char path[DG_MODEL_FOLDERS_PATH],
                           struct dg_error *error)
{
    struct dg_model_folders places;
    if (*flags->models_dir) {
        snprintf(path, DG_MODEL_FOLDERS_PATH, "%s", flags->models_dir);
        return DG_OK;
    }
    dg_model_folders_find(&places);
    if (!*places.own)
        return dg_error_set(error, DG_ERR_NOT_FOUND,
                            "this account has no home; name a folder with --models-dir");
    memcpy(path, places.own, sizeof places.own);
    return DG_OK;
}

enum dg_err get_own_catalogue(const struct get_flags *flags, char path[DG_MODEL_FOLDERS_PATH],
                              struct dg_error *error)
{
    char models[DG_MODEL_FOLDERS_PATH];
    enum dg_err err = get_models_dir(flags, models, error);
    if (err)
        return err;
    const int n = snprintf(path, DG_MODEL_FOLDERS_PATH, "%s/.get/catalogue.json", models);
    return n < DG_MODEL_FOLDERS_PATH
               ? DG_OK
               : dg_error_set(error, DG_ERR_LIMIT, "the path is too long: %s", models);
}

struct dg_transfer_opts get_transfer_opts(const struct get_flags *flags)
{
    struct dg_transfer_opts opts = DG_TRANSFER_OPTS_DEFAULT;
    opts.ca_file = flags->ca_file;
    opts.mirror = flags->mirror;
    opts.offline = flags->offline;
    opts.retries = (int)flags->retries;
    opts.pause_ms = flags->retry_wait;
    opts.stall_ms = flags->stall;
    return opts;
}

/* ---- The catalogue --------------------------------------------------------------------------- */

static enum dg_err fetch_catalogue(const char *url, struct dg_transfer *transfer,
                                   struct dg_catalogue *catalogue, struct dg_error *error)
{
    struct dg_buf text;
    if (!dg_catalogue_is_url(dg_span_cstr(url)))
        return dg_error_set(error, DG_ERR_INVALID,
                            "--catalogue: read '%s', expected a file or an https address", url);
    dg_buf_init(&text, DG_CATALOGUE_BYTES_MAX);
    enum dg_err err = dg_transfer_text(transfer, url, &text, NULL, error);
    if (!err) {
        err = dg_catalogue_parse(catalogue, dg_buf_span(&text), error);
        if (err)
            dg_error_wrap(error, err, "%s", url);
    }
    dg_buf_deinit(&text);
    return err;
}

enum dg_err get_open_catalogue(const struct get_flags *flags, struct dg_transfer *transfer,
                               struct dg_catalogue *catalogue, struct dg_error *error)
{
    struct dg_model_folders places;
    struct dg_catalogue own;
    char path[DG_MODEL_FOLDERS_PATH];
    if (strstr(flags->catalogue, "://"))
        return fetch_catalogue(flags->catalogue, transfer, catalogue, error);
    if (*flags->catalogue)
        return dg_catalogue_read(catalogue, flags->catalogue, error);
    dg_model_folders_find(&places);
    enum dg_err err = dg_catalogue_read(catalogue, places.catalogue, error);
    if (get_own_catalogue(flags, path, NULL) != DG_OK || access(path, F_OK) != 0)
        return err;
    struct dg_error own_error = DG_ERROR_NONE;
    const enum dg_err own_err = dg_catalogue_read(&own, path, &own_error);
    if (own_err) {
        fprintf(stderr, "dragoman: left out: %s\n", dg_error_text(&own_error, own_err));
        return err;
    }
    if (!err && strcmp(own.date, catalogue->date) < 0) {
        dg_catalogue_free(&own);
        return DG_OK;
    }
    if (!err)
        dg_catalogue_free(catalogue);
    *catalogue = own;
    return DG_OK;
}

/* ---- Messages and questions ------------------------------------------------------------------ */

const char *get_size(uint64_t bytes, char text[GET_SIZE])
{
    const double mb = (double)bytes / 1e6;
    if (bytes == 0)
        snprintf(text, GET_SIZE, "-");
    else if (mb < 0.95)
        snprintf(text, GET_SIZE, "%.0f kB", bytes < 1000 ? 1.0 : (double)bytes / 1e3);
    else if (mb < 9.95)
        snprintf(text, GET_SIZE, "%.1f MB", mb);
    else if (mb < 10000)
        snprintf(text, GET_SIZE, "%.0f MB", mb);
    else
        snprintf(text, GET_SIZE, "%.1f GB", mb / 1000);
    return text;
}

bool get_confirm(const char *question)
{
    char line[32] = "";
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return true;
    fprintf(stderr, "%s [y/N] ", question);
    return fgets(line, sizeof line, stdin) && (line[0] == 'y' || line[0] == 'Y');
}
