/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman langid-train: makes the model that identifies languages from lines "tag<TAB>sentence" on
 * standard input. docs/internals/langid.md says how the installed model was made. */
#include "base/file/file_out.h"
#include "base/option/opt.h"
#include "text/language/langid_train.h"
#include "tools/command.h"
#include "tools/lines.h"
#include "tools/tools.h"

struct train {
    int help;
    uint64_t size_max;
    int64_t epochs, seed;
    double held_out;
    bool keep_held_out, verbose;
};

static const struct dg_opt_row rows[] = {
    {DG_OPT_SIZE_IN(struct train, size_max, 65536, 8000000), "size-max", .def = "1000000B",
     .help = "bytes of the model"},
    {DG_OPT_INT_IN(struct train, epochs, 1, 1000), "epochs", .def = "40",
     .help = "passes over the sentences, before and again after n-grams are chosen"},
    {DG_OPT_REAL_IN(struct train, held_out, 0.01, 0.5), "held-out", .def = "0.1",
     .help = "share of each language's lines, the last ones, that calibrates the confidence"},
    {DG_OPT_BOOL(struct train, keep_held_out), "keep-held-out",
     .help = "never train the weights on those lines (to measure on them)"},
    {DG_OPT_INT_IN(struct train, seed, 0, INT64_MAX), "seed", .def = "1",
     .help = "start of the random numbers; the same seed gives the same model"},
    {DG_OPT_BOOL(struct train, verbose), "verbose", .letter = 'v',
     .help = "show the loss of each pass"},
    DG_OPT_HELP(struct train, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman langid-train",
    .summary = "Makes a model of language identification from \"tag<TAB>sentence\" lines on "
               "standard input.",
    DG_OPT_ROWS(rows, struct train),
    .args = "MODEL",
    .args_min = 1,
    .args_max = 1,
};

static enum dg_err run_langid_train(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct train *opt = dg_opt_values(set);
    struct dg_langid_train_opts opts = {.size_max = opt->size_max,
                                        .epochs = (unsigned)opt->epochs,
                                        .epochs_pruned = (unsigned)opt->epochs,
                                        .held_out = opt->held_out,
                                        .keep_held_out = opt->keep_held_out,
                                        .seed = (uint64_t)opt->seed,
                                        .verbose = opt->verbose};
    struct dg_lines lines;
    struct dg_span tsv;
    struct dg_buf model;
    dg_lines_init(&lines);
    dg_buf_init(&model, opt->size_max);
    enum dg_err err = dg_lines_all(&lines, &tsv, error);
    if (!err)
        err = dg_langid_train(tsv, &opts, &model, error);
    if (!err)
        err = dg_file_out_save(dg_opt_arg(set, 0), 0644, model.ptr, model.len, error);
    dg_buf_deinit(&model);
    dg_lines_deinit(&lines);
    return err;
}

int dg_cmd_langid_train(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_langid_train);
}
