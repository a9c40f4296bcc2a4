/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman shortlist: makes lex.bin for a model from sentence pairs. For each source piece it keeps
 * the target pieces that are most probable in the aligner's table. */
#include "base/file/text_in.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "model/config.h"
#include "model/lexicon.h"
#include "tokenize/tokenizer.h"
#include "tools/command.h"
#include "tools/tools.h"
#include "tools/train/aligner_flags.h"
#include "train/data/bitext.h"

#include <stdio.h>
#include <stdlib.h>

enum { FILES_MAX = 64, PATH_CAP = 4096 };

struct shortlist {
    int help;
    const char *model, *out;
    int64_t best, frequent;
    double least;
    bool swap;
    struct aligner_flags aligner;
};

static const struct dg_opt_row rows[] = {
    {DG_OPT_PATH(struct shortlist, model), "model", .letter = 'm', .unit = "DIR",
     .flags = DG_OPT_REQUIRED, .help = "the model directory"},
    {DG_OPT_PATH(struct shortlist, out), "out", .letter = 'o', .unit = "FILE",
     .help = "where to write it (default: DIR/lex.bin)"},
    {DG_OPT_INT_IN(struct shortlist, best, 1, 100000), "best", .def = "100",
     .help = "most target pieces for a source piece"},
    {DG_OPT_REAL_IN(struct shortlist, least, 0, 1), "least", .def = "0.0001",
     .help = "least probability of such a piece"},
    {DG_OPT_INT_IN(struct shortlist, frequent, 1, 1000000), "frequent", .def = "100",
     .help = "ids from 0 on that are always allowed"},
    {DG_OPT_BOOL(struct shortlist, swap), "swap", .def = "no",
     .help = "lines are target<TAB>source"},
    ALIGNER_ROWS(struct shortlist),
    DG_OPT_HELP(struct shortlist, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman shortlist",
    .summary = "Learns from lines source<TAB>target which words a model must compute for which "
               "source words.",
    DG_OPT_ROWS(rows, struct shortlist),
    .args = "PAIRS...",
    .args_min = 1,
    .args_max = FILES_MAX,
};

/* ---- Pairs ----------------------------------------------------------------------------------- */

/* Lines that are not a pair are skipped. */
static enum dg_err add_line(struct dg_bitext *bitext, struct dg_span line, bool swap,
                            struct dg_error *error)
{
    const char *tab = line.len ? memchr(line.ptr, '\t', line.len) : NULL;
    if (!tab)
        return DG_OK;
    const struct dg_span left = dg_span_sub(line, 0, (size_t)(tab - line.ptr));
    struct dg_span right = dg_span_sub(line, left.len + 1, line.len);
    const char *end = right.len ? memchr(right.ptr, '\t', right.len) : NULL;
    if (end)
        right.len = (size_t)(end - right.ptr);
    const enum dg_err err = dg_bitext_add(bitext, swap ? right : left, swap ? left : right, error);
    return err == DG_ERR_UTF8 ? DG_OK : err;
}

static enum dg_err add_file(struct dg_bitext *bitext, const char *path, bool swap,
                            struct dg_error *error)
{
    struct dg_text_in in;
    struct dg_span line;
    enum dg_err err = dg_text_in_open(&in, path, error);
    if (err)
        return err;
    while (!err && dg_text_in_line(&in, &line))
        err = add_line(bitext, line, swap, error);
    dg_text_in_close(&in);
    return err;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

struct entry {
    uint32_t source, target;
    float p;
};

struct entries {
    struct entry *list;
    size_t n, cap;
    double least;
    bool is_full; /* memory ran out */
};

static void on_entry(void *ctx, uint32_t source, uint32_t target, double p)
{
    struct entries *entries = ctx;
    if (p < entries->least || entries->is_full)
        return;
    entries->is_full = DG_GROW(entries->list, entries->n, entries->cap, 4096) != DG_OK;
    if (entries->is_full)
        return;
    entries->list[entries->n++] = (struct entry){source, target, (float)p};
}

/* Sorted by source, then by probability, then by target, so that the result is the same on every
 * machine. */
static int by_source(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->p > y->p || x->p < y->p)
        return x->p > y->p ? -1 : 1;
    return (x->target > y->target) - (x->target < y->target);
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Fills offsets [n_words + 1] and targets. Every list that is not empty contains `eos`, so that
 * translations can end. */
static void make_lists(const struct shortlist *flags, const struct entries *entries, size_t n_words,
                       uint32_t eos, uint64_t *offsets, uint32_t *targets)
{
    uint64_t n = 0;
    size_t at = 0;
    for (size_t word = 0; word < n_words; word++) {
        const uint64_t first = offsets[word] = n;
        for (; at < entries->n && entries->list[at].source == word; at++) {
            const uint32_t target = entries->list[at].target;
            if (target >= (uint64_t)flags->frequent && target != eos &&
                n - first < (uint64_t)flags->best)
                targets[n++] = target;
        }
        if (eos >= (uint64_t)flags->frequent)
            targets[n++] = eos;
        if (n > first)
            qsort(targets + first, (size_t)(n - first), sizeof *targets, by_number);
    }
    offsets[n_words] = n;
}

static enum dg_err write_lists(const struct shortlist *flags, const struct dg_aligner *aligner,
                               size_t n_source, size_t n_target, uint32_t eos, const char *path,
                               struct dg_error *error)
{
    struct entries entries = {.least = flags->least};
    const uint64_t frequent =
        (uint64_t)flags->frequent < n_target ? (uint64_t)flags->frequent : n_target;
    dg_aligner_visit(aligner, on_entry, &entries);
    uint64_t *offsets = dg_try_calloc(n_source + 1, sizeof *offsets);
    uint32_t *targets = dg_try_calloc(entries.n + n_source + 1, sizeof *targets);
    enum dg_err err = offsets && targets && !entries.is_full ? DG_OK : DG_ERR_NOMEM;
    if (!err) {
        if (entries.n)
            qsort(entries.list, entries.n, sizeof *entries.list, by_source);
        make_lists(flags, &entries, n_source, eos, offsets, targets);
        err = dg_lexicon_save(path, frequent, (uint64_t)flags->best, offsets, n_source, targets,
                              error);
    }
    if (!err)
        fprintf(stderr, "shortlist: words=%zu entries=%llu mean=%.1f file=%s\n", n_source,
                (unsigned long long)offsets[n_source], (double)offsets[n_source] / (double)n_source,
                path);
    dg_free(entries.list);
    dg_free(offsets);
    dg_free(targets);
    return err;
}

/* ---- The command ----------------------------------------------------------------------------- */

static enum dg_err learn(const struct shortlist *flags, const struct dg_bitext *bitext,
                         const struct dg_blueprint *bp, struct dg_error *error)
{
    char path[PATH_CAP];
    struct dg_aligner *aligner;
    const struct dg_aligner_opts opts = aligner_opts(&flags->aligner);
    const struct dg_aligner_pairs pairs = {dg_bitext_get, bitext, bitext->n, bp->encoder.V,
                                           bp->decoder.V};
    const int n = *flags->out ? snprintf(path, sizeof path, "%s", flags->out)
                              : snprintf(path, sizeof path, "%s/" DG_LEXICON_NAME, flags->model);
    if (n < 0 || n >= (int)sizeof path)
        return dg_error_set(error, DG_ERR_LIMIT, "the path is too long");
    if (bitext->n == 0)
        return dg_error_set(error, DG_ERR_FORMAT, "no line has a tab, expected source<TAB>target");
    if (bitext->n_source > bp->encoder.V || bitext->n_target > bp->decoder.V)
        return dg_error_set(error, DG_ERR_INVALID,
                            "%s: the vocabulary is larger than the network's", flags->model);
    enum dg_err err = dg_aligner_new(&aligner, &pairs, &opts, error);
    if (err)
        return err;
    err = write_lists(flags, aligner, bp->encoder.V, bp->decoder.V, (uint32_t)bp->eos_id, path,
                      error);
    dg_aligner_free(aligner);
    return err;
}

static enum dg_err run_shortlist(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct shortlist *flags = dg_opt_values(set);
    struct dg_tokenizer *tokenizer = NULL;
    struct dg_blueprint bp;
    struct dg_bitext bitext;
    enum dg_err err = dg_config_read(&bp, flags->model, error);
    if (!err)
        err = dg_tokenizer_open(flags->model, error, &tokenizer);
    if (!err)
        err = dg_bitext_init(&bitext, tokenizer);
    if (err) {
        dg_tokenizer_close(tokenizer);
        return err;
    }
    for (size_t i = 0; i < dg_opt_n_args(set) && !err; i++)
        err = add_file(&bitext, dg_opt_arg(set, i), flags->swap, error);
    if (!err)
        err = learn(flags, &bitext, &bp, error);
    dg_bitext_deinit(&bitext);
    dg_tokenizer_close(tokenizer);
    return err;
}

int dg_cmd_shortlist(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_shortlist);
}
