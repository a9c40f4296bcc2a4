/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /v1/detect: which language each text is in.
 *
 *     {"text": "Bonjour le monde"}          or an array of texts
 *     {"detections":[{"language":"fr","confidence":0.98,
 *                     "candidates":[{"language":"fr","confidence":0.98}, ...]}]}
 *
 * "language" is null for a text without letters. */
#include "api/api_int.h"
#include "api/ask.h"
#include "base/json_out.h"
#include "text/langid.h"

enum { CANDIDATES = 3, ANSWER_MAX = 64 << 20, JSON_VALUES_MAX = 200 * 1000 };

static void put_guess(struct dg_json_out *out, const struct dg_langid_guess *guess)
{
    dg_json_out_key(out, "language");
    dg_json_out_cstr(out, guess ? guess->tag : NULL);
    dg_json_out_key(out, "confidence");
    dg_json_out_real(out, guess ? (double)guess->confidence : 0.0, 4);
}

static enum dg_err put_detection(struct dg_json_out *out, const struct dg_engine *engine,
                                 struct dg_span text, struct dg_why *why)
{
    struct dg_langid_guess guesses[CANDIDATES];
    size_t n;
    enum dg_err err = dg_engine_detect(engine, text, guesses, CANDIDATES, why, &n);
    if (err)
        return err;
    dg_json_out_open(out, '{');
    put_guess(out, n ? &guesses[0] : NULL);
    dg_json_out_key(out, "candidates");
    dg_json_out_open(out, '[');
    for (size_t i = 0; i < n; i++) {
        dg_json_out_open(out, '{');
        put_guess(out, &guesses[i]);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
    return DG_OK;
}

static enum dg_err check(const struct dg_call *call, const struct dg_json *json, struct dg_why *why)
{
    static const char *const fields[] = {"text", NULL};
    const struct dg_json *text = dg_json_get(json, "text");
    enum dg_json_type type = dg_json_type(text);
    enum dg_err err = dg_json_check_fields(json, fields, why);
    if (err)
        return err;
    if (type != DG_JSON_STRING && type != DG_JSON_ARRAY)
        return dg_why_set(why, DG_ERR_INVALID,
                          text ? "field 'text': read %s, expected a string or an array of strings"
                               : "field 'text' is missing",
                          dg_json_type_name(type));
    if (type == DG_JSON_ARRAY && dg_json_len(text) > call->api->opts.texts_max)
        return dg_why_set(why, DG_ERR_LIMIT, "field 'text': read %zu texts, expected at most %zu",
                          dg_json_len(text), call->api->opts.texts_max);
    return DG_OK;
}

static enum dg_err detect(const struct dg_call *call, const struct dg_json *json,
                          struct dg_json_out *out, struct dg_why *why)
{
    const struct dg_json *text = dg_json_get(json, "text");
    bool is_array = dg_json_type(text) == DG_JSON_ARRAY;
    enum dg_err err = check(call, json, why);
    size_t n = err ? 0 : is_array ? dg_json_len(text) : 1;
    dg_json_out_open(out, '{');
    dg_json_out_key(out, "detections");
    dg_json_out_open(out, '[');
    for (size_t i = 0; !err && i < n; i++) {
        struct dg_span one;
        err = is_array ? dg_json_at_string(text, "text", i, why, &one)
                       : dg_json_get_string(json, "text", DG_JSON_REQUIRED, why, &one);
        if (!err)
            err = put_detection(out, call->api->engine, one, why);
    }
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
    return err ? err : dg_json_out_end(out);
}

void dg_api_v1_detect(struct dg_call *call)
{
    struct dg_arena arena;
    struct dg_buf buf;
    struct dg_json_out out;
    struct dg_json *json;
    struct dg_failure failure;
    struct dg_why why = DG_WHY_NONE;
    if (!call->api->engine) {
        dg_call_fail(call, (struct dg_failure){.status = 503, .code = "no_model",
                                               .message = "This server has no model."});
        return;
    }
    dg_arena_init(&arena, 1 << 20);
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    enum dg_err err = dg_ask_parse(call->req->body, JSON_VALUES_MAX, &arena, &failure, &json);
    if (!err) {
        err = detect(call, json, &out, &why);
        dg_json_free(json);
        if (err) {
            failure = dg_ask_failure(&arena, err, &why, err == DG_ERR_UNSUPPORTED ? NULL : "text");
            failure.status = err == DG_ERR_UNSUPPORTED ? 501 : failure.status;
        }
    }
    if (err)
        dg_call_fail(call, failure);
    else
        dg_call_json(call, 200, dg_buf_span(&buf));
    dg_buf_deinit(&buf);
    dg_arena_deinit(&arena);
}
