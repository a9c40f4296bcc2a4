/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One part of this file for each task. */
#include "engine/read/reading_json.h"
#include "base/memory/utf8.h"

struct writing {
    struct dg_json_out *out;
    const struct dg_engine_item *item;
    const struct dg_reading_result *said;
    bool in_characters;
    size_t byte, character; /* the position up to which characters were counted */
};

static void put_score(struct dg_json_out *out, float score)
{
    dg_json_out_put_real(out, "score", (double)score, 6);
}

/* Counts characters. Positions mostly ascend, so counting continues from the last one. */
static void put_range(struct writing *w, struct dg_span text, size_t at, size_t len)
{
    size_t start = at, length = len;
    if (w->in_characters) {
        if (at < w->byte)
            w->byte = w->character = 0;
        start = w->character + dg_utf8_count(dg_span_sub(text, w->byte, at - w->byte));
        length = dg_utf8_count(dg_span_sub(text, at, len));
        w->byte = at;
        w->character = start;
    }
    dg_json_out_put_uint(w->out, "start", start);
    dg_json_out_put_uint(w->out, "length", length);
}

static void put_masks(struct writing *w)
{
    struct dg_json_out *out = w->out;
    dg_json_out_put_open(out, "masks", '[');
    for (size_t i = 0; i < w->said->n_places; i++) {
        const struct dg_reading_result_place *place = &w->said->places[i];
        dg_json_out_open(out, '{');
        put_range(w, w->item->text, place->at, place->len);
        dg_json_out_put_open(out, "words", '[');
        for (size_t k = 0; k < place->n_words; k++) {
            dg_json_out_open(out, '{');
            dg_json_out_put_string(out, "word", place->words[k].text);
            dg_json_out_put_string(out, "piece", place->words[k].piece);
            dg_json_out_put_int(out, "id", place->words[k].id);
            put_score(out, place->words[k].score);
            dg_json_out_close(out, '}');
        }
        dg_json_out_close(out, ']');
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
}

static void put_labels(struct writing *w)
{
    struct dg_json_out *out = w->out;
    dg_json_out_put_open(out, "labels", '[');
    for (size_t i = 0; i < w->said->n_labels; i++) {
        dg_json_out_open(out, '{');
        dg_json_out_put_string(out, "label", w->said->labels[i].name);
        put_score(out, w->said->labels[i].score);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
}

static void put_entities(struct writing *w)
{
    struct dg_json_out *out = w->out;
    if (w->said->n_before == 0)
        dg_json_out_put_open(out, "entities", '[');
    for (size_t i = 0; i < w->said->n_entities; i++) {
        const struct dg_reading_result_entity *entity = &w->said->entities[i];
        dg_json_out_open(out, '{');
        dg_json_out_put_string(out, "label", entity->label);
        dg_json_out_put_string(out, "text", dg_span_sub(w->item->text, entity->at, entity->len));
        put_range(w, w->item->text, entity->at, entity->len);
        put_score(out, entity->score);
        dg_json_out_close(out, '}');
    }
    if (!w->said->has_more)
        dg_json_out_close(out, ']');
}

static void put_answers(struct writing *w)
{
    struct dg_json_out *out = w->out;
    dg_json_out_put_open(out, "answers", '[');
    for (size_t i = 0; i < w->said->n_answers; i++) {
        const struct dg_reading_result_answer *answer = &w->said->answers[i];
        dg_json_out_open(out, '{');
        dg_json_out_put_string(out, "text", dg_span_sub(w->item->pair, answer->at, answer->len));
        put_range(w, w->item->pair, answer->at, answer->len);
        put_score(out, answer->score);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
    dg_json_out_put_real(out, "none_score", (double)w->said->none, 6);
}

static void put_vector(struct writing *w)
{
    dg_json_out_put_open(w->out, "embedding", '[');
    for (size_t i = 0; i < w->said->n_vector; i++)
        dg_json_out_real(w->out, (double)w->said->vector[i], 8);
    dg_json_out_close(w->out, ']');
}

void dg_reading_json(struct dg_json_out *out, enum dg_read_task task,
                     const struct dg_engine_item *item, const struct dg_reading_result *said,
                     bool in_characters)
{
    static void (*const put[])(struct writing * w) = {put_masks, put_labels, put_entities,
                                                      put_answers, put_vector};
    struct writing w = {.out = out, .item = item, .said = said, .in_characters = in_characters};
    if (said->n_before == 0)
        dg_json_out_open(out, '{');
    if (task < DG_N_TASKS)
        put[task](&w);
    if (said->has_more)
        return;
    if (said->was_cut)
        dg_json_out_put_bool(out, "truncated", true);
    dg_json_out_close(out, '}');
}
