/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /v1/fill, /v1/classify, /v1/tag, /v1/answer, /v1/embed: readings of texts
 * (engine/read/read.h).
 *
 *     {"text": "Paris is in [MASK].", "top": 3}
 *     {"results":[{"masks":[{"start":12,"length":6,"words":[{"word":"france","piece":"france","id":9,"score":0.61},
 * ...]}]}],
 *      "model":"bert","usage":{"characters":19,"input_tokens":8},"timing":{"queue_ms":0.1,"total_ms":4.2}}
 * All five take texts and answer an array of results in their order; the tables below say where
 * they differ. Results are written as the engine reports them, a few at a time, so that no turn of
 * the loop is long. */
#include "api/http/api_int.h"
#include "api/http/work.h"
#include "api/v1/translate_option_rows.h"
#include "api/v1/translate_options.h"
#include "base/json/json_out.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "engine/engine.h"
#include "engine/read/read.h"
#include "engine/read/reading_json.h"

#include <string.h>

enum { ANSWER_MAX = 64 << 20, JSON_VALUES_MAX = 100 * 1000, CHARACTERS = 1 };

struct read_work {
    struct dg_work work;
    struct dg_list link; /* linked in api->readings */
    struct dg_arena arena;
    struct dg_engine_read options;
    struct dg_engine_item *items;
    struct dg_engine_request gated; /* what the gate decided about models and priority */
    struct dg_span api_key;
    bool has_priority;
    int offsets; /* what offsets count; 0: bytes, CHARACTERS: code points */
    uint64_t id;
    struct dg_buf json;
    struct dg_json_out out;
};

/* ---- Life ------------------------------------------------------------------------------------ */

static void free_work(struct read_work *work)
{
    dg_list_unlink(&work->link);
    dg_buf_deinit(&work->json);
    dg_arena_deinit(&work->arena);
    dg_free(work);
}

void dg_api_free_readings(struct dg_list *all)
{
    while (!dg_list_is_empty(all))
        free_work(DG_LIST_ITEM(all->next, struct read_work, link));
}

static void drop(struct dg_work *work)
{
    free_work((struct read_work *)work);
}

static void leave(struct dg_work *work)
{
    /* when the engine reports its end, the work is freed */
    dg_engine_cancel(work->api->engine, ((struct read_work *)work)->id);
}

/* ---- What is said ---------------------------------------------------------------------------- */

static void on_said(void *ctx, size_t i, const struct dg_reading_result *said)
{
    struct read_work *work = ctx;
    if (work->work.call)
        dg_reading_json(&work->out, work->options.task, &work->items[i], said,
                        work->offsets == CHARACTERS);
}

static enum dg_err put_totals(struct read_work *work, const struct dg_engine_read_result *result)
{
    struct dg_json_out *out = &work->out;
    dg_json_out_close(out, ']');
    dg_json_out_put_cstr(out, "model", result->model);
    dg_json_out_put_open(out, "usage", '{');
    dg_json_out_put_uint(out, "characters", result->n_characters);
    dg_json_out_put_uint(out, "input_tokens", result->n_tokens);
    dg_json_out_close(out, '}');
    dg_json_out_put_open(out, "timing", '{');
    dg_call_put_millis(out, "queue_ms", result->queue_ns);
    dg_call_put_millis(out, "total_ms", result->total_ns);
    dg_json_out_close(out, '}');
    dg_json_out_close(out, '}');
    return dg_json_out_end(out);
}

static bool is_of_texts(enum dg_err err)
{
    return err == DG_ERR_RANGE || err == DG_ERR_INVALID || err == DG_ERR_LIMIT;
}

static void on_reading_done(void *ctx, const struct dg_engine_read_result *result)
{
    struct read_work *work = ctx;
    struct dg_error error = DG_ERROR_NONE;
    enum dg_err err = result->err;
    if (!work->work.call) {
        free_work(work);
        return;
    }
    dg_call_took(work->work.call, result->n_tokens, 0, result->queue_ns, result->total_ns);
    if (err)
        dg_error_set(&error, err, "%s", result->error ? result->error : dg_err_sentence(err));
    else
        err = put_totals(work, result);
    if (err == DG_ERR_LIMIT && !result->err)
        dg_error_set(&error, err, "the answer has more than %d bytes: send fewer texts at a time",
                     ANSWER_MAX);
    if (err)
        dg_work_fail(&work->work, dg_translate_options_failure(&work->arena, err, &error,
                                                               is_of_texts(err) ? "text" : NULL));
    else
        dg_work_give(&work->work, &work->json);
}

static const struct dg_engine_read_events events = {on_said, on_reading_done};

/* ---- The request ----------------------------------------------------------------------------- */

enum type { INT, BOOL, CHOICE, SHARE };

static const char *const poolings[] = {"mean", "cls", NULL};
static const char *const offset_words[] = {"bytes", "characters", NULL};

#define TASK(name) (1u << DG_TASK_##name)

enum { PARTS = 1000000 }; /* a SHARE is a number from 0 to 1, kept as this many parts of one */

/* Options of some tasks. */
static const struct row {
    const char *name;
    unsigned tasks;
    enum type type;
    int64_t min, max, usual;
    const char *const *choices;
} rows[] = {
    {"top", TASK(FILL), INT, 1, DG_READING_RESULT_BEST_MAX, 5, NULL},
    {"top", TASK(CLASSIFY), INT, 1, DG_READING_RESULT_LABELS_MAX, 0, NULL},
    {"top", TASK(ANSWER), INT, 1, DG_READING_RESULT_ANSWERS_MAX, 1, NULL},
    {"threshold", TASK(CLASSIFY) | TASK(TAG), SHARE, 0, PARTS, 0, NULL},
    {"max_tokens", TASK(ANSWER), INT, 1, DG_ANSWER_LEN_MAX, 30, NULL},
    {"pooling", TASK(EMBED), CHOICE, 0, 0, 0, poolings},
    {"normalize", TASK(EMBED), BOOL, 0, 0, 1, NULL},
    {"offsets", TASK(FILL) | TASK(TAG) | TASK(ANSWER), CHOICE, 0, 0, 0, offset_words},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static enum dg_err read_row(const struct row *row, const struct dg_json *json,
                            struct dg_error *error, int64_t *value)
{
    enum dg_err err = DG_OK;
    bool flag = row->usual != 0;
    int choice = (int)row->usual;
    double share = 0.0;
    *value = row->usual;
    if (dg_json_type(dg_json_get(json, row->name)) == DG_JSON_NULL)
        return DG_OK;
    switch (row->type) {
    case INT:
        return dg_json_get_int(json, row->name, DG_JSON_OPTIONAL, row->min, row->max, error, value);
    case BOOL:
        err = dg_json_get_bool(json, row->name, DG_JSON_OPTIONAL, error, &flag);
        *value = flag;
        return err;
    case CHOICE:
        err = dg_json_get_choice(json, row->name, DG_JSON_OPTIONAL, row->choices, error, &choice);
        *value = choice;
        return err;
    case SHARE:
        err = dg_json_get_real(json, row->name, DG_JSON_OPTIONAL, 0.0, 1.0, error, &share);
        *value = (int64_t)(share * PARTS + 0.5);
        return err;
    }
    return err;
}

static void take_row(struct read_work *work, const struct row *row, int64_t value)
{
    if (strcmp(row->name, "top") == 0)
        work->options.n_best = (size_t)value;
    else if (strcmp(row->name, "threshold") == 0)
        work->options.threshold = (float)value / (float)PARTS;
    else if (strcmp(row->name, "max_tokens") == 0)
        work->options.answer_len = (size_t)value;
    else if (strcmp(row->name, "pooling") == 0)
        work->options.first = value == 1;
    else if (strcmp(row->name, "normalize") == 0)
        work->options.as_it_is = value == 0;
    else
        work->offsets = (int)value;
}

static enum dg_err check_names(const struct read_work *work, const struct dg_json *json,
                               struct dg_error *error, const char **field)
{
    static const char *const common[] = {"model", "priority", "timeout_ms", "api_key"};
    const enum dg_read_task task = work->options.task;
    const char *known[N_ROWS + 8] = {NULL};
    size_t n = 0;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        known[n++] = common[i];
    known[n++] = task == DG_TASK_ANSWER ? "question" : "text";
    if (task == DG_TASK_ANSWER || task == DG_TASK_CLASSIFY)
        known[n++] = task == DG_TASK_ANSWER ? "context" : "pair";
    for (size_t i = 0; i < N_ROWS; i++)
        if (rows[i].tasks & 1u << task)
            known[n++] = rows[i].name;
    return dg_json_check_fields(json, known, error, field);
}

static enum dg_err check_lengths(const struct read_work *work, const struct dg_span *texts,
                                 size_t n, const char *field, struct dg_failure *failure,
                                 struct dg_error *error)
{
    const size_t most = work->work.api->opts.characters_max;
    for (size_t i = 0; i < n && most; i++) {
        const size_t n_characters = dg_utf8_count(texts[i]);
        if (n_characters <= most)
            continue;
        failure->has_limit = true;
        failure->limit = (int64_t)most;
        return dg_error_set(error, DG_ERR_LIMIT,
                            "field '%s': text %zu has %zu characters, expected at most %zu", field,
                            i, n_characters, most);
    }
    return DG_OK;
}

/* Reads the texts, and what goes with each: one context may serve several questions. */
static enum dg_err read_items(struct read_work *work, const struct dg_json *json,
                              const char **field, struct dg_failure *failure,
                              struct dg_error *error)
{
    const bool answers = work->options.task == DG_TASK_ANSWER;
    const char *first = answers ? "question" : "text", *second = answers ? "context" : "pair";
    const size_t max = work->work.api->opts.texts_max;
    const bool has_pair = answers || (work->options.task == DG_TASK_CLASSIFY &&
                                      dg_json_type(dg_json_get(json, second)) != DG_JSON_NULL);
    struct dg_span *texts = NULL, *pairs = NULL;
    size_t n = 0, n_pairs = 0;
    bool is_array, is_other = false;
    enum dg_err err = dg_translate_options_texts(json, *field = first, max, &work->arena, error,
                                                 &texts, &n, &is_array);
    if (!err)
        err = check_lengths(work, texts, n, first, failure, error);
    if (!err && has_pair)
        err = dg_translate_options_texts(json, *field = second, max, &work->arena, error, &pairs,
                                         &n_pairs, &is_other);
    if (!err && has_pair)
        err = check_lengths(work, pairs, n_pairs, second, failure, error);
    const bool is_shared = answers && !is_other && n_pairs == 1;
    if (!err && has_pair && n_pairs != n && !is_shared)
        err = dg_error_set(error, DG_ERR_INVALID,
                           "field '%s': read %zu texts, expected %zu, as many as '%s' has", second,
                           n_pairs, n, first);
    if (err)
        return err;
    work->items = dg_arena_calloc(&work->arena, n + 1, sizeof *work->items);
    if (!work->items)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        work->items[i] =
            (struct dg_engine_item){.text = texts[i],
                                    .pair = has_pair ? pairs[is_shared ? 0 : i] : DG_SPAN(""),
                                    .has_pair = has_pair};
    work->options.items = work->items;
    work->options.n_items = n;
    return DG_OK;
}

static enum dg_err read_fields(struct read_work *work, const struct dg_json *json,
                               const char **field, struct dg_failure *failure,
                               struct dg_error *error)
{
    int64_t timeout_ms = 0, value;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < N_ROWS && !err; i++) {
        if (!(rows[i].tasks & 1u << work->options.task))
            continue;
        *field = rows[i].name;
        err = read_row(&rows[i], json, error, &value);
        if (!err)
            take_row(work, &rows[i], value);
        else if (err == DG_ERR_RANGE) {
            failure->has_limit = true;
            failure->limit = rows[i].type == SHARE ? 1 : rows[i].max;
        }
    }
    if (!err)
        err = dg_translate_options_name(json, *field = "model", &work->arena, error,
                                        &work->options.model);
    if (!err) {
        *field = "priority";
        err = dg_translate_options_priority(json, error, &work->options.priority,
                                            &work->has_priority);
    }
    if (!err)
        err = dg_json_get_int(json, *field = "timeout_ms", DG_JSON_OPTIONAL, 1,
                              DG_TRANSLATE_OPTIONS_TIMEOUT_MS_MAX, error, &timeout_ms);
    if (!err) {
        *field = "api_key";
        err = dg_translate_options_key(json, &work->arena, error, &work->api_key);
    }
    work->options.timeout_ms = (uint64_t)timeout_ms;
    return err ? err : read_items(work, json, field, failure, error);
}

/* Counts the characters; a context that serves several questions counts once. */
static uint64_t count(const struct read_work *work)
{
    uint64_t n = 0;
    for (size_t i = 0; i < work->options.n_items; i++)
        n += dg_utf8_count(work->items[i].text) +
             (dg_read_shares_pair(work->items, i) ? 0 : dg_utf8_count(work->items[i].pair));
    return n;
}

static void set_wish(struct read_work *work)
{
    work->gated = (struct dg_engine_request)DG_ENGINE_REQUEST_DEFAULT;
    work->gated.model = work->options.model;
    work->gated.priority = work->options.priority;
    work->work.wish = (struct dg_gate_wish){.key = work->api_key,
                                            .characters = count(work),
                                            .request = &work->gated,
                                            .arena = &work->arena,
                                            .has_priority = work->has_priority};
}

static enum dg_err read_request(struct dg_work *owner, const struct dg_api *api,
                                struct dg_span body, struct dg_failure *failure)
{
    struct read_work *work = (struct read_work *)owner;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_failure limits = {.has_limit = false};
    const char *field = NULL;
    struct dg_json *json;
    (void)api; /* the work has its own pointer to the api */
    enum dg_err err =
        dg_translate_options_parse(body, JSON_VALUES_MAX, &work->arena, failure, &json);
    if (err)
        return err;
    err = check_names(work, json, &error, &field);
    if (err) {
        *failure = dg_translate_options_failure(&work->arena, err, &error, field);
    } else if ((err = read_fields(work, json, &field, &limits, &error)) != DG_OK) {
        *failure = dg_translate_options_field_failure(&work->arena, err, &error, field);
        failure->has_limit = limits.has_limit;
        failure->limit = limits.limit;
    } else {
        set_wish(work);
    }
    dg_json_free(json);
    return err;
}

static enum dg_err start(struct dg_work *owner, struct dg_failure *failure)
{
    struct read_work *work = (struct read_work *)owner;
    struct dg_error error = DG_ERROR_NONE;
    uint64_t retry_ms = 0;
    dg_list_link_last(&owner->api->readings, &work->link);
    work->options.only = work->gated.only;
    work->options.n_only = work->gated.n_only;
    work->options.priority = work->gated.priority;
    work->options.client = work->gated.client;
    dg_json_out_init(&work->out, &work->json);
    dg_json_out_open(&work->out, '{');
    dg_json_out_put_open(&work->out, "results", '[');
    const enum dg_err err = dg_engine_read(owner->api->engine, &work->options, &events, work,
                                           &error, &retry_ms, &work->id);
    if (err)
        *failure = dg_translate_options_start_failure(&work->arena, err, &error, retry_ms);
    return err;
}

static const struct dg_work_ops ops = {
    .read = read_request, .start = start, .leave = leave, .free = drop};

static void handle(struct dg_call *call, enum dg_read_task task)
{
    if (!call->api->engine) {
        dg_call_no_model(call);
        return;
    }
    struct read_work *work = dg_try_calloc(1, sizeof *work);
    if (!work) {
        dg_call_no_memory(call);
        return;
    }
    work->options = (struct dg_engine_read){.task = task, .priority = DG_PRIORITY_NORMAL};
    dg_arena_init(&work->arena, call->req->body.len * 4 + (1 << 20));
    dg_buf_init(&work->json, ANSWER_MAX);
    dg_list_init(&work->link);
    dg_work_run(call, &work->work, &ops);
}

void dg_api_v1_fill(struct dg_call *call)
{
    handle(call, DG_TASK_FILL);
}

void dg_api_v1_classify(struct dg_call *call)
{
    handle(call, DG_TASK_CLASSIFY);
}

void dg_api_v1_tag(struct dg_call *call)
{
    handle(call, DG_TASK_TAG);
}

void dg_api_v1_answer(struct dg_call *call)
{
    handle(call, DG_TASK_ANSWER);
}

void dg_api_v1_embed(struct dg_call *call)
{
    handle(call, DG_TASK_EMBED);
}
