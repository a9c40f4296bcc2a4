/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What models that read have to say of texts: masked words, labels, entities, answers, vectors. The
 * same scheduler, batches, limits and memory as translations; each text is a ticket, a long one
 * several.
 *
 *     const struct dg_engine_item items[] = {{.text = DG_SPAN("A fine day.")}};
 *     struct dg_engine_read ask = {.task = DG_TASK_CLASSIFY, .items = items, .n_items = 1,
 * .priority = DG_PRIORITY_NORMAL}; err = dg_engine_read(engine, &ask, &events, ctx, &error,
 * &retry_ms, &id);
 *     ... dg_engine_poll calls on_said for each item, and on_done; dg_engine_cancel(engine, id)
 * asks for the end ...
 *
 * What a model can do, its head says: masked words (...ForMaskedLM), labels of texts and pairs,
 * entities, answers; vectors every encoder has. Recurrent classifiers tell labels of texts.
 *
 * Texts that are longer than the model: entities and answers are looked for in overlapping windows,
 * up to DG_READ_CHARACTERS_MAX; of labels and vectors the beginning counts, and `was_cut` says so;
 * masked words are refused.
 *
 * One thread, the consumer's. */
#ifndef DG_ENGINE_READ_READ_H
#define DG_ENGINE_READ_READ_H

#include "engine/engine.h"

enum dg_read_task {
    DG_TASK_FILL,
    DG_TASK_CLASSIFY,
    DG_TASK_TAG,
    DG_TASK_ANSWER,
    DG_TASK_EMBED,
    DG_N_TASKS
};

/* Characters of one text of TAG, or of a question and its context; and of all those of ANSWER, a
 * context counted for each question that is asked of it, since it is read for each. */
enum { DG_READ_CHARACTERS_MAX = 100 * 1000, DG_READ_ALL_MAX = 2 * 1000 * 1000 };

enum {
    DG_READING_RESULT_LABELS_MAX = 1000,
    DG_READING_RESULT_BEST_MAX = 100,
    DG_READING_RESULT_ANSWERS_MAX = 20,
    DG_ANSWER_LEN_MAX = 500,
    DG_READING_RESULT_WORDS_MAX = 2000 /* of all masked words of a text */,
    DG_READING_RESULT_PART = 1000 /* entities told at once: more would keep the consumer's thread
                                     from others */
};

struct dg_engine_item {
    struct dg_span text; /* valid UTF-8; of ANSWER the question */
    struct dg_span pair; /* CLASSIFY: a second text; ANSWER: the context */
    bool has_pair;
};

struct dg_engine_read {
    enum dg_read_task task;
    const char *model;                  /* NULL: the only one that there is for the task */
    const struct dg_engine_item *items; /* [n_items] copied */
    size_t n_items;
    size_t n_best;     /* words of a place, labels of a text (0: all), answers; at most
                          DG_READING_RESULT_BEST_MAX, _ANSWERS_MAX */
    float threshold;   /* CLASSIFY, TAG: labels and entities with less are not told; 0: all are */
    size_t answer_len; /* tokens of an answer, at most DG_ANSWER_LEN_MAX; 0: 30 */
    bool first;        /* EMBED: the first token's state; otherwise the mean of all */
    bool as_it_is;     /* EMBED: not divided by its length */
    enum dg_priority priority;
    uint64_t client;     /* as of struct dg_engine_request */
    uint64_t timeout_ms; /* 0: none */
    bool waits; /* for room, where it would be refused with DG_ERR_BUSY: the work that it is part of
                   has been done */
    const char *const *only; /* [n_only] as of a translation */
    size_t n_only;
};

struct dg_reading_result_word {
    struct dg_span text, piece; /* "Paris", and as the vocabulary has it */
    int32_t id;
    float score; /* probability */
};

/* A masked word: where it stands, and what could. */
struct dg_reading_result_place {
    size_t at, len;                             /* bytes of the text */
    const struct dg_reading_result_word *words; /* [n_words] the likeliest first */
    size_t n_words;
};

struct dg_reading_result_label {
    struct dg_span name;
    float score; /* probability, or the number itself of a model that learned numbers */
};

struct dg_reading_result_entity {
    struct dg_span label; /* without its B- or I-; "replaced" of a model that tells words that stand
                             in others' places */
    size_t at, len;       /* bytes of the text */
    float score; /* mean of its words' probabilities; of a replaced word the greatest of its tokens'
                  */
};

struct dg_reading_result_answer {
    size_t at, len; /* bytes of the context */
    float score;    /* probability of its beginning times that of its end, in its window */
};

/* What is said of one item; what its task does not say is empty. */
struct dg_reading_result {
    const struct dg_reading_result_place *places;
    size_t n_places;
    const struct dg_reading_result_label *labels; /* the best first */
    size_t n_labels;
    const struct dg_reading_result_entity *entities; /* in the order of the text */
    size_t n_entities;
    size_t n_before; /* entities of the text that were told before: more than DG_READING_RESULT_PART
                        are told in parts, with the */
    bool has_more;   /* same item each; and whether more of them follow */
    const struct dg_reading_result_answer *answers; /* the best first */
    size_t n_answers;
    float none; /* ANSWER: the probability that there is none, by models that were taught that */
    const float *vector;
    size_t n_vector;
    bool was_cut;    /* it was longer than the model; of what follows nothing was read */
    size_t n_tokens; /* what belongs around a text included; of windows all */
};

struct dg_engine_read_result {
    enum dg_err err;
    const char *error; /* a sentence; NULL: there is none but the error's own */
    size_t item;       /* the one that it failed for */
    const char *model;
    size_t n_tokens, n_characters;
    uint64_t queue_ns, total_ns;
};

struct dg_engine_read_events {
    /* Items in their order, as they are there; `said` is borrowed until the event returns. Of a
     * request that fails those before may have been told. */
    void (*on_said)(void *ctx, size_t item, const struct dg_reading_result *said);
    void (*on_done)(void *ctx, const struct dg_engine_read_result *result); /* once for each that
                                                                               was accepted */
};

/* Errors as of dg_engine_submit; an item that cannot be read ends the request with its number. */
enum dg_err dg_engine_read(struct dg_engine *engine, const struct dg_engine_read *ask,
                           const struct dg_engine_read_events *events, void *ctx,
                           struct dg_error *error, uint64_t *retry_ms, uint64_t *id) DG_MUST_CHECK;

/* Whether the pair of item `i` is the very memory of the one before: kept, and counted as text,
 * once. */
bool dg_read_shares_pair(const struct dg_engine_item *items, size_t i);

/* "fill", "classify", "tag", "answer", "embed". */
const char *dg_read_task_name(enum dg_read_task task);

#endif
