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
#include "api/http/work.h"
#include "api/v1/translate_options.h"
#include "base/json/json_out.h"
#include "base/memory/mem.h"
#include "text/language/langid.h"
#include "text/language/langtag.h"

#include <string.h>

enum { CANDIDATES = 3, JSON_VALUES_MAX = 200 * 1000, LANGUAGES_MAX = 1000 };

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

struct detect_work {
    struct dg_work work;
    const struct dg_engine *engine;
    struct dg_arena arena;
    struct dg_span *texts; /* [n] */
    size_t n;
    struct dg_engine_languages among; /* n 0: among all languages */
    struct dg_span api_key;
};

static void free_work(struct dg_work *owner)
{
    struct detect_work *work = (struct detect_work *)owner;
    dg_arena_deinit(&work->arena);
    dg_free(work);
}

/* ---- The answer ------------------------------------------------------------------------------ */

static enum dg_err write_detections(struct dg_work *owner, struct dg_buf *json,
                                    struct dg_failure *failure)
{
    struct detect_work *work = (struct detect_work *)owner;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_json_out out;
    enum dg_err err = DG_OK;
    dg_json_out_init(&out, json);
    dg_json_out_open(&out, '{');
    dg_json_out_put_open(&out, "detections", '[');
    for (size_t i = 0; !err && i < work->n; i++)
        err = put_detection(&out, work->engine, &work->among, work->texts[i], &error);
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    if (!err)
        err = dg_json_out_end(&out);
    if (err) {
        const bool has_no_data = err == DG_ERR_UNSUPPORTED;
        *failure =
            dg_translate_options_failure(&work->arena, err, &error, has_no_data ? NULL : "text");
        failure->status = has_no_data ? 501 : failure->status;
    }
    return err;
}

static enum dg_err start(struct dg_work *owner, struct dg_failure *failure)
{
    const struct detect_work *work = (struct detect_work *)owner;
    size_t n_bytes = 0;
    (void)failure; /* nothing can fail yet */
    for (size_t i = 0; i < work->n; i++)
        n_bytes += work->texts[i].len;
    dg_work_finish(owner, n_bytes, DG_JSON_OFFLOAD_DETECTED);
    return DG_OK;
}

/* ---- The request ----------------------------------------------------------------------------- */

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

static enum dg_err read_request(struct dg_work *owner, const struct dg_api *api,
                                struct dg_span body, struct dg_failure *failure)
{
    struct detect_work *work = (struct detect_work *)owner;
    static const char *const fields[] = {"text", "languages", "api_key", NULL};
    struct dg_error error = DG_ERROR_NONE;
    struct dg_json *json;
    const char *field = NULL;
    bool is_array;
    enum dg_err err =
        dg_translate_options_parse(body, JSON_VALUES_MAX, &work->arena, failure, &json);
    if (err)
        return err;
    err = dg_json_check_fields(json, fields, &error, &field);
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
    if (err) {
        *failure = dg_translate_options_field_failure(&work->arena, err, &error, field);
        failure->has_limit = err == DG_ERR_LIMIT;
        failure->limit = strcmp(field ? field : "", "languages") == 0
                             ? LANGUAGES_MAX
                             : (int64_t)api->opts.texts_max;
    }
    dg_json_free(json);
    if (err)
        return err;
    owner->wish = (struct dg_gate_wish){
        .key = work->api_key, .characters = dg_translate_options_characters(work->texts, work->n)};
    return DG_OK;
}

static const struct dg_work_ops ops = {
    .read = read_request, .start = start, .write = write_detections, .free = free_work};

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
    work->engine = call->api->engine;
    dg_work_run(call, &work->work, &ops);
}
