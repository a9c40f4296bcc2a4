/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Each set is translated twice: with greedy search, which is the fastest, and with a beam. */
#include "tools/train/training_report.h"
#include "base/file/file_out.h"
#include "base/file/map_file.h"
#include "train/report/card.h"
#include "train/report/curve.h"
#include "train/report/scores.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_CAP = 4096, TEXT_MAX = 1 << 18, TABLE_MAX = 1 << 16, TEST_MAX = 1 << 28 };

static enum dg_err path_in(const char *dir, const char *name, char path[PATH_CAP],
                           struct dg_error *error)
{
    const int n = snprintf(path, PATH_CAP, "%s/training/%s", dir, name);
    return n > 0 && n < PATH_CAP
               ? DG_OK
               : dg_error_set(error, DG_ERR_LIMIT, "the path %.80s... is too long", dir);
}

/* ---- Scores ---------------------------------------------------------------------------------- */

/* `samples`: the report of the search with beams, or NULL. */
static enum dg_err judge(const struct training_report *end, const char *name, bool is_before,
                         const struct dg_corpus *corpus, const struct dg_pair *texts,
                         struct dg_scores *scores, struct dg_validate_report *samples,
                         struct dg_error *error)
{
    struct dg_validate_report greedy, beams = {.bleu = -1.0, .chrf = -1.0};
    struct dg_scores_row row = {.is_before = is_before, .n = corpus->n, .beam = end->beam};
    if (corpus->n == 0)
        return DG_OK;
    enum dg_err err =
        dg_trainer_judge(end->trainer, corpus, texts, end->n_translate, 1, &greedy, error);
    const bool translates = end->n_translate && !dg_blueprint_is_reader(&end->setup->bp);
    if (!err && translates)
        err = dg_trainer_judge(end->trainer, corpus, texts, end->n_translate, end->beam, &beams,
                               error);
    if (err)
        return err;
    dg_scores_name(row.set, name);
    row.n_translated = end->n_translate < corpus->n ? end->n_translate : corpus->n;
    row.loss = greedy.loss;
    row.bleu = greedy.bleu;
    row.chrf = greedy.chrf;
    row.n_endless = greedy.n_loops;
    row.bleu_beam = beams.bleu;
    row.chrf_beam = beams.chrf;
    const struct dg_validate_figure task = dg_validate_task(&greedy);
    if (isfinite(task.value)) {
        snprintf(row.task, sizeof row.task, "%s", task.name);
        row.figure = task.value;
    }
    dg_scores_put(scores, &row);
    if (samples)
        *samples = beams;
    return DG_OK;
}

/* The path of the run's copy of test set `i`. */
static enum dg_err kept_test(const struct training_report *end, size_t i, char path[PATH_CAP],
                             struct dg_error *error)
{
    const char *file = end->tests->items[i], *slash = strrchr(file, '/');
    char name[PATH_CAP];
    const int n = snprintf(name, sizeof name, "test-%zu-%s", i + 1, slash ? slash + 1 : file);
    if (n <= 0 || n >= (int)sizeof name)
        return dg_error_set(error, DG_ERR_LIMIT, "the path %.80s... is too long", file);
    return path_in(end->dir, name, path, error);
}

static enum dg_err keep_test(const struct training_report *end, size_t i, struct dg_error *error)
{
    const char *file = end->tests->items[i];
    char kept[PATH_CAP];
    struct dg_map_file bytes;
    enum dg_err err = kept_test(end, i, kept, error);
    if (err || (access(file, F_OK) != 0 && access(kept, F_OK) == 0))
        return err;
    err = dg_map_file_read(&bytes, file, TEST_MAX, error);
    if (err)
        return err;
    err = dg_file_out_save(kept, 0644, bytes.bytes, bytes.len, error);
    dg_map_file_close(&bytes);
    return err;
}

enum dg_err training_report_keep_tests(const struct training_report *end, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < end->tests->n && !err; i++)
        err = keep_test(end, i, error);
    return err;
}

static enum dg_err judge_test(const struct training_report *end, size_t i, bool is_before,
                              struct dg_scores *scores, struct dg_error *error)
{
    char ids[PATH_CAP], kept[PATH_CAP];
    struct dg_setup_set set;
    enum dg_err err = path_in(end->dir, "test.bin", ids, error);
    if (!err)
        err = kept_test(end, i, kept, error);
    if (!err)
        err = dg_setup_open_set(&set, end->setup, kept, end->swap, ids, error);
    if (err)
        return err;
    err = judge(end, end->tests->items[i], is_before, &set.corpus, set.pairs.list, scores, NULL,
                error);
    dg_setup_close_set(&set);
    unlink(ids);
    return err;
}

static enum dg_err score_all(const struct training_report *end, bool is_before,
                             struct dg_scores *scores, struct dg_validate_report *samples,
                             struct dg_error *error)
{
    char path[PATH_CAP];
    enum dg_err err = path_in(end->dir, "scores.tsv", path, error);
    if (!err)
        err = dg_scores_read(scores, path, error);
    if (!err)
        err = judge(end,
                    dg_blueprint_is_reader(&end->setup->bp) ? "held-out lines" : "held-out pairs",
                    is_before, &end->setup->dev, end->setup->dev_texts, scores, samples, error);
    for (size_t i = 0; i < end->tests->n && !err; i++)
        err = judge_test(end, i, is_before, scores, error);
    return err ? err : dg_scores_write(scores, path, error);
}

enum dg_err training_report_score(const struct training_report *end, bool is_before,
                                  struct dg_error *error)
{
    struct dg_scores scores;
    return score_all(end, is_before, &scores, NULL, error);
}

/* ---- The end --------------------------------------------------------------------------------- */

/* Reads a file; one that is missing gives an empty text. */
static enum dg_err read_text(const char *dir, const char *name, struct dg_map_file *file,
                             struct dg_span *text, struct dg_error *error)
{
    char path[PATH_CAP];
    enum dg_err err = path_in(dir, name, path, error);
    if (err || access(path, F_OK) != 0)
        return err;
    err = dg_map_file_read(file, path, TEXT_MAX, error);
    if (!err)
        *text = dg_span_make((const char *)file->bytes, file->len);
    while (text->len && (text->ptr[text->len - 1] == '\n' || text->ptr[text->len - 1] == ' '))
        text->len--;
    return err;
}

static enum dg_err write_card(const struct training_report *end, const char *how,
                              const struct dg_scores *scores,
                              const struct dg_validate_report *samples, struct dg_error *error)
{
    struct dg_card card = {
        .dir = end->dir,
        .params = dg_trainer_params(end->trainer),
        .train = &end->setup->train,
        .n_dev = end->setup->dev.n,
        .now = dg_trainer_now(end->trainer),
        .end = how,
        .threads = end->threads,
        .scores = scores,
        .samples = samples,
    };
    static const char *const names[] = {"note.md", "attribution.md", "recipe.conf", "history.txt",
                                        "data.txt"};
    struct dg_span *const texts[] = {&card.note, &card.attribution, &card.recipe, &card.history,
                                     &card.files};
    enum { N = sizeof names / sizeof *names };
    struct dg_map_file files[N] = {{.bytes = NULL}};
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < N && !err; i++)
        err = read_text(end->dir, names[i], &files[i], texts[i], error);
    if (!err && card.history.len)
        card.history.len++; /* the newline is part of it */
    if (!err)
        err = dg_card_write(&card, error);
    for (size_t i = 0; i < N; i++)
        if (files[i].bytes)
            dg_map_file_close(&files[i]);
    return err;
}

enum dg_err training_report_finish(const struct training_report *end, const char *how,
                                   struct dg_error *error)
{
    struct dg_scores scores;
    struct dg_validate_report samples = {.n_samples = 0};
    struct dg_buf table;
    dg_buf_init(&table, TABLE_MAX);
    enum dg_err err = dg_trainer_take_best(end->trainer, error);
    if (!err)
        err = score_all(end, false, &scores, &samples, error);
    if (!err)
        err = dg_curve_write(end->dir, error);
    if (!err)
        err = write_card(end, how, &scores, &samples, error);
    if (!err && scores.n)
        err = dg_scores_table(&scores, &table);
    if (!err && table.len)
        fprintf(stderr, "%.*s", DG_SPAN_FMT(dg_buf_span(&table)));
    dg_buf_deinit(&table);
    return err;
}

enum dg_err training_report_keep(const char *dir, const char *name, const char *text,
                                 struct dg_error *error)
{
    char path[PATH_CAP];
    struct dg_map_file file;
    enum dg_err err = path_in(dir, name, path, error);
    if (err || !*text)
        return err;
    if (*text != '@')
        return dg_file_out_save(path, 0644, text, strlen(text), error);
    err = dg_map_file_read(&file, text + 1, TEXT_MAX, error);
    if (err)
        return err;
    err = dg_file_out_save(path, 0644, file.bytes, file.len, error);
    dg_map_file_close(&file);
    return err;
}
