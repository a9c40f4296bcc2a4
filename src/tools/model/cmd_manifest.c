/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman manifest DIR: writes DIR/manifest.b2, the hashes of all files of a model. */
#include "tools/tools.h"

#include "base/option/opt.h"
#include "model/file/manifest.h"
#include "tools/command.h"

struct options {
    int help;
};

static const struct dg_opt_row rows[] = {DG_OPT_HELP(struct options, help)};

static const struct dg_opt_table table = {
    .program = "dragoman manifest",
    .summary = "Writes the BLAKE2b hashes of a model directory's files into DIR/" DG_MANIFEST_NAME
               ", which b2sum -c reads too.",
    DG_OPT_ROWS(rows, struct options),
    .args = "DIR",
    .args_min = 1,
    .args_max = 1,
};

static enum dg_err run_manifest(const struct dg_opt_set *set, struct dg_error *error)
{
    return dg_manifest_write(dg_opt_arg(set, 0), error);
}

int dg_cmd_manifest(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_manifest);
}
