/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Readings: models that read fill masked words, classify texts, find entities, answer questions and
 * compute vectors. Readings share the scheduler, batches, limits and memory with translations; a
 * text is one ticket, a long text several.
 *
 *     const struct dg_engine_item items[] = {{.text = DG_SPAN("A fine day.")}};
 *     struct dg_engine_read ask = {.task = DG_TASK_CLASSIFY, .items = items, .n_items = 1,
 *                                  .priority = DG_PRIORITY_NORMAL};
 *     err = dg_engine_read(engine, &ask, &events, ctx, &error, &retry_ms, &id);
 *     ... dg_engine_poll calls on_said for each item, then on_done ...
 *     dg_engine_cancel(engine, id);            to stop early
 *
 * A model's head decides what it can do: masked words (...ForMaskedLM), labels of texts and pairs,
 * entities or answers. Every encoder can compute vectors. Recurrent classifiers label texts.
 *
 * Texts that are too long for the model: entities and answers are looked for in overlapping
 * windows, up to DG_READ_CHARACTERS_MAX; for labels and vectors only the beginning of the text
 * counts, and `was_cut` says so; texts with masked words are refused.
 *
 * One thread, the consumer's. */
#ifndef DG_ENGINE_READ_READ_H
#define DG_ENGINE_READ_READ_H

#include "engine/interface/engine_request.h"

struct dg_engine;

enum dg_read_task {
    DG_TASK_FILL,
    DG_TASK_CLASSIFY,
    DG_TASK_TAG,
    DG_TASK_ANSWER,
    DG_TASK_EMBED,
    DG_N_TASKS
};

/* The most characters of one text of TAG, or of a question with its context; and the most of all
 * questions and contexts of ANSWER together. A context counts once for each of its questions,
 * because it is read for each. */
enum { DG_READ_CHARACTERS_MAX = 100 * 1000, DG_READ_ALL_MAX = 2 * 1000 * 1000 };

enum {
    DG_READING_RESULT_LABELS_MAX = 1000,
    DG_READING_RESULT_BEST_MAX = 100,
    DG_READING_RESULT_ANSWERS_MAX = 20,
    DG_ANSWER_LEN_MAX = 500,
    DG_READING_RESULT_WORDS_MAX = 2000 /* the most masked words of a text */,
    DG_READING_RESULT_PART = 1000 /* entities that are reported at once; more would hold the
                                     consumer's thread too long */
};

struct dg_engine_item {
    struct dg_span text; /* valid UTF-8; for ANSWER, the question */
    struct dg_span pair; /* CLASSIFY: a second text; ANSWER: the context */
    bool has_pair;
};

struct dg_engine_read {
    enum dg_read_task task;
    const char *model;                  /* NULL: the only model for the task */
    const struct dg_engine_item *items; /* [n_items] copied */
    size_t n_items;
    size_t n_best; /* The most words for a place, labels of a text (0: all) or answers; at most
                      DG_READING_RESULT_BEST_MAX, or _ANSWERS_MAX. */
    /* CLASSIFY, TAG: labels and entities with a lower score are left out; 0: all are reported */
    float threshold;
    size_t answer_len; /* the most tokens of an answer, up to DG_ANSWER_LEN_MAX; 0: 30 */
    bool first;        /* EMBED: the state of the first token instead of the mean over all */
    bool as_it_is;     /* EMBED: the vector is not divided by its length */
    enum dg_priority priority;
    uint64_t client;     /* as in struct dg_engine_request */
    uint64_t timeout_ms; /* 0: none */
    /* The request waits for room rather than being refused with DG_ERR_BUSY, because it completes a
     * request whose translation is already done (a quality estimate). */
    bool waits;
    const char *const *only; /* [n_only] as of a translation */
    size_t n_only;
};

struct dg_reading_result_word {
    struct dg_span text, piece; /* the word as in "Paris", and its form in the vocabulary */
    int32_t id;
    float score; /* probability */
};

/* A masked word: its place, and the words that could stand there. */
struct dg_reading_result_place {
    size_t at, len;                             /* bytes of the text */
    const struct dg_reading_result_word *words; /* [n_words] the likeliest first */
    size_t n_words;
};

struct dg_reading_result_label {
    struct dg_span name;
    float score; /* a probability, or the number itself if the model learned numbers */
};

struct dg_reading_result_entity {
    struct dg_span label; /* without its B- or I-; "replaced" if the model detects replaced words */
    size_t at, len;       /* bytes of the text */
    float score; /* The mean probability of its words. For a replaced word: the greatest probability
                    of its tokens. */
};

struct dg_reading_result_answer {
    size_t at, len; /* bytes of the context */
    float score;    /* the probability of its beginning times that of its end, within its window */
};

/* The result for one item; what its task does not produce is empty. */
struct dg_reading_result {
    const struct dg_reading_result_place *places;
    size_t n_places;
    const struct dg_reading_result_label *labels; /* the best first */
    size_t n_labels;
    const struct dg_reading_result_entity *entities; /* in the order of the text */
    size_t n_entities;
    size_t n_before; /* Entities of the text that were reported before: more than
                        DG_READING_RESULT_PART are reported in parts, each for the same item. */
    bool has_more;   /* more parts of the same item follow */
    const struct dg_reading_result_answer *answers; /* the best first */
    size_t n_answers;
    float none; /* ANSWER: the probability that there is no answer, if the model was trained for
                   that */
    const float *vector;
    size_t n_vector;
    bool was_cut;    /* the text was too long for the model, and its end was not read */
    size_t n_tokens; /* tokens of all windows, including the special tokens around a text */
};

struct dg_engine_read_result {
    enum dg_err err;
    const char *error; /* a sentence; NULL: only the standard text of `err` applies */
    size_t item;       /* the index of the item that failed */
    const char *model;
    size_t n_tokens, n_characters;
    uint64_t queue_ns, total_ns;
};

struct dg_engine_read_events {
    /* Called for the items in order, as soon as each is ready; `said` is borrowed until the
     * function returns. A request that fails may have reported earlier items. */
    void (*on_said)(void *ctx, size_t item, const struct dg_reading_result *said);
    /* Called once for each accepted request. */
    void (*on_done)(void *ctx, const struct dg_engine_read_result *result);
};

/* Errors as of dg_engine_submit. An item that cannot be read ends the request; `item` of the result
 * names it. */
enum dg_err dg_engine_read(struct dg_engine *engine, const struct dg_engine_read *ask,
                           const struct dg_engine_read_events *events, void *ctx,
                           struct dg_error *error, uint64_t *retry_ms, uint64_t *id) DG_MUST_CHECK;

/* Returns true when the pair of item `i` is at the same address as that of the item before it. Such
 * a pair is kept, and counted as text, only once. */
bool dg_read_shares_pair(const struct dg_engine_item *items, size_t i);

/* Returns "fill", "classify", "tag", "answer" or "embed". */
const char *dg_read_task_name(enum dg_read_task task);

#endif
