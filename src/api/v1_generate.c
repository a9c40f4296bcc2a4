/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /v1/generate: a language model goes on with a prompt. The whole answer as JSON or, with "stream": true,
 * server-sent events:
 *
 *     event: token      {"text":" wor"}              joined, these are the text
 *     event: done       the answer that would have come without "stream"
 *     event: error      the error object; nothing follows */
#include "api/api_int.h"
#include "api/aside.h"
#include "api/ask.h"
#include "api/gen.h"
#include "base/json_out.h"

enum { EVENT_MAX = 512 << 20, JSON_VALUES_MAX = 1000 };

static void log_totals(struct dg_call *call, const struct dg_gen *gen)
{
    dg_call_took(call, gen->n_tokens_in, gen->n_tokens_out, gen->queue_ns, gen->total_ns);
}

/* ---- Server-sent events ------------------------------------------------------------------------- */

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

static void on_stream_over(void *owner, struct dg_gen *gen)
{
    struct dg_call *call = owner;
    log_totals(call, gen);
    if (!gen->err) {
        dg_call_event(call, "done", dg_buf_span(&gen->answer));
    } else {
        const struct dg_failure failure = dg_gen_failure(gen);
        dg_gate_refund(call, failure.status, gen->n_shown);
        dg_call_event_failure(call, "error", &failure);
    }
    call->on_gone = NULL;
    dg_gen_drop(gen);
    dg_http_reply_end(call->req);
}

static const struct dg_gen_listener stream_listener = {.on_delta = on_delta, .on_over = on_stream_over};

/* ---- Whole answers ------------------------------------------------------------------------------ */

static void on_over(void *owner, struct dg_gen *gen)
{
    struct dg_call *call = owner;
    log_totals(call, gen);
    call->on_gone = NULL;
    if (!gen->err)
        dg_call_json_give(call, &gen->answer);
    else
        dg_call_fail(call, dg_gen_failure(gen));
    dg_gen_drop(gen);
}

static const struct dg_gen_listener whole_listener = {.on_over = on_over};

/* ---- The request -------------------------------------------------------------------------------- */

static void on_gone(void *work)
{
    dg_gen_drop(work);
}

static enum dg_err start(struct dg_call *call, struct dg_gen *gen, struct dg_failure *failure)
{
    struct dg_why why = DG_WHY_NONE;
    uint64_t retry_ms = 0;
    enum dg_err err = dg_gen_start(gen, gen->stream ? &stream_listener : &whole_listener, call, &why, &retry_ms);
    if (err)
        *failure = dg_ask_start_failure(&gen->arena, err, &why, retry_ms);
    return err;
}

/* Through the gate: begins, or answers why not. */
static void on_passed(void *work, const struct dg_failure *refusal)
{
    struct dg_gen *gen = work;
    struct dg_call *call = gen->owner;
    struct dg_failure failure;
    call->on_gone = NULL;
    if (refusal || start(call, gen, &failure) != DG_OK) {
        dg_call_fail(call, refusal ? *refusal : failure);
        dg_gen_drop(gen);
        return;
    }
    call->on_gone = on_gone;
    if (gen->stream)
        dg_call_begin_stream(call, "text/event-stream");
}

static enum dg_err read_request(void *work, const struct dg_api *api, struct dg_span body, struct dg_failure *failure)
{
    struct dg_gen *gen = work;
    struct dg_json *json;
    (void)api; /* the generation knows it */
    enum dg_err err = dg_ask_parse(body, JSON_VALUES_MAX, &gen->arena, failure, &json);
    if (err)
        return err;
    err = dg_gen_read(gen, json, failure);
    dg_json_free(json);
    return err;
}

/* It is read: to the gate. */
static void go_on(void *work, struct dg_call *call)
{
    struct dg_gen *gen = work;
    const struct dg_gate_wish wish = dg_gen_wish(gen);
    gen->owner = call;
    call->work = gen;
    call->on_gone = on_gone;
    dg_gate_pass(call, &wish, on_passed);
}

static const struct dg_aside_fns reading = {.read = read_request, .go_on = go_on, .drop = on_gone};

void dg_api_v1_generate(struct dg_call *call)
{
    struct dg_gen *gen = NULL;
    if (!call->api->engine)
        dg_call_no_model(call);
    else if (dg_gen_new(call->api, call->req->body.len, &gen))
        dg_call_no_memory(call);
    else
        dg_aside_read(call, &reading, gen);
}
