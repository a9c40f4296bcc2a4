/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Opens what setup.c has made: the network, its tokenizer, its examples. */
#include "base/file/folder.h"
#include "base/memory/error.h"
#include "base/memory/mem.h"
#include "model/config.h"
#include "model/labels.h"
#include "train/run/setup_int.h"

#include <string.h>
#include <unistd.h>

/* Ids are made anew each time, because only the text is kept. */
static enum dg_err open_set(const struct dg_setup *setup, const char *text, const char *ids,
                            struct dg_pairs *pairs, struct dg_corpus *corpus, size_t *n_cut,
                            struct dg_error *error)
{
    struct dg_corpus_stats stats = {.n_long = 0};
    enum dg_err err = dg_pairs_read(pairs, text, error);
    if (!err)
        err = dg_setup_write_set(ids, setup->tokenizer, &setup->bp, setup->labels, false, true,
                                 pairs->list, pairs->n, setup->bp.source_len_max, &stats, error);
    if (!err && stats.n_written != pairs->n)
        err =
            dg_error_set(error, DG_ERR_INVALID, "%s: %zu of its pairs are too long for the network",
                         text, pairs->n - stats.n_written);
    *n_cut = stats.n_long;
    return err ? err : dg_corpus_open(corpus, ids, &setup->bp, error);
}

enum dg_err dg_setup_open_set(struct dg_setup_set *set, const struct dg_setup *setup,
                              const char *path, bool swap, const char *ids_path,
                              struct dg_error *error)
{
    const struct dg_pairs_opts opts = {.len_max = SIZE_MAX,
                                       .duplicates = true,
                                       .swap = swap,
                                       .labels = setup->labels != NULL,
                                       .lines = dg_setup_learns_lines(&setup->bp),
                                       .source_script = DG_SCRIPT_ANY,
                                       .target_script = DG_SCRIPT_ANY};
    size_t n_cut;
    *set = (struct dg_setup_set){.corpus = {.n = 0}};
    dg_pairs_init(&set->pairs, &opts);
    const enum dg_err err =
        dg_blueprint_family(&setup->bp)->has_head
            ? dg_setup_open_set_enc(set, setup, path, ids_path, error)
            : open_set(setup, path, ids_path, &set->pairs, &set->corpus, &n_cut, error);
    if (err)
        dg_setup_close_set(set);
    return err;
}

void dg_setup_close_set(struct dg_setup_set *set)
{
    dg_corpus_close(&set->corpus);
    dg_pairs_deinit(&set->pairs);
}

static enum dg_err open_dev(struct dg_setup *setup, const char *dir, struct dg_error *error)
{
    char text[DG_PATH_CAP], ids[DG_PATH_CAP];
    enum dg_err err = dg_folder_path(dir, "training/dev.tsv", text, error);
    if (!err)
        err = dg_folder_path(dir, "training/dev.bin", ids, error);
    if (!err)
        err = open_set(setup, text, ids, &setup->dev_pairs, &setup->dev, &setup->n_dev_cut, error);
    setup->dev_texts = setup->dev_pairs.list;
    return err;
}

static enum dg_err open_links(struct dg_corpus *corpus, const char *dir, const char *name,
                              struct dg_error *error)
{
    char path[DG_PATH_CAP];
    const enum dg_err err = dg_folder_path(dir, name, path, error);
    return err || access(path, F_OK) != 0 ? err : dg_corpus_open_links(corpus, path, error);
}

static enum dg_err open_rivals(struct dg_setup *setup, const char *dir, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    const enum dg_err err = dg_folder_path(dir, "training/rivals.bin", path, error);
    return err || access(path, F_OK) != 0
               ? err
               : dg_risk_candidates_open(&setup->candidates, dir, &setup->bp, error);
}

enum dg_err dg_setup_open_labels(struct dg_setup *setup, const char *dir, struct dg_error *error)
{
    struct dg_labels *labels = dg_try_malloc(sizeof *labels);
    if (!labels)
        return DG_ERR_NOMEM;
    const enum dg_err err = dg_labels_open(labels, dir, error);
    if (err)
        dg_free(labels);
    else
        setup->labels = labels;
    return err;
}

enum dg_err dg_setup_open_corpus(struct dg_setup *setup, const char *dir, const char *name,
                                 struct dg_corpus *corpus, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    const enum dg_err err = dg_folder_path(dir, name, path, error);
    return err ? err : dg_corpus_open(corpus, path, &setup->bp, error);
}

/* Opens the other files of a network that translates, or of a recurrent classifier. */
static enum dg_err open_pairs(struct dg_setup *setup, const char *dir, struct dg_error *error)
{
    const bool has_labels = setup->bp.seq.is_classifier;
    setup->dev_pairs.opts.lines = dg_setup_learns_lines(&setup->bp);
    setup->dev_pairs.opts.labels = has_labels;
    enum dg_err err = has_labels ? dg_setup_open_labels(setup, dir, error) : DG_OK;
    if (!err)
        err = dg_setup_open_corpus(setup, dir, "training/pairs.bin", &setup->train, error);
    if (!err)
        err = open_links(&setup->train, dir, "training/links.bin", error);
    if (!err)
        err = open_rivals(setup, dir, error);
    if (!err)
        err = open_dev(setup, dir, error);
    return err ? err : open_links(&setup->dev, dir, "training/dev-links.bin", error);
}

enum dg_err dg_setup_open(struct dg_setup *setup, const char *dir, struct dg_error *error)
{
    const struct dg_pairs_opts all = {.len_max = SIZE_MAX,
                                      .duplicates = true,
                                      .source_script = DG_SCRIPT_ANY,
                                      .target_script = DG_SCRIPT_ANY};
    struct dg_setup opened = {0};
    dg_pairs_init(&opened.dev_pairs, &all);
    enum dg_err err = dg_config_read(&opened.bp, dir, error);
    if (!err)
        err = dg_tokenizer_open(dir, error, &opened.tokenizer);
    if (!err)
        err = dg_blueprint_family(&opened.bp)->has_head ? dg_setup_open_enc(&opened, dir, error)
                                                        : open_pairs(&opened, dir, error);
    if (err)
        dg_setup_close(&opened);
    else
        *setup = opened;
    return err;
}

void dg_setup_close(struct dg_setup *setup)
{
    dg_corpus_close(&setup->train);
    dg_corpus_close(&setup->dev);
    dg_risk_candidates_close(&setup->candidates);
    dg_pairs_deinit(&setup->dev_pairs);
    dg_tokenizer_close(setup->tokenizer);
    if (setup->labels)
        dg_labels_close(setup->labels);
    dg_free(setup->labels);
    *setup = (struct dg_setup){0};
}
