/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman import PATH OUT: converts a model of another program into a directory that dragomand
 * serves. The last line on stderr is a summary for people and scripts. */
#include "tools/tools.h"

#include "base/log/progress.h"
#include "base/memory/clock.h"
#include "base/option/opt.h"
#include "import/format/import.h"
#include "tools/command.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const types[] = {"as-stored", "f32", "f16", "bf16", "i8", NULL};

struct options {
    int help;
    int type;
    bool quiet;
};

static const struct dg_opt_row rows[] = {
    {DG_OPT_ENUM(struct options, type), "type", .words = types, .letter = 't',
     .help = "the weights' type; i8 has one scale an output channel, vectors stay f32"},
    {DG_OPT_BOOL(struct options, quiet), "quiet", .letter = 'q', .help = "no summary"},
    DG_OPT_HELP(struct options, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman import",
    .summary =
        "Turns a model of Hugging Face, PyTorch, Marian, Bergamot, CTranslate2 or Argos into the "
        "new model directory OUT.",
    DG_OPT_ROWS(rows, struct options),
    .args = "PATH OUT",
    .args_min = 2,
    .args_max = 2,
};

static void on_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct dg_progress *progress = ctx;
    progress->total = total >> 10;
    dg_progress_show(progress, done >> 10);
}

static void print_summary(const struct dg_import_summary *s, const char *out, double seconds)
{
    const struct dg_blueprint *bp = &s->blueprint;
    const bool is_encoder = dg_blueprint_family(bp)->has_head;
    if (s->note[0])
        fprintf(stderr, "dragoman import: note: %s\n", s->note);
    fprintf(stderr,
            "dragoman import: %s: %s, %zu+%zu layers, width %zu, %s %s, vocabulary %zu, %" PRIu64
            " parameters in %zu tensors, %" PRIu64 " bytes, %zu other files, %.1f s\n",
            out, s->format, bp->encoder.n_layers, bp->decoder.n_layers, bp->D,
            is_encoder ? "head for" : dg_decoder_kind_name(bp->decoder_kind),
            is_encoder ? dg_head_name(bp->enc.head) : "decoder",
            is_encoder ? bp->encoder.V : bp->decoder.V, s->n_parameters, s->n_tensors, s->n_bytes,
            s->n_files, seconds);
}

int dg_cmd_import(int argc, char **argv)
{
    struct dg_opt_set *set = NULL;
    int exit_code = 0;
    if (!dg_opt_command(&table, argc, argv, &set, &exit_code))
        return exit_code;
    const struct options *opt = dg_opt_values(set);
    struct dg_clock clock = DG_CLOCK_REAL;
    struct dg_progress progress;
    struct dg_import_opts import = DG_IMPORT_OPTS_DEFAULT;
    struct dg_import_summary summary;
    struct dg_error error = DG_ERROR_NONE;
    static const enum dg_dtype dtypes[] = {DG_DTYPE_F32, DG_DTYPE_F32, DG_DTYPE_F16, DG_DTYPE_BF16,
                                           DG_DTYPE_I8};
    import.as_type = opt->type != 0;
    import.type = dtypes[opt->type];
    import.progress = on_progress;
    import.progress_ctx = &progress;
    import.stop = dg_command_stop(); /* an interrupted import removes what it has written */
    uint64_t began = dg_clock_now(&clock);
    dg_progress_start(&progress, "importing", "KiB", 0, &clock);
    enum dg_err err = dg_import(dg_opt_arg(set, 0), dg_opt_arg(set, 1), &import, &summary, &error);
    dg_progress_stop(&progress);
    if (err)
        fprintf(stderr, "dragoman import: %s\n", dg_error_text(&error, err));
    else if (!opt->quiet)
        print_summary(&summary, dg_opt_arg(set, 1), (double)(dg_clock_now(&clock) - began) / 1e9);
    dg_opt_set_free(set);
    return err ? 1 : 0;
}
