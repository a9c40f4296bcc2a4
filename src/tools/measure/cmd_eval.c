/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman eval: computes BLEU and chrF of translations against references, as sacreBLEU does, with
 * its signatures. It reads two files of lines, or one file of lines `hypothesis<TAB>reference`.
 * With --compare it also reads a second system's lines, and says whether the difference is more
 * than chance. */
#include "base/file/map_file.h"
#include "base/memory/mem.h"
#include "base/option/opt.h"
#include "text/score/bootstrap.h"
#include "tools/command.h"
#include "tools/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct eval {
    int help;
    int split, smooth;
    double smooth_value;
    int64_t chrf_words;
    bool lowercase, sentences;
    const char *compare;
    bool interval;
    int64_t samples, seed, worst;
};

static const char *const split_words[] = {"13a", "char", "intl", "none", NULL};
static const char *const smooth_words[] = {"exp", "floor", "add-k", "none", NULL};

static const struct dg_opt_row option_rows[] = {
    DG_OPT_HELP(struct eval, help),
    {DG_OPT_ENUM(struct eval, split), "tokenize", .words = split_words, .def = "13a",
     .help = "how BLEU cuts text into words"},
    {DG_OPT_ENUM(struct eval, smooth), "smooth", .words = smooth_words, .def = "exp",
     .help = "what BLEU does with orders without a match"},
    {DG_OPT_REAL_IN(struct eval, smooth_value, -1, 100), "smooth-value", .def = "-1",
     .help = "value for floor and add-k; -1: the method's usual one"},
    {DG_OPT_INT_IN(struct eval, chrf_words, 0, 2), "chrf-words", .def = "0",
     .help = "word order of chrF; 2 is chrF++"},
    {DG_OPT_BOOL(struct eval, lowercase), "lowercase", .def = "no", .help = "BLEU without case"},
    {DG_OPT_BOOL(struct eval, sentences), "sentences", .def = "no",
     .help = "print BLEU (effective order) and chrF of every line first"},
    {DG_OPT_PATH(struct eval, compare), "compare", .unit = "FILE",
     .help =
         "another system's translations of the same lines: which is better, and by chance or not"},
    {DG_OPT_BOOL(struct eval, interval), "interval", .def = "no",
     .help = "the interval of 95 of 100 resamplings, also without --compare"},
    {DG_OPT_INT_IN(struct eval, samples, 1, 1000000), "samples", .def = "1000",
     .help = "resamplings of the bootstrap"},
    {DG_OPT_INT_IN(struct eval, seed, 0, INT64_MAX), "seed", .def = "12345",
     .help = "seed of the resamplings"},
    {DG_OPT_INT_IN(struct eval, worst, 0, 1000000), "worst", .def = "0",
     .help =
         "print this many of the worst lines by chrF: number, chrF, BLEU, hypothesis, reference"},
};

static const struct dg_opt_table table = {
    .program = "dragoman eval",
    .summary = "Computes BLEU and chrF of translations against references, as sacreBLEU does.",
    DG_OPT_ROWS(option_rows, struct eval),
    .args = "HYPOTHESES [REFERENCES]",
    .args_min = 1,
    .args_max = 2,
};

/* ---- Lines ----------------------------------------------------------------------------------- */

struct lines {
    struct dg_span text;
    size_t at;
};

/* Gets the next line without its end; false at the end of the file. */
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

/* Everything that is known about one line. */
struct row {
    struct dg_span hypothesis, reference, other;
};

struct rows {
    struct row *list; /* [n] owned */
    /* [n] owned; of the hypotheses, then of --compare's */
    struct dg_bleu_stats *bleu[DG_BOOTSTRAP_SYSTEMS];
    struct dg_chrf_stats *chrf[DG_BOOTSTRAP_SYSTEMS];
    size_t n, cap;
    size_t n_systems;
};

static bool grow(void **list, size_t cap, size_t size)
{
    size_t bytes;
    void *grown = dg_mul(cap, size, &bytes) ? dg_try_realloc(*list, bytes) : NULL;
    if (grown)
        *list = grown;
    return grown != NULL;
}

static enum dg_err make_room(struct rows *rows)
{
    if (rows->n < rows->cap)
        return DG_OK;
    const size_t cap = rows->cap ? rows->cap * 2 : 1024;
    bool ok = grow((void **)&rows->list, cap, sizeof *rows->list);
    for (size_t s = 0; s < rows->n_systems; s++)
        ok = ok && grow((void **)&rows->bleu[s], cap, sizeof *rows->bleu[s]) &&
             grow((void **)&rows->chrf[s], cap, sizeof *rows->chrf[s]);
    rows->cap = ok ? cap : rows->cap;
    return ok ? DG_OK : DG_ERR_NOMEM;
}

static void rows_deinit(struct rows *rows)
{
    dg_free(rows->list);
    for (size_t s = 0; s < DG_BOOTSTRAP_SYSTEMS; s++) {
        dg_free(rows->bleu[s]);
        dg_free(rows->chrf[s]);
    }
}

static enum dg_err add_row(const struct eval *flags, const struct dg_bleu_opts *opts,
                           struct dg_metric *metric, const struct row *row, struct rows *rows)
{
    const struct dg_span texts[DG_BOOTSTRAP_SYSTEMS] = {row->hypothesis, row->other};
    enum dg_err err = make_room(rows);
    for (size_t s = 0; s < rows->n_systems && !err; s++) {
        err = dg_bleu_count(metric, opts, texts[s], row->reference, &rows->bleu[s][rows->n]);
        if (!err)
            err = dg_chrf_count(metric, (int)flags->chrf_words, texts[s], row->reference,
                                &rows->chrf[s][rows->n]);
    }
    if (err)
        return err;
    rows->list[rows->n++] = *row;
    if (flags->sentences)
        printf("%zu\t%.6f\t%.6f\n", rows->n,
               dg_bleu_score(&rows->bleu[0][rows->n - 1], opts, true).score,
               dg_chrf_score(&rows->chrf[0][rows->n - 1], (int)flags->chrf_words));
    return DG_OK;
}

/* Finds the reference of a hypothesis: in a file of its own, or after the tab. */
static enum dg_err find_reference(struct lines *refs, struct row *row, size_t n,
                                  struct dg_error *error)
{
    if (refs)
        return next_line(refs, &row->reference)
                   ? DG_OK
                   : dg_error_set(error, DG_ERR_FORMAT,
                                  "there are more hypotheses than references (%zu)", n);
    const struct dg_span line = row->hypothesis;
    const char *tab = line.len ? memchr(line.ptr, '\t', line.len) : NULL;
    if (!tab)
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "line %zu has no tab, expected hypothesis<TAB>reference (or give two files)", n + 1);
    const size_t len = (size_t)(tab - line.ptr);
    row->reference = dg_span_sub(line, len + 1, line.len);
    row->hypothesis = dg_span_sub(line, 0, len);
    return DG_OK;
}

/* Adds the lines of two files, or the two columns of one, and the lines of --compare. `refs` and
 * `others` may be NULL. */
static enum dg_err add_all(const struct eval *flags, const struct dg_bleu_opts *opts,
                           struct dg_metric *metric, struct lines *hyps, struct lines *refs,
                           struct lines *others, struct rows *rows, struct dg_error *error)
{
    struct row row = {.hypothesis = {NULL, 0}};
    enum dg_err err = DG_OK;
    while (!err && next_line(hyps, &row.hypothesis)) {
        err = find_reference(refs, &row, rows->n, error);
        if (!err && others && !next_line(others, &row.other))
            err = dg_error_set(error, DG_ERR_FORMAT,
                               "there are more hypotheses than lines of --compare (%zu)", rows->n);
        if (!err)
            err = add_row(flags, opts, metric, &row, rows);
    }
    if (!err && refs && next_line(refs, &row.reference))
        return dg_error_set(error, DG_ERR_FORMAT, "there are more references than hypotheses (%zu)",
                            rows->n);
    if (!err && others && next_line(others, &row.other))
        return dg_error_set(error, DG_ERR_FORMAT,
                            "there are more lines of --compare than hypotheses (%zu)", rows->n);
    if (!err && rows->n == 0)
        return dg_error_set(error, DG_ERR_FORMAT, "there is no line to score");
    return err;
}

/* ---- Results --------------------------------------------------------------------------------- */

struct sums {
    struct dg_bleu_stats bleu;
    struct dg_chrf_stats chrf;
};

static struct sums add_up(const struct rows *rows)
{
    struct sums sums = {.bleu = {.hyp_len = 0}};
    for (size_t i = 0; i < rows->n; i++) {
        dg_bleu_add(&sums.bleu, &rows->bleu[0][i]);
        dg_chrf_add(&sums.chrf, &rows->chrf[0][i]);
    }
    return sums;
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
        printf("chrF2%s %.6f %s\n",
               flags->chrf_words == 2 ? "++"
               : flags->chrf_words    ? "+"
                                      : "",
               dg_chrf_score(&sums->chrf, (int)flags->chrf_words), signature.ptr);
    dg_buf_deinit(&signature);
    return err;
}

static void print_bootstrap(const char *name, const struct dg_bootstrap_score *scores, size_t n,
                            double p)
{
    static const char *const systems[] = {"hypotheses", "compared"};
    for (size_t i = 0; i < n; i++) {
        printf("%s %s %.6f mean=%.6f half=%.6f", name, systems[i], scores[i].score, scores[i].mean,
               scores[i].half);
        if (i > 0)
            printf(" difference=%+.6f p=%.6f", scores[i].score - scores[0].score, p);
        printf("\n");
    }
}

static enum dg_err compare(const struct eval *flags, const struct dg_bleu_opts *opts,
                           const struct rows *rows)
{
    const struct dg_bootstrap_opts bootstrap = {.n_samples = (size_t)flags->samples,
                                                .seed = (uint64_t)flags->seed,
                                                .bleu = *opts,
                                                .chrf_words = (int)flags->chrf_words};
    struct dg_bootstrap_system systems[DG_BOOTSTRAP_SYSTEMS];
    struct dg_bootstrap_result result;
    for (size_t s = 0; s < rows->n_systems; s++)
        systems[s] = (struct dg_bootstrap_system){rows->bleu[s], rows->chrf[s]};
    const enum dg_err err =
        dg_bootstrap_run(systems, rows->n_systems, rows->n, &bootstrap, &result);
    if (err)
        return err;
    print_bootstrap("BLEU", result.bleu, rows->n_systems, result.p_bleu);
    print_bootstrap("chrF", result.chrf, rows->n_systems, result.p_chrf);
    return DG_OK;
}

struct ranked {
    double chrf;
    size_t row;
};

static int by_chrf(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->chrf != y->chrf ? (x->chrf > y->chrf) - (x->chrf < y->chrf)
                              : (x->row > y->row) - (x->row < y->row);
}

static enum dg_err print_worst(const struct eval *flags, const struct dg_bleu_opts *opts,
                               const struct rows *rows)
{
    struct ranked *ranks = dg_try_calloc(rows->n, sizeof *ranks);
    if (!ranks)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < rows->n; i++)
        ranks[i] = (struct ranked){dg_chrf_score(&rows->chrf[0][i], (int)flags->chrf_words), i};
    qsort(ranks, rows->n, sizeof *ranks, by_chrf);
    for (size_t i = 0; i < rows->n && i < (size_t)flags->worst; i++) {
        const struct row *row = &rows->list[ranks[i].row];
        printf("%zu\t%.6f\t%.6f\t%.*s\t%.*s\n", ranks[i].row + 1, ranks[i].chrf,
               dg_bleu_score(&rows->bleu[0][ranks[i].row], opts, true).score,
               DG_SPAN_FMT(row->hypothesis), DG_SPAN_FMT(row->reference));
    }
    dg_free(ranks);
    return DG_OK;
}

enum { HYPOTHESES, REFERENCES, COMPARED, N_FILES };

static enum dg_err score(const struct eval *flags, struct lines lines[N_FILES], bool has_references,
                         struct dg_error *error)
{
    const struct dg_bleu_opts opts = {(enum dg_split)flags->split, (enum dg_smooth)flags->smooth,
                                      flags->smooth_value, flags->lowercase};
    struct rows rows = {.n_systems = *flags->compare ? 2 : 1};
    struct dg_metric *metric = dg_metric_new();
    enum dg_err err = metric ? DG_OK : DG_ERR_NOMEM;
    if (!err)
        err = add_all(flags, &opts, metric, &lines[HYPOTHESES],
                      has_references ? &lines[REFERENCES] : NULL,
                      *flags->compare ? &lines[COMPARED] : NULL, &rows, error);
    if (!err) {
        const struct sums sums = add_up(&rows);
        err = print_scores(flags, &opts, &sums);
    }
    if (!err && (*flags->compare || flags->interval))
        err = compare(flags, &opts, &rows);
    if (!err && flags->worst)
        err = print_worst(flags, &opts, &rows);
    rows_deinit(&rows);
    dg_metric_free(metric);
    return err;
}

static enum dg_err run_eval(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct eval *flags = dg_opt_values(set);
    const bool has_references = dg_opt_n_args(set) > 1;
    const char *paths[N_FILES] = {dg_opt_arg(set, 0), has_references ? dg_opt_arg(set, 1) : "",
                                  flags->compare};
    struct dg_map_file files[N_FILES] = {{.bytes = NULL}};
    struct lines lines[N_FILES];
    bool is_open[N_FILES] = {false};
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < N_FILES && !err; i++) {
        if (!*paths[i])
            continue;
        err = dg_map_file_open(&files[i], paths[i], (size_t)1 << 40, error);
        is_open[i] = !err;
        lines[i] = (struct lines){dg_span_make((const char *)files[i].bytes, files[i].len), 0};
    }
    if (!err)
        err = score(flags, lines, has_references, error);
    for (size_t i = 0; i < N_FILES; i++)
        if (is_open[i])
            dg_map_file_close(&files[i]);
    return err;
}

int dg_cmd_eval(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_eval);
}
