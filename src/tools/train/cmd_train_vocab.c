/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman train-vocab: learns a SentencePiece model from the lines of files (plain or gzip). All
 * columns count as text, so a file of pairs gives one vocabulary for both sides. */
#include "base/file/file_out.h"
#include "base/file/text_in.h"
#include "base/option/opt.h"
#include "tools/command.h"
#include "tools/tools.h"
#include "vocabulary/spm_train.h"

#include <inttypes.h>
#include <stdio.h>

enum { FILES_MAX = 64, MODEL_MAX = 64 << 20 };

struct train_vocab {
    int help;
    int64_t size, piece_max;
    double coverage;
    bool byte_fallback;
    int kind;
};

static const char *const kind_words[] = {"bpe", "unigram", NULL};

static const struct dg_opt_row rows[] = {
    {DG_OPT_ENUM(struct train_vocab, kind), "kind", .letter = 'k', .words = kind_words,
     .help = "pieces by merging the most frequent neighbours, or by their probability"},
    {DG_OPT_INT_IN(struct train_vocab, size, 16, DG_SPM_TRAIN_SIZE_MAX), "size", .letter = 'n',
     .def = "8000", .help = "pieces in all"},
    {DG_OPT_REAL_IN(struct train_vocab, coverage, 0.51, 1), "coverage", .def = "0.9998",
     .help = "share of the text's characters that get a piece"},
    {DG_OPT_INT_IN(struct train_vocab, piece_max, 1, 64), "piece-max", .def = "16",
     .help = "characters of a piece"},
    {DG_OPT_BOOL(struct train_vocab, byte_fallback), "byte-fallback", .def = "no",
     .help = "spell other characters in bytes"},
    DG_OPT_HELP(struct train_vocab, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman train-vocab",
    .summary = "Learns a SentencePiece model from lines of text.",
    DG_OPT_ROWS(rows, struct train_vocab),
    .args = "MODEL TEXT...",
    .args_min = 2,
    .args_max = FILES_MAX + 1,
};

/* Each column of a line is a text of its own. */
static enum dg_err add_line(struct dg_spm_train *train, struct dg_span line)
{
    enum dg_err err = DG_OK;
    while (!err && line.len) {
        const char *tab = memchr(line.ptr, '\t', line.len);
        const size_t len = tab ? (size_t)(tab - line.ptr) : line.len;
        err = dg_spm_train_add(train, dg_span_sub(line, 0, len));
        line = dg_span_sub(line, len + 1, line.len);
    }
    return err;
}

static enum dg_err add_file(struct dg_spm_train *train, const char *path, uint64_t *n_bad,
                            struct dg_error *error)
{
    struct dg_text_in in;
    struct dg_span line;
    enum dg_err err = dg_text_in_open(&in, path, error);
    if (err)
        return err;
    while (!err && dg_text_in_line(&in, &line)) {
        err = add_line(train, line);
        if (err == DG_ERR_UTF8) {
            ++*n_bad;
            err = DG_OK;
        }
    }
    dg_text_in_close(&in);
    return err;
}

static enum dg_err run_train_vocab(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct train_vocab *flags = dg_opt_values(set);
    struct dg_spm_train_opts opts = DG_SPM_TRAIN_OPTS_DEFAULT;
    struct dg_spm_train *train = NULL;
    struct dg_buf model;
    uint64_t n_bad = 0;
    opts.kind = flags->kind ? DG_SPM_UNIGRAM : DG_SPM_BPE;
    opts.size = (uint32_t)flags->size;
    opts.coverage = flags->coverage;
    opts.piece_max = (uint32_t)flags->piece_max;
    opts.byte_fallback = flags->byte_fallback;
    dg_buf_init(&model, MODEL_MAX);
    enum dg_err err = dg_spm_train_new(&train, &opts, error);
    for (size_t i = 1; i < dg_opt_n_args(set) && !err; i++)
        err = add_file(train, dg_opt_arg(set, i), &n_bad, error);
    if (!err)
        err = dg_spm_train_finish(train, &model, error);
    if (!err)
        err = dg_file_out_save(dg_opt_arg(set, 0), 0644, model.ptr, model.len, error);
    if (!err && n_bad)
        fprintf(stderr,
                "dragoman train-vocab: %" PRIu64 " lines that are not UTF-8 were left out\n",
                n_bad);
    dg_spm_train_free(train);
    dg_buf_deinit(&model);
    return err;
}

int dg_cmd_train_vocab(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_train_vocab);
}
