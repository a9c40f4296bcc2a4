/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The training data of an encoder-only model as text, read from files of lines (plain or gzip),
 * cleaned and split. Files named *.jsonl or *.ndjson (or these with .gz) contain a JSON object per
 * line, other files contain columns separated by tabs:
 *
 *     what        columns                                         JSON
 *     words       text; every column is a text of its own         {"text"}
 *     label       label  text  [second text]                      {"label", "text", "pair"}
 *     labels      any number of labels, with | between  text      {"labels": [...], "text", "pair"}
 *                 [second text]
 *     number      text  [second text]  number                     {"text", "pair", "score"}
 *     tags        word  label, a line each; an empty line         {"words": [...], "labels": [...]}
 *                 after each sentence
 *     answer      question  context  answer (empty: none)         {"question", "context",
 *                 [where it begins, in bytes]                      "answer", "start"}
 *
 *     dg_labelled_data_init(&data, &opts);
 *     err = dg_labelled_data_read(&data, "reviews.tsv", &error);        any number of files
 *     err = dg_labelled_data_hold_out(&data, 100, seed, &n_held);       the list's first n_held
 *     ... data.list[i].text ...                                         borrowed until deinit
 *     dg_labelled_data_deinit(&data);
 *
 * A malformed line is refused, with its number and what was expected; dropped texts are counted by
 * reason. One thread. */
#ifndef DG_TRAIN_DATA_LABELLED_DATA_H
#define DG_TRAIN_DATA_LABELLED_DATA_H

#include "base/memory/arena.h"
#include "base/memory/error.h"
#include "base/memory/map.h"
#include "base/memory/span.h"
#include "train/data/drop_reasons.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dg_labelled_text_kind {
    DG_LESSON_WORDS,
    DG_LESSON_LABEL,
    DG_LESSON_LABELS,
    DG_LESSON_NUMBER,
    DG_LESSON_TAGS,
    DG_LESSON_ANSWER
};

struct dg_labelled_text {
    /* ANSWER: the question and the context; TAGS: the words joined by spaces */
    struct dg_span text, pair;
    bool has_pair, has_answer;
    struct dg_span label;
    float number;
    const struct dg_span *words; /* TAGS: [n_words] parts of the text */
    /* [n_tags] TAGS: the labels of the words; LABELS: the labels of the text, each once */
    const struct dg_span *tags;
    size_t n_words, n_tags;
    size_t answer_at, answer_len; /* bytes in the context */
    uint32_t repeat;              /* how often the text occurs in an epoch */
};

struct dg_labelled_data_opts {
    enum dg_labelled_text_kind kind;
    size_t len_max;  /* the most characters of a text; 0: no limit */
    bool duplicates; /* duplicates are kept */
};

struct dg_labelled_data {
    struct dg_labelled_data_opts opts;
    struct dg_labelled_text *list; /* [n] owned */
    size_t n, cap;
    uint32_t repeat; /* given to the texts that are read from now on; 1 at first */
    uint64_t n_lines;
    uint64_t dropped[DG_N_DROPS];
    struct dg_arena arena; /* holds all texts */
    struct dg_map seen;
};

void dg_labelled_data_init(struct dg_labelled_data *labelled_data,
                           const struct dg_labelled_data_opts *opts);
void dg_labelled_data_deinit(struct dg_labelled_data *labelled_data);

enum dg_err dg_labelled_data_read(struct dg_labelled_data *labelled_data, const char *path,
                                  struct dg_error *error) DG_MUST_CHECK;

/* Moves about `n` texts, drawn by `seed`, to the front, but at most a tenth of all. Entries with
 * the same text (for answers: context) move together, so that no other entry shares its text with
 * them. */
enum dg_err dg_labelled_data_hold_out(struct dg_labelled_data *labelled_data, size_t n,
                                      uint64_t seed, size_t *n_held) DG_MUST_CHECK;

/* Does the same for held-out texts from another file: drops the entries that share a text with one
 * of them. */
enum dg_err dg_labelled_data_forbid(struct dg_labelled_data *labelled_data,
                                    const struct dg_labelled_text *others, size_t n) DG_MUST_CHECK;

#endif
