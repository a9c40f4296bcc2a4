/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman manifest DIR: writes DIR/manifest.b2, the hashes of all files of a model. */
#include "tools/tools.h"

#include "base/opt.h"
#include "model/manifest.h"

#include <stdio.h>

struct options {
    int help;
};

static const struct dg_opt_row rows[] = {DG_OPT_HELP(struct options, help)};

static const struct dg_opt_table table = {
    .program = "dragoman manifest",
    .summary = "Writes the BLAKE2b hashes of a model directory's files into DIR/" DG_MANIFEST_NAME
               ", which b2sum -c reads too.",
    .rows = rows,
    .n_rows = DG_OPT_COUNT(rows),
    .size = sizeof(struct options),
    .args = "DIR",
    .args_min = 1,
    .args_max = 1,
};

int dg_cmd_manifest(int argc, char **argv)
{
    struct dg_opt_set *set = NULL;
    struct dg_why why = DG_WHY_NONE;
    int exit_code = 0;
    if (!dg_opt_command(&table, argc, argv, &set, &exit_code))
        return exit_code;
    enum dg_err err = dg_manifest_write(dg_opt_arg(set, 0), &why);
    if (err)
        fprintf(stderr, "dragoman manifest: %s\n", dg_why_text(&why, err));
    dg_opt_set_free(set);
    return err ? 1 : 0;
}
