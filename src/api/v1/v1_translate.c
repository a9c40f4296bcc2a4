/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /v1/translate: the whole answer as JSON or, with "stream": true, server-sent events:
 *
 *     event: token      {"index":0,"text":" wor"}        joined per index, these are the final text
 *     event: sentence   {"index":0,"start":0,"length":12,"finish":"eos"}
 *     event: done       the answer that would have come without "stream"
 *     event: error      the error object; nothing follows */
#include "api/http/api_int.h"
#include "api/http/json_offload.h"
#include "api/v1/job.h"
#include "base/json/json_out.h"
#include "net/proto/sse.h"

enum { ANSWER_MAX = 512 << 20, JSON_VALUES_MAX = 200 * 1000 };

static void log_totals(struct dg_call *call, const struct dg_job *job)
{
    dg_call_took(call, job->n_tokens_in, job->n_tokens_out, job->queue_ns, job->total_ns);
}

static struct dg_failure failure_of(struct dg_job *job)
{
    return dg_translate_options_failure(&job->arena, job->err, &job->error, NULL);
}

/* ---- Server-sent events -------------------------------------------------------------------------
 */

static void on_delta(void *owner, struct dg_job_item *item, struct dg_span text)
{
    struct dg_call *call = owner;
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_uint(&out, "index", item->index);
    dg_json_out_put_string(&out, "text", text);
    dg_json_out_close(&out, '}');
    if (dg_json_out_end(&out) == DG_OK)
        dg_call_event(call, "token", dg_buf_span(&buf));
    dg_buf_deinit(&buf);
}

static void on_sentence(void *owner, struct dg_job_item *item,
                        const struct dg_engine_sentence *sentence)
{
    struct dg_call *call = owner;
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, 4096);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_uint(&out, "index", item->index);
    dg_json_out_put_uint(&out, "start", sentence->at);
    dg_json_out_put_uint(&out, "length", sentence->len);
    if (sentence->n_answers > 0)
        dg_json_out_put_cstr(&out, "finish", dg_finish_name(sentence->answers[0].finish));
    dg_json_out_close(&out, '}');
    if (dg_json_out_end(&out) == DG_OK)
        dg_call_event(call, "sentence", dg_buf_span(&buf));
    dg_buf_deinit(&buf);
}

static void fail_stream(struct dg_call *call, const struct dg_job *job,
                        const struct dg_failure *failure)
{
    dg_gate_refund(call, failure->status, job->n_shown);
    dg_call_event_failure(call, "error", failure);
}

static enum dg_err write_done(void *work, struct dg_buf *event)
{
    struct dg_buf json;
    dg_buf_init(&json, ANSWER_MAX);
    enum dg_err err = dg_job_answer(work, &json);
    if (!err)
        err = dg_sse_event(event, "done", dg_buf_span(&json));
    dg_buf_deinit(&json);
    return err;
}

static void on_event_done(void *work, enum dg_err err, struct dg_buf *event)
{
    struct dg_job *job = work;
    struct dg_call *call = job->owner; /* NULL when the client left meanwhile */
    if (call) {
        struct dg_failure failure = dg_translate_options_failure(&job->arena, err, NULL, NULL);
        call->on_gone = NULL;
        if (err)
            fail_stream(call, job, &failure);
        else
            (void)!dg_http_reply_write_give(call->req, event);
    }
    dg_job_drop(job);
    if (call)
        dg_http_reply_end(call->req);
}

static void on_gone_unanswered(void *work)
{
    struct dg_job *job = work;
    job->owner = NULL;
}

static void on_stream_over(void *owner, struct dg_job *job)
{
    struct dg_call *call = owner;
    log_totals(call, job);
    call->on_gone = NULL;
    if (job->err) {
        struct dg_failure failure = failure_of(job);
        fail_stream(call, job, &failure);
        dg_job_drop(job);
        dg_http_reply_end(call->req);
    } else if (dg_json_offload_write(call->api, dg_job_size(job), write_done, on_event_done, job)) {
        call->work = job;
        call->on_gone = on_gone_unanswered;
    }
}

static const struct dg_job_listener stream_listener = {
    .on_delta = on_delta, .on_sentence = on_sentence, .on_over = on_stream_over};

/* ---- Whole answers ------------------------------------------------------------------------------
 */

static enum dg_err write_answer(void *work, struct dg_buf *json)
{
    return dg_job_answer(work, json);
}

static void on_answer(void *work, enum dg_err err, struct dg_buf *json)
{
    struct dg_job *job = work;
    struct dg_call *call = job->owner; /* NULL when the client left meanwhile */
    if (call) {
        call->on_gone = NULL;
        if (err)
            dg_call_fail(call, dg_translate_options_failure(&job->arena, err, NULL, NULL));
        else
            dg_call_json_give(call, json);
    }
    dg_job_drop(job);
}

static void on_over(void *owner, struct dg_job *job)
{
    struct dg_call *call = owner;
    log_totals(call, job);
    call->on_gone = NULL;
    if (job->err) {
        dg_call_fail(call, failure_of(job));
        dg_job_drop(job);
    } else if (dg_json_offload_write(call->api, dg_job_size(job), write_answer, on_answer, job)) {
        call->work = job;
        call->on_gone = on_gone_unanswered;
    }
}

static const struct dg_job_listener whole_listener = {.on_over = on_over};

/* ---- The request --------------------------------------------------------------------------------
 */

static void on_gone(void *work)
{
    dg_job_drop(work);
}

static enum dg_err read_request(void *work, const struct dg_api *api, struct dg_span body,
                                struct dg_failure *failure)
{
    struct dg_job *job = work;
    struct dg_json *json;
    const struct dg_translate_options_limits limits = {.texts = api->opts.texts_max,
                                                       .characters = api->opts.characters_max,
                                                       .beam_max = api->opts.beam_max,
                                                       .min_length_max = api->opts.min_length_max};
    enum dg_err err =
        dg_translate_options_parse(body, JSON_VALUES_MAX, &job->arena, failure, &json);
    if (err)
        return err;
    err = dg_translate_options_read(json, &job->arena, &limits, failure, &job->options);
    dg_json_free(json);
    return err;
}

static enum dg_err start(struct dg_call *call, struct dg_job *job, struct dg_failure *failure)
{
    struct dg_error error = DG_ERROR_NONE;
    uint64_t retry_ms = 0;
    const struct dg_key *key =
        call->api->access ? dg_access_key(call->api->access, &call->charge.who) : NULL;
    enum dg_err err = dg_glossaries_apply(&call->api->glossaries, job, dg_gate_name(call),
                                          dg_glossaries_is_admin(call), key, failure);
    if (err)
        return err;
    err = dg_job_start(job, job->options.stream ? &stream_listener : &whole_listener, call, &error,
                       &retry_ms);
    if (err)
        *failure = dg_translate_options_start_failure(&job->arena, err, &error, retry_ms);
    return err;
}

/* Through the gate: begins, or answers why not. */
static void on_passed(void *work, const struct dg_failure *refusal)
{
    struct dg_job *job = work;
    struct dg_call *call = job->owner;
    struct dg_failure failure;
    call->on_gone = NULL;
    if (refusal || start(call, job, &failure) != DG_OK) {
        dg_call_fail(call, refusal ? *refusal : failure);
        dg_job_drop(job);
        return;
    }
    call->on_gone = on_gone;
    if (job->options.stream)
        dg_call_begin_stream(call, "text/event-stream");
}

/* It is read: to the gate. */
static void go_on(void *work, struct dg_call *call)
{
    struct dg_job *job = work;
    struct dg_translate_options *options = &job->options;
    const struct dg_gate_wish wish = {
        .key = options->api_key,
        .characters = dg_translate_options_characters(options->texts, options->n_texts),
        .request = &options->request,
        .arena = &job->arena,
        .has_priority = options->has_priority};
    job->owner = call;
    call->work = job;
    call->on_gone = on_gone;
    dg_gate_pass(call, &wish, on_passed);
}

static const struct dg_json_offload_fns reading = {
    .read = read_request, .go_on = go_on, .drop = on_gone};

void dg_api_v1_translate(struct dg_call *call)
{
    struct dg_job *job = NULL;
    if (!call->api->engine)
        dg_call_no_model(call);
    else if (dg_job_new(call->api->engine, &call->api->jobs, call->req->body.len * 4 + (4 << 20),
                        &job))
        dg_call_no_memory(call);
    else
        dg_json_offload_read(call, &reading, job);
}
