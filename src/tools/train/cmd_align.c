/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman align: prints word alignments of lines `source<TAB>target`, learned only from these
 * lines, in Pharaoh's format: for each line a line of `source-target` positions, from 0. A line
 * without a tab, or with an empty or a very long side, gives an empty line, so that output lines
 * match input lines. */
#include "base/file/text_in.h"
#include "tokenize/tokenizer.h"
#include "tools/command.h"
#include "tools/tools.h"
#include "tools/train/aligner_flags.h"
#include "train/data/bitext.h"

#include <stdio.h>

enum { FILES_MAX = 64, LINE_MAX_BYTES = 1 << 20 };

struct align {
    int help;
    const char *model;
    int symmetrise;
    bool quiet;
    struct aligner_flags aligner;
};

static const char *const symmetrise_words[] = {
    "grow-diag-final-and", "grow-diag", "intersect", "union", "forward", "reverse", NULL};

static const struct dg_opt_row rows[] = {
    {DG_OPT_ENUM(struct align, symmetrise), "symmetrise", .letter = 's', .words = symmetrise_words,
     .help = "how both directions become one; forward and reverse: one direction alone"},
    {DG_OPT_PATH(struct align, model), "model", .letter = 'm', .unit = "DIR",
     .help = "align the pieces of this model's vocabulary (default: words between blanks)"},
    {DG_OPT_BOOL(struct align, quiet), "quiet", .letter = 'q', .help = "no summary"},
    ALIGNER_ROWS(struct align),
    DG_OPT_HELP(struct align, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman align",
    .summary = "Finds which words of lines source<TAB>target translate each other; prints "
               "source-target positions.",
    DG_OPT_ROWS(rows, struct align),
    .args = "PAIRS...",
    .args_min = 1,
    .args_max = FILES_MAX,
};

static enum dg_err add_line(struct dg_bitext *bitext, struct dg_span line, struct dg_error *error)
{
    const char *tab = line.len ? memchr(line.ptr, '\t', line.len) : NULL;
    if (!tab)
        return dg_bitext_add(bitext, DG_SPAN(""), DG_SPAN(""), error);
    const size_t len = (size_t)(tab - line.ptr);
    struct dg_span target = dg_span_sub(line, len + 1, line.len);
    const char *end = target.len ? memchr(target.ptr, '\t', target.len) : NULL;
    if (end)
        target.len = (size_t)(end - target.ptr);
    const enum dg_err err = dg_bitext_add(bitext, dg_span_sub(line, 0, len), target, error);
    return err == DG_ERR_UTF8 ? dg_bitext_add(bitext, DG_SPAN(""), DG_SPAN(""), error) : err;
}

static void on_iteration(void *ctx, unsigned iteration, double perplexity)
{
    const struct align *flags = ctx;
    if (!flags->quiet)
        fprintf(stderr, "iteration %u: perplexity %.2f\n", iteration, perplexity);
}

static enum dg_err print_links(const struct align *flags, struct dg_aligner *aligner,
                               const struct dg_bitext *bitext)
{
    struct dg_word_links links;
    struct dg_buf line;
    enum dg_err err = DG_OK;
    dg_word_links_init(&links);
    dg_buf_init(&line, LINE_MAX_BYTES);
    for (size_t i = 0; i < bitext->n && !err; i++) {
        const struct dg_example example = dg_bitext_get(bitext, i);
        dg_buf_clear(&line);
        err = dg_aligner_links(aligner, &example, (enum dg_symmetrise)flags->symmetrise, &links);
        if (!err)
            err = dg_word_links_print(&links, &line);
        if (!err)
            printf("%.*s\n", DG_SPAN_FMT(dg_buf_span(&line)));
    }
    dg_buf_deinit(&line);
    dg_word_links_deinit(&links);
    return err;
}

static void say_summary(const struct dg_aligner *aligner, const struct dg_bitext *bitext)
{
    const struct dg_aligner_report forward = dg_aligner_report(aligner, 0),
                                   reverse = dg_aligner_report(aligner, 1);
    fprintf(stderr,
            "align: lines=%zu source_words=%zu target_words=%zu perplexity=%.3f/%.3f "
            "tension=%.3f/%.3f entries=%zu/%zu "
            "forgotten=%zu/%zu\n",
            bitext->n, bitext->n_source, bitext->n_target, forward.perplexity, reverse.perplexity,
            forward.tension, reverse.tension, forward.n_entries, reverse.n_entries,
            forward.n_forgotten, reverse.n_forgotten);
}

static enum dg_err align(const struct align *flags, const struct dg_bitext *bitext,
                         struct dg_error *error)
{
    struct dg_aligner *aligner;
    struct dg_aligner_opts opts = aligner_opts(&flags->aligner);
    const struct dg_aligner_pairs pairs = {dg_bitext_get, bitext, bitext->n, bitext->n_source,
                                           bitext->n_target};
    if (bitext->n_source == 0 || bitext->n_target == 0)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "no line has words on both sides of a tab, expected source<TAB>target");
    opts.progress = on_iteration;
    opts.progress_ctx = (void *)(uintptr_t)flags;
    enum dg_err err = dg_aligner_new(&aligner, &pairs, &opts, error);
    if (err)
        return err;
    err = print_links(flags, aligner, bitext);
    if (!err && !flags->quiet)
        say_summary(aligner, bitext);
    dg_aligner_free(aligner);
    return err;
}

static enum dg_err run_align(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct align *flags = dg_opt_values(set);
    struct dg_text_in files[FILES_MAX];
    struct dg_tokenizer *tokenizer = NULL;
    struct dg_bitext bitext;
    struct dg_span line;
    size_t n_open = 0;
    enum dg_err err = *flags->model ? dg_tokenizer_open(flags->model, error, &tokenizer) : DG_OK;
    if (!err)
        err = dg_bitext_init(&bitext, tokenizer);
    if (err) {
        dg_tokenizer_close(tokenizer);
        return err;
    }
    while (!err && n_open < dg_opt_n_args(set)) {
        err = dg_text_in_open(&files[n_open], dg_opt_arg(set, n_open), error);
        if (err)
            break;
        struct dg_text_in *in = &files[n_open++];
        while (!err && dg_text_in_line(in, &line))
            err = add_line(&bitext, line, error);
    }
    if (!err)
        err = align(flags, &bitext, error);
    dg_bitext_deinit(&bitext);
    while (n_open > 0)
        dg_text_in_close(&files[--n_open]);
    dg_tokenizer_close(tokenizer);
    return err;
}

int dg_cmd_align(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_align);
}
