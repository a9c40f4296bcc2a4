/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /v1/generate: a language model continues a prompt. The whole answer as JSON or, with
 * "stream": true, server-sent events:
 *
 *     event: token      {"text":" wor"}              joined, these are the text; each has an id
 *     event: done       the answer that would have come without "stream"
 *     event: error      the error object; nothing follows */
#include "api/http/api_int.h"
#include "api/http/work.h"
#include "api/v1/generation_job.h"
#include "api/v1/translate_options.h"
#include "base/json/json_out.h"

enum { JSON_VALUES_MAX = 1000 };

/* Lies in the generation's arena. */
struct generate_work {
    struct dg_work work;
    struct dg_generation_job *generation;
};

static struct dg_generation_job *generation_of(struct dg_work *work)
{
    return ((struct generate_work *)work)->generation;
}

/* ---- The answer ------------------------------------------------------------------------------ */

static void on_delta(void *owner, struct dg_span text)
{
    struct dg_work *work = owner;
    struct dg_json_out out;
    if (dg_event_ids_token(&work->ids, 0, &text) != DG_OK || text.len == 0)
        return;
    dg_call_event_open(work->call, "token", &work->ids, &out);
    dg_json_out_open(&out, '{');
    dg_json_out_put_string(&out, "text", text);
    dg_json_out_close(&out, '}');
    dg_call_event_send(work->call, &out);
}

static void on_over(void *owner, struct dg_generation_job *generation)
{
    struct dg_work *work = owner;
    dg_call_took(work->call, generation->n_tokens_in, generation->n_tokens_out,
                 generation->queue_ns, generation->total_ns);
    work->n_shown = generation->n_shown;
    if (work->ids.texts && !generation->err)
        dg_event_ids_done(&work->ids, 0);
    if (generation->err)
        dg_work_fail(work, dg_generation_job_failure(generation));
    else if (work->ids.has_changed)
        dg_work_fail(work, dg_event_ids_failure());
    else
        dg_work_give(work, &generation->answer);
}

static const struct dg_generation_job_listener stream_listener = {.on_delta = on_delta,
                                                                  .on_over = on_over};
static const struct dg_generation_job_listener whole_listener = {.on_over = on_over};

/* ---- The request ----------------------------------------------------------------------------- */

static enum dg_err read_request(struct dg_work *work, const struct dg_api *api, struct dg_span body,
                                struct dg_failure *failure)
{
    struct dg_generation_job *generation = generation_of(work);
    struct dg_json *json;
    (void)api; /* the generation has its own pointer to the api */
    enum dg_err err =
        dg_translate_options_parse(body, JSON_VALUES_MAX, &generation->arena, failure, &json);
    if (err)
        return err;
    err = dg_generation_job_read(generation, json, failure);
    dg_json_free(json);
    work->wish = dg_generation_job_wish(generation);
    return err;
}

static enum dg_err start(struct dg_work *work, struct dg_failure *failure)
{
    struct dg_generation_job *generation = generation_of(work);
    struct dg_error error = DG_ERROR_NONE;
    uint64_t retry_ms = 0;
    enum dg_err err = generation->stream ? dg_work_event_ids(work, &generation->arena, 1,
                                                             generation->last_event_id, &error)
                                         : DG_OK;
    if (!err)
        err = dg_generation_job_start(generation,
                                      generation->stream ? &stream_listener : &whole_listener, work,
                                      &error, &retry_ms);
    if (err)
        *failure = dg_translate_options_start_failure(&generation->arena, err, &error, retry_ms);
    else if (generation->stream)
        dg_work_begin_stream(work);
    return err;
}

static void drop(struct dg_work *work)
{
    dg_generation_job_drop(generation_of(work));
}

static const struct dg_work_ops ops = {
    .read = read_request, .start = start, .leave = drop, .free = drop};

void dg_api_v1_generate(struct dg_call *call)
{
    struct dg_generation_job *generation = NULL;
    struct generate_work *work = NULL;
    if (!call->api->engine) {
        dg_call_no_model(call);
        return;
    }
    if (dg_generation_job_new(call->api, call->req->body.len, &generation) == DG_OK)
        work = dg_arena_calloc(&generation->arena, 1, sizeof *work);
    if (!work) {
        dg_generation_job_drop(generation);
        dg_call_no_memory(call);
        return;
    }
    work->generation = generation;
    dg_work_run(call, &work->work, &ops);
}
