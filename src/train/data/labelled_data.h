/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What an encoder alone learns from, as text: read from files of lines (plain or gzip), cleaned,
 * split. Files called
 * *.jsonl or *.ndjson (or these with .gz) hold a JSON object a line, others columns between tabs:
 *
 *     what        columns                                         JSON
 *     words       text; every column is a text of its own         {"text"}
 *     label       label  text  [second text]                      {"label", "text", "pair"}
 *     labels      any number of labels, with | between  text      {"labels": [...], "text", "pair"}
 *                 [second text]
 *     number      text  [second text]  number                     {"text", "pair", "score"}
 *     tags        word  label, a line each; an empty line         {"words": [...], "labels": [...]}
 *                 behind each sentence
 *     answer      question  context  answer (empty: there is      {"question", "context", "answer",
 * "start"} none)  [where it begins, in bytes]
 *
 *     dg_labelled_data_init(&lessons, &opts);
 *     err = dg_labelled_data_read(&lessons, "reviews.tsv", &error);                any number of
 * files err = dg_labelled_data_hold_out(&lessons, 100, seed, &n_held);             the first n_held
 * are held out now
 *     ... lessons.list[i].text ...                                         borrowed until deinit
 *     dg_labelled_data_deinit(&lessons);
 *
 * A line that is not what its file should hold is refused, with its number and what was expected;
 * what is dropped is counted by reason. One thread. */
#ifndef DG_TRAIN_DATA_LABELLED_DATA_H
#define DG_TRAIN_DATA_LABELLED_DATA_H

#include "base/memory/arena.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "base/memory/map.h"
#include "base/memory/span.h"
#include "train/data/drops.h"

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
    struct dg_span text, pair; /* ANSWER: question and context; TAGS: the words with spaces between
                                */
    bool has_pair, has_answer;
    struct dg_span label;
    float number;
    const struct dg_span *words; /* TAGS: [n_words] parts of the text, and */
    const struct dg_span *tags;  /* [n_tags] their labels; LABELS: the text's, each once */
    size_t n_words, n_tags;
    size_t answer_at, answer_len; /* bytes of the context */
    uint32_t repeat;              /* how often it counts in an epoch */
};

struct dg_labelled_data_opts {
    enum dg_labelled_text_kind kind;
    size_t len_max;  /* characters of a text; 0: any */
    bool duplicates; /* keep them */
};

struct dg_labelled_data {
    struct dg_labelled_data_opts opts;
    struct dg_labelled_text *list; /* [n] owned */
    size_t n, cap;
    uint32_t repeat; /* of those read from now on; 1 */
    uint64_t n_lines;
    uint64_t dropped[DG_N_DROPS];
    struct dg_arena arena; /* all text */
    struct dg_map seen;
};

void dg_labelled_data_init(struct dg_labelled_data *labelled_data,
                           const struct dg_labelled_data_opts *opts);
void dg_labelled_data_deinit(struct dg_labelled_data *labelled_data);

enum dg_err dg_labelled_data_read(struct dg_labelled_data *labelled_data, const char *path,
                                  struct dg_error *error) DG_MUST_CHECK;

/* Moves about `n` of them, drawn by `seed`, to the front: all that share a text (of answers the
 * context) go together, so that none of the others has been seen in any. A tenth of all at most. */
enum dg_err dg_labelled_data_hold_out(struct dg_labelled_data *labelled_data, size_t n,
                                      uint64_t seed, size_t *n_held) DG_MUST_CHECK;

/* With others that came from elsewhere: drops what shares that text with one of them. */
enum dg_err dg_labelled_data_forbid(struct dg_labelled_data *labelled_data,
                                    const struct dg_labelled_text *others, size_t n) DG_MUST_CHECK;

#endif
