/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One part of this file for each task: words for a masked place, labels of a text, entities,
 * answers, a vector. Each takes the numbers of a window, keeps the best for every
 * token or span, and at the end turns it into the result. */
#include "engine/read/reading_result.h"
#include "base/memory/chars.h"
#include "base/memory/mem.h"
#include "model/labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_LEN = 30 };

void dg_gathering_deinit(struct dg_gathering *gathering)
{
    dg_free(gathering->text.list);
    dg_free(gathering->pair.list);
    dg_free(gathering->tags);
    dg_free(gathering->values);
    dg_free(gathering->ids);
}

/* ---- Words of a text ------------------------------------------------------------------------- */

/* Returns whether token `i` continues the word of the token before it. */
static bool goes_on(const struct dg_reading_result_tokens *tokens, size_t i)
{
    return i > 0 && tokens->list[i].word == tokens->list[i - 1].word;
}

/* Bytes [*at, *end) without the spaces around them. */
static void trim(struct dg_span text, size_t *at, size_t *end)
{
    while (*at < *end && dg_chars_is_space(text.ptr[*at]))
        ++*at;
    while (*at < *end && dg_chars_is_space(text.ptr[*end - 1]))
        --*end;
}

/* ---- Masked words ---------------------------------------------------------------------------- */

/* Finds the word of a piece, as it is written in a text. */
static enum dg_err spell(const struct dg_gathering *g, struct dg_arena *arena, int32_t id,
                         struct dg_span *word)
{
    struct dg_buf buf;
    dg_buf_init(&buf, 4096);
    enum dg_err err = dg_tokenizer_decode(g->model->tokenizer, &id, 1, &buf);
    if (err == DG_ERR_RANGE) { /* an id beyond the vocabulary, from a padded output row */
        dg_buf_clear(&buf);
        err = DG_OK;
    }
    size_t at = 0, end = buf.len;
    trim(dg_buf_span(&buf), &at, &end);
    if (!err) {
        *word = dg_arena_copy(arena, dg_span_sub(dg_buf_span(&buf), at, end - at));
        err = word->ptr ? DG_OK : DG_ERR_NOMEM;
    }
    dg_buf_deinit(&buf);
    return err;
}

static enum dg_err make_places(struct dg_gathering *g, struct dg_arena *arena,
                               struct dg_reading_result *said)
{
    const size_t n_best = g->n_places ? g->n_values / g->n_places : 0;
    struct dg_reading_result_place *places =
        dg_arena_calloc(arena, g->n_places + 1, sizeof *places);
    struct dg_reading_result_word *words = dg_arena_calloc(arena, g->n_values + 1, sizeof *words);
    enum dg_err err = places && words ? DG_OK : DG_ERR_NOMEM;
    for (size_t i = 0, p = 0; i < g->text.n && p < g->n_places && !err; i++) {
        if (g->text.list[i].id != g->model->marks.mask)
            continue;
        size_t at = g->text.list[i].begin, end = g->text.list[i].end;
        trim(g->item->text, &at, &end);
        places[p] = (struct dg_reading_result_place){
            .at = at, .len = end - at, .words = words + p * n_best};
        for (size_t k = 0; k < n_best && g->ids[p * n_best + k] != DG_ID_NONE && !err; k++) {
            struct dg_reading_result_word *word = &words[p * n_best + k];
            word->id = g->ids[p * n_best + k];
            word->score = g->values[p * n_best + k];
            word->piece = dg_tokenizer_target_piece(g->model->tokenizer, word->id);
            err = spell(g, arena, word->id, &word->text);
            places[p].n_words = k + 1;
        }
        p++;
    }
    said->places = places;
    said->n_places = g->n_places;
    return err;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

static int by_score(const void *a, const void *b)
{
    const struct dg_reading_result_label *x = a, *y = b;
    return x->score != y->score ? (x->score < y->score) - (x->score > y->score)
                                : (x->name.ptr > y->name.ptr) - (x->name.ptr < y->name.ptr);
}

static enum dg_err make_labels(struct dg_gathering *g, struct dg_arena *arena,
                               struct dg_reading_result *said)
{
    const struct dg_blueprint *bp = &g->model->blueprint;
    const bool each = dg_blueprint_family(bp)->has_head && bp->enc.rule == DG_LABELS_EACH;
    struct dg_reading_result_label *labels =
        dg_arena_calloc(arena, g->n_values + 1, sizeof *labels);
    if (!labels)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < g->n_values; i++)
        labels[i] = (struct dg_reading_result_label){
            g->model->labels->list[i], each ? 1.0f / (1.0f + expf(-g->values[i])) : g->values[i]};
    qsort(labels, g->n_values, sizeof *labels, by_score);
    said->labels = labels;
    said->n_labels =
        g->asked->n_best && g->asked->n_best < g->n_values ? g->asked->n_best : g->n_values;
    while (said->n_labels && g->asked->threshold > 0.0f &&
           labels[said->n_labels - 1].score < g->asked->threshold)
        said->n_labels--;
    return DG_OK;
}

/* ---- Entities -------------------------------------------------------------------------------- */

static bool tells_replaced(const struct dg_gathering *g)
{
    return g->model->blueprint.enc.head == DG_HEAD_REPLACED;
}

/* For each token, takes the label from the window in which the token has the most context, or from
 * the first of several such windows. */
static enum dg_err take_tags(struct dg_gathering *g, const struct dg_reading_result_window *w,
                             const float *values)
{
    const size_t L = g->model->blueprint.decoder.V;
    if (!g->tags && !(g->tags = dg_try_calloc(g->text.n + 1, sizeof *g->tags)))
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < w->n; i++) {
        const float *row = values + (w->at + i) * L;
        const size_t left = w->is_first ? g->text.n : i,
                     right = w->is_last ? g->text.n : w->n - 1 - i;
        struct dg_reading_result_tag *tag = &g->tags[w->first + i],
                                     now = {.edge = 1 + (uint32_t)(left < right ? left : right),
                                            .window = w->number};
        if (tag->edge > now.edge || (tag->edge == now.edge && tag->window <= now.window))
            continue;
        for (size_t l = 1; l < L; l++)
            if (row[l] > row[now.label])
                now.label = (uint32_t)l;
        now.score = tells_replaced(g) ? 1.0f / (1.0f + expf(-row[0])) : row[now.label];
        *tag = now;
    }
    return DG_OK;
}

/* Lists every word with the probability that it replaces another word: that of its most suspicious
 * token. */
static enum dg_err make_replaced(struct dg_gathering *g, struct dg_arena *arena,
                                 struct dg_reading_result *said)
{
    struct dg_reading_result_entity *entities =
        dg_arena_calloc(arena, g->text.n + 1, sizeof *entities);
    size_t n = 0;
    if (!entities)
        return DG_ERR_NOMEM;
    for (size_t i = 0, next; i < g->text.n; i = next) {
        float score = g->tags[i].score;
        for (next = i + 1; next < g->text.n && goes_on(&g->text, next); next++)
            score = fmaxf(score, g->tags[next].score);
        size_t at = g->text.list[i].begin, end = g->text.list[next - 1].end;
        trim(g->item->text, &at, &end);
        if (at < end && score >= g->asked->threshold)
            entities[n++] = (struct dg_reading_result_entity){
                .label = DG_SPAN("replaced"), .at = at, .len = end - at, .score = score};
    }
    said->entities = entities;
    said->n_entities = n;
    return DG_OK;
}

/* Keeps the entities that the model is sure enough of. */
static size_t drop_doubtful(struct dg_reading_result_entity *entities, size_t n, float threshold)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (entities[i].score >= threshold)
            entities[kept++] = entities[i];
    return kept;
}

/* Makes the entities. Words have the label of their first token, because taggers are trained that
 * way. */
static enum dg_err make_entities(struct dg_gathering *g, struct dg_arena *arena,
                                 struct dg_reading_result *said)
{
    const struct dg_span text = g->item->text;
    struct dg_reading_result_entity *entities =
        dg_arena_calloc(arena, g->text.n + 1, sizeof *entities);
    size_t n = 0, n_words = 0;
    bool is_open = false;
    if (!entities)
        return DG_ERR_NOMEM;
    for (size_t i = 0, next; i < g->text.n; i = next) {
        char kind;
        for (next = i + 1; next < g->text.n && goes_on(&g->text, next);)
            next++;
        const struct dg_span type =
            dg_labels_entity(g->model->labels->list[g->tags[i].label], &kind);
        size_t at = g->text.list[i].begin, end = g->text.list[next - 1].end;
        trim(text, &at, &end);
        if (at == end)
            continue;
        if (dg_labels_begins(kind, type, is_open ? entities[n - 1].label : DG_SPAN(""))) {
            entities[n++] = (struct dg_reading_result_entity){.label = type, .at = at};
            n_words = 0;
        }
        is_open = type.len > 0;
        if (!is_open)
            continue;
        struct dg_reading_result_entity *entity = &entities[n - 1];
        entity->len = end - entity->at;
        entity->score = (entity->score * (float)n_words + g->tags[i].score) / (float)(n_words + 1);
        n_words++;
        if (kind == 'E' || kind == 'L' || kind == 'S' || kind == 'U')
            is_open = false;
    }
    said->entities = entities;
    said->n_entities = drop_doubtful(entities, n, g->asked->threshold);
    return DG_OK;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Puts a span among the best. A span that occurs in two windows counts once, with the better
 * score. */
static void put_span(struct dg_gathering *g, struct dg_reading_result_span span)
{
    const size_t n_most = g->asked->n_best ? g->asked->n_best : 1;
    size_t at = 0;
    for (size_t i = 0; i < g->n_spans; i++)
        if (g->spans[i].first == span.first && g->spans[i].last == span.last) {
            if (g->spans[i].score >= span.score)
                return;
            memmove(&g->spans[i], &g->spans[i + 1], (g->n_spans - i - 1) * sizeof span);
            g->n_spans--;
            break;
        }
    /* Of equal spans, the one that stands first in the text wins, whichever window came first. */
    while (at < g->n_spans &&
           (g->spans[at].score > span.score ||
            (g->spans[at].score == span.score &&
             (g->spans[at].first < span.first ||
              (g->spans[at].first == span.first && g->spans[at].last < span.last)))))
        at++;
    if (at == n_most)
        return;
    if (g->n_spans < n_most)
        g->n_spans++;
    memmove(&g->spans[at + 1], &g->spans[at], (g->n_spans - at - 1) * sizeof span);
    g->spans[at] = span;
}

/* Computes exp(x - log of the sum over the context and the first token) of column `c`. */
static void normalise(const struct dg_reading_result_window *w, const float *values, size_t c,
                      float *out, float *none)
{
    double sum = 0;
    float most = values[c];
    for (size_t i = 0; i < w->n; i++)
        most = fmaxf(most, values[2 * (w->at + i) + c]);
    for (size_t i = 0; i < w->n; i++)
        sum += (double)expf(values[2 * (w->at + i) + c] - most);
    sum += (double)expf(values[c] - most);
    for (size_t i = 0; i < w->n; i++)
        out[i] = (float)((double)expf(values[2 * (w->at + i) + c] - most) / sum);
    *none *= (float)((double)expf(values[c] - most) / sum);
}

static enum dg_err take_spans(struct dg_gathering *g, const struct dg_reading_result_window *w,
                              const float *values)
{
    const size_t len_max = g->asked->answer_len ? g->asked->answer_len : ANSWER_LEN;
    float none = 1.0f, *starts = dg_try_calloc(2 * w->n + 1, sizeof *starts);
    if (!starts)
        return DG_ERR_NOMEM;
    float *ends = starts + w->n;
    normalise(w, values, 0, starts, &none);
    normalise(w, values, 1, ends, &none);
    for (size_t i = 0; i < w->n; i++)
        for (size_t j = i; j < w->n && j < i + len_max; j++) {
            const float score = starts[i] * ends[j];
            const size_t n_most = g->asked->n_best ? g->asked->n_best : 1;
            if (g->n_spans < n_most || score >= g->spans[g->n_spans - 1].score)
                put_span(g, (struct dg_reading_result_span){(uint32_t)(w->first + i),
                                                            (uint32_t)(w->first + j), score});
        }
    g->none = g->has_window ? fminf(g->none, none) : none; /* an answer in any window is enough */
    dg_free(starts);
    return DG_OK;
}

/* Extends answers to whole words; answers that are then equal count once. */
static enum dg_err make_answers(struct dg_gathering *g, struct dg_arena *arena,
                                struct dg_reading_result *said)
{
    const struct dg_span text = g->item->pair;
    struct dg_reading_result_answer *answers =
        dg_arena_calloc(arena, g->n_spans + 1, sizeof *answers);
    size_t n = 0;
    if (!answers)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < g->n_spans; i++) {
        size_t first = g->spans[i].first, last = g->spans[i].last, k = 0;
        while (goes_on(&g->pair, first))
            first--;
        while (last + 1 < g->pair.n && goes_on(&g->pair, last + 1))
            last++;
        size_t at = g->pair.list[first].begin, end = g->pair.list[last].end;
        trim(text, &at, &end);
        while (k < n && (answers[k].at != at || answers[k].len != end - at))
            k++;
        if (k == n)
            answers[n++] = (struct dg_reading_result_answer){at, end - at, g->spans[i].score};
    }
    said->answers = answers;
    said->n_answers = n;
    said->none = g->none;
    return DG_OK;
}

/* ---- Vectors --------------------------------------------------------------------------------- */

static enum dg_err make_vector(struct dg_gathering *g, struct dg_arena *arena,
                               struct dg_reading_result *said)
{
    float *vector = dg_arena_calloc(arena, g->n_values + 1, sizeof *vector);
    double sum = 0;
    if (!vector)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < g->n_values; i++)
        sum += (double)g->values[i] * (double)g->values[i];
    const double length = g->asked->as_it_is || sum <= 0 ? 1.0 : sqrt(sum);
    for (size_t i = 0; i < g->n_values; i++)
        vector[i] = (float)((double)g->values[i] / length);
    said->vector = vector;
    said->n_vector = g->n_values;
    return DG_OK;
}

/* ---- All ------------------------------------------------------------------------------------- */

enum dg_err dg_reading_result_window(struct dg_gathering *g,
                                     const struct dg_reading_result_window *window, float *values,
                                     int32_t *ids, size_t n_values)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n_values && !err; i++)
        if (!isfinite(values[i]))
            err = DG_ERR_INTEGRITY;
    if (!err && g->asked->task == DG_TASK_TAG)
        err = take_tags(g, window, values);
    else if (!err && g->asked->task == DG_TASK_ANSWER)
        err = take_spans(g, window, values);
    g->has_window = true;
    dg_free(g->values);
    dg_free(g->ids);
    g->values = g->asked->task == DG_TASK_TAG || g->asked->task == DG_TASK_ANSWER ? NULL : values;
    g->ids = ids;
    g->n_values = n_values;
    if (!g->values)
        dg_free(values);
    return err;
}

enum dg_err dg_reading_result_make(struct dg_gathering *g, struct dg_arena *arena,
                                   struct dg_reading_result *said)
{
    switch (g->asked->task) {
    case DG_TASK_FILL:
        return make_places(g, arena, said);
    case DG_TASK_CLASSIFY:
        return make_labels(g, arena, said);
    case DG_TASK_TAG:
        return g->text.n == 0      ? DG_OK
               : tells_replaced(g) ? make_replaced(g, arena, said)
                                   : make_entities(g, arena, said);
    case DG_TASK_ANSWER:
        return make_answers(g, arena, said);
    case DG_TASK_EMBED:
        return make_vector(g, arena, said);
    case DG_N_TASKS:
        break;
    }
    return DG_ERR_INVALID;
}
