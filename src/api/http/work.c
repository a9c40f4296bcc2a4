/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Small bodies are read and short answers written here, without a detour. */
#include "api/http/work.h"
#include "api/http/api_int.h"
#include "api/v1/translate_options.h"
#include "net/proto/sse.h"

/* ---- The end --------------------------------------------------------------------------------- */

/* A detached work does not touch the call, which may have been answered; the call's memory is then
 * used for the next request. */
struct dg_call *dg_work_detach(struct dg_work *work)
{
    if (work->call && work->state != DG_WORK_DETACHED)
        work->call->work = NULL;
    work->state = DG_WORK_DETACHED;
    return work->call;
}

/* Takes the call from the work. */
static struct dg_call *let_go(struct dg_work *work)
{
    struct dg_call *call = dg_work_detach(work);
    work->call = NULL;
    return call;
}

void dg_work_leave(struct dg_work *work)
{
    work->call = NULL;
    atomic_store_explicit(&work->is_unwanted, true, memory_order_relaxed);
    if (work->state == DG_WORK_AT_GATE)
        work->ops->free(work);
    else if (work->state == DG_WORK_UNDER_WAY && work->ops->leave)
        work->ops->leave(work);
}

static void attach(struct dg_work *work, enum dg_work_state state)
{
    work->state = state;
    if (work->call)
        work->call->work = work;
}

void dg_work_hold(struct dg_work *work)
{
    attach(work, DG_WORK_ON_THREAD);
}

struct dg_call *dg_work_end(struct dg_work *work)
{
    struct dg_call *call = let_go(work);
    work->ops->free(work);
    return call;
}

void dg_work_fail(struct dg_work *work, struct dg_failure failure)
{
    const bool is_stream = work->is_stream;
    struct dg_call *call = let_go(work);
    if (call && is_stream) {
        dg_gate_refund(call, failure.status, work->n_shown);
        dg_call_event_failure(call, "error", &work->ids, &failure);
    } else if (call) {
        dg_call_fail(call, failure); /* first, because the strings of `failure` may belong to the
                                        work */
    }
    work->ops->free(work);
    if (call && is_stream)
        dg_http_reply_end(call->req);
}

/* Answers with `bytes`: JSON, or an event that contains it. */
static void answer(struct dg_work *work, struct dg_buf *bytes)
{
    const bool is_stream = work->is_stream;
    struct dg_call *call = let_go(work);
    if (call && is_stream)
        (void)!dg_http_reply_write_give(call->req, bytes);
    else if (call)
        dg_call_json_give(call, bytes);
    work->ops->free(work);
    if (call && is_stream)
        dg_http_reply_end(call->req);
}

void dg_work_give(struct dg_work *work, struct dg_buf *json)
{
    if (!work->call || !work->is_stream) {
        answer(work, json);
        return;
    }
    dg_call_event(work->call, "done", &work->ids, dg_buf_span(json));
    dg_http_reply_end(dg_work_end(work)->req);
}

/* ---- Answers that take long to write --------------------------------------------------------- */

/* Fills in the failure that belongs to an error if nobody else has. */
static enum dg_err settle(struct dg_failure *failure, enum dg_err err)
{
    if (err && !failure->code)
        *failure = dg_translate_options_failure(NULL, err, NULL, NULL);
    return err;
}

static enum dg_err write_answer(void *owner, struct dg_buf *bytes)
{
    struct dg_work *work = owner;
    struct dg_buf id;
    if (!work->is_stream)
        return settle(&work->failure, work->ops->write(work, bytes, &work->failure));
    dg_buf_init(&id, DG_EVENT_ID_MAX);
    enum dg_err err = dg_event_ids_write(&work->ids, &id);
    if (!err)
        err = dg_sse_open(bytes, "done", dg_buf_span(&id));
    if (!err)
        err = work->ops->write(work, bytes, &work->failure);
    if (!err)
        err = dg_sse_close(bytes);
    dg_buf_deinit(&id);
    return settle(&work->failure, err);
}

static void on_written(void *owner, enum dg_err err, struct dg_buf *bytes)
{
    struct dg_work *work = owner;
    if (err)
        dg_work_fail(work, work->failure);
    else
        answer(work, bytes);
}

void dg_work_finish(struct dg_work *work, size_t size, size_t much)
{
    dg_work_hold(work);
    work->failure = (struct dg_failure){.code = NULL};
    dg_json_offload_write(work->api, size, much, write_answer, on_written, work);
}

/* ---- The beginning --------------------------------------------------------------------------- */

void dg_work_passed(struct dg_work *work, const struct dg_failure *refusal)
{
    struct dg_failure failure = {.code = NULL};
    work->state = DG_WORK_UNDER_WAY;
    if (refusal)
        dg_work_fail(work, *refusal);
    else if (settle(&failure, work->ops->start(work, &failure)) != DG_OK)
        dg_work_fail(work, failure);
}

void dg_work_pass(struct dg_work *work)
{
    attach(work, DG_WORK_AT_GATE);
    dg_gate_pass(work->call, &work->wish);
}

void dg_work_peek(struct dg_work *work, dg_quota_fn then)
{
    attach(work, DG_WORK_AT_GATE);
    dg_gate_peek(work->call, then, work);
}

static void go_on(struct dg_work *work, enum dg_err err, const struct dg_failure *failure)
{
    if (!dg_work_detach(work))
        work->ops->free(work);
    else if (err)
        dg_work_fail(work, *failure);
    else if (work->ops->on_read)
        work->ops->on_read(work);
    else
        dg_work_pass(work);
}

static enum dg_err read_body(void *owner, const struct dg_api *api, struct dg_span body,
                             struct dg_failure *failure)
{
    struct dg_work *work = owner;
    *failure = (struct dg_failure){.code = NULL};
    return settle(failure, work->ops->read(work, api, body, failure));
}

static void on_body_read(void *owner, enum dg_err err, const struct dg_failure *failure)
{
    go_on(owner, err, failure);
}

void dg_work_init(struct dg_work *work, struct dg_api *api, struct dg_call *call,
                  const struct dg_work_ops *ops)
{
    *work = (struct dg_work){.ops = ops, .call = call, .api = api};
}

void dg_work_attach(struct dg_call *call, struct dg_work *work, const struct dg_work_ops *ops)
{
    dg_work_init(work, call->api, call, ops);
    attach(work, DG_WORK_UNDER_WAY);
}

void dg_work_run(struct dg_call *call, struct dg_work *work, const struct dg_work_ops *ops)
{
    const struct dg_span body = call->req->body;
    dg_work_init(work, call->api, call, ops);
    dg_work_hold(work);
    if (!dg_json_offload_is_much(call->api, body))
        go_on(work, read_body(work, call->api, body, &work->failure), &work->failure);
    else
        dg_json_offload_bytes(call->api, body, read_body, on_body_read, work);
}

void dg_work_begin_stream(struct dg_work *work)
{
    work->is_stream = true;
    dg_call_begin_stream(work->call, "text/event-stream");
}

enum dg_err dg_work_event_ids(struct dg_work *work, struct dg_arena *arena, size_t n_texts,
                              struct dg_span seen, struct dg_error *error)
{
    if (seen.len == 0)
        seen = dg_http_header(work->call->req, "last-event-id");
    enum dg_err err = dg_event_ids_init(&work->ids, arena, n_texts);
    return err || seen.len == 0 ? err : dg_event_ids_resume(&work->ids, seen, error);
}
