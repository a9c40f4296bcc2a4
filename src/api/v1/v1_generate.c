/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /v1/generate: a language model continues a prompt. The whole answer as JSON or, with
 * "stream": true, server-sent events:
 *
 *     event: token      {"text":" wor"}              joined, these are the text
 *     event: done       the answer that would have come without "stream"
 *     event: error      the error object; nothing follows */
#include "api/http/api_int.h"
#include "api/http/json_offload.h"
#include "api/v1/generation_job.h"
#include "api/v1/translate_options.h"
#include "base/json/json_out.h"

enum { EVENT_MAX = 512 << 20, JSON_VALUES_MAX = 1000 };

static void log_totals(struct dg_call *call, const struct dg_generation_job *generation)
{
    dg_call_took(call, generation->n_tokens_in, generation->n_tokens_out, generation->queue_ns,
                 generation->total_ns);
}

/* ---- Server-sent events -------------------------------------------------------------------------
 */

static void on_delta(void *owner, struct dg_span text)
{
    struct dg_call *call = owner;
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, EVENT_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_string(&out, "text", text);
    dg_json_out_close(&out, '}');
    if (dg_json_out_end(&out) == DG_OK)
        dg_call_event(call, "token", dg_buf_span(&buf));
    dg_buf_deinit(&buf);
}

static void on_stream_over(void *owner, struct dg_generation_job *generation)
{
    struct dg_call *call = owner;
    log_totals(call, generation);
    if (!generation->err) {
        dg_call_event(call, "done", dg_buf_span(&generation->answer));
    } else {
        const struct dg_failure failure = dg_generation_job_failure(generation);
        dg_gate_refund(call, failure.status, generation->n_shown);
        dg_call_event_failure(call, "error", &failure);
    }
    call->on_gone = NULL;
    dg_generation_job_drop(generation);
    dg_http_reply_end(call->req);
}

static const struct dg_generation_job_listener stream_listener = {.on_delta = on_delta,
                                                                  .on_over = on_stream_over};

/* ---- Whole answers ------------------------------------------------------------------------------
 */

static void on_over(void *owner, struct dg_generation_job *generation)
{
    struct dg_call *call = owner;
    log_totals(call, generation);
    call->on_gone = NULL;
    if (!generation->err)
        dg_call_json_give(call, &generation->answer);
    else
        dg_call_fail(call, dg_generation_job_failure(generation));
    dg_generation_job_drop(generation);
}

static const struct dg_generation_job_listener whole_listener = {.on_over = on_over};

/* ---- The request --------------------------------------------------------------------------------
 */

static void on_gone(void *work)
{
    dg_generation_job_drop(work);
}

static enum dg_err start(struct dg_call *call, struct dg_generation_job *generation,
                         struct dg_failure *failure)
{
    struct dg_error error = DG_ERROR_NONE;
    uint64_t retry_ms = 0;
    enum dg_err err =
        dg_generation_job_start(generation, generation->stream ? &stream_listener : &whole_listener,
                                call, &error, &retry_ms);
    if (err)
        *failure = dg_translate_options_start_failure(&generation->arena, err, &error, retry_ms);
    return err;
}

/* Through the gate: begins, or answers why not. */
static void on_passed(void *work, const struct dg_failure *refusal)
{
    struct dg_generation_job *generation = work;
    struct dg_call *call = generation->owner;
    struct dg_failure failure;
    call->on_gone = NULL;
    if (refusal || start(call, generation, &failure) != DG_OK) {
        dg_call_fail(call, refusal ? *refusal : failure);
        dg_generation_job_drop(generation);
        return;
    }
    call->on_gone = on_gone;
    if (generation->stream)
        dg_call_begin_stream(call, "text/event-stream");
}

static enum dg_err read_request(void *work, const struct dg_api *api, struct dg_span body,
                                struct dg_failure *failure)
{
    struct dg_generation_job *generation = work;
    struct dg_json *json;
    (void)api; /* the generation knows it */
    enum dg_err err =
        dg_translate_options_parse(body, JSON_VALUES_MAX, &generation->arena, failure, &json);
    if (err)
        return err;
    err = dg_generation_job_read(generation, json, failure);
    dg_json_free(json);
    return err;
}

/* It is read: to the gate. */
static void go_on(void *work, struct dg_call *call)
{
    struct dg_generation_job *generation = work;
    const struct dg_gate_wish wish = dg_generation_job_wish(generation);
    generation->owner = call;
    call->work = generation;
    call->on_gone = on_gone;
    dg_gate_pass(call, &wish, on_passed);
}

static const struct dg_json_offload_fns reading = {
    .read = read_request, .go_on = go_on, .drop = on_gone};

void dg_api_v1_generate(struct dg_call *call)
{
    struct dg_generation_job *generation = NULL;
    if (!call->api->engine)
        dg_call_no_model(call);
    else if (dg_generation_job_new(call->api, call->req->body.len, &generation))
        dg_call_no_memory(call);
    else
        dg_json_offload_read(call, &reading, generation);
}
