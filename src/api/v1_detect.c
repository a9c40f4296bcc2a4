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
#include "base/mem.h"
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

/* A request on its way through the gate. */
struct detect_work {
    struct dg_call *call;
    struct dg_arena arena;
    struct dg_span *texts; /* [n] */
    size_t n;
    struct dg_span api_key;
};

static void free_work(struct detect_work *work)
{
    dg_arena_deinit(&work->arena);
    dg_free(work);
}

static void on_gone(void *owner)
{
    free_work(owner);
}

/* ---- The answer --------------------------------------------------------------------------------- */

static enum dg_err detect(const struct detect_work *work, struct dg_json_out *out, struct dg_why *why)
{
    enum dg_err err = DG_OK;
    dg_json_out_open(out, '{');
    dg_json_out_key(out, "detections");
    dg_json_out_open(out, '[');
    for (size_t i = 0; !err && i < work->n; i++)
        err = put_detection(out, work->call->api->engine, work->texts[i], why);
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
    return err ? err : dg_json_out_end(out);
}

static void answer(struct detect_work *work)
{
    struct dg_buf buf;
    struct dg_json_out out;
    struct dg_why why = DG_WHY_NONE;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    enum dg_err err = detect(work, &out, &why);
    if (err) {
        struct dg_failure failure = dg_ask_failure(&work->arena, err, &why, err == DG_ERR_UNSUPPORTED ? NULL : "text");
        failure.status = err == DG_ERR_UNSUPPORTED ? 501 : failure.status;
        dg_call_fail(work->call, failure);
    } else {
        dg_call_json(work->call, 200, dg_buf_span(&buf));
    }
    dg_buf_deinit(&buf);
}

static void on_passed(void *owner, const struct dg_failure *refusal)
{
    struct detect_work *work = owner;
    work->call->on_gone = NULL;
    if (refusal)
        dg_call_fail(work->call, *refusal);
    else
        answer(work);
    free_work(work);
}

/* ---- The request -------------------------------------------------------------------------------- */

static enum dg_err read_request(struct detect_work *work, struct dg_failure *failure)
{
    static const char *const fields[] = {"text", "api_key", NULL};
    struct dg_why why = DG_WHY_NONE;
    struct dg_json *json;
    const char *field = NULL;
    bool is_array;
    enum dg_err err = dg_ask_parse(work->call->req->body, JSON_VALUES_MAX, &work->arena, failure, &json);
    if (err)
        return err;
    err = dg_json_check_fields(json, fields, &why);
    if (!err) {
        field = "api_key";
        err = dg_ask_key(json, &work->arena, &why, &work->api_key);
    }
    if (!err) {
        field = "text";
        err = dg_ask_texts(json, "text", work->call->api->opts.texts_max, &work->arena, &why, &work->texts, &work->n,
                           &is_array);
    }
    dg_json_free(json);
    if (err) {
        *failure = dg_ask_field_failure(&work->arena, err, &why, field);
        failure->has_limit = err == DG_ERR_LIMIT;
        failure->limit = (int64_t)work->call->api->opts.texts_max;
    }
    return err;
}

void dg_api_v1_detect(struct dg_call *call)
{
    struct dg_failure failure = {.status = 503, .code = "overloaded", .message = "There is no memory.",
                                 .retry_after_s = 1};
    struct detect_work *work = dg_try_calloc(1, sizeof *work);
    if (!work || !call->api->engine) {
        dg_free(work);
        if (!call->api->engine)
            failure = (struct dg_failure){.status = 503, .code = "no_model", .message = "This server has no model."};
        dg_call_fail(call, failure);
        return;
    }
    dg_arena_init(&work->arena, call->req->body.len * 2 + (1 << 20));
    work->call = call;
    if (read_request(work, &failure) != DG_OK) {
        dg_call_fail(call, failure);
        free_work(work);
        return;
    }
    const struct dg_gate_wish wish = {.key = work->api_key, .characters = dg_ask_characters(work->texts, work->n)};
    call->work = work;
    call->on_gone = on_gone;
    dg_gate_pass(call, &wish, on_passed);
}
