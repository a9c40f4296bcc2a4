/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writes answers into the machine's output. A lack of memory ends the connection, so the functions
 * below return nothing and their callers stay simple. */
#include "net/proto/http_reply.h"
#include "base/memory/chars.h"
#include "net/proto/gzip.h"
#include "net/proto/http_int.h"

const char *dg_http_reason(int status)
{
    static const char *const names[] = {[100] = "Continue",
                                        [101] = "Switching Protocols",
                                        [200] = "OK",
                                        [201] = "Created",
                                        [202] = "Accepted",
                                        [204] = "No Content",
                                        [304] = "Not Modified",
                                        [308] = "Permanent Redirect",
                                        [400] = "Bad Request",
                                        [401] = "Unauthorized",
                                        [403] = "Forbidden",
                                        [404] = "Not Found",
                                        [405] = "Method Not Allowed",
                                        [406] = "Not Acceptable",
                                        [408] = "Request Timeout",
                                        [409] = "Conflict",
                                        [410] = "Gone",
                                        [413] = "Content Too Large",
                                        [414] = "URI Too Long",
                                        [415] = "Unsupported Media Type",
                                        [417] = "Expectation Failed",
                                        [422] = "Unprocessable Content",
                                        [426] = "Upgrade Required",
                                        [429] = "Too Many Requests",
                                        [431] = "Request Header Fields Too Large",
                                        [456] = "Quota Exceeded",
                                        [499] = "Client Closed Request",
                                        [500] = "Internal Server Error",
                                        [501] = "Not Implemented",
                                        [503] = "Service Unavailable",
                                        [504] = "Gateway Timeout",
                                        [505] = "HTTP Version Not Supported",
                                        [507] = "Insufficient Storage"};
    const size_t at = (size_t)status;
    return at < sizeof names / sizeof *names && names[at] ? names[at] : "Status";
}

static void put(struct dg_http *http, const void *bytes, size_t len)
{
    if (!http->dead && dg_output_append(&http->out, bytes, len) != DG_OK)
        dg_http_kill(http);
}

/* Takes the memory. */
static void give(struct dg_http *http, struct dg_buf *bytes)
{
    if (!http->dead && dg_output_give(&http->out, bytes) != DG_OK)
        dg_http_kill(http);
    dg_buf_deinit(bytes);
}

static void put_text(struct dg_http *http, const char *text)
{
    put(http, text, strlen(text));
}

static void put_header(struct dg_http *http, const char *name, const char *value)
{
    put_text(http, name);
    put(http, ": ", 2);
    put_text(http, value);
    put(http, "\r\n", 2);
}

static void put_number(struct dg_http *http, uint64_t number, unsigned base)
{
    char room[DG_CHARS_DIGITS];
    const struct dg_span digits = dg_chars_digits(number, base, 1, room);
    put(http, digits.ptr, digits.len);
}

void dg_http_reply_header(struct dg_http_req *req, const char *name, struct dg_span value)
{
    struct dg_buf *extra = &req->http->extra;
    size_t before = extra->len;
    if (dg_buf_append_cstr(extra, name) || dg_buf_append(extra, ": ", 2) ||
        dg_buf_append_span(extra, value) || dg_buf_append(extra, "\r\n", 2)) {
        dg_buf_truncate(extra, before);
        return;
    }
    for (size_t i = extra->len - 2 - value.len; i < extra->len - 2; i++)
        if (extra->ptr[i] == '\r' || extra->ptr[i] == '\n' || extra->ptr[i] == '\0')
            extra->ptr[i] = ' ';
}

/* Status line and the headers that every answer has. */
static void put_head(struct dg_http_req *req, int status, const char *type)
{
    struct dg_http *http = req->http;
    dg_http_answering(http);
    if (http->shared->closing)
        http->keep = false;
    http->begun = true;
    http->status = status;
    http->bodiless = req->method == DG_HTTP_HEAD || status == 204 || status == 304;
    put(http, "HTTP/1.1 ", 9);
    put_number(http, (uint64_t)status, 10);
    put(http, " ", 1);
    put_text(http, dg_http_reason(status));
    put(http, "\r\n", 2);
    if (http->shared->server)
        put_header(http, "Server", http->shared->server);
    if (http->shared->date[0])
        put_header(http, "Date", http->shared->date);
    if (type)
        put_header(http, "Content-Type", type);
    put(http, http->extra.ptr, http->extra.len);
}

/* Writes "Connection" where it differs from the version's default. */
static void put_connection(struct dg_http_req *req)
{
    if (!req->http->keep)
        put_text(req->http, "Connection: close\r\n");
    else if (req->minor == 0)
        put_text(req->http, "Connection: keep-alive\r\n");
}

static bool is_compressible(const char *type)
{
    return type && (strncmp(type, "text/", 5) == 0 || strstr(type, "json") || strstr(type, "xml") ||
                    strstr(type, "javascript") || strstr(type, "yaml"));
}

/* The body compressed, when that was asked for and is worth it; otherwise ptr is NULL. */
static struct dg_span try_gzip(struct dg_http_req *req, const char *type, struct dg_span body,
                               struct dg_buf *memory)
{
    const struct dg_http_limits *limits = &req->http->shared->limits;
    struct dg_span none = {NULL, 0};
    if (body.len < limits->gzip_bytes_min || body.len > limits->gzip_bytes_max ||
        !is_compressible(type) || !dg_http_list_has(dg_http_header(req, "accept-encoding"), "gzip"))
        return none;
    return dg_gzip(memory, body) == DG_OK && memory->len < body.len ? dg_buf_span(memory) : none;
}

/* `owned` is the body's memory, or NULL when it is borrowed; `member`: the body as a gzip member,
 * if there is one already. */
static void reply(struct dg_http_req *req, int status, const char *type, struct dg_span body,
                  struct dg_buf *owned, struct dg_span member)
{
    struct dg_http *http = req->http;
    struct dg_buf memory;
    dg_buf_init(&memory, SIZE_MAX / 2);
    struct dg_span packed = {NULL, 0};
    if (!member.ptr)
        packed = try_gzip(req, type, body, &memory);
    else if (dg_http_list_has(dg_http_header(req, "accept-encoding"), "gzip"))
        packed = member;
    http->sent_bytes = body.len;
    put_head(req, status, type);
    put_connection(req);
    if (packed.ptr)
        put_text(http, "Content-Encoding: gzip\r\n");
    if (member.ptr || (body.len >= http->shared->limits.gzip_bytes_min && is_compressible(type)))
        put_text(http, "Vary: Accept-Encoding\r\n");
    if (status != 204 && status != 304) {
        put_text(http, "Content-Length: ");
        put_number(http, packed.ptr ? packed.len : body.len, 10);
        put(http, "\r\n", 2);
    }
    put(http, "\r\n", 2);
    if (!http->bodiless && !packed.ptr && owned)
        give(http, owned);
    else if (!http->bodiless)
        put(http, packed.ptr ? packed.ptr : body.ptr, packed.ptr ? packed.len : body.len);
    dg_buf_deinit(&memory);
    http->finished = true;
    dg_http_answered(http);
}

void dg_http_reply(struct dg_http_req *req, int status, const char *type, struct dg_span body)
{
    reply(req, status, type, body, NULL, (struct dg_span){NULL, 0});
}

void dg_http_reply_member(struct dg_http_req *req, int status, const char *type,
                          struct dg_span body, struct dg_span member)
{
    reply(req, status, type, body, NULL, member);
}

void dg_http_reply_give(struct dg_http_req *req, int status, const char *type, struct dg_buf *body)
{
    reply(req, status, type, dg_buf_span(body), body->len >= DG_OUTPUT_PIECE ? body : NULL,
          (struct dg_span){NULL, 0});
    dg_buf_deinit(body);
}

void dg_http_reply_begin(struct dg_http_req *req, int status, const char *type)
{
    struct dg_http *http = req->http;
    http->chunked_out = req->minor >= 1;
    if (!http->chunked_out)
        http->keep = false;
    put_head(req, status, type);
    put_connection(req);
    if (http->chunked_out && status != 204 && status != 304)
        put_text(http, "Transfer-Encoding: chunked\r\n");
    put(http, "\r\n", 2);
    dg_http_tell_output(http);
}

/* `owned` is the part's memory, or NULL when it is borrowed. */
static enum dg_err write_part(struct dg_http_req *req, struct dg_span part, struct dg_buf *owned)
{
    struct dg_http *http = req->http;
    if (http->dead)
        return DG_ERR_CLOSED;
    if (part.len == 0)
        return DG_OK;
    http->sent_bytes += part.len;
    if (http->bodiless)
        return DG_OK;
    http->largest = part.len > http->largest ? part.len : http->largest;
    if (dg_output_unwritten(&http->out) + part.len >
        http->shared->limits.stream_bytes + http->largest) {
        dg_http_kill(http);
        return DG_ERR_LIMIT;
    }
    if (http->chunked_out) {
        put_number(http, part.len, 16);
        put(http, "\r\n", 2);
    }
    if (owned)
        give(http, owned);
    else
        put(http, part.ptr, part.len);
    if (http->chunked_out)
        put(http, "\r\n", 2);
    if (http->dead)
        return DG_ERR_NOMEM;
    dg_http_tell_output(http);
    return DG_OK;
}

enum dg_err dg_http_reply_write(struct dg_http_req *req, struct dg_span part)
{
    return write_part(req, part, NULL);
}

enum dg_err dg_http_reply_write_give(struct dg_http_req *req, struct dg_buf *part)
{
    enum dg_err err =
        write_part(req, dg_buf_span(part), part->len >= DG_OUTPUT_PIECE ? part : NULL);
    dg_buf_deinit(part);
    return err;
}

void dg_http_reply_end(struct dg_http_req *req)
{
    struct dg_http *http = req->http;
    if (http->chunked_out && !http->bodiless)
        put(http, "0\r\n\r\n", 5);
    http->finished = true;
    dg_http_answered(http);
}

void dg_http_reply_abort(struct dg_http_req *req)
{
    dg_http_kill(req->http);
}

void dg_http_upgrade(struct dg_http_req *req)
{
    struct dg_http *http = req->http;
    http->keep = false; /* for HTTP this was the last one */
    http->begun = true;
    http->status = 101;
    put_text(http, "HTTP/1.1 101 Switching Protocols\r\n");
    if (http->shared->server)
        put_header(http, "Server", http->shared->server);
    put(http, http->extra.ptr, http->extra.len);
    put(http, "\r\n", 2);
    if (!http->dead)
        http->phase = DG_HTTP_PHASE_UPGRADED;
    http->deadline = UINT64_MAX;
    http->finished = true;
    dg_http_answered(http);
}

bool dg_http_reply_begun(const struct dg_http_req *req)
{
    return req->http->begun;
}

int dg_http_reply_status(const struct dg_http_req *req)
{
    return req->http->status;
}

uint64_t dg_http_reply_bytes(const struct dg_http_req *req)
{
    return req->http->sent_bytes;
}
