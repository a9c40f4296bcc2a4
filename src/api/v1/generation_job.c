/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A row for each option that is a field of its own (translate_option_rows.h), a function for each
 * of the others. */
#include "api/v1/generation_job.h"
#include "api/http/api_int.h"
#include "api/v1/translate_option_rows.h"
#include "api/v1/translate_options.h"
#include "base/json/json_out.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"

#include <stddef.h>

enum { ANSWER_MAX = 512 << 20, MAX_TOKENS_USUAL = 128 };

#define SEARCH(field) offsetof(struct dg_generation_job, options.search.field)

static const struct dg_translate_options_row rows[] = {
    DG_TRANSLATE_OPTIONS_SEARCH_ROWS(SEARCH),
    {"max_tokens", DG_TRANSLATE_OPTIONS_INT, SEARCH(max_len), 0, DG_TARGET_MAX},
    {"min_tokens", DG_TRANSLATE_OPTIONS_INT, SEARCH(min_len), 0, DG_TARGET_MAX},
    {"n", DG_TRANSLATE_OPTIONS_INT, SEARCH(n_best), 1, DG_BEAM_MAX},
    {"special_tokens", DG_TRANSLATE_OPTIONS_BOOL,
     offsetof(struct dg_generation_job, options.reads_special), 0, 0},
    {"timeout_ms", DG_TRANSLATE_OPTIONS_UINT,
     offsetof(struct dg_generation_job, options.timeout_ms), 1,
     DG_TRANSLATE_OPTIONS_TIMEOUT_MS_MAX},
    {"stream", DG_TRANSLATE_OPTIONS_BOOL, offsetof(struct dg_generation_job, stream), 0, 0},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static const char *const others[] = {"prompt",  "model", "stop", "priority",
                                     "api_key", "type",  "id",   "last_event_id"};
enum { N_OTHERS = sizeof others / sizeof *others };

/* ---- Life ------------------------------------------------------------------------------------ */

enum dg_err dg_generation_job_new(struct dg_api *api, size_t body_len,
                                  struct dg_generation_job **out)
{
    struct dg_generation_job *generation = dg_try_calloc(1, sizeof *generation);
    if (!generation)
        return DG_ERR_NOMEM;
    generation->engine = api->engine;
    generation->characters_max = api->opts.characters_max;
    generation->beam_max = api->opts.beam_max;
    generation->options = (struct dg_generate)DG_GENERATE_DEFAULT;
    generation->options.search.max_len = MAX_TOKENS_USUAL;
    generation->options.search.loop_guard = false; /* the answer is what the model says, even if it
                                                      repeats itself */
    dg_arena_init(&generation->arena, body_len * 2 + (1 << 20));
    dg_buf_init(&generation->answer, ANSWER_MAX);
    dg_list_link_last(&api->generations, &generation->link);
    *out = generation;
    return DG_OK;
}

static void free_gen(struct dg_generation_job *generation)
{
    dg_list_unlink(&generation->link);
    dg_buf_deinit(&generation->answer);
    dg_arena_deinit(&generation->arena);
    dg_free(generation);
}

void dg_generation_job_free_all(struct dg_list *all)
{
    while (!dg_list_is_empty(all))
        free_gen(DG_LIST_ITEM(all->next, struct dg_generation_job, link));
}

void dg_generation_job_drop(struct dg_generation_job *generation)
{
    if (!generation)
        return;
    generation->listener = NULL;
    if (generation->is_open)
        dg_engine_cancel(generation->engine, generation->id);
    else
        free_gen(generation);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static enum dg_err read_prompt(struct dg_generation_job *generation, const struct dg_json *json,
                               struct dg_error *error)
{
    struct dg_span prompt = {.ptr = "", .len = 0};
    enum dg_err err = dg_json_get_string(json, "prompt", DG_JSON_REQUIRED, error, &prompt);
    if (err)
        return err;
    generation->n_characters = dg_utf8_count(prompt);
    if (generation->characters_max && generation->n_characters > generation->characters_max)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "field 'prompt': read %zu characters, expected at most %zu",
                            generation->n_characters, generation->characters_max);
    generation->options.prompt = dg_arena_copy(&generation->arena, prompt);
    return generation->options.prompt.ptr ? DG_OK : DG_ERR_NOMEM;
}

static enum dg_err read_stops(struct dg_generation_job *generation, const struct dg_json *json,
                              struct dg_error *error)
{
    struct dg_span *stops = NULL;
    size_t n = 0;
    bool is_array;
    if (dg_json_type(dg_json_get(json, "stop")) == DG_JSON_NULL)
        return DG_OK;
    enum dg_err err = dg_translate_options_texts(json, "stop", DG_GENERATE_STOPS_MAX,
                                                 &generation->arena, error, &stops, &n, &is_array);
    for (size_t i = 0; i < n && !err; i++)
        if (stops[i].len == 0 || stops[i].len > DG_GENERATE_STOP_BYTES)
            err = dg_error_set(error, DG_ERR_INVALID,
                               "field 'stop': text %zu has %zu bytes, expected 1 to %d", i,
                               stops[i].len, DG_GENERATE_STOP_BYTES);
    generation->options.stops = stops;
    generation->options.n_stops = n;
    return err;
}

static enum dg_err read_priority(struct dg_generation_job *generation, const struct dg_json *json,
                                 struct dg_error *error)
{
    return dg_translate_options_priority(json, error, &generation->options.priority,
                                         &generation->has_priority);
}

/* Options that exclude each other are refused here, where the field's name is known: answers
 * come either from a beam or from draws. */
static enum dg_err settle(struct dg_generation_job *generation, const struct dg_json *json,
                          const char **field, struct dg_error *error)
{
    struct dg_search_opts *search = &generation->options.search;
    const bool has_beam = dg_json_type(dg_json_get(json, "beam")) == DG_JSON_INT;
    *field = "n";
    if (generation->stream && search->n_best > 1)
        return dg_error_set(error, DG_ERR_INVALID, "field 'n': read %d with 'stream', expected 1",
                            search->n_best);
    if (!search->sample && !has_beam && search->n_best > 1)
        search->beam = search->n_best;
    *field = "beam";
    if (!search->sample && search->n_best > search->beam)
        return dg_error_set(error, DG_ERR_INVALID,
                            "field 'beam': read %d, expected at least 'n', which is %d",
                            search->beam, search->n_best);
    return DG_OK;
}

enum dg_err dg_generation_job_read(struct dg_generation_job *generation, const struct dg_json *json,
                                   struct dg_failure *failure)
{
    struct dg_error error = DG_ERROR_NONE;
    const char *field = "prompt";
    const struct dg_translate_options_row *row = NULL;
    struct dg_translate_options_row bounded;
    enum dg_err err =
        dg_translate_options_check_names(json, rows, N_ROWS, others, N_OTHERS, &error, &field);
    if (err) {
        *failure = dg_translate_options_failure(&generation->arena, err, &error, field);
        return err;
    }
    for (size_t i = 0; i < N_ROWS && !err; i++) {
        bounded = dg_translate_options_bound_row(&rows[i], generation->beam_max, 0);
        row = &bounded;
        field = row->name;
        err = dg_translate_options_read_row(row, json, &generation->arena, &error, generation);
    }
    const struct {
        const char *name;
        enum dg_err (*read)(struct dg_generation_job *generation, const struct dg_json *json,
                            struct dg_error *error);
    } parts[] = {{"prompt", read_prompt}, {"stop", read_stops}, {"priority", read_priority}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !err; i++) {
        row = NULL;
        field = parts[i].name;
        err = parts[i].read(generation, json, &error);
    }
    if (!err) {
        field = "model";
        err = dg_translate_options_name(json, "model", &generation->arena, &error,
                                        &generation->options.model);
    }
    if (!err) {
        field = "api_key";
        err = dg_translate_options_key(json, &generation->arena, &error, &generation->api_key);
    }
    if (!err) {
        field = "last_event_id";
        err = dg_translate_options_last_event_id(json, &generation->arena, &error,
                                                 &generation->last_event_id);
    }
    if (!err)
        err = settle(generation, json, &field, &error);
    if (!err)
        return DG_OK;
    *failure = dg_translate_options_field_failure(&generation->arena, err, &error, field);
    dg_translate_options_say_limit(failure, err, row,
                                   strcmp(field, "prompt") == 0 ? generation->characters_max
                                                                : DG_GENERATE_STOPS_MAX);
    return err;
}

struct dg_gate_wish dg_generation_job_wish(struct dg_generation_job *generation)
{
    generation->gated = (struct dg_engine_request)DG_ENGINE_REQUEST_DEFAULT;
    generation->gated.model = generation->options.model;
    generation->gated.priority = generation->options.priority;
    return (struct dg_gate_wish){.key = generation->api_key,
                                 .characters = generation->n_characters,
                                 .request = &generation->gated,
                                 .arena = &generation->arena,
                                 .has_priority = generation->has_priority};
}

/* ---- Under way ------------------------------------------------------------------------------- */

static enum dg_err put_answer(struct dg_generation_job *generation,
                              const struct dg_generated *result)
{
    struct dg_json_out out;
    dg_json_out_init(&out, &generation->answer);
    dg_json_out_open(&out, '{');
    dg_json_out_put_string(&out, "text", result->text);
    if (generation->options.search.n_best > 1) {
        dg_json_out_put_open(&out, "others", '[');
        for (size_t i = 0; i < result->n_others; i++)
            dg_json_out_string(&out, result->others[i]);
        dg_json_out_close(&out, ']');
    }
    dg_json_out_put_cstr(&out, "finish",
                         result->was_stopped ? "stop" : dg_finish_name(result->finish));
    if (result->repaired)
        dg_json_out_put_bool(&out, "repaired", true);
    dg_json_out_put_cstr(&out, "model", result->model);
    dg_json_out_put_open(&out, "usage", '{');
    dg_json_out_put_uint(&out, "characters", generation->n_characters);
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
    struct dg_generation_job *generation = ctx;
    if (!generation->listener || !generation->listener->on_delta)
        return;
    generation->n_shown = generation->n_characters;
    generation->listener->on_delta(generation->owner, text);
}

static void on_generation_done(void *ctx, const struct dg_generated *result)
{
    struct dg_generation_job *generation = ctx;
    generation->is_open = false;
    if (!generation->listener) {
        free_gen(generation);
        return;
    }
    generation->n_tokens_in = result->n_tokens_in;
    generation->n_tokens_out = result->n_tokens_out;
    generation->queue_ns = result->queue_ns;
    generation->total_ns = result->total_ns;
    generation->err = result->err ? result->err : put_answer(generation, result);
    if (result->err && result->error)
        dg_error_set(&generation->error, generation->err, "%s", result->error);
    generation->listener->on_over(generation->owner, generation);
}

static const struct dg_generate_events events_shown = {.on_delta = on_delta,
                                                       .on_done = on_generation_done};
static const struct dg_generate_events events_whole = {.on_done = on_generation_done};

enum dg_err dg_generation_job_start(struct dg_generation_job *generation,
                                    const struct dg_generation_job_listener *listener, void *owner,
                                    struct dg_error *error, uint64_t *retry_ms)
{
    generation->options.only = generation->gated.only;
    generation->options.n_only = generation->gated.n_only;
    generation->options.priority = generation->gated.priority;
    generation->options.client = generation->gated.client;
    generation->listener = listener;
    generation->owner = owner;
    enum dg_err err = dg_engine_generate(generation->engine, &generation->options,
                                         listener->on_delta ? &events_shown : &events_whole,
                                         generation, error, retry_ms, &generation->id);
    generation->is_open = !err;
    return err;
}

struct dg_failure dg_generation_job_failure(struct dg_generation_job *generation)
{
    return dg_translate_options_failure(&generation->arena, generation->err, &generation->error,
                                        NULL);
}
