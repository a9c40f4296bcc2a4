/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /v1/translate: the whole answer as JSON or, with "stream": true, server-sent events:
 *
 *     event: token      {"index":0,"text":" wor"}        joined per index, these are the final text
 *     event: sentence   {"index":0,"start":0,"length":12,"finish":"eos"}
 *     event: done       the answer that would have come without "stream"
 *     event: error      the error object; nothing follows
 *
 * Each event has an id (event_id.h): the same request, sent again with the id of the last event
 * that was seen, continues after that event. */
#include "api/http/api_int.h"
#include "api/http/work.h"
#include "api/v1/job.h"
#include "base/json/json_out.h"

enum { JSON_VALUES_MAX = 200 * 1000 };

/* Lies in the job's arena. */
struct translate_work {
    struct dg_work work;
    struct dg_job *job;
};

static struct dg_job *job_of(struct dg_work *work)
{
    return ((struct translate_work *)work)->job;
}

/* ---- Server-sent events ---------------------------------------------------------------------- */

/* Tells the events' ids which texts are done. */
static void note_done(struct dg_work *work, const struct dg_job *job)
{
    for (size_t i = work->ids.n_done; i < job->n_begun && work->ids.texts; i++)
        if (job->items[i].is_done)
            dg_event_ids_done(&work->ids, i);
}

static void on_delta(void *owner, struct dg_job_item *item, struct dg_span text)
{
    struct dg_work *work = owner;
    struct dg_json_out out;
    note_done(work, item->job);
    if (dg_event_ids_token(&work->ids, item->index, &text) != DG_OK) {
        dg_job_cancel(item->job);
        return;
    }
    if (text.len == 0)
        return;
    dg_call_event_open(work->call, "token", &work->ids, &out);
    dg_json_out_open(&out, '{');
    dg_json_out_put_uint(&out, "index", item->index);
    dg_json_out_put_string(&out, "text", text);
    dg_json_out_close(&out, '}');
    dg_call_event_send(work->call, &out);
}

static void on_sentence(void *owner, struct dg_job_item *item,
                        const struct dg_engine_sentence *sentence)
{
    struct dg_work *work = owner;
    struct dg_json_out out;
    note_done(work, item->job);
    if (!dg_event_ids_sentence(&work->ids, item->index))
        return;
    dg_call_event_open(work->call, "sentence", &work->ids, &out);
    dg_json_out_open(&out, '{');
    dg_json_out_put_uint(&out, "index", item->index);
    dg_json_out_put_uint(&out, "start", sentence->at);
    dg_json_out_put_uint(&out, "length", sentence->len);
    if (sentence->n_answers > 0)
        dg_json_out_put_cstr(&out, "finish", dg_finish_name(sentence->answers[0].finish));
    dg_json_out_close(&out, '}');
    dg_call_event_send(work->call, &out);
}

/* ---- The answer ------------------------------------------------------------------------------ */

static enum dg_err write_answer(struct dg_work *work, struct dg_buf *json,
                                struct dg_failure *failure)
{
    (void)failure; /* `error` already says what is wrong */
    return dg_job_answer(job_of(work), json);
}

static void on_over(void *owner, struct dg_job *job)
{
    struct dg_work *work = owner;
    dg_call_took(work->call, job->n_tokens_in, job->n_tokens_out, job->queue_ns, job->total_ns);
    work->n_shown = job->n_shown;
    note_done(work, job);
    if (work->ids.has_changed)
        dg_work_fail(work, dg_event_ids_failure());
    else if (job->err)
        dg_work_fail(work, dg_translate_options_failure(&job->arena, job->err, &job->error, NULL));
    else
        dg_work_finish(work, dg_job_size(job), DG_JSON_OFFLOAD_WRITTEN);
}

static const struct dg_job_listener stream_listener = {
    .on_delta = on_delta, .on_sentence = on_sentence, .on_over = on_over};
static const struct dg_job_listener whole_listener = {.on_over = on_over};

/* ---- The request ----------------------------------------------------------------------------- */

static enum dg_err read_request(struct dg_work *work, const struct dg_api *api, struct dg_span body,
                                struct dg_failure *failure)
{
    struct dg_job *job = job_of(work);
    struct dg_translate_options *options = &job->options;
    struct dg_json *json;
    const struct dg_translate_options_limits limits = {.texts = api->opts.texts_max,
                                                       .characters = api->opts.characters_max,
                                                       .beam_max = api->opts.beam_max,
                                                       .min_length_max = api->opts.min_length_max};
    enum dg_err err =
        dg_translate_options_parse(body, JSON_VALUES_MAX, &job->arena, failure, &json);
    if (err)
        return err;
    err = dg_translate_options_read(json, &job->arena, &limits, failure, options);
    dg_json_free(json);
    if (!err)
        work->wish = (struct dg_gate_wish){
            .key = options->api_key,
            .characters = dg_translate_options_characters(options->texts, options->n_texts),
            .request = &options->request,
            .arena = &job->arena,
            .has_priority = options->has_priority};
    return err;
}

static enum dg_err start(struct dg_work *work, struct dg_failure *failure)
{
    struct dg_job *job = job_of(work);
    struct dg_error error = DG_ERROR_NONE;
    uint64_t retry_ms = 0;
    enum dg_err err = dg_glossaries_apply_call(work->call, job, failure);
    if (err)
        return err;
    if (job->options.stream)
        err = dg_work_event_ids(work, &job->arena, job->options.n_texts, job->options.last_event_id,
                                &error);
    if (err) {
        *failure = dg_translate_options_failure(&job->arena, err, &error, NULL);
        return err;
    }
    err = dg_job_start(job, job->options.stream ? &stream_listener : &whole_listener, work, &error,
                       &retry_ms);
    if (err)
        *failure = dg_translate_options_start_failure(&job->arena, err, &error, retry_ms);
    else if (job->options.stream)
        dg_work_begin_stream(work);
    return err;
}

static void drop(struct dg_work *work)
{
    dg_job_drop(job_of(work));
}

static const struct dg_work_ops ops = {
    .read = read_request, .start = start, .leave = drop, .write = write_answer, .free = drop};

void dg_api_v1_translate(struct dg_call *call)
{
    struct dg_job *job = NULL;
    struct translate_work *work = NULL;
    if (!call->api->engine) {
        dg_call_no_model(call);
        return;
    }
    if (dg_job_new(call->api->engine, &call->api->jobs, call->req->body.len * 4 + (4 << 20),
                   &job) == DG_OK)
        work = dg_arena_calloc(&job->arena, 1, sizeof *work);
    if (!work) {
        dg_job_drop(job);
        dg_call_no_memory(call);
        return;
    }
    work->job = job;
    dg_work_run(call, &work->work, &ops);
}
