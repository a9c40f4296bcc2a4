/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One part for each task. */
#include "engine/said_json.h"
#include "base/utf8.h"

struct writing {
    struct dg_json_out *out;
    const struct dg_engine_item *item;
    const struct dg_said *said;
    bool in_characters;
    size_t byte, character; /* the last place that was counted */
};

static void put_score(struct dg_json_out *out, float score)
{
    dg_json_out_key(out, "score");
    dg_json_out_real(out, (double)score, 6);
}

/* Where something stands. Places mostly ascend, so that counting goes on from the one before. */
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
    dg_json_out_key(w->out, "start");
    dg_json_out_uint(w->out, start);
    dg_json_out_key(w->out, "length");
    dg_json_out_uint(w->out, length);
}

static void put_masks(struct writing *w)
{
    struct dg_json_out *out = w->out;
    dg_json_out_key(out, "masks");
    dg_json_out_open(out, '[');
    for (size_t i = 0; i < w->said->n_places; i++) {
        const struct dg_said_place *place = &w->said->places[i];
        dg_json_out_open(out, '{');
        put_range(w, w->item->text, place->at, place->len);
        dg_json_out_key(out, "words");
        dg_json_out_open(out, '[');
        for (size_t k = 0; k < place->n_words; k++) {
            dg_json_out_open(out, '{');
            dg_json_out_key(out, "word");
            dg_json_out_string(out, place->words[k].text);
            dg_json_out_key(out, "piece");
            dg_json_out_string(out, place->words[k].piece);
            dg_json_out_key(out, "id");
            dg_json_out_int(out, place->words[k].id);
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
    dg_json_out_key(out, "labels");
    dg_json_out_open(out, '[');
    for (size_t i = 0; i < w->said->n_labels; i++) {
        dg_json_out_open(out, '{');
        dg_json_out_key(out, "label");
        dg_json_out_string(out, w->said->labels[i].name);
        put_score(out, w->said->labels[i].score);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
}

static void put_entities(struct writing *w)
{
    struct dg_json_out *out = w->out;
    if (w->said->n_before == 0) {
        dg_json_out_key(out, "entities");
        dg_json_out_open(out, '[');
    }
    for (size_t i = 0; i < w->said->n_entities; i++) {
        const struct dg_said_entity *entity = &w->said->entities[i];
        dg_json_out_open(out, '{');
        dg_json_out_key(out, "label");
        dg_json_out_string(out, entity->label);
        dg_json_out_key(out, "text");
        dg_json_out_string(out, dg_span_sub(w->item->text, entity->at, entity->len));
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
    dg_json_out_key(out, "answers");
    dg_json_out_open(out, '[');
    for (size_t i = 0; i < w->said->n_answers; i++) {
        const struct dg_said_answer *answer = &w->said->answers[i];
        dg_json_out_open(out, '{');
        dg_json_out_key(out, "text");
        dg_json_out_string(out, dg_span_sub(w->item->pair, answer->at, answer->len));
        put_range(w, w->item->pair, answer->at, answer->len);
        put_score(out, answer->score);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
    dg_json_out_key(out, "none_score");
    dg_json_out_real(out, (double)w->said->none, 6);
}

static void put_vector(struct writing *w)
{
    dg_json_out_key(w->out, "embedding");
    dg_json_out_open(w->out, '[');
    for (size_t i = 0; i < w->said->n_vector; i++)
        dg_json_out_real(w->out, (double)w->said->vector[i], 8);
    dg_json_out_close(w->out, ']');
}

void dg_said_json(struct dg_json_out *out, enum dg_read_task task, const struct dg_engine_item *item,
                  const struct dg_said *said, bool in_characters)
{
    static void (*const put[])(struct writing *w) = {put_masks, put_labels, put_entities, put_answers, put_vector};
    struct writing w = {.out = out, .item = item, .said = said, .in_characters = in_characters};
    if (said->n_before == 0)
        dg_json_out_open(out, '{');
    if (task < DG_N_TASKS)
        put[task](&w);
    if (said->has_more)
        return;
    if (said->was_cut) {
        dg_json_out_key(out, "truncated");
        dg_json_out_bool(out, true);
    }
    dg_json_out_close(out, '}');
}
