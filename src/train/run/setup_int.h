/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What setup.c, setup_enc.c and setup_open.c share. */
#ifndef DG_TRAIN_RUN_SETUP_INT_H
#define DG_TRAIN_RUN_SETUP_INT_H

#include "base/memory/buf.h"
#include "base/file/folder.h"
#include "train/data/drop_reasons.h"
#include "train/run/setup.h"

#include <stdint.h>

/* Reports a line; `say` may be NULL. */
void dg_setup_say(dg_setup_say_fn say, void *ctx, const char *fmt, ...) DG_PRINTF(3, 4);

/* Reports a line for each reason for which something was left out. */
void dg_setup_say_drops(dg_setup_say_fn say, void *ctx, const uint64_t dropped[DG_N_DROPS]);

/* Appends a line to the list in training/data.txt, which the card quotes: how much was read from a
 * file, and how many of `what` were kept. */
enum dg_err dg_setup_list_file(struct dg_buf *list, const char *path, uint64_t n_lines,
                               size_t n_kept, const char *what, uint32_t repeat) DG_MUST_CHECK;

static inline bool dg_setup_is_given(const char *text)
{
    return text && *text;
}

/* Whether the network is a language model that learns from lines of text, rather than from prompts
 * and answers. */
static inline bool dg_setup_learns_lines(const struct dg_blueprint *bp)
{
    return dg_blueprint_family(bp)->has_prompt && !*bp->lm.ask.form;
}

/* Makes the directory and its training/. */
enum dg_err dg_setup_make_dirs(const char *dir, struct dg_error *error) DG_MUST_CHECK;

/* Copies those of the files `names` [n] that exist from one directory to another. */
enum dg_err dg_setup_copy(const char *from, const char *to, const char *const *names, size_t n,
                          struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_setup_copy_file(const char *from, const char *to,
                               struct dg_error *error) DG_MUST_CHECK;

/* Writes a file of the directory. */
enum dg_err dg_setup_save(const char *dir, const char *name, const struct dg_buf *text,
                          struct dg_error *error) DG_MUST_CHECK;

/* Writes the ids of these pairs into a file. The tokenizer, the blueprint and the labels of the run
 * decide how a pair becomes ids. */
enum dg_err dg_setup_write_set(const char *path, const struct dg_tokenizer *tokenizer,
                               const struct dg_blueprint *bp, const struct dg_labels *labels,
                               bool is_packed, bool is_dev, const struct dg_pair *pairs, size_t n,
                               size_t len_max, struct dg_corpus_stats *stats,
                               struct dg_error *error) DG_MUST_CHECK;

/* Opens a corpus of the directory. */
enum dg_err dg_setup_open_corpus(struct dg_setup *setup, const char *dir, const char *name,
                                 struct dg_corpus *corpus, struct dg_error *error) DG_MUST_CHECK;

/* Opens the directory's labels.txt as setup->labels. */
enum dg_err dg_setup_open_labels(struct dg_setup *setup, const char *dir,
                                 struct dg_error *error) DG_MUST_CHECK;

enum dg_err dg_setup_save_config(const struct dg_blueprint *bp, const char *dir,
                                 struct dg_error *error) DG_MUST_CHECK;

/* ---- Encoder-only models (setup_enc.c): their parts of dg_setup_make, dg_setup_open and
 * dg_setup_open_set --- */

enum dg_err dg_setup_make_enc(const char *dir, const char *const *files, size_t n_files,
                              const struct dg_setup_opts *opts, dg_setup_say_fn say, void *ctx,
                              struct dg_error *error) DG_MUST_CHECK;

/* Opens labels, examples and the mask, after config.json and the tokenizer. */
enum dg_err dg_setup_open_enc(struct dg_setup *setup, const char *dir,
                              struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_setup_open_set_enc(struct dg_setup_set *set, const struct dg_setup *setup,
                                  const char *path, const char *ids_path,
                                  struct dg_error *error) DG_MUST_CHECK;

#endif
