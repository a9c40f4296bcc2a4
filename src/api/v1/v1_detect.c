/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /v1/detect: which language each text is in.
 *
 *     {"text": "Bonjour le monde",          or an array of texts
 *      "languages": ["fr", "en"]}           among these only; else all that can be detected
 *     {"detections":[{"language":"fr","confidence":0.98,
 *                     "candidates":[{"language":"fr","confidence":0.98}, ...]}]}
 *
 * "language" is null for a text without letters. Another thread handles
 * long texts. */
#include "api/http/api_int.h"
#include "api/http/json_offload.h"
#include "api/v1/translate_options.h"
#include "base/json/json_out.h"
#include "base/memory/mem.h"
#include "net/loop/offload.h"
#include "text/language/langid.h"
#include "text/language/langtag.h"

#include <string.h>

enum {
    CANDIDATES = 3,
    ANSWER_MAX = 64 << 20,
    JSON_VALUES_MAX = 200 * 1000,
    MUCH = 16 * 1024 /* bytes: about 1 ms */,
    LANGUAGES_MAX = 1000
};

static void put_guess(struct dg_json_out *out, const struct dg_langid_guess *guess)
{
    dg_json_out_put_cstr(out, "language", guess ? guess->tag : NULL);
    dg_json_out_put_real(out, "confidence", guess ? (double)guess->confidence : 0.0, 4);
}

static enum dg_err put_detection(struct dg_json_out *out, const struct dg_engine *engine,
                                 const struct dg_engine_languages *among, struct dg_span text,
                                 struct dg_error *error)
{
    struct dg_langid_guess guesses[CANDIDATES];
    size_t n;
    enum dg_err err =
        dg_engine_detect(engine, text, among->n ? among : NULL, guesses, CANDIDATES, error, &n);
    if (err)
        return err;
    dg_json_out_open(out, '{');
    put_guess(out, n ? &guesses[0] : NULL);
    dg_json_out_put_open(out, "candidates", '[');
    for (size_t i = 0; i < n; i++) {
        dg_json_out_open(out, '{');
        put_guess(out, &guesses[i]);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
    return DG_OK;
}

/* A request on its way through the gate. */
struct detect_work {
    struct dg_offload_task task;
    const struct dg_engine *engine;
    struct dg_call *call; /* NULL when the client has left */
    struct dg_arena arena;
    struct dg_span *texts; /* [n] */
    size_t n;
    struct dg_engine_languages among; /* n 0: all */
    struct dg_span api_key;
    /* What came of it. */
    struct dg_buf json;
    enum dg_err err;
    struct dg_error error;
};

static void free_work(struct detect_work *work)
{
    dg_buf_deinit(&work->json);
    dg_arena_deinit(&work->arena);
    dg_free(work);
}

static void on_gone(void *owner)
{
    free_work(owner);
}

/* ---- The answer ---------------------------------------------------------------------------------
 */

static void run_detection(struct dg_offload_task *task)
{
    struct detect_work *work = (struct detect_work *)task;
    struct dg_json_out out;
    dg_json_out_init(&out, &work->json);
    dg_json_out_open(&out, '{');
    dg_json_out_put_open(&out, "detections", '[');
    for (size_t i = 0; !work->err && i < work->n; i++)
        work->err = put_detection(&out, work->engine, &work->among, work->texts[i], &work->error);
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    if (!work->err)
        work->err = dg_json_out_end(&out);
}

static void on_detection_done(struct dg_offload_task *task)
{
    struct detect_work *work = (struct detect_work *)task;
    struct dg_call *call = work->call;
    if (call) {
        call->on_gone = NULL;
        if (work->err) {
            bool has_no_data = work->err == DG_ERR_UNSUPPORTED;
            struct dg_failure failure = dg_translate_options_failure(
                &work->arena, work->err, &work->error, has_no_data ? NULL : "text");
            failure.status = has_no_data ? 501 : failure.status;
            dg_call_fail(call, failure);
        } else {
            dg_call_json_give(call, &work->json);
        }
    }
    free_work(work);
}

/* The client left while its texts are looked at. */
static void on_gone_meanwhile(void *owner)
{
    struct detect_work *work = owner;
    work->call = NULL;
}

static void on_passed(void *owner, const struct dg_failure *refusal)
{
    struct detect_work *work = owner;
    struct dg_offload *readers = work->call->api->readers;
    size_t n_bytes = 0;
    work->call->on_gone = NULL;
    if (refusal) {
        dg_call_fail(work->call, *refusal);
        free_work(work);
        return;
    }
    for (size_t i = 0; i < work->n; i++)
        n_bytes += work->texts[i].len;
    if (n_bytes >= MUCH && readers &&
        dg_offload_submit_sized(readers, &work->task, n_bytes, run_detection, on_detection_done) ==
            DG_OK) {
        work->call->work = work;
        work->call->on_gone = on_gone_meanwhile;
        return;
    }
    run_detection(&work->task);
    on_detection_done(&work->task);
}

/* ---- The request --------------------------------------------------------------------------------
 */

/* The languages that a text may be in. */
static enum dg_err read_languages(const struct dg_json *json, struct dg_arena *arena,
                                  struct dg_error *error, struct dg_engine_languages *among)
{
    struct dg_span *texts;
    bool is_array;
    if (dg_json_type(dg_json_get(json, "languages")) == DG_JSON_NULL)
        return DG_OK;
    enum dg_err err = dg_translate_options_texts(json, "languages", LANGUAGES_MAX, arena, error,
                                                 &texts, &among->n, &is_array);
    const char **tags = err ? NULL : dg_arena_calloc(arena, among->n, sizeof *tags);
    if (!err && !tags)
        err = DG_ERR_NOMEM;
    for (size_t i = 0; !err && i < among->n; i++) {
        struct dg_langtag tag;
        err = dg_langtag_parse(texts[i], &tag, error);
        tags[i] = err ? NULL : dg_arena_copy(arena, dg_span_cstr(tag.text)).ptr;
        if (!err && !tags[i])
            err = DG_ERR_NOMEM;
    }
    among->tags = tags;
    return err;
}

static enum dg_err read_request(void *owner, const struct dg_api *api, struct dg_span body,
                                struct dg_failure *failure)
{
    struct detect_work *work = owner;
    static const char *const fields[] = {"text", "languages", "api_key", NULL};
    struct dg_error error = DG_ERROR_NONE;
    struct dg_json *json;
    const char *field = NULL;
    bool is_array;
    enum dg_err err =
        dg_translate_options_parse(body, JSON_VALUES_MAX, &work->arena, failure, &json);
    if (err)
        return err;
    err = dg_json_check_fields(json, fields, &error);
    if (!err) {
        field = "api_key";
        err = dg_translate_options_key(json, &work->arena, &error, &work->api_key);
    }
    if (!err) {
        field = "languages";
        err = read_languages(json, &work->arena, &error, &work->among);
    }
    if (!err) {
        field = "text";
        err = dg_translate_options_texts(json, "text", api->opts.texts_max, &work->arena, &error,
                                         &work->texts, &work->n, &is_array);
    }
    dg_json_free(json);
    if (err) {
        *failure = dg_translate_options_field_failure(&work->arena, err, &error, field);
        failure->has_limit = err == DG_ERR_LIMIT;
        failure->limit = strcmp(field ? field : "", "languages") == 0
                             ? LANGUAGES_MAX
                             : (int64_t)api->opts.texts_max;
    }
    return err;
}

/* It is read: to the gate. */
static void go_on(void *owner, struct dg_call *call)
{
    struct detect_work *work = owner;
    const struct dg_gate_wish wish = {
        .key = work->api_key, .characters = dg_translate_options_characters(work->texts, work->n)};
    call->work = work;
    call->on_gone = on_gone;
    dg_gate_pass(call, &wish, on_passed);
}

static const struct dg_json_offload_fns reading = {
    .read = read_request, .go_on = go_on, .drop = on_gone};

void dg_api_v1_detect(struct dg_call *call)
{
    if (!call->api->engine) {
        dg_call_no_model(call);
        return;
    }
    struct detect_work *work = dg_try_calloc(1, sizeof *work);
    if (!work) {
        dg_call_no_memory(call);
        return;
    }
    dg_arena_init(&work->arena, call->req->body.len * 2 + (1 << 20));
    dg_buf_init(&work->json, ANSWER_MAX);
    work->engine = call->api->engine;
    work->call = call;
    dg_json_offload_read(call, &reading, work);
}
