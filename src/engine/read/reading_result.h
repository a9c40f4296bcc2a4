/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Turns the numbers that a network outputs into the result for a text. Nothing here depends on
 * tickets or on how the network computes.
 *
 *     err = dg_reading_result_window(gathering, &window, values, ids, n_values);    each window
 *     err = dg_reading_result_make(gathering, arena, &said);                        at the end
 *
 * Windows may come in any order; the result does not depend on it. */
#ifndef DG_ENGINE_READ_READING_RESULT_H
#define DG_ENGINE_READ_READING_RESULT_H

#include "base/memory/arena.h"
#include "engine/read/read.h"
#include "engine/models/served_model.h"

/* A token, the bytes of the text that it stands for, and the number of the word that it is part of.
 */
struct dg_reading_result_token {
    int32_t id;
    uint32_t begin, end, word;
};

/* The tokens of a text, growing. */
struct dg_reading_result_tokens {
    struct dg_reading_result_token *list; /* owned (dg_free) */
    size_t n, cap;
};

/* The best label found for a token so far. */
struct dg_reading_result_tag {
    float score;
    uint32_t label, edge, window; /* edge: the number of tokens between the word and the nearer end
                                     of that window */
};

struct dg_reading_result_span {
    uint32_t first, last; /* tokens of the context */
    float score;
};

struct dg_gathering {
    const struct dg_served_model *model; /* borrowed, as are the two members after it */
    const struct dg_engine_read *asked;
    const struct dg_engine_item *item;
    struct dg_reading_result_tokens text, pair;
    /* Collected from the windows that have come. */
    /* owned; [text.n], for TAG */
    struct dg_reading_result_tag *tags;
    struct dg_reading_result_span spans[DG_READING_RESULT_ANSWERS_MAX]; /* [n_spans] the best first;
                                                                           ANSWER */
    size_t n_spans;
    float none;
    bool has_window;
    float *values; /* owned; [n_values] from the only window, for the other tasks */
    int32_t *ids;  /* owned; for FILL */
    size_t n_values;
    size_t n_places; /* for FILL */
};

/* The tokens of a text (for ANSWER: of the context) that a window has, and where in the window they
 * begin. */
struct dg_reading_result_window {
    size_t first, n, at;
    uint32_t number;
    bool is_first, is_last; /* it is the first, or the last, window of its text */
};

void dg_gathering_deinit(struct dg_gathering *gathering);

/* Takes `values` [n_values] and `ids` (dg_free). DG_ERR_INTEGRITY: a value is not a finite number.
 */
enum dg_err dg_reading_result_window(struct dg_gathering *gathering,
                                     const struct dg_reading_result_window *window, float *values,
                                     int32_t *ids, size_t n_values) DG_MUST_CHECK;

enum dg_err dg_reading_result_make(struct dg_gathering *gathering, struct dg_arena *arena,
                                   struct dg_reading_result *said) DG_MUST_CHECK;

#endif
