/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Options that get, models and remove share. They may also be in a file: /etc/dragoman/get.conf, or
 * dragoman/get.conf in $XDG_CONFIG_HOME (~/.config). A flag overrides the environment
 * (DRAGOMAN_GET_MIRROR, ...), which overrides the files; the user's own file is read first.
 *
 *     if (!get_command(&table, argc, argv, &set, &exit_code))
 *         return exit_code;
 *     err = get_open_catalogue(&flags, transfer, &catalogue, &error); */
#ifndef DG_TOOLS_GET_GET_FLAGS_H
#define DG_TOOLS_GET_GET_FLAGS_H

#include "base/option/opt.h"
#include "engine/models/model_folders.h"
#include "fetch/catalogue.h"
#include "fetch/transfer.h"

struct get_flags {
    const char *catalogue, *ca_file, *mirror, *offline, *models_dir, *admin_socket;
    int64_t retries, retry_wait, stall;
};

/* How to fetch, and where the models lie. `how` is DG_OPT_NO_FLAG for a command that fetches
 * nothing and reads the same files. */
#define GET_FLAGS(T, f, how)                                                                       \
    {DG_OPT_STRING(T, f.catalogue),                                                                \
     "catalogue",                                                                                  \
     .heading = "Where from",                                                                      \
     .unit = "FILE|URL",                                                                           \
     .flags = how,                                                                                 \
     .help = "the catalogue to use instead of the installed one"},                                 \
        {DG_OPT_STRING(T, f.mirror), "mirror", .unit = "URL", .flags = how,                        \
         .help = "a copy of your own, with the same paths, for all hosts"},                        \
        {DG_OPT_PATH(T, f.offline), "offline", .unit = "DIR", .flags = how,                        \
         .help = "files that were fetched elsewhere (--print-urls), instead of the network"},      \
        {DG_OPT_PATH(T, f.ca_file), "ca-file", .flags = how,                                       \
         .help = "trust the certificates in this file instead of the system's"},                   \
        {DG_OPT_INT_IN(T, f.retries, 0, 100), "retries", .def = "5", .flags = how,                 \
         .help = "how often in a row to try again when nothing arrives"},                          \
        {DG_OPT_DURATION_IN(T, f.retry_wait, 1, 600000), "retry-wait", .def = "1s", .flags = how,  \
         .help = "pause before the first of these; each is twice the one before"},                 \
        {DG_OPT_DURATION_IN(T, f.stall, 1000, 3600000), "stall-limit", .def = "30s", .flags = how, \
         .help = "how long to wait for data before giving a connection up"},                       \
        {DG_OPT_PATH(T, f.models_dir), "models-dir", .heading = "Where to", .unit = "DIR",         \
         .help = "the folder of models, instead of this account's"},                               \
    {                                                                                              \
        DG_OPT_PATH(T, f.admin_socket), "admin-socket",                                            \
            .help = "the daemon's socket for administrators (default: looks for it)"               \
    }

/* Does the same as dg_opt_command, and reads the files too. */
bool get_command(const struct dg_opt_table *table, int argc, char *const *argv,
                 struct dg_opt_set **set, int *exit_code) DG_MUST_CHECK;

/* Opens the catalogue to use: the one of --catalogue; otherwise the newer of the installed one and
 * the one that --update-catalogue wrote. */
enum dg_err get_open_catalogue(const struct get_flags *flags, struct dg_transfer *transfer,
                               struct dg_catalogue *catalogue,
                               struct dg_error *error) DG_MUST_CHECK;

/* Gets the path to which --update-catalogue writes: next to the folder of models. */
enum dg_err get_own_catalogue(const struct get_flags *flags, char path[DG_MODEL_FOLDERS_PATH],
                              struct dg_error *error) DG_MUST_CHECK;

/* Gets the folder in which models are installed. */
enum dg_err get_models_dir(const struct get_flags *flags, char path[DG_MODEL_FOLDERS_PATH],
                           struct dg_error *error) DG_MUST_CHECK;

/* Returns the options of a transfer; the caller sets stop, progress and say. */
struct dg_transfer_opts get_transfer_opts(const struct get_flags *flags);

/* Writes a size such as "25 MB" into `text`; returns `text`. */
enum { GET_SIZE = 24 };
const char *get_size(uint64_t bytes, char text[GET_SIZE]);

/* Asks a question on the terminal. True when the answer is yes, and when there is no terminal. */
bool get_confirm(const char *question);

#endif
