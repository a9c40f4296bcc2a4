/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A row for each option that is a field of its own (ask_rows.h), a function for each of the others. */
#include "api/gen.h"
#include "api/api_int.h"
#include "api/ask.h"
#include "api/ask_rows.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <stddef.h>

enum { ANSWER_MAX = 512 << 20, MAX_TOKENS_USUAL = 128 };

#define SEARCH(field) offsetof(struct dg_gen, ask.search.field)

static const struct dg_ask_row rows[] = {
    DG_ASK_SEARCH_ROWS(SEARCH),
    {"max_tokens", DG_ASK_INT, SEARCH(max_len), 0, DG_TARGET_MAX},
    {"min_tokens", DG_ASK_INT, SEARCH(min_len), 0, DG_TARGET_MAX},
    {"n", DG_ASK_INT, SEARCH(n_best), 1, DG_BEAM_MAX},
    {"special_tokens", DG_ASK_BOOL, offsetof(struct dg_gen, ask.reads_special), 0, 0},
    {"timeout_ms", DG_ASK_UINT, offsetof(struct dg_gen, ask.timeout_ms), 1, DG_ASK_TIMEOUT_MS_MAX},
    {"stream", DG_ASK_BOOL, offsetof(struct dg_gen, stream), 0, 0},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static const char *const others[] = {"prompt", "model", "stop", "priority", "api_key", "type", "id"};
enum { N_OTHERS = sizeof others / sizeof *others };

/* ---- Life --------------------------------------------------------------------------------------- */

enum dg_err dg_gen_new(struct dg_api *api, size_t body_len, struct dg_gen **out)
{
    struct dg_gen *gen = dg_try_calloc(1, sizeof *gen);
    if (!gen)
        return DG_ERR_NOMEM;
    gen->engine = api->engine;
    gen->characters_max = api->opts.characters_max;
    gen->beam_max = api->opts.beam_max;
    gen->ask = (struct dg_generate)DG_GENERATE_DEFAULT;
    gen->ask.search.max_len = MAX_TOKENS_USUAL;
    gen->ask.search.loop_guard = false; /* an answer is what the model says, not what it should */
    dg_arena_init(&gen->arena, body_len * 2 + (1 << 20));
    dg_buf_init(&gen->answer, ANSWER_MAX);
    dg_list_link_last(&api->generations, &gen->link);
    *out = gen;
    return DG_OK;
}

static void free_gen(struct dg_gen *gen)
{
    dg_list_unlink(&gen->link);
    dg_buf_deinit(&gen->answer);
    dg_arena_deinit(&gen->arena);
    dg_free(gen);
}

void dg_gen_free_all(struct dg_list *all)
{
    while (!dg_list_is_empty(all))
        free_gen(DG_LIST_ITEM(all->next, struct dg_gen, link));
}

void dg_gen_drop(struct dg_gen *gen)
{
    if (!gen)
        return;
    gen->listener = NULL;
    if (gen->is_open)
        dg_engine_cancel(gen->engine, gen->id);
    else
        free_gen(gen);
}

/* ---- Reading ------------------------------------------------------------------------------------- */

static enum dg_err read_prompt(struct dg_gen *gen, const struct dg_json *json, struct dg_why *why)
{
    struct dg_span prompt = {.ptr = "", .len = 0};
    enum dg_err err = dg_json_get_string(json, "prompt", DG_JSON_REQUIRED, why, &prompt);
    if (err)
        return err;
    gen->n_characters = dg_utf8_count(prompt);
    if (gen->characters_max && gen->n_characters > gen->characters_max)
        return dg_why_set(why, DG_ERR_LIMIT, "field 'prompt': read %zu characters, expected at most %zu", gen->n_characters,
                          gen->characters_max);
    gen->ask.prompt = dg_arena_copy(&gen->arena, prompt);
    return gen->ask.prompt.ptr ? DG_OK : DG_ERR_NOMEM;
}

static enum dg_err read_stops(struct dg_gen *gen, const struct dg_json *json, struct dg_why *why)
{
    struct dg_span *stops = NULL;
    size_t n = 0;
    bool is_array;
    if (dg_json_type(dg_json_get(json, "stop")) == DG_JSON_NULL)
        return DG_OK;
    enum dg_err err = dg_ask_texts(json, "stop", DG_GENERATE_STOPS_MAX, &gen->arena, why, &stops, &n, &is_array);
    for (size_t i = 0; i < n && !err; i++)
        if (stops[i].len == 0 || stops[i].len > DG_GENERATE_STOP_BYTES)
            err = dg_why_set(why, DG_ERR_INVALID, "field 'stop': text %zu has %zu bytes, expected 1 to %d", i,
                             stops[i].len, DG_GENERATE_STOP_BYTES);
    gen->ask.stops = stops;
    gen->ask.n_stops = n;
    return err;
}

static enum dg_err read_priority(struct dg_gen *gen, const struct dg_json *json, struct dg_why *why)
{
    return dg_ask_priority(json, why, &gen->ask.priority, &gen->has_priority);
}

/* What cannot be together is refused here, where the field's name is known: answers are kept by a beam, or drawn. */
static enum dg_err settle(struct dg_gen *gen, const struct dg_json *json, const char **field, struct dg_why *why)
{
    struct dg_search_opts *search = &gen->ask.search;
    const bool has_beam = dg_json_type(dg_json_get(json, "beam")) == DG_JSON_INT;
    *field = "n";
    if (gen->stream && search->n_best > 1)
        return dg_why_set(why, DG_ERR_INVALID, "field 'n': read %d with 'stream', expected 1", search->n_best);
    if (!search->sample && !has_beam && search->n_best > 1)
        search->beam = search->n_best;
    *field = "beam";
    if (!search->sample && search->n_best > search->beam)
        return dg_why_set(why, DG_ERR_INVALID, "field 'beam': read %d, expected at least 'n', which is %d", search->beam,
                          search->n_best);
    return DG_OK;
}

enum dg_err dg_gen_read(struct dg_gen *gen, const struct dg_json *json, struct dg_failure *failure)
{
    struct dg_why why = DG_WHY_NONE;
    const char *field = "prompt";
    const struct dg_ask_row *row = NULL;
    struct dg_ask_row bounded;
    enum dg_err err = dg_ask_check_names(json, rows, N_ROWS, others, N_OTHERS, &why);
    if (err) {
        *failure = dg_ask_failure(&gen->arena, err, &why, NULL);
        return err;
    }
    for (size_t i = 0; i < N_ROWS && !err; i++) {
        bounded = dg_ask_bound_row(&rows[i], gen->beam_max, 0);
        row = &bounded;
        field = row->name;
        err = dg_ask_read_row(row, json, &gen->arena, &why, gen);
    }
    const struct {
        const char *name;
        enum dg_err (*read)(struct dg_gen *gen, const struct dg_json *json, struct dg_why *why);
    } parts[] = {{"prompt", read_prompt}, {"stop", read_stops}, {"priority", read_priority}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !err; i++) {
        row = NULL;
        field = parts[i].name;
        err = parts[i].read(gen, json, &why);
    }
    if (!err) {
        field = "model";
        err = dg_ask_name(json, "model", &gen->arena, &why, &gen->ask.model);
    }
    if (!err) {
        field = "api_key";
        err = dg_ask_key(json, &gen->arena, &why, &gen->api_key);
    }
    if (!err)
        err = settle(gen, json, &field, &why);
    if (!err)
        return DG_OK;
    *failure = dg_ask_field_failure(&gen->arena, err, &why, field);
    dg_ask_say_limit(failure, err, row, strcmp(field, "prompt") == 0 ? gen->characters_max : DG_GENERATE_STOPS_MAX);
    return err;
}

struct dg_gate_wish dg_gen_wish(struct dg_gen *gen)
{
    gen->gated = (struct dg_engine_request)DG_ENGINE_REQUEST_DEFAULT;
    gen->gated.model = gen->ask.model;
    gen->gated.priority = gen->ask.priority;
    return (struct dg_gate_wish){.key = gen->api_key,
                                 .characters = gen->n_characters,
                                 .request = &gen->gated,
                                 .arena = &gen->arena,
                                 .has_priority = gen->has_priority};
}

/* ---- Under way ------------------------------------------------------------------------------------ */

static enum dg_err put_answer(struct dg_gen *gen, const struct dg_generated *result)
{
    struct dg_json_out out;
    dg_json_out_init(&out, &gen->answer);
    dg_json_out_open(&out, '{');
    dg_json_out_put_string(&out, "text", result->text);
    if (gen->ask.search.n_best > 1) {
        dg_json_out_put_open(&out, "others", '[');
        for (size_t i = 0; i < result->n_others; i++)
            dg_json_out_string(&out, result->others[i]);
        dg_json_out_close(&out, ']');
    }
    dg_json_out_put_cstr(&out, "finish", result->was_stopped ? "stop" : dg_finish_name(result->finish));
    if (result->repaired)
        dg_json_out_put_bool(&out, "repaired", true);
    dg_json_out_put_cstr(&out, "model", result->model);
    dg_json_out_put_open(&out, "usage", '{');
    dg_json_out_put_uint(&out, "characters", gen->n_characters);
    dg_json_out_put_uint(&out, "input_tokens", result->n_tokens_in);
    dg_json_out_put_uint(&out, "output_tokens", result->n_tokens_out);
    dg_json_out_close(&out, '}');
    dg_json_out_put_open(&out, "timing", '{');
    dg_call_put_millis(&out, "queue_ms", result->queue_ns);
    dg_call_put_millis(&out, "first_token_ms", result->first_ns);
    dg_call_put_millis(&out, "total_ms", result->total_ns);
    dg_json_out_close(&out, '}');
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}

static void on_delta(void *ctx, struct dg_span text)
{
    struct dg_gen *gen = ctx;
    if (!gen->listener || !gen->listener->on_delta)
        return;
    gen->n_shown = gen->n_characters;
    gen->listener->on_delta(gen->owner, text);
}

static void on_done(void *ctx, const struct dg_generated *result)
{
    struct dg_gen *gen = ctx;
    gen->is_open = false;
    if (!gen->listener) {
        free_gen(gen);
        return;
    }
    gen->n_tokens_in = result->n_tokens_in;
    gen->n_tokens_out = result->n_tokens_out;
    gen->queue_ns = result->queue_ns;
    gen->total_ns = result->total_ns;
    gen->err = result->err ? result->err : put_answer(gen, result);
    if (result->err && result->why)
        dg_why_set(&gen->why, gen->err, "%s", result->why);
    gen->listener->on_over(gen->owner, gen);
}

static const struct dg_generate_events events_shown = {.on_delta = on_delta, .on_done = on_done};
static const struct dg_generate_events events_whole = {.on_done = on_done};

enum dg_err dg_gen_start(struct dg_gen *gen, const struct dg_gen_listener *listener, void *owner, struct dg_why *why,
                         uint64_t *retry_ms)
{
    gen->ask.only = gen->gated.only;
    gen->ask.n_only = gen->gated.n_only;
    gen->ask.priority = gen->gated.priority;
    gen->ask.client = gen->gated.client;
    gen->listener = listener;
    gen->owner = owner;
    enum dg_err err = dg_engine_generate(gen->engine, &gen->ask, listener->on_delta ? &events_shown : &events_whole, gen,
                                         why, retry_ms, &gen->id);
    gen->is_open = !err;
    return err;
}

struct dg_failure dg_gen_failure(struct dg_gen *gen)
{
    return dg_ask_failure(&gen->arena, gen->err, &gen->why, NULL);
}
