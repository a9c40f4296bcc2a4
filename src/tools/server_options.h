/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writes options of the command line as the JSON of a request to a server (clients/c). It writes
 * only options that were given, so that the server's defaults apply to the rest.
 *
 *     dg_buf_init(&json, 4096);
 *     err = server_options(set, &flags, &search, NULL, NULL, NULL, NULL, &json);
 *     ... json is {"target":"en","beam":4}, with a NUL at its end ... */
#ifndef DG_TOOLS_SERVER_OPTIONS_H
#define DG_TOOLS_SERVER_OPTIONS_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/option/opt.h"
#include "tools/search_flags.h"

/* The server, the languages and the key. Strings may be empty. */
struct server_flags {
    const char *server, *source, *target, *key_file;
};

#define SERVER_FLAGS(T, f, default_server, letter_of_target)                                       \
    {DG_OPT_STRING(T, f.server), "server",                                                         \
     .heading = "Server",        .unit = "URL",                                                    \
     .def = default_server,      .help = "the server to ask, as http://host:port"},                \
        {DG_OPT_STRING(T, f.source), "from", .alias = "source", .unit = "TAG",                     \
         .help = "language of the text; --source is the same (default: it is found out)"},         \
        {DG_OPT_STRING(T, f.target),                                                               \
         "to",                                                                                     \
         .alias = "target",                                                                        \
         .letter = letter_of_target,                                                               \
         .unit = "TAG",                                                                            \
         .help = "language to translate into; --target is the same"},                              \
    {                                                                                              \
        DG_OPT_PATH(T, f.key_file), "key-file",                                                    \
            .help = "a file whose first line is the key, for daemons that ask for one"             \
    }

/* The parts of the text that the model is to translate. */
struct text_flags {
    bool keep_case, protect, copy_numbers;
};

/* Writes the request. `search`, `text`, `model`, `lines` and `formality` may be NULL: then it
 * leaves out their fields. DG_ERR_RANGE, DG_ERR_NOMEM. */
enum dg_err server_options(const struct dg_opt_set *set, const struct server_flags *flags,
                           const struct search_flags *search, const struct text_flags *text,
                           const char *model, const char *lines, const char *formality,
                           struct dg_buf *json) DG_MUST_CHECK;

/* Adds the glossary of translate --glossary to what server_options wrote. DG_ERR_RANGE,
 * DG_ERR_NOMEM. */
struct dg_glossary;
enum dg_err server_options_glossary(const struct dg_glossary *glossary,
                                    struct dg_buf *json) DG_MUST_CHECK;

/* Reads the key, without its line end, from its file; "" when there is no file. */
enum dg_err server_key(const struct server_flags *flags, char *key, size_t cap,
                       struct dg_error *error) DG_MUST_CHECK;

#endif
