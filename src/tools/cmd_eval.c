/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman eval: BLEU and chrF of translations against references, as sacreBLEU computes them, with its
 * signatures. Two files of lines, or one file of lines `hypothesis<TAB>reference`. */
#include "base/map_file.h"
#include "base/opt.h"
#include "text/metric.h"
#include "tools/command.h"
#include "tools/tools.h"

#include <stdio.h>
#include <string.h>

struct eval {
    int help;
    int split, smooth;
    double smooth_value;
    int64_t chrf_words;
    bool lowercase, sentences;
};

static const char *const split_words[] = {"13a", "char", "intl", "none", NULL};
static const char *const smooth_words[] = {"exp", "floor", "add-k", "none", NULL};

static const struct dg_opt_row rows[] = {
    DG_OPT_HELP(struct eval, help),
    {DG_OPT_ENUM(struct eval, split), "tokenize", .words = split_words, .def = "13a",
     .help = "how BLEU cuts text into words"},
    {DG_OPT_ENUM(struct eval, smooth), "smooth", .words = smooth_words, .def = "exp",
     .help = "what BLEU does with orders without a match"},
    {DG_OPT_REAL(struct eval, smooth_value), "smooth-value", .def = "-1", .real_min = -1,
     .real_max = 100, .help = "of floor and add-k; -1: the method's usual one"},
    {DG_OPT_INT(struct eval, chrf_words), "chrf-words", .def = "0", .min = 0, .max = 2,
     .help = "word order of chrF; 2 is chrF++"},
    {DG_OPT_BOOL(struct eval, lowercase), "lowercase", .def = "no", .help = "BLEU without case"},
    {DG_OPT_BOOL(struct eval, sentences), "sentences", .def = "no",
     .help = "print BLEU (effective order) and chrF of every line first"},
};

static const struct dg_opt_table table = {
    .program = "dragoman eval",
    .summary = "BLEU and chrF of translations against references, as sacreBLEU computes them.",
    .rows = rows,
    .n_rows = DG_OPT_COUNT(rows),
    .size = sizeof(struct eval),
    .args = "HYPOTHESES [REFERENCES]",
    .args_min = 1,
    .args_max = 2,
};

/* ---- Lines -------------------------------------------------------------------------------------- */

struct lines {
    struct dg_span text;
    size_t at;
};

/* The next line without its end; false at the end of the file. */
static bool next_line(struct lines *lines, struct dg_span *line)
{
    if (lines->at >= lines->text.len)
        return false;
    struct dg_span rest = dg_span_sub(lines->text, lines->at, lines->text.len);
    const char *end = memchr(rest.ptr, '\n', rest.len);
    size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
    lines->at += len + 1;
    if (len > 0 && rest.ptr[len - 1] == '\r')
        len--;
    *line = dg_span_sub(rest, 0, len);
    return true;
}

struct sums {
    struct dg_bleu_stats bleu;
    struct dg_chrf_stats chrf;
    size_t n;
};

static enum dg_err add_pair(const struct eval *flags, const struct dg_bleu_opts *opts,
                            struct dg_metric *metric, struct dg_span hyp, struct dg_span ref,
                            struct sums *sums)
{
    struct dg_bleu_stats bleu;
    struct dg_chrf_stats chrf;
    enum dg_err err = dg_bleu_count(metric, opts, hyp, ref, &bleu);
    if (!err)
        err = dg_chrf_count(metric, (int)flags->chrf_words, hyp, ref, &chrf);
    if (err)
        return err;
    dg_bleu_add(&sums->bleu, &bleu);
    dg_chrf_add(&sums->chrf, &chrf);
    sums->n++;
    if (flags->sentences)
        printf("%zu\t%.6f\t%.6f\n", sums->n, dg_bleu_score(&bleu, opts, true).score,
               dg_chrf_score(&chrf, (int)flags->chrf_words));
    return DG_OK;
}

/* Pairs from two files, or from the two columns of one. */
static enum dg_err add_all(const struct eval *flags, const struct dg_bleu_opts *opts,
                           struct dg_metric *metric, struct lines *hyps, struct lines *refs,
                           struct sums *sums, struct dg_why *why)
{
    struct dg_span hyp, ref;
    enum dg_err err = DG_OK;
    while (!err && next_line(hyps, &hyp)) {
        if (refs) {
            if (!next_line(refs, &ref))
                return dg_why_set(why, DG_ERR_FORMAT,
                                  "there are more hypotheses than references (%zu)", sums->n);
        } else {
            const char *tab = hyp.len ? memchr(hyp.ptr, '\t', hyp.len) : NULL;
            if (!tab)
                return dg_why_set(why, DG_ERR_FORMAT,
                                  "line %zu has no tab, expected hypothesis<TAB>reference (or give "
                                  "two files)",
                                  sums->n + 1);
            size_t len = (size_t)(tab - hyp.ptr);
            ref = dg_span_sub(hyp, len + 1, hyp.len);
            hyp = dg_span_sub(hyp, 0, len);
        }
        err = add_pair(flags, opts, metric, hyp, ref, sums);
    }
    if (!err && refs && next_line(refs, &ref))
        return dg_why_set(why, DG_ERR_FORMAT, "there are more references than hypotheses (%zu)",
                          sums->n);
    if (!err && sums->n == 0)
        return dg_why_set(why, DG_ERR_FORMAT, "there is no line to score");
    return err;
}

static enum dg_err print_scores(const struct eval *flags, const struct dg_bleu_opts *opts,
                                const struct sums *sums)
{
    struct dg_bleu bleu = dg_bleu_score(&sums->bleu, opts, false);
    struct dg_buf signature;
    dg_buf_init(&signature, 4096);
    enum dg_err err = dg_bleu_signature(opts, false, &signature);
    if (!err)
        printf("BLEU %.6f %s precisions=%.1f/%.1f/%.1f/%.1f bp=%.6f hyp_len=%llu ref_len=%llu\n",
               bleu.score, signature.ptr, bleu.precisions[0], bleu.precisions[1],
               bleu.precisions[2], bleu.precisions[3], bleu.brevity_penalty,
               (unsigned long long)sums->bleu.hyp_len, (unsigned long long)sums->bleu.ref_len);
    dg_buf_clear(&signature);
    if (!err)
        err = dg_chrf_signature((int)flags->chrf_words, &signature);
    if (!err)
        printf("chrF2%s %.6f %s\n", flags->chrf_words == 2 ? "++" : flags->chrf_words ? "+" : "",
               dg_chrf_score(&sums->chrf, (int)flags->chrf_words), signature.ptr);
    dg_buf_deinit(&signature);
    return err;
}

static enum dg_err run(const struct dg_opt_set *set, struct dg_why *why)
{
    const struct eval *flags = dg_opt_values(set);
    struct dg_bleu_opts opts = {(enum dg_split)flags->split, (enum dg_smooth)flags->smooth,
                                flags->smooth_value, flags->lowercase};
    struct dg_map_file files[2] = {{NULL, 0}, {NULL, 0}};
    struct lines lines[2];
    struct sums sums = {.n = 0};
    struct dg_metric *metric = dg_metric_new();
    enum dg_err err = metric ? DG_OK : DG_ERR_NOMEM;
    size_t n_files = dg_opt_n_args(set), n_open = 0;
    for (; !err && n_open < n_files; n_open++) {
        err = dg_map_file_open(&files[n_open], dg_opt_arg(set, n_open), (size_t)1 << 40, why);
        if (err)
            break;
        lines[n_open] = (struct lines){
            dg_span_make((const char *)files[n_open].bytes, files[n_open].len), 0};
    }
    if (!err)
        err = add_all(flags, &opts, metric, &lines[0], n_files > 1 ? &lines[1] : NULL, &sums, why);
    if (!err)
        err = print_scores(flags, &opts, &sums);
    while (n_open > 0)
        dg_map_file_close(&files[--n_open]);
    dg_metric_free(metric);
    return err;
}

int dg_cmd_eval(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run);
}
