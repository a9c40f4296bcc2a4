/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Ids, answers and errors of calls. An id that the client or a proxy sent is used if it is
 * well-formed (X-Request-Id: up to 64 of [A-Za-z0-9._:-]; traceparent: its trace id), so that a
 * request has the same id in everybody's logs; otherwise the id is 16 random bytes. */
#include "api/http/call.h"
#include "api/http/api_int.h"
#include "api/http/event_id.h"
#include "base/json/json_out.h"
#include "net/proto/sse.h"

#include <sodium.h>
#include <string.h>

enum { ID_RANDOM_BYTES = 16, LIST_MAX = 16 << 20, FAILURE_MAX = 64 << 10 };

const struct dg_failure dg_call_redis_away = {
    .status = 503,
    .code = "unavailable",
    .retry_after_s = 1,
    .message = "The Redis that servers share does not answer. Try again later."};

static bool is_sane_id(struct dg_span id)
{
    if (id.len == 0 || id.len > DG_CALL_ID_MAX)
        return false;
    for (size_t i = 0; i < id.len; i++) {
        char c = id.ptr[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!alnum && c != '.' && c != '_' && c != '-' && c != ':')
            return false;
    }
    return true;
}

/* Returns the trace id of a W3C traceparent ("00-<32 hex>-<16 hex>-<2 hex>"); empty when the value
 * is not one. */
static struct dg_span trace_id(struct dg_span value)
{
    struct dg_span none = {NULL, 0};
    if (value.len != 55 || value.ptr[2] != '-' || value.ptr[35] != '-' || value.ptr[52] != '-')
        return none;
    struct dg_span id = dg_span_sub(value, 3, 32);
    bool all_zero = true;
    for (size_t i = 0; i < id.len; i++) {
        if (!strchr("0123456789abcdef", id.ptr[i]) || id.ptr[i] == '\0')
            return none;
        all_zero = all_zero && id.ptr[i] == '0';
    }
    return all_zero ? none : id;
}

static void choose_id(struct dg_call *call)
{
    struct dg_span given = dg_http_header(call->req, "x-request-id");
    if (!is_sane_id(given))
        given = trace_id(dg_http_header(call->req, "traceparent"));
    if (given.len) {
        memcpy(call->id, given.ptr, given.len);
        return;
    }
    struct dg_api *api = call->api;
    if (api->random_used + ID_RANDOM_BYTES > sizeof api->random) {
        /* a system call, so it fetches bytes for many ids at once */
        randombytes_buf(api->random, sizeof api->random);
        api->random_used = 0;
    }
    sodium_bin2hex(call->id, sizeof call->id, api->random + api->random_used, ID_RANDOM_BYTES);
    api->random_used += ID_RANDOM_BYTES;
}

struct dg_call *dg_call_new(struct dg_api *api, struct dg_http_req *req)
{
    struct dg_call *call = dg_arena_calloc(req->arena, 1, sizeof *call);
    if (!call)
        return NULL;
    call->api = api;
    call->req = req;
    call->started_ns = dg_clock_now(&api->clock);
    dg_list_init(&call->upload);
    dg_list_init(&call->events);
    dg_list_init(&call->body);
    choose_id(call);
    return call;
}

struct dg_span dg_call_owner(const struct dg_call *call)
{
    return dg_span_cstr(dg_gate_name(call));
}

bool dg_call_is_foreign(const struct dg_call *call)
{
    const struct dg_http_req *req = call->req;
    struct dg_span site = dg_http_header(req, "sec-fetch-site"),
                   origin = dg_http_header(req, "origin");
    if (site.ptr && !dg_span_eq(site, DG_SPAN("same-origin")) && !dg_span_eq(site, DG_SPAN("none")))
        return true;
    return origin.ptr && !(dg_span_starts(origin, DG_SPAN("http://")) &&
                           dg_span_eq(dg_span_sub(origin, 7, origin.len), req->host));
}

bool dg_call_lists(const struct dg_call *call, const char *owner, uint64_t client)
{
    if (!dg_span_eq(dg_span_cstr(owner), dg_call_owner(call)))
        return false;
    if (*owner)
        return true;
    const char *known = call->api->opts.cors_origin;
    const bool is_known =
        known && *known && dg_span_eq(dg_http_header(call->req, "origin"), dg_span_cstr(known));
    return client && client == dg_gate_client(call) && (is_known || !dg_call_is_foreign(call));
}

void dg_call_add_headers(struct dg_call *call)
{
    if (call->has_headers)
        return;
    call->has_headers = true;
    dg_http_reply_header(call->req, "X-Request-Id", dg_span_cstr(call->id));
    const char *origin = call->api->opts.cors_origin;
    if (origin && *origin) {
        dg_http_reply_header(call->req, "Access-Control-Allow-Origin", dg_span_cstr(origin));
        dg_http_reply_header(
            call->req, "Access-Control-Expose-Headers",
            DG_SPAN("Authorization, Content-Disposition, RateLimit-Limit, RateLimit-Policy, "
                    "RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id, X-Trace-ID"));
    }
    if (call->dialect && call->dialect->add_headers)
        call->dialect->add_headers(call);
}

void dg_call_reply(struct dg_call *call, int status, const char *type, struct dg_span body)
{
    dg_call_add_headers(call);
    dg_http_reply(call->req, status, type, body);
}

void dg_call_reply_member(struct dg_call *call, int status, const char *type, struct dg_span body,
                          struct dg_span member)
{
    dg_call_add_headers(call);
    dg_http_reply_member(call->req, status, type, body, member);
}

void dg_call_json(struct dg_call *call, int status, struct dg_span json)
{
    dg_call_reply(call, status, "application/json", json);
}

void dg_call_json_give(struct dg_call *call, struct dg_buf *json)
{
    dg_call_add_headers(call);
    dg_http_reply_give(call->req, 200, "application/json", json);
}

void dg_call_text(struct dg_call *call, int status, struct dg_span text)
{
    dg_call_reply(call, status, "text/plain; charset=utf-8", text);
}

void dg_call_begin_stream(struct dg_call *call, const char *type)
{
    dg_call_add_headers(call);
    dg_http_reply_header(call->req, "Cache-Control", DG_SPAN("no-store"));
    /* tells nginx not to buffer the answer */
    dg_http_reply_header(call->req, "X-Accel-Buffering", DG_SPAN("no"));
    dg_http_reply_begin(call->req, 200, type);
    if (strcmp(type, "text/event-stream") == 0)
        dg_list_link_last(&call->api->event_streams, &call->events);
}

void dg_call_keep_streams(struct dg_api *api)
{
    for (struct dg_list *at = api->event_streams.next, *next; at != &api->event_streams;
         at = next) {
        struct dg_call *call = DG_LIST_ITEM(at, struct dg_call, events);
        const uint64_t n_bytes = dg_http_reply_bytes(call->req);
        next = at->next;
        call->quiet_s = n_bytes == call->events_bytes ? call->quiet_s + 1 : 0;
        call->events_bytes = n_bytes;
        if (call->quiet_s < DG_CALL_QUIET_S)
            continue;
        call->quiet_s = 0;
        (void)!dg_http_reply_write(call->req, DG_SPAN(":\n\n"));
        call->events_bytes = dg_http_reply_bytes(call->req);
    }
}

void dg_call_event_open(struct dg_call *call, const char *name, const struct dg_event_ids *ids,
                        struct dg_json_out *out)
{
    struct dg_buf *event = dg_api_message(call->api);
    struct dg_span id = {NULL, 0};
    enum dg_err err = ids ? dg_api_event_id(call->api, ids, &id) : DG_OK;
    if (!err)
        err = dg_sse_open(event, name, id);
    dg_json_out_init(out, event);
    out->err = err;
}

void dg_call_event_send(struct dg_call *call, struct dg_json_out *out)
{
    if (dg_json_out_end(out) == DG_OK && dg_sse_close(out->buf) == DG_OK)
        (void)!dg_http_reply_write(call->req, dg_buf_span(out->buf));
    else
        dg_http_reply_abort(call->req);
    dg_api_message_sent(call->api);
}

void dg_call_event(struct dg_call *call, const char *name, const struct dg_event_ids *ids,
                   struct dg_span json)
{
    struct dg_json_out out;
    dg_call_event_open(call, name, ids, &out);
    dg_json_out_raw(&out, json);
    dg_call_event_send(call, &out);
}

void dg_call_event_failure(struct dg_call *call, const char *name, const struct dg_event_ids *ids,
                           const struct dg_failure *failure)
{
    struct dg_buf buf;
    dg_buf_init(&buf, FAILURE_MAX);
    if (dg_call_error_json(&buf, failure, dg_span_cstr(call->id)) == DG_OK)
        dg_call_event(call, name, ids, dg_buf_span(&buf));
    else
        dg_http_reply_abort(call->req);
    dg_buf_deinit(&buf);
}

void dg_call_took(struct dg_call *call, uint64_t tokens_in, uint64_t tokens_out, uint64_t queue_ns,
                  uint64_t total_ns)
{
    call->tokens_in = tokens_in;
    call->tokens_out = tokens_out;
    call->queue_us = queue_ns / 1000;
    call->compute_us = (total_ns - queue_ns) / 1000;
}

void dg_call_put_failure(struct dg_json_out *out, const struct dg_failure *failure)
{
    dg_json_out_put_cstr(out, "code", failure->code);
    dg_json_out_put_cstr(out, "message", failure->message);
    if (failure->field)
        dg_json_out_put_cstr(out, "field", failure->field);
    if (failure->has_limit)
        dg_json_out_put_int(out, "limit", failure->limit);
    if (failure->retry_after_s)
        dg_json_out_put_uint(out, "retry_after", failure->retry_after_s);
}

void dg_call_put_millis(struct dg_json_out *out, const char *key, uint64_t ns)
{
    dg_json_out_put_real(out, key, (double)(ns / 1000) / 1000.0, 9);
}

enum dg_err dg_call_error_json(struct dg_buf *buf, const struct dg_failure *failure,
                               struct dg_span request_id)
{
    struct dg_json_out out;
    dg_json_out_init(&out, buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_open(&out, "error", '{');
    dg_call_put_failure(&out, failure);
    dg_json_out_close(&out, '}');
    dg_json_out_put_string(&out, "request_id", request_id);
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}

void dg_call_json_list(struct dg_call *call, const char *name,
                       void (*fill)(struct dg_call *call, struct dg_json_out *out))
{
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, LIST_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_open(&out, name, '[');
    fill(call, &out);
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    dg_call_json_out(call, 200, &out);
}

void dg_call_json_out(struct dg_call *call, int status, struct dg_json_out *out)
{
    if (dg_json_out_end(out) == DG_OK)
        dg_call_json(call, status, dg_buf_span(out->buf));
    else
        dg_call_no_memory(call);
    dg_buf_deinit(out->buf);
}

/* No id needs escapes. */
void dg_call_fail_without_memory(struct dg_call *call)
{
    char json[128 + DG_CALL_ID_MAX];
    const int len = snprintf(json, sizeof json,
                             "{\"error\":{\"code\":\"overloaded\",\"message\":\"The server is out "
                             "of memory.\"},\"request_id\":\"%s\"}",
                             call->id);
    dg_call_json(call, 503, dg_span_make(json, (size_t)len));
}

void dg_call_fail(struct dg_call *call, struct dg_failure failure)
{
    struct dg_buf buf;
    dg_buf_init(&buf, 16 * 1024);
    if (failure.retry_after_s) {
        char seconds[16];
        int len = snprintf(seconds, sizeof seconds, "%u", failure.retry_after_s);
        dg_http_reply_header(call->req, "Retry-After", dg_span_make(seconds, (size_t)len));
    }
    if (call->dialect && call->dialect->fail) {
        call->dialect->fail(call, &failure);
        dg_buf_deinit(&buf);
        return;
    }
    if (dg_call_error_json(&buf, &failure, dg_span_cstr(call->id)) == DG_OK)
        dg_call_json(call, failure.status, dg_buf_span(&buf));
    else
        dg_call_fail_without_memory(call);
    dg_buf_deinit(&buf);
}

void dg_call_no_model(struct dg_call *call)
{
    dg_call_fail(call, (struct dg_failure){.status = 503,
                                           .code = "no_model",
                                           .message = "This server has no model."});
}

void dg_call_no_memory(struct dg_call *call)
{
    dg_call_fail(call, (struct dg_failure){.status = 503,
                                           .code = "overloaded",
                                           .message = "The server is out of memory.",
                                           .retry_after_s = 1});
}
