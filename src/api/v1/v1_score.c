/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /v1/score: how likely a model finds given translations.
 *
 *     {"text": "Le chat dort.", "translation": "The cat sleeps.", "source": "fr", "target": "en"}
 *     {"scores":[{"logprob":-1.94,"score":-0.32,"tokens":[...] when asked for}],"model":"fr-en",
 *      "usage":{"characters":13,"input_tokens":6,"output_tokens":6},"timing":{"total_ms":4.1}}
 * With "attention" each score also has the attention of every token of the translation. Arrays of
 * the same length score many pairs. The work is done by a thread of its own (dg_api_set_threads),
 * one request after the other; a client that leaves ends its request after the pair under way. */
#include "api/http/api_int.h"
#include "api/http/work.h"
#include "api/v1/translate_options.h"
#include "base/json/json_out.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "engine/scoring.h"

#include <math.h>
#include <stdatomic.h>

enum { ANSWER_MAX = 256 << 20, ANSWER_LEAST = 64 << 10, JSON_VALUES_MAX = 200 * 1000 };

struct score_work {
    struct dg_work work;
    struct dg_offload_task task;
    struct dg_list link; /* linked in api->scorings */
    struct dg_arena arena;
    struct dg_span *texts, *translations; /* [n] */
    size_t n;
    bool want_tokens, want_attention;
    int64_t attention_layer, attention_head;
    double length_penalty; /* below 0: the model's own value */
    struct dg_engine_request request;
    struct dg_span api_key;
    struct dg_scoring *scoring;
    uint64_t waits; /* the engine's id of the request that waits for the model; 0: none */
    atomic_bool is_cancelled;
    atomic_size_t answer_bytes; /* bytes of `json`, updated by the thread after each pair */
    size_t texts_bytes;         /* bytes of the arena once the texts are read */
    size_t held;                /* bytes taken from the api's buffers */
    /* The result. */
    struct dg_buf json;
    struct dg_json_out out;
    enum dg_err err;
    struct dg_error error;
    size_t n_source, n_target, n_characters;
};

static void free_work(struct dg_work *owner)
{
    struct score_work *work = (struct score_work *)owner;
    dg_list_unlink(&work->link);
    dg_allowance_hold(owner->api->opts.buffers, &work->held, 0);
    dg_scoring_close(work->scoring);
    dg_buf_deinit(&work->json);
    dg_arena_deinit(&work->arena);
    dg_free(work);
}

static struct score_work *work_of(struct dg_offload_task *task)
{
    return DG_LIST_ITEM(task, struct score_work, task);
}

/* ---- On the thread --------------------------------------------------------------------------- */

static void put_range(struct dg_json_out *out, const struct dg_score_token *token)
{
    dg_json_out_put_uint(out, "start", token->begin);
    dg_json_out_put_uint(out, "length", token->end - token->begin);
}

static void put_tokens(struct score_work *work, const struct dg_score *score)
{
    struct dg_json_out *out = &work->out;
    dg_json_out_put_open(out, "tokens", '[');
    for (size_t i = 0; i < score->n_target; i++) {
        dg_json_out_open(out, '{');
        dg_json_out_put_int(out, "id", score->target[i].id);
        dg_json_out_put_string(out, "piece", dg_scoring_piece(work->scoring, score->target[i].id));
        put_range(out, &score->target[i]);
        dg_json_out_put_real(out, "logprob", (double)score->logprobs[i], 6);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
}

static void put_attention(struct score_work *work, const struct dg_score *score)
{
    struct dg_json_out *out = &work->out;
    dg_json_out_put_open(out, "source_tokens", '[');
    for (size_t s = 0; s < score->n_source; s++) {
        dg_json_out_open(out, '{');
        put_range(out, &score->source[s]);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
    dg_json_out_put_open(out, "attention", '[');
    for (size_t t = 0; t < score->n_target; t++) {
        dg_json_out_open(out, '[');
        for (size_t s = 0; s < score->n_source; s++)
            dg_json_out_real(out, (double)score->attention[t * score->n_source + s], 4);
        dg_json_out_close(out, ']');
    }
    dg_json_out_close(out, ']');
}

static enum dg_err score_pair(struct score_work *work, size_t i)
{
    struct dg_score score;
    enum dg_err err =
        dg_scoring_run(work->scoring, work->texts[i], work->translations[i], &score, &work->error);
    if (err)
        return err;
    dg_json_out_open(&work->out, '{');
    dg_json_out_put_real(&work->out, "logprob", score.logprob, 8);
    const double penalty = work->length_penalty < 0 ? score.length_penalty : work->length_penalty;
    dg_json_out_put_real(&work->out, "score", score.logprob / pow((double)score.n_target, penalty),
                         8);
    if (work->want_tokens)
        put_tokens(work, &score);
    if (score.attention)
        put_attention(work, &score);
    dg_json_out_close(&work->out, '}');
    work->n_source += score.n_source;
    work->n_target += score.n_target;
    work->n_characters += dg_utf8_count(work->texts[i]);
    return work->out.err;
}

/* Fails a request because there is no room for its answer. How much room there is depends on what
 * others use. */
static void tell_full(struct score_work *work)
{
    if (work->err == DG_ERR_LIMIT && work->json.max < ANSWER_MAX)
        work->err = dg_error_set(&work->error, DG_ERR_BUSY,
                                 "the answer takes more than the %zu bytes of memory that are left "
                                 "(memory-limit); ask for fewer pairs, or try again later",
                                 work->json.max);
}

static void run_scoring(struct dg_offload_task *task)
{
    struct score_work *work = work_of(task);
    dg_json_out_init(&work->out, &work->json);
    dg_json_out_open(&work->out, '{');
    dg_json_out_put_open(&work->out, "scores", '[');
    for (size_t i = 0; i < work->n && !work->err; i++) {
        work->err = atomic_load(&work->is_cancelled) ? DG_ERR_CANCELLED : score_pair(work, i);
        atomic_store(&work->answer_bytes, work->json.cap);
        tell_full(work);
        if (work->err && work->n > 1)
            dg_error_wrap(&work->error, work->err, "pair %zu", i);
    }
    dg_json_out_close(&work->out, ']');
}

/* ---- On the loop ----------------------------------------------------------------------------- */

static void put_totals(struct score_work *work, uint64_t ns)
{
    struct dg_json_out *out = &work->out;
    dg_json_out_put_cstr(out, "model", dg_scoring_model(work->scoring));
    if (work->want_attention) {
        size_t n_layers, n_heads;
        dg_scoring_shape(work->scoring, &n_layers, &n_heads);
        dg_json_out_put_uint(out, "layers", n_layers);
        dg_json_out_put_uint(out, "heads", n_heads);
    }
    dg_json_out_put_open(out, "usage", '{');
    dg_json_out_put_uint(out, "characters", work->n_characters);
    dg_json_out_put_uint(out, "input_tokens", work->n_source);
    dg_json_out_put_uint(out, "output_tokens", work->n_target);
    dg_json_out_close(out, '}');
    dg_json_out_put_open(out, "timing", '{');
    dg_json_out_put_real(out, "total_ms", (double)(ns / 1000) / 1000.0, 9);
    dg_json_out_close(out, '}');
    dg_json_out_close(out, '}');
}

static void on_scoring_done(struct dg_offload_task *task)
{
    struct score_work *work = work_of(task);
    struct dg_call *call = work->work.call;
    if (!call) {
        dg_work_end(&work->work);
        return;
    }
    uint64_t ns = dg_clock_now(&call->api->clock) - call->started_ns;
    call->tokens_in = work->n_source;
    call->tokens_out = work->n_target;
    call->compute_us = ns / 1000;
    if (!work->err) {
        put_totals(work, ns);
        work->err = dg_json_out_end(&work->out);
        tell_full(work);
    }
    if (work->err)
        dg_work_fail(&work->work,
                     dg_translate_options_failure(&work->arena, work->err, &work->error,
                                                  work->err == DG_ERR_RANGE ? "text" : NULL));
    else
        dg_work_give(&work->work, &work->json);
}

/* Counts the texts and the answers of all that wait or are under way. */
static void count_buffers(struct score_work *work)
{
    dg_allowance_hold(work->work.api->opts.buffers, &work->held,
                      work->texts_bytes + atomic_load(&work->answer_bytes));
}

void dg_api_count_scorings(struct dg_api *api)
{
    for (struct dg_list *at = api->scorings.next; at != &api->scorings; at = at->next)
        count_buffers(DG_LIST_ITEM(at, struct score_work, link));
}

static void cancel(struct score_work *work)
{
    atomic_store(&work->is_cancelled, true);
    if (work->waits)
        dg_engine_cancel(work->work.api->engine, work->waits);
}

static void leave(struct dg_work *work)
{
    cancel((struct score_work *)work);
}

void dg_api_stop_scoring(struct dg_api *api)
{
    for (struct dg_list *at = api->scorings.next; at != &api->scorings; at = at->next)
        cancel(DG_LIST_ITEM(at, struct score_work, link));
}

/* ---- The request ----------------------------------------------------------------------------- */

/* Reads true, or {"layer": from 1, "head": from 1}. */
static enum dg_err read_attention(const struct dg_json *json, struct score_work *work,
                                  struct dg_error *error)
{
    static const char *const fields[] = {"layer", "head", NULL};
    switch (dg_json_type(json)) {
    case DG_JSON_NULL:
        return DG_OK;
    case DG_JSON_BOOL:
        return dg_json_bool(json, DG_SPAN("attention"), error, &work->want_attention);
    case DG_JSON_OBJECT:
        break;
    default:
        return dg_error_set(error, DG_ERR_INVALID,
                            "field 'attention': read %s, expected true or an object",
                            dg_json_type_name(dg_json_type(json)));
    }
    work->want_attention = true;
    enum dg_err err = dg_json_check_fields(json, fields, error, NULL);
    if (!err)
        err = dg_json_get_int(json, "layer", DG_JSON_OPTIONAL, 0, 1000, error,
                              &work->attention_layer);
    if (!err)
        err =
            dg_json_get_int(json, "head", DG_JSON_OPTIONAL, 0, 1000, error, &work->attention_head);
    return err;
}

static enum dg_err read_fields(const struct dg_json *json, struct score_work *work, size_t max,
                               struct dg_error *error, const char **field)
{
    static const char *const fields[] = {"text",    "translation", "model",          "source",
                                         "target",  "tokens",      "length_penalty", "attention",
                                         "api_key", NULL};
    struct dg_engine_request *request = &work->request;
    struct dg_arena *arena = &work->arena;
    size_t n_translations = 0;
    bool is_array, is_other;
    enum dg_err err = dg_json_check_fields(json, fields, error, field);
    if (!err)
        err = dg_translate_options_name(json, *field = "model", arena, error, &request->model);
    if (!err)
        err = dg_translate_options_name(json, *field = "source", arena, error, &request->source);
    if (!err)
        err = dg_translate_options_name(json, *field = "target", arena, error, &request->target);
    if (!err) {
        *field = "api_key";
        err = dg_translate_options_key(json, arena, error, &work->api_key);
    }
    if (!err)
        err =
            dg_json_get_bool(json, *field = "tokens", DG_JSON_OPTIONAL, error, &work->want_tokens);
    if (!err)
        err = dg_json_get_real(json, *field = "length_penalty", DG_JSON_OPTIONAL, 0, 10, error,
                               &work->length_penalty);
    if (!err)
        err = read_attention(dg_json_get(json, *field = "attention"), work, error);
    if (!err)
        err = dg_translate_options_texts(json, *field = "text", max, arena, error, &work->texts,
                                         &work->n, &is_array);
    if (!err)
        err = dg_translate_options_texts(json, *field = "translation", max, arena, error,
                                         &work->translations, &n_translations, &is_other);
    if (!err && work->n != n_translations)
        err =
            dg_error_set(error, DG_ERR_INVALID,
                         "field 'translation': read %zu texts, expected %zu, as many as 'text' has",
                         n_translations, work->n);
    if (!err && !request->model && !request->target) {
        *field = "target";
        err = dg_error_set(error, DG_ERR_NOT_FOUND, "either 'target' or 'model' is needed");
    }
    return err;
}

static enum dg_err read_request(struct dg_work *owner, const struct dg_api *api,
                                struct dg_span body, struct dg_failure *failure)
{
    struct score_work *work = (struct score_work *)owner;
    struct dg_error error = DG_ERROR_NONE;
    const char *field = NULL;
    struct dg_json *json;
    enum dg_err err =
        dg_translate_options_parse(body, JSON_VALUES_MAX, &work->arena, failure, &json);
    if (err)
        return err;
    err = read_fields(json, work, api->opts.texts_max, &error, &field);
    if (err)
        *failure = dg_translate_options_field_failure(&work->arena, err, &error, field);
    else
        owner->wish = (struct dg_gate_wish){
            .key = work->api_key,
            .characters = dg_translate_options_characters(work->texts, work->n) +
                          dg_translate_options_characters(work->translations, work->n),
            .request = &work->request,
            .arena = &work->arena};
    dg_json_free(json);
    return err;
}

static enum dg_err begin(struct dg_work *owner, struct dg_failure *failure);

/* Called when the model is loaded, or cannot be. */
static void on_model(void *owner, const struct dg_engine_result *result)
{
    struct score_work *work = owner;
    struct dg_failure failure;
    enum dg_err err = result->err;
    work->waits = 0;
    if (!work->work.call) {
        dg_work_end(&work->work);
        return;
    }
    if (err) {
        dg_error_set(&work->error, err, "%s", result->error ? result->error : dg_err_sentence(err));
        failure = dg_translate_options_failure(&work->arena, err, &work->error, NULL);
    } else {
        err = begin(&work->work, &failure);
    }
    if (err)
        dg_work_fail(&work->work, failure);
}

static const struct dg_engine_events on_model_events = {.on_done = on_model};

/* Hands the work to the thread, or waits for its model first. */
static enum dg_err begin(struct dg_work *owner, struct dg_failure *failure)
{
    struct score_work *work = (struct score_work *)owner;
    struct dg_api *api = owner->api;
    struct dg_error error = DG_ERROR_NONE;
    work->texts_bytes = work->arena.used;
    count_buffers(work);
    /* Only one answer is made at a time, and it leaves memory for other things. */
    const size_t left = dg_allowance_left(api->opts.buffers) / 2;
    if (left < ANSWER_MAX)
        work->json.max = left > ANSWER_LEAST ? left : ANSWER_LEAST;
    work->request.text = work->texts[0];
    enum dg_err err = dg_scoring_open(&work->scoring, api->engine, &work->request, &error);
    const char *field = NULL;
    if (err == DG_ERR_BUSY) {
        err = dg_scoring_await(api->engine, &work->request, &on_model_events, work, &error,
                               &work->waits);
        if (!err)
            return DG_OK;
    }
    if (!err && work->want_attention) {
        field = "attention";
        err = dg_scoring_want_attention(work->scoring, (size_t)work->attention_layer,
                                        (size_t)work->attention_head, &error);
    }
    if (!err) {
        field = NULL;
        err = dg_offload_submit(api->threads, &work->task, run_scoring, on_scoring_done);
        if (err == DG_ERR_BUSY)
            err = dg_error_set(&error, err,
                               "too many requests are waiting to be scored; try again later");
    }
    if (err)
        *failure = dg_translate_options_failure(&work->arena, err, &error, field);
    return err;
}

static const struct dg_work_ops ops = {
    .read = read_request, .start = begin, .leave = leave, .free = free_work};

void dg_api_v1_score(struct dg_call *call)
{
    if (!call->api->engine || !call->api->threads) {
        dg_call_no_model(call);
        return;
    }
    struct score_work *work = dg_try_calloc(1, sizeof *work);
    if (!work) {
        dg_call_no_memory(call);
        return;
    }
    work->request = (struct dg_engine_request)DG_ENGINE_REQUEST_DEFAULT;
    work->length_penalty = -1;
    dg_list_link_last(&call->api->scorings, &work->link);
    dg_arena_init(&work->arena, call->req->body.len * 2 + (1 << 20));
    dg_buf_init(&work->json, ANSWER_MAX);
    dg_work_run(call, &work->work, &ops);
}
