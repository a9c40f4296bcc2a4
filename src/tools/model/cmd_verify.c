/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman verify DIR: checks whether the files match the manifest, and whether a trusted key has
 * signed the manifest. */
#include "tools/tools.h"

#include "base/file/map_file.h"
#include "base/option/opt.h"
#include "model/file/manifest.h"
#include "tools/command.h"

#include <stdio.h>

enum { KEYS_MAX = 16 };

struct options {
    int help;
    bool quiet;
    struct dg_opt_list keys;
    struct dg_opt_list key_texts;
};

static const struct dg_opt_row rows[] = {
    {DG_OPT_PATHS(struct options, keys), "key", .letter = 'p', .max = KEYS_MAX,
     .help = "the file of a minisign public key to trust"},
    {DG_OPT_STRINGS(struct options, key_texts), "key-text", .letter = 'P', .unit = "BASE64",
     .max = KEYS_MAX, .help = "the same, the key itself"},
    {DG_OPT_BOOL(struct options, quiet), "quiet", .letter = 'q',
     .help = "print nothing when all is well"},
    DG_OPT_HELP(struct options, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman verify",
    .summary =
        "Checks a model directory against its manifest, and the manifest's signature when a key is "
        "given.",
    DG_OPT_ROWS(rows, struct options),
    .args = "DIR",
    .args_min = 1,
    .args_max = 1,
};

static enum dg_err read_keys(const struct options *opt, struct dg_minisign_public *keys, size_t *n,
                             struct dg_error *error)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < opt->keys.n && !err; i++) {
        struct dg_map_file file;
        err = dg_map_file_open(&file, opt->keys.items[i], DG_MINISIGN_FILE_MAX, error);
        if (err)
            return err;
        err = dg_minisign_public_parse(&keys[*n], dg_span_make((const char *)file.bytes, file.len),
                                       error);
        if (err)
            dg_error_wrap(error, err, "%s", opt->keys.items[i]);
        dg_map_file_close(&file);
        *n += !err;
    }
    for (size_t i = 0; i < opt->key_texts.n && !err; i++) {
        err = dg_minisign_public_parse(&keys[*n], dg_span_cstr(opt->key_texts.items[i]), error);
        *n += !err;
    }
    return err;
}

static enum dg_err run_verify(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct options *opt = dg_opt_values(set);
    struct dg_minisign_public keys[2 * KEYS_MAX];
    size_t n = 0;
    enum dg_err err = read_keys(opt, keys, &n, error);
    if (!err)
        err = dg_manifest_verify(dg_opt_arg(set, 0), keys, n, error);
    if (!err && !opt->quiet)
        printf("%s: all files are as the manifest says%s\n", dg_opt_arg(set, 0),
               n ? ", and the manifest is signed by a trusted key"
                 : "; no key was given, so whose manifest it is was not checked");
    return err;
}

int dg_cmd_verify(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_verify);
}
