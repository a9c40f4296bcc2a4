/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Dispatch: finds the route of a request and calls it; answers OPTIONS, 404 and 405 itself; turns
 * what the HTTP machine refuses into the api's error shape; writes the access log. */
#include "api/http/api.h"
#include "api/compat/azure.h"
#include "api/compat/deepl.h"
#include "api/compat/libretranslate.h"
#include "api/http/api_int.h"
#include "api/http/body_memory.h"
#include "api/http/upload.h"
#include "api/http/work.h"
#include "api/ops/admin.h"
#include "api/v1/generation_job.h"
#include "api/v1/job.h"
#include "base/memory/mem.h"
#include "net/loop/redis_table.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { HEADER_LIST_MAX = 2000, MESSAGE_MAX = 512 << 20, MESSAGE_KEPT = 64 << 10 };

enum dg_err dg_api_new(const struct dg_api_opts *opts, struct dg_log *log, struct dg_error *error,
                       struct dg_api **api)
{
    if (sodium_init() < 0)
        return dg_error_set(error, DG_ERR_IO, "the system provides no random numbers (libsodium)");
    struct dg_api *made = dg_xcalloc(1, sizeof *made);
    made->opts = *opts;
    made->log = log;
    dg_jobs_init(&made->jobs, &made->clock);
    dg_list_init(&made->generations);
    dg_list_init(&made->readings);
    dg_documents_init(&made->documents);
    dg_glossaries_init(&made->glossaries);
    dg_list_init(&made->scorings);
    dg_list_init(&made->uploads);
    dg_list_init(&made->file_uploads);
    dg_list_init(&made->bodies);
    dg_list_init(&made->event_streams);
    dg_live_init(&made->live);
    dg_buf_init(&made->message, MESSAGE_MAX);
    dg_buf_init(&made->event_id, DG_EVENT_ID_MAX);
    made->random_used = sizeof made->random;
    made->started_ns = dg_clock_now(&made->clock);
    unsigned char bytes[sizeof made->instance / 2];
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(made->instance, sizeof made->instance, bytes, sizeof bytes);
    *api = made;
    return DG_OK;
}

void dg_api_free(struct dg_api *api)
{
    if (!api)
        return;
    dg_jobs_deinit(&api->jobs);
    dg_generation_job_free_all(&api->generations);
    dg_api_free_readings(&api->readings);
    dg_documents_deinit(&api->documents);
    dg_languages_cache_deinit(&api->languages);
    dg_glossaries_deinit(&api->glossaries);
    dg_langnames_free(api->langnames);
    dg_segmenter_free(api->segmenter);
    dg_buf_deinit(&api->message);
    dg_buf_deinit(&api->event_id);
    dg_free(api);
}

struct dg_buf *dg_api_message(struct dg_api *api)
{
    dg_buf_clear(&api->message);
    return &api->message;
}

void dg_api_message_sent(struct dg_api *api)
{
    if (api->message.cap > MESSAGE_KEPT)
        dg_buf_deinit(&api->message);
}

enum dg_err dg_api_event_id(struct dg_api *api, const struct dg_event_ids *ids, struct dg_span *id)
{
    dg_buf_clear(&api->event_id);
    enum dg_err err = dg_event_ids_write(ids, &api->event_id);
    if (!err)
        *id = dg_buf_span(&api->event_id);
    return err;
}

void dg_api_set_server(struct dg_api *api, struct dg_server *server)
{
    api->server = server;
}

void dg_api_set_engine(struct dg_api *api, struct dg_engine *engine)
{
    dg_languages_cache_deinit(&api->languages);
    api->engine = engine;
}

void dg_api_set_access(struct dg_api *api, struct dg_access *access)
{
    api->access = access;
}

void dg_api_set_threads(struct dg_api *api, struct dg_offload *threads)
{
    api->threads = threads;
}

void dg_api_set_readers(struct dg_api *api, struct dg_offload *readers)
{
    api->readers = readers;
}

enum dg_err dg_api_open_bulk(struct dg_api *api, const struct dg_bulk_opts *opts, uv_loop_t *loop,
                             struct dg_error *error)
{
    api->bulk_bytes_max = opts->bytes_max;
    api->has_jobs = !opts->is_temporary;
    enum dg_err err =
        dg_bulk_open(&api->bulk, opts, loop, api->engine, &api->jobs, api->log, error);
    if (!err)
        dg_bulk_set_glossaries(api->bulk, &api->glossaries);
    if (!err)
        dg_bulk_on_bill(api->bulk, dg_deepl_document_bill, api);
    return err;
}

enum dg_err dg_api_open_documents(struct dg_api *api, const struct dg_documents_opts *opts,
                                  struct dg_error *error)
{
    return dg_documents_open(&api->documents, opts, error);
}

void dg_api_turn(struct dg_api *api)
{
    dg_jobs_turn(&api->jobs);
    if (api->bulk)
        dg_bulk_turn(api->bulk);
}

void dg_api_tick(struct dg_api *api)
{
    if (api->bulk)
        dg_bulk_tick(api->bulk);
}

void dg_api_stop(struct dg_api *api)
{
    if (!api)
        return;
    dg_api_stop_scoring(api);
    dg_redis_table_close(api->glossaries.table);
    /* above all the jobs of documents: they do not end with a connection, and nobody can fetch
     * their results any more */
    dg_jobs_stop(&api->jobs);
    struct dg_bulk *bulk = api->bulk;
    api->bulk = NULL; /* set first, because what ends now may ask for more */
    dg_bulk_close(bulk);
}

/* ---- The end of a call ----------------------------------------------------------------------- */

static void log_call(struct dg_call *call, int status)
{
    struct dg_api *api = call->api;
    const uint64_t n_uploaded = dg_upload_bytes(call);
    dg_list_unlink(&call->upload);
    dg_list_unlink(&call->events);
    dg_upload_drop(call);
    dg_body_memory_end(call);
    dg_metrics_count(&api->metrics,
                     call->route ? (size_t)(call->route - dg_routes(NULL)) : DG_METRICS_NO_ROUTE,
                     status, dg_clock_now(&api->clock) - call->started_ns);
    /* Balancers ask every second whether the server is well; as long as it is, only the level debug
     * has these lines. */
    const bool is_dull = call->route && call->route->is_probe && status == 200;
    const enum dg_log_level level = is_dull ? DG_LOG_DEBUG : DG_LOG_INFO;
    if (!api->opts.access_log || !dg_log_wants(api->log, level))
        return;
    /* The log has the route's name rather than the path, because users may write private things
     * into paths. */
    dg_log_event(api->log, level, "access",
                 DG_LOG_FIELDS(dg_log_request(dg_span_cstr(call->id)), dg_log_int("status", status),
                               dg_log_str("method", dg_http_method_name(call->req->method)),
                               dg_log_str("route", call->route ? call->route->name : "-"),
                               dg_log_span("client", call->req->client),
                               dg_log_str("key", *dg_gate_name(call) ? dg_gate_name(call) : "-"),
                               dg_log_uint("bytes_in", call->req->body.len + n_uploaded),
                               dg_log_uint("bytes_out", dg_http_reply_bytes(call->req)),
                               dg_log_uint("tokens_in", call->tokens_in),
                               dg_log_uint("tokens_out", call->tokens_out),
                               dg_log_uint("queue_us", call->queue_us),
                               dg_log_uint("compute_us", call->compute_us)),
                 "request");
}

static void on_reply_done(void *owner)
{
    struct dg_call *call = owner;
    dg_gate_end(call, dg_http_reply_status(call->req));
    log_call(call, dg_http_reply_status(call->req));
}

/* The client left before its answer was complete: 499, as others log it. */
static void on_gone(void *owner)
{
    struct dg_call *call = owner;
    if (call->work)
        dg_work_leave(call->work);
    dg_gate_end(call, 499);
    log_call(call, 499);
}

/* ---- Dispatch -------------------------------------------------------------------------------- */

static bool takes(const struct dg_route *route, enum dg_http_method method)
{
    return route->method == method || (route->method == DG_HTTP_GET && method == DG_HTTP_HEAD);
}

/* Returns the route of a path and method, or NULL; *other is a route of the path for another
 * method, or NULL. */
static const struct dg_route *find_route(const struct dg_http_req *req, struct dg_span *arg,
                                         const struct dg_route **other)
{
    size_t n;
    const struct dg_route *routes = dg_routes(&n);
    *other = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!dg_route_matches(&routes[i], req->path, arg))
            continue;
        *other = &routes[i];
        if (takes(&routes[i], req->method))
            return &routes[i];
    }
    return NULL;
}

/* Adds a header with the methods that the path takes: "GET, HEAD, OPTIONS". */
static void add_methods(struct dg_http_req *req, const char *header)
{
    char text[64]; /* room for the names of all methods */
    struct dg_span arg;
    size_t n, len = 0;
    const struct dg_route *routes = dg_routes(&n);
    for (size_t i = 0; i < n; i++)
        if (dg_route_matches(&routes[i], req->path, &arg))
            len += (size_t)snprintf(text + len, sizeof text - len, "%s, ",
                                    routes[i].method == DG_HTTP_GET
                                        ? "GET, HEAD"
                                        : dg_http_method_name(routes[i].method));
    len += (size_t)snprintf(text + len, sizeof text - len, "OPTIONS");
    dg_http_reply_header(req, header, dg_span_make(text, len));
}

/* Names of headers as a browser lists them: tokens with commas between them. */
static bool is_header_list(struct dg_span list)
{
    for (size_t i = 0; i < list.len; i++) {
        const char c = list.ptr[i];
        const bool is_alnum =
            (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!is_alnum && (c == '\0' || !strchr("-_, ", c)))
            return false;
    }
    return list.len > 0 && list.len <= HEADER_LIST_MAX;
}

/* The headers that a page may send: all that it asks for. No header does harm here, and clients
 * add some of their own (x-stainless-os, x-goog-api-client, ...); without permission for these
 * the browser would refuse the call. */
static void add_allowed_headers(struct dg_http_req *req)
{
    const struct dg_span asked = dg_http_header(req, "access-control-request-headers");
    dg_http_reply_header(
        req, "Access-Control-Allow-Headers",
        is_header_list(asked)
            ? asked
            : DG_SPAN("Authorization, Content-Type, X-API-Key, X-API-Token, X-Request-Id"));
    dg_http_reply_header(req, "Vary", DG_SPAN("Access-Control-Request-Headers"));
}

/* OPTIONS of a known path: what a browser asks before it sends a request from another origin. */
static void answer_options(struct dg_call *call)
{
    add_methods(call->req, "Allow");
    if (call->api->opts.cors_origin && *call->api->opts.cors_origin) {
        add_methods(call->req, "Access-Control-Allow-Methods");
        add_allowed_headers(call->req);
        dg_http_reply_header(call->req, "Access-Control-Max-Age", DG_SPAN("86400"));
    }
    dg_call_text(call, 204, (struct dg_span){NULL, 0});
}

/* Answers a request for whose call there is no memory. */
static void answer_without_call(struct dg_http_req *req)
{
    dg_http_reply(
        req, 503, "application/json",
        DG_SPAN("{\"error\":{\"code\":\"overloaded\",\"message\":\"There is no memory for "
                "this request.\"},\"request_id\":\"\"}"));
}

static void on_head(void *user, struct dg_http_req *req)
{
    dg_server_arrived(req);
    struct dg_call *call = dg_call_new(user, req);
    if (!call) {
        answer_without_call(req);
        return;
    }
    req->owner = call;
    req->on_done = on_reply_done;
    req->on_gone = on_gone;
    const struct dg_route *other;
    call->route = find_route(req, &call->arg, &other);
    call->dialect = call->route ? call->route->dialect : other ? other->dialect : NULL;
    if (call->dialect == &dg_libretranslate_dialect && dg_azure_asks(call))
        call->dialect = &dg_azure_dialect;
    if (call->route && !dg_gate_head(call)) {
        return; /* dg_gate_head has answered */
    } else if (call->route && call->route->is_admin && !dg_admin_allows(call)) {
        dg_admin_refuse(call);
    } else if (call->route) {
        if (call->route->prepare)
            call->route->prepare(call);
        if (!dg_http_reply_begun(req) && !call->form)
            (void)dg_body_memory_open(call);
    } else if (req->method == DG_HTTP_OPTIONS && (other || dg_span_eq(req->path, DG_SPAN("*")))) {
        answer_options(call);
    } else if (other) {
        add_methods(req, "Allow");
        dg_call_fail(call, (struct dg_failure){.status = 405,
                                               .code = "method_not_allowed",
                                               .message = "This path does not allow that method."});
    } else {
        dg_call_fail(call, (struct dg_failure){.status = 404,
                                               .code = "not_found",
                                               .message = "There is nothing at this path."});
    }
}

static bool on_body(void *user, struct dg_http_req *req, size_t bytes)
{
    (void)user;
    dg_server_count_buffers(req);
    return dg_body_memory_admit(req->owner, bytes);
}

static void on_request(void *user, struct dg_http_req *req)
{
    struct dg_call *call = req->owner;
    if (call->form)
        dg_upload_end(call);
    else
        dg_gate_request(call);
}

static const char *code_of_status(int status)
{
    switch (status) {
    case 408:
        return "timeout";
    case 413:
        return "body_too_large";
    case 414:
        return "url_too_long";
    case 417:
        return "expectation_failed";
    case 431:
        return "headers_too_large";
    case 501:
        return "not_implemented";
    case 503:
        return "overloaded";
    case 505:
        return "http_version";
    default:
        return "bad_request";
    }
}

static void on_refused(void *user, struct dg_http_req *req, int status, const char *reason)
{
    struct dg_call *call = req->owner ? req->owner : dg_call_new(user, req);
    if (!call) {
        answer_without_call(req);
        return;
    }
    req->owner = call;
    req->on_done = on_reply_done;
    char message[256];
    snprintf(message, sizeof message, "The request was refused: %s.", reason);
    dg_call_fail(call, (struct dg_failure){.status = status,
                                           .code = code_of_status(status),
                                           .message = message,
                                           .limit = (int64_t)req->body_max,
                                           .has_limit = status == 413,
                                           .retry_after_s = status == 503});
}

const struct dg_server_handler *dg_api_handler(void)
{
    static const struct dg_server_handler handler = {
        .on_head = on_head, .on_body = on_body, .on_request = on_request, .on_refused = on_refused};
    return &handler;
}
