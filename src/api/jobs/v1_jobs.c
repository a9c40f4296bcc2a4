/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Bulk jobs over HTTP.
 *
 *     POST   /v1/jobs?target=en&beam=4    the body's lines are texts (text/plain) or JSON objects
 *                                         (application/x-ndjson: what POST /v1/translate takes);
 *                                         201, the job
 *     GET    /v1/jobs                     {"jobs":[...]}
 *     GET    /v1/jobs/ID                  {"id":...,"state":"running","lines":1000,"done":412,...}
 *     GET    /v1/jobs/ID/result           a line for each line; 409 before the end unless
 *                                         ?partial=true
 *     POST   /v1/jobs/ID/cancel           what is done stays
 *     DELETE /v1/jobs/ID                  forgets it
 *
 * Options stand in the query, because the body is the lines. A job is shown to its owner
 * (dg_call_owner) and to administrators. */
#include "api/http/api_int.h"
#include "api/http/work.h"
#include "api/jobs/v1_jobs_int.h"
#include "api/http/client_share.h"
#include "api/v1/translate_options.h"
#include "base/json/json_out.h"
#include "base/memory/chars.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "net/proto/target.h"

#include <string.h>

enum { UPLOADS_MAX = 8, OPTIONS_MAX = 64 * 1024, ANSWER_MAX = 1 << 20, STREAM_LOW = 32 * 1024 };

static const struct dg_failure no_memory = {.status = 503,
                                            .code = "overloaded",
                                            .message = "The server is out of memory.",
                                            .retry_after_s = 1};

bool dg_v1_jobs_are_kept(struct dg_call *call)
{
    if (call->api->bulk && call->api->has_jobs)
        return true;
    dg_call_fail(call, (struct dg_failure){
                           .status = 501,
                           .code = "unsupported",
                           .message = "This server keeps no bulk jobs (jobs-dir is not set)."});
    return false;
}

static const struct dg_failure no_such_job = {
    .status = 404, .code = "no_such_job", .message = "There is no job with this id."};

static void fail_unknown(struct dg_call *call, const struct dg_failure *unknown)
{
    dg_call_fail(call, dg_bulk_may_lack(call->api->bulk) ? dg_call_redis_away : *unknown);
}

struct dg_bulk_job *dg_v1_jobs_of(struct dg_call *call, const struct dg_failure *unknown)
{
    if (!dg_v1_jobs_are_kept(call))
        return NULL;
    struct dg_bulk_job *job = dg_bulk_find(call->api->bulk, call->arg);
    const bool is_own = job && !dg_bulk_is_foreign(job) &&
                        dg_span_eq(dg_span_cstr(dg_bulk_owner(job)), dg_call_owner(call));
    if (job && (is_own || dg_gate_is_admin(call)))
        return job;
    fail_unknown(call, unknown);
    return NULL;
}

static struct dg_bulk_job *job_of(struct dg_call *call)
{
    return dg_v1_jobs_of(call, &no_such_job);
}

static void answer_state(struct dg_call *call, int status, const struct dg_bulk_job *job)
{
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_bulk_put_state(job, &out);
    dg_call_json_out(call, status, &out);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

/* The lines of a job may be longer than other bodies, but only a few such bodies may come at
 * once. */
void dg_api_v1_jobs_prepare(struct dg_call *call)
{
    if (!dg_v1_jobs_are_kept(call))
        return;
    const uint64_t client = dg_gate_client(call);
    size_t n = 0, n_own = 0;
    for (const struct dg_list *at = call->api->uploads.next; at != &call->api->uploads;
         at = at->next, n++)
        n_own += dg_gate_client(DG_LIST_ITEM(at, struct dg_call, upload)) == client;
    if (!dg_client_share_has_room(client, UPLOADS_MAX, n, n_own, 1)) {
        dg_call_fail(call, (struct dg_failure){
                               .status = 503,
                               .code = "overloaded",
                               .retry_after_s = 1,
                               .message = "Too many jobs are being uploaded at the moment."});
        return;
    }
    dg_list_link_last(&call->api->uploads, &call->upload);
    call->req->body_max = call->api->bulk_bytes_max;
}

void dg_v1_jobs_put_option(struct dg_json_out *out, struct dg_span name, struct dg_span value)
{
    static const char *const texts[] = {"model", "source", "target", "format",
                                        "lines", "prefix", "must",   NULL};
    static const char *const words[] = {"true", "false", NULL};
    bool looks_raw = value.len > 0 && strchr("-0123456789[", value.ptr[0]) != NULL;
    bool is_word = dg_chars_is_one_of(value, words);
    struct dg_json *json = NULL;
    const struct dg_json_limits limits = DG_JSON_LIMITS_DEFAULT;
    bool is_json = !dg_chars_is_one_of(name, texts) && (looks_raw || is_word) &&
                   dg_json_parse(value, &limits, NULL, &json) == DG_OK;
    dg_json_free(json);
    dg_json_out_key_span(out, name);
    if (is_json)
        dg_json_out_raw(out, value);
    else
        dg_json_out_string(out, value);
}

/* Writes the query as a JSON object. */
static enum dg_err gather_options(struct dg_call *call, struct dg_buf *options_json,
                                  struct dg_failure *failure)
{
    static const char *const refused[] = {"text", "stream", "priority", "type", "id", NULL};
    struct dg_query query = dg_query_over(call->req->query);
    struct dg_json_out out;
    struct dg_span name, value;
    bool more = true;
    dg_json_out_init(&out, options_json);
    dg_json_out_open(&out, '{');
    enum dg_err err = dg_query_next(&query, call->req->arena, &name, &value, &more);
    for (; !err && more; err = dg_query_next(&query, call->req->arena, &name, &value, &more)) {
        if (dg_chars_is_one_of(name, refused)) {
            *failure = (struct dg_failure){.status = 400,
                                           .code = "invalid_value",
                                           .message = "A job's query has no such option."};
            dg_json_out_close(&out, '}');
            return DG_ERR_INVALID;
        }
        dg_v1_jobs_put_option(&out, name, value);
    }
    dg_json_out_close(&out, '}');
    if (err) {
        *failure = dg_translate_options_failure(call->req->arena, DG_ERR_INVALID, NULL, NULL);
        return err;
    }
    return dg_json_out_end(&out);
}

enum dg_err dg_v1_jobs_read_options(struct dg_call *call, struct dg_span options_json,
                                    struct dg_translate_options *options,
                                    struct dg_failure *failure)
{
    const struct dg_api_opts *opts = &call->api->opts;
    const struct dg_translate_options_limits limits = {
        .no_text = true, .beam_max = opts->beam_max, .min_length_max = opts->min_length_max};
    struct dg_json *json;
    enum dg_err err =
        dg_translate_options_parse(options_json, 2000, call->req->arena, failure, &json);
    if (err)
        return err;
    err = dg_translate_options_read(json, call->req->arena, &limits, failure, options);
    dg_json_free(json);
    return err;
}

static enum dg_err read_format(struct dg_call *call, enum dg_bulk_format *format,
                               struct dg_failure *failure)
{
    static const char *const json_types[] = {"application/x-ndjson", "application/jsonl",
                                             "application/x-jsonlines", "application/json-lines",
                                             NULL};
    struct dg_span type = dg_http_header(call->req, "content-type");
    size_t end = 0;
    while (end < type.len && type.ptr[end] != ';' && type.ptr[end] != ' ')
        end++;
    type = dg_span_sub(type, 0, end);
    *format = dg_span_eq(type, DG_SPAN("text/plain")) ? DG_BULK_TEXT : DG_BULK_JSONL;
    if (*format == DG_BULK_TEXT || dg_chars_is_one_of(type, json_types))
        return DG_OK;
    *failure =
        (struct dg_failure){.status = 415,
                            .code = "unsupported_media_type",
                            .message = "The lines must be text/plain or application/x-ndjson, and "
                                       "Content-Type must say which."};
    return DG_ERR_UNSUPPORTED;
}

/* A job on its way to the disk: checked, passed through the gate, written. If the client leaves
 * while the job is being written, the job stays, as if the client had left a moment later; if it
 * cannot be written, the client pays nothing, as if it had stayed. */
struct adding {
    struct dg_work work;
    struct dg_charge charge; /* a copy, for when the client has left */
    enum dg_bulk_format format;
    struct dg_buf options_json;
    struct dg_translate_options options;
};

static void free_adding(struct dg_work *work)
{
    struct adding *adding = (struct adding *)work;
    dg_buf_deinit(&adding->options_json);
    dg_free(adding);
}

static const struct dg_failure other_request = {
    .status = 400,
    .code = "invalid_value",
    .field = "Idempotency-Key",
    .message = "A different request was sent with this key before."};

static void on_added(void *owner, struct dg_bulk_job *job, enum dg_err err,
                     const struct dg_error *error)
{
    struct adding *adding = owner;
    (void)error; /* it names a file; the log has the sentence */
    if (!job) {
        const struct dg_failure failure = err == DG_ERR_EXISTS ? other_request
                                          : err == DG_ERR_BUSY
                                              ? dg_call_redis_away
                                              : dg_translate_options_file_failure(err);
        if (!adding->work.call)
            dg_charge_refund(&adding->charge, failure.status, 0);
        dg_work_fail(&adding->work, failure);
        return;
    }
    struct dg_call *call = dg_work_end(&adding->work);
    if (call)
        answer_state(call, 201, job);
}

struct dg_failure dg_v1_jobs_failure(struct dg_call *call, enum dg_err err,
                                     const struct dg_error *error)
{
    struct dg_failure failure = dg_translate_options_failure(call->req->arena, err, error, NULL);
    if (err == DG_ERR_LIMIT || err == DG_ERR_RANGE) {
        failure.status = err == DG_ERR_LIMIT ? 429 : 507;
        failure.code = err == DG_ERR_LIMIT ? "too_many" : "no_space";
    }
    return failure;
}

static enum dg_err hand_over(struct adding *adding, struct dg_error *error)
{
    struct dg_call *call = adding->work.call;
    struct dg_buf body;
    dg_buf_init(&body, SIZE_MAX / 2);
    dg_http_take_body(call->req, &body);
    const struct dg_quota_id address = dg_gate_address(call);
    const struct dg_bulk_order order = {.format = adding->format,
                                        .options_json = dg_buf_span(&adding->options_json),
                                        .owner = dg_call_owner(call),
                                        .address = dg_span_cstr(address.text),
                                        .client = dg_gate_client(call),
                                        .only = adding->options.request.only,
                                        .n_only = adding->options.request.n_only,
                                        .body = &body,
                                        .once = dg_http_header(call->req, "idempotency-key")};
    enum dg_err err = dg_bulk_add(call->api->bulk, &order, on_added, adding, error);
    adding->charge = call->charge;
    dg_buf_deinit(&body);
    return err;
}

/* Called after the gate: the request now has the key's models. */
static enum dg_err begin(struct dg_work *work, struct dg_failure *failure)
{
    struct adding *adding = (struct adding *)work;
    struct dg_call *call = work->call;
    struct dg_error error = DG_ERROR_NONE;
    enum dg_err err = call->api->bulk
                          ? dg_engine_can(call->api->engine, &adding->options.request, &error)
                          : DG_ERR_CLOSED;
    if (err) {
        *failure = dg_translate_options_failure(call->req->arena, err, &error, NULL);
        return err;
    }
    err = hand_over(adding, &error);
    if (err)
        *failure = dg_v1_jobs_failure(call, err, &error);
    return err;
}

static const struct dg_work_ops adding_ops = {.start = begin, .free = free_adding};

static enum dg_err read_request(struct adding *adding, struct dg_failure *failure)
{
    struct dg_call *call = adding->work.call;
    enum dg_err err = read_format(call, &adding->format, failure);
    if (!err && call->req->body.len == 0) {
        *failure = (struct dg_failure){
            .status = 400, .code = "missing_field", .message = "The body has no lines."};
        err = DG_ERR_INVALID;
    }
    if (!err)
        err = gather_options(call, &adding->options_json, failure);
    if (!err)
        err = dg_v1_jobs_read_options(call, dg_buf_span(&adding->options_json), &adding->options,
                                      failure);
    return err;
}

void dg_api_v1_jobs_add(struct dg_call *call)
{
    struct dg_failure failure = no_memory;
    if (!dg_v1_jobs_are_kept(call))
        return;
    struct adding *adding = dg_try_calloc(1, sizeof *adding);
    if (!adding) {
        dg_call_fail(call, failure);
        return;
    }
    dg_work_init(&adding->work, call->api, call, &adding_ops);
    dg_buf_init(&adding->options_json, OPTIONS_MAX);
    if (read_request(adding, &failure) != DG_OK) {
        dg_work_fail(&adding->work, failure);
        return;
    }
    adding->work.wish = (struct dg_gate_wish){.characters = dg_utf8_count(call->req->body),
                                              .request = &adding->options.request,
                                              .arena = call->req->arena,
                                              .has_priority = true};
    dg_work_pass(&adding->work);
}

/* ---- Looking, ending ------------------------------------------------------------------------- */

static void put_jobs(struct dg_call *call, struct dg_json_out *out)
{
    bool all = dg_gate_is_admin(call);
    for (struct dg_bulk_job *job = NULL; (job = dg_bulk_next(call->api->bulk, job));)
        if (all || (!dg_bulk_is_foreign(job) &&
                    dg_call_lists(call, dg_bulk_owner(job), dg_bulk_client(job))))
            dg_bulk_put_state(job, out);
}

void dg_api_v1_jobs(struct dg_call *call)
{
    if (dg_v1_jobs_are_kept(call))
        dg_call_json_list(call, "jobs", put_jobs);
}

void dg_api_v1_job(struct dg_call *call)
{
    struct dg_bulk_job *job = job_of(call);
    if (job)
        answer_state(call, 200, job);
}

/* The end of a job. */
struct ending {
    struct dg_work work; /* if its client leaves, the request is still carried out */
    char id[DG_BULK_ID_LEN + 1];
    bool removes;
};

static void free_ending(struct dg_work *work)
{
    dg_free(DG_LIST_ITEM(work, struct ending, work));
}

static const struct dg_work_ops ending_ops = {.free = free_ending};

static void on_ended(void *ctx, enum dg_err err, int64_t more)
{
    struct ending *ending = ctx;
    struct dg_bulk *bulk = ending->work.api->bulk;
    const bool removes = ending->removes;
    struct dg_bulk_job *job = bulk ? dg_bulk_find(bulk, dg_span_cstr(ending->id)) : NULL;
    struct dg_call *call = dg_work_end(&ending->work);
    if (!call)
        return;
    if (err)
        dg_call_fail(call, bulk && dg_bulk_is_shared(bulk)
                               ? dg_call_redis_away
                               : dg_translate_options_file_failure(err));
    else if (removes)
        dg_call_text(call, 204, (struct dg_span){NULL, 0});
    else if (job)
        answer_state(call, 200, job);
    else
        fail_unknown(call, &no_such_job);
}

static void end(struct dg_call *call, struct dg_bulk_job *job, bool removes)
{
    struct ending *ending = dg_try_calloc(1, sizeof *ending);
    if (!ending) {
        dg_call_fail(call, no_memory);
        return;
    }
    ending->removes = removes;
    snprintf(ending->id, sizeof ending->id, "%.*s", DG_SPAN_FMT(call->arg));
    dg_work_attach(call, &ending->work, &ending_ops);
    dg_bulk_end(job, removes, on_ended, ending);
}

void dg_api_v1_job_cancel(struct dg_call *call)
{
    struct dg_bulk_job *job = job_of(call);
    if (job)
        end(call, job, false);
}

void dg_v1_jobs_remove(struct dg_call *call, struct dg_bulk_job *job)
{
    end(call, job, true);
}

void dg_api_v1_job_remove(struct dg_call *call)
{
    struct dg_bulk_job *job = job_of(call);
    if (job)
        dg_v1_jobs_remove(call, job);
}

/* ---- The result ------------------------------------------------------------------------------ */

/* One download: each piece is read when the one before it has been sent. */
struct download {
    struct dg_work work;
    struct dg_bulk_reader *reader;
    const char *type;
    bool has_begun, is_reading;
};

static void free_download(struct dg_work *work)
{
    struct download *download = (struct download *)work;
    dg_bulk_reader_close(download->reader);
    dg_free(download);
}

static const struct dg_work_ops download_ops = {.leave = free_download, .free = free_download};

static struct dg_call *end_download(struct download *download)
{
    struct dg_call *call = dg_work_end(&download->work);
    call->req->on_room = NULL;
    return call;
}

/* Ends the connection without the last chunk, because the announced length cannot be kept and
 * nobody must take a part for the whole. */
static void break_off(struct download *download)
{
    bool has_begun = download->has_begun;
    struct dg_call *call = end_download(download);
    if (has_begun)
        dg_http_reply_abort(call->req);
    else
        dg_call_fail(call, (struct dg_failure){.status = 500,
                                               .code = "internal",
                                               .message = "The result cannot be read."});
}

static void read_on(struct download *download)
{
    if (download->is_reading)
        return;
    if (dg_bulk_reader_read(download->reader) != DG_OK)
        break_off(download);
    else
        download->is_reading = true;
}

static void on_piece(void *owner, struct dg_span piece, enum dg_err err)
{
    struct download *download = owner;
    struct dg_call *call = download->work.call;
    download->is_reading = false;
    if (err) {
        break_off(download);
        return;
    }
    if (!download->has_begun) {
        download->has_begun = true;
        dg_call_begin_stream(call, download->type);
    }
    if (piece.len == 0 || call->req->method == DG_HTTP_HEAD) {
        end_download(download);
        dg_http_reply_end(call->req);
    } else {
        /* When the client has left, the work reports it. */
        (void)!dg_http_reply_write(call->req, piece);
    }
}

static void on_room(void *owner)
{
    const struct dg_call *call = owner;
    struct download *download = (struct download *)call->work;
    if (download->has_begun)
        read_on(download);
}

/* Returns true when the query has partial=true. */
static bool wants_part(struct dg_call *call)
{
    struct dg_query query = dg_query_over(call->req->query);
    struct dg_span name, value;
    bool more, found = false;
    while (dg_query_next(&query, call->req->arena, &name, &value, &more) == DG_OK && more)
        found =
            found || (dg_span_eq(name, DG_SPAN("partial")) && dg_span_eq(value, DG_SPAN("true")));
    return found;
}

void dg_api_v1_job_result(struct dg_call *call)
{
    struct dg_bulk_job *job = job_of(call);
    if (!job)
        return;
    if (dg_bulk_state(job) != DG_BULK_DONE && !wants_part(call)) {
        dg_call_fail(
            call,
            (struct dg_failure){
                .status = 409,
                .code = "not_done",
                .message = "The job is not done; partial=true returns what has been done so far."});
        return;
    }
    struct download *download = dg_try_calloc(1, sizeof *download);
    if (!download || dg_bulk_reader_open(&download->reader, job, on_piece, download) != DG_OK) {
        dg_free(download);
        dg_call_fail(call, no_memory);
        return;
    }
    download->type =
        dg_bulk_format(job) == DG_BULK_TEXT ? "text/plain; charset=utf-8" : "application/x-ndjson";
    dg_work_attach(call, &download->work, &download_ops);
    call->req->on_room = on_room;
    call->req->stream_low = STREAM_LOW;
    read_on(download);
}
