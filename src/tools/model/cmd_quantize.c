/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman quantize DIR OUT: converts a model directory to a smaller type, and measures what that
 * costs.
 *     convert    every parameter in memory, with its error
 *     calibrate  what each product alone costs in loss; with --keep-loss the costliest stay in F16
 *                until all together cost no more than that
 *     write      the directory, through the importer (whole or not at all)
 *     judge      the written model and the old one: loss, BLEU and chrF
 *
 * Results go to stdout, one line of key=value pairs each; the last line on stderr is a summary. */
#include "base/file/folder.h"
#include "base/memory/mem.h"
#include "base/option/opt.h"
#include "decode/search_opts.h"
#include "import/format/import.h"
#include "tools/command.h"
#include "tools/model/quality_drift.h"
#include "tools/model/quantized.h"
#include "tools/tools.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct quantize {
    int help;
    int type;
    const char *calibrate, *score, *source, *target;
    struct dg_opt_list keep;
    double keep_loss;
    int64_t calibrate_pairs, score_pairs, beam;
    bool swap, quiet;
};

static const char *const type_words[] = {"i8", "f16", "bf16", NULL};
static const enum dg_dtype types[] = {DG_DTYPE_I8, DG_DTYPE_F16, DG_DTYPE_BF16};

static const struct dg_opt_row rows[] = {
    DG_OPT_HELP(struct quantize, help),
    {DG_OPT_ENUM(struct quantize, type), "type", .letter = 't', .words = type_words, .def = "i8",
     .help = "type of the matrices that are multiplied; i8 has one scale an output channel, all "
             "else becomes f16"},
    {DG_OPT_PATH(struct quantize, calibrate), "calibrate", .unit = "FILE",
     .help = "measure on these pairs (source<TAB>target) what each matrix costs"},
    {DG_OPT_INT_IN(struct quantize, calibrate_pairs, 0, 1000000), "calibrate-pairs", .def = "200",
     .help = "how many of the first pairs of --calibrate to use; 0: all"},
    {DG_OPT_REAL_IN(struct quantize, keep_loss, -1, 100), "keep-loss", .def = "-1",
     .help = "how much the loss (nats a token) may rise: the costliest matrices stay f16 until it "
             "rises no more than that; -1: any"},
    {DG_OPT_STRINGS(struct quantize, keep), "keep", .unit = "NAME,...",
     .help = "matrices that stay f16 whatever is measured, by their name or a part of it"},
    {DG_OPT_PATH(struct quantize, score), "score", .unit = "FILE",
     .help = "translate these pairs' sources with both models: BLEU, chrF, loss"},
    {DG_OPT_INT_IN(struct quantize, score_pairs, 0, 10000000), "score-pairs", .def = "0",
     .help = "how many of the first pairs of --score to use; 0: all"},
    {DG_OPT_INT_IN(struct quantize, beam, 1, DG_BEAM_MAX), "beam", .letter = 'b', .def = "4",
     .help = "hypotheses kept when --score translates"},
    {DG_OPT_BOOL(struct quantize, swap), "swap", .def = "no",
     .help = "pairs are target<TAB>source"},
    {DG_OPT_STRING(struct quantize, source), "from", .alias = "source", .unit = "TAG",
     .help = "language of the pairs' sources, where the model has to be told"},
    {DG_OPT_STRING(struct quantize, target), "to", .alias = "target", .unit = "TAG",
     .help = "language of the pairs' targets, where the model has to be told"},
    {DG_OPT_BOOL(struct quantize, quiet), "quiet", .letter = 'q', .help = "no summary"},
};

static enum dg_err check(const void *values, const char *name, struct dg_error *error)
{
    const struct quantize *flags = values;
    (void)name;
    if (flags->keep_loss >= 0 && !*flags->calibrate)
        return dg_error_set(error, DG_ERR_USAGE,
                            "--keep-loss needs pairs to measure on: give --calibrate FILE too");
    return DG_OK;
}

static const struct dg_opt_table table = {
    .program = "dragoman quantize",
    .summary = "Stores the model directory DIR in a smaller type as the new directory OUT, and "
               "says what that costs.",
    DG_OPT_ROWS(rows, struct quantize),
    .args = "DIR OUT",
    .args_min = 2,
    .args_max = 2,
    .check = check,
};

/* ---- What each matrix costs ------------------------------------------------------------------ */

static enum dg_err loss_now(const struct quantized *quantized, const struct drift *drift,
                            double *loss, struct dg_error *error)
{
    struct dg_net *net = NULL;
    enum dg_err err = quantized_net(quantized, &net, error);
    if (!err)
        err = drift_loss(drift, net, loss, error);
    dg_net_free(net);
    return err;
}

static bool leads(const struct quantized *quantized, size_t i)
{
    return quantized->items[i].is_product && quantized->items[i].leader == i;
}

static bool is_named(const struct quantize *flags, const char *name)
{
    for (size_t i = 0; i < flags->keep.n; i++)
        if (strstr(name, flags->keep.items[i]))
            return true;
    return false;
}

/* Switches all matrices, except those that --keep names and those that are fused with them. */
static void switch_all(struct quantized *quantized, const struct quantize *flags, bool is_on)
{
    for (size_t i = 0; i < quantized->n; i++)
        quantized->items[i].is_on = is_on;
    for (size_t i = 0; i < quantized->n; i++)
        if (quantized->items[i].is_product && is_named(flags, quantized->items[i].name))
            quantized_switch(quantized, i, false);
}

/* Leaves all permitted groups switched on. For a group's leader, cost[i] becomes the rise of the
 * loss when only that group is narrow. */
static enum dg_err measure_costs(struct quantized *quantized, const struct quantize *flags,
                                 const struct drift *drift, double before, double *cost,
                                 struct dg_error *error)
{
    enum dg_err err = DG_OK;
    switch_all(quantized, flags, false);
    for (size_t i = 0; i < quantized->n && !err; i++) {
        if (!leads(quantized, i))
            continue;
        double loss = 0;
        quantized_switch(quantized, i, true);
        err = loss_now(quantized, drift, &loss, error);
        quantized_switch(quantized, i, false);
        cost[i] = loss - before;
        if (!err)
            printf("group=%s loss=%+.6f\n", quantized->items[i].group, cost[i]);
        fflush(stdout);
    }
    switch_all(quantized, flags, true);
    return err;
}

/* Returns the group in use that costs the most quality; n when no group costs any. */
static size_t dearest(const struct quantized *quantized, const double *cost)
{
    size_t best = quantized->n;
    for (size_t i = 0; i < quantized->n; i++)
        if (leads(quantized, i) && quantized->items[i].is_on && cost[i] > 0 &&
            (best == quantized->n || cost[i] > cost[best]))
            best = i;
    return best;
}

static enum dg_err calibrate(struct quantized *quantized, const struct quantize *flags,
                             const char *dir, struct dg_error *error)
{
    const struct drift_opts opts = {flags->swap, (size_t)flags->calibrate_pairs, flags->source,
                                    flags->target};
    struct drift drift = {.n = 0};
    double before = 0, after = 0, *cost = dg_try_calloc(quantized->n + 1, sizeof *cost);
    enum dg_err err = cost ? DG_OK : DG_ERR_NOMEM;
    if (!err)
        err = drift_open(&drift, dir, flags->calibrate, dg_model_blueprint(quantized->model), &opts,
                         error);
    switch_all(quantized, flags, false);
    if (!err)
        err = loss_now(quantized, &drift, &before, error);
    if (!err)
        err = measure_costs(quantized, flags, &drift, before, cost, error);
    if (!err)
        err = loss_now(quantized, &drift, &after, error);
    while (!err && flags->keep_loss >= 0 && after - before > flags->keep_loss) {
        const size_t i = dearest(quantized, cost);
        if (i == quantized->n)
            break;
        quantized_switch(quantized, i, false);
        err = loss_now(quantized, &drift, &after, error);
        if (!err)
            printf("kept=%s loss_of_all=%+.6f\n", quantized->items[i].group, after - before);
    }
    if (!err)
        printf("calibration pairs=%zu loss_before=%.6f loss_after=%.6f\n", drift.n, before, after);
    drift_close(&drift);
    dg_free(cost);
    return err;
}

/* ---- Before and after ------------------------------------------------------------------------ */

struct verdict {
    double loss;
    struct drift_scores scores;
};

static enum dg_err drift_model(const struct drift *drift, const struct dg_model *model, int beam,
                               struct verdict *verdict, struct dg_error *error)
{
    const struct dg_net_opts opts = {.model = model};
    struct dg_net *net = NULL;
    enum dg_err err =
        dg_net_new(&net, dg_model_blueprint(model), dg_model_weights(model), &opts, error);
    if (!err)
        err = drift_loss(drift, net, &verdict->loss, error);
    if (!err)
        err = drift_translate(drift, net, beam, &verdict->scores, error);
    dg_net_free(net);
    return err;
}

static enum dg_err score(const struct quantize *flags, const char *dir,
                         const struct dg_model *before, const struct dg_model *after,
                         struct dg_error *error)
{
    const struct drift_opts opts = {flags->swap, (size_t)flags->score_pairs, flags->source,
                                    flags->target};
    struct drift drift = {.n = 0};
    struct verdict was = {0}, is = {0};
    enum dg_err err =
        drift_open(&drift, dir, flags->score, dg_model_blueprint(before), &opts, error);
    if (!err)
        err = drift_model(&drift, before, (int)flags->beam, &was, error);
    if (!err)
        err = drift_model(&drift, after, (int)flags->beam, &is, error);
    if (!err)
        printf(
            "score pairs=%zu left_out=%zu beam=%" PRId64
            " bleu_before=%.3f bleu_after=%.3f bleu_change=%+.3f "
            "chrf_before=%.3f chrf_after=%.3f chrf_change=%+.3f loss_before=%.6f loss_after=%.6f\n",
            drift.n, drift.n_long, flags->beam, was.scores.bleu, is.scores.bleu,
            is.scores.bleu - was.scores.bleu, was.scores.chrf, is.scores.chrf,
            is.scores.chrf - was.scores.chrf, was.loss, is.loss);
    drift_close(&drift);
    return err;
}

/* Bytes of the plain files in a directory. */
static uint64_t bytes_of(const char *dir)
{
    char path[4096];
    struct stat st;
    uint64_t sum = 0;
    DIR *handle = dg_folder_open(dir);
    for (struct dirent *entry; handle && (entry = readdir(handle));)
        if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, entry->d_name) < sizeof path &&
            stat(path, &st) == 0 && S_ISREG(st.st_mode))
            sum += (uint64_t)st.st_size;
    if (handle)
        closedir(handle);
    return sum;
}

/* ---- The command ----------------------------------------------------------------------------- */

static void print_items(const struct quantized *quantized)
{
    for (size_t i = 0; i < quantized->n; i++) {
        const struct quantized_item *item = &quantized->items[i];
        char shape[48];
        if (item->from.rank == 2)
            snprintf(shape, sizeof shape, "%zux%zu", item->from.shape[0], item->from.shape[1]);
        else
            snprintf(shape, sizeof shape, "%zu", item->from.shape[0]);
        printf("tensor=%s shape=%s from=%s type=%s kept=%s relative_error=%.3e most_error=%.3e\n",
               item->name, shape, dg_dtype_name(item->from.dtype),
               dg_dtype_name(quantized_stored(quantized, item->name)), item->is_on ? "no" : "yes",
               item->relative_error, item->most_error);
    }
}

static size_t n_kept(const struct quantized *quantized)
{
    size_t n = 0;
    for (size_t i = 0; i < quantized->n; i++)
        n += !quantized->items[i].is_on;
    return n;
}

static enum dg_dtype on_choose(void *ctx, const char *name)
{
    return quantized_stored(ctx, name);
}

static enum dg_err write_out(struct quantized *quantized, const char *dir, const char *out,
                             struct dg_model **written, struct dg_error *error)
{
    struct dg_import_opts import = DG_IMPORT_OPTS_DEFAULT;
    struct dg_import_summary summary;
    import.choose = on_choose;
    import.choose_ctx = quantized;
    enum dg_err err = dg_import(dir, out, &import, &summary, error);
    return err ? err : dg_model_open(written, out, error);
}

static enum dg_err run_quantize(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct quantize *flags = dg_opt_values(set);
    const char *dir = dg_opt_arg(set, 0), *out = dg_opt_arg(set, 1);
    struct dg_model *model = NULL, *written = NULL;
    struct quantized *quantized = NULL;
    struct stat st;
    if (lstat(out, &st) == 0)
        return dg_error_set(error, DG_ERR_EXISTS, "%s exists already; remove it or name another",
                            out);
    enum dg_err err = dg_model_open(&model, dir, error);
    if (!err)
        err = quantized_new(&quantized, model, types[flags->type], error);
    if (!err)
        switch_all(quantized, flags, true);
    if (!err && *flags->calibrate)
        err = calibrate(quantized, flags, dir, error);
    if (!err)
        err = write_out(quantized, dir, out, &written, error);
    if (err)
        goto done;
    print_items(quantized);
    const size_t kept = n_kept(quantized);
    quantized_free(quantized);
    quantized = NULL;
    if (*flags->score)
        err = score(flags, dir, model, written, error);
    const uint64_t before = bytes_of(dir), after = bytes_of(out);
    printf("size before=%" PRIu64 " after=%" PRIu64 " share=%.3f\n", before, after,
           (double)after / (double)before);
    if (!err && !flags->quiet)
        fprintf(stderr,
                "dragoman quantize: %s: %s, %zu tensors kept wider, %" PRIu64
                " bytes (%.1f%% of %" PRIu64 ")\n",
                out, type_words[flags->type], kept, after, 100.0 * (double)after / (double)before,
                before);
done:
    quantized_free(quantized);
    dg_model_unref(written);
    dg_model_unref(model);
    return err;
}

int dg_cmd_quantize(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_quantize);
}
