/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reading requests. A head is collected in `in` until the guard has seen its empty line; then it is
 * copied into the request's arena and parsed by llhttp at once, so that every span is contiguous.
 * Bodies pass through llhttp as they arrive and collect in `body`.
 *
 *   IDLE -first byte-> HEAD -head complete-> on_head -> BODY -complete-> on_request -> ANSWER
 *   HEAD -refused-> on_refused -> ENDED
 *   ANSWER -answer complete-> IDLE, UPGRADED or ENDED
 *
 * process() runs as long as a step makes progress. Answers given from inside an event only set
 * flags that process() reads, so nothing recurses however many requests are pipelined. */
#include "net/proto/http.h"
#include "base/memory/chars.h"
#include "base/memory/mem.h"
#include "net/proto/http_int.h"
#include "net/proto/http_reply.h"
#include "net/proto/target.h"

#include <stdio.h>
#include <strings.h>
#include <time.h>

enum {
    ARENA_SPARE = 1024 * 1024, /* the arena's maximum beyond a multiple of the body's */
    ARENA_PER_BODY_BYTE = 8,
    DISCARD_MAX = 64 * 1024, /* a body this small is read and thrown away to keep the connection */
    BODY_STEP = 16 * 1024    /* the least memory that is requested for a body of unknown length */
};

const char *dg_http_method_name(enum dg_http_method method)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    return names[method];
}

void dg_http_set_date(struct dg_http_shared *shared, uint64_t unix_s)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t when = (time_t)unix_s;
    struct tm tm;
    if (!gmtime_r(&when, &tm))
        return;
    /* Not strftime: its names follow the locale. */
    snprintf(shared->date, sizeof shared->date, "%s, %02u %s %04u %02u:%02u:%02u GMT",
             days[tm.tm_wday], (unsigned)tm.tm_mday % 100, months[tm.tm_mon],
             ((unsigned)tm.tm_year + 1900) % 10000, (unsigned)tm.tm_hour % 100,
             (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
}

/* ---- Headers --------------------------------------------------------------------------------- */

static bool same_word(struct dg_span text, const char *word)
{
    size_t len = strlen(word);
    return text.len == len && strncasecmp(text.ptr ? text.ptr : "", word, len) == 0;
}

struct dg_span dg_http_header(const struct dg_http_req *req, const char *name)
{
    for (unsigned i = 0; i < req->n_headers; i++)
        if (same_word(req->headers[i].name, name))
            return req->headers[i].value;
    return (struct dg_span){NULL, 0};
}

static unsigned count_header(const struct dg_http_req *req, const char *name)
{
    unsigned n = 0;
    for (unsigned i = 0; i < req->n_headers; i++)
        n += same_word(req->headers[i].name, name);
    return n;
}

/* True when the parameters of a list element ("; q=0.0") refuse it. */
static bool is_refused(struct dg_span params)
{
    const char *q = NULL;
    for (size_t i = 0; i + 1 < params.len; i++)
        if ((params.ptr[i] == 'q' || params.ptr[i] == 'Q') && params.ptr[i + 1] == '=')
            q = params.ptr + i + 2;
    if (!q)
        return false;
    const char *end = params.ptr + params.len;
    while (q < end && (*q == '0' || *q == '.'))
        q++;
    return q == end || *q < '1' || *q > '9';
}

bool dg_http_list_has(struct dg_span value, const char *token)
{
    while (value.len) {
        const char *comma = memchr(value.ptr, ',', value.len);
        size_t len = comma ? (size_t)(comma - value.ptr) : value.len;
        struct dg_span item = dg_span_sub(value, 0, len);
        const char *semicolon = memchr(item.ptr, ';', item.len);
        size_t word_len = semicolon ? (size_t)(semicolon - item.ptr) : item.len;
        if (same_word(dg_chars_trim(dg_span_sub(item, 0, word_len), " \t"), token))
            return !is_refused(dg_span_sub(item, word_len, item.len));
        value = dg_span_sub(value, len + 1, value.len);
    }
    return false;
}

/* ---- llhttp's callbacks ---------------------------------------------------------------------- */

static int on_url(llhttp_t *parser, const char *at, size_t len)
{
    struct dg_http *http = parser->data;
    if (!http->req.target.ptr)
        http->req.target.ptr = at;
    http->req.target.len += len;
    return 0;
}

static int on_header_field(llhttp_t *parser, const char *at, size_t len)
{
    struct dg_http *http = parser->data;
    if (http->phase == DG_HTTP_PHASE_BODY)
        return 0; /* trailers are read and dropped */
    if (http->req.n_headers == http->headers_cap)
        return -1;
    http->headers[http->req.n_headers++].name = dg_span_make(at, len);
    return 0;
}

static int on_header_value(llhttp_t *parser, const char *at, size_t len)
{
    struct dg_http *http = parser->data;
    if (http->phase == DG_HTTP_PHASE_BODY)
        return 0;
    struct dg_span *value = &http->headers[http->req.n_headers - 1].value;
    if (!value->ptr)
        value->ptr = at;
    value->len = (size_t)(at + len - value->ptr);
    return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
    struct dg_http *http = parser->data;
    http->keep = llhttp_should_keep_alive(parser) != 0;
    http->chunked_in = (parser->flags & F_CHUNKED) != 0;
    http->body_left = (parser->flags & F_CONTENT_LENGTH) ? parser->content_length : 0;
    /* a request that wants to leave HTTP is a request until its handler agrees */
    parser->upgrade = 0;
    return 0;
}

/* Whether the body may take `bytes` in all. */
static bool has_room(struct dg_http *http, size_t bytes)
{
    if (bytes <= http->body_room)
        return true;
    if (http->events->on_body && !http->events->on_body(http->user, &http->req, bytes)) {
        http->lacks_room = true;
        return false;
    }
    http->body_room = bytes;
    return true;
}

/* The same for a body that grows by doubling, as its buffer does. */
static bool has_room_to_grow(struct dg_http *http, size_t len)
{
    const size_t needed = http->body.len + len;
    if (needed <= http->body_room || needed > http->req.body_max)
        return true; /* a body that is too large is refused as such */
    size_t bytes = http->body_room ? http->body_room : BODY_STEP;
    while (bytes < needed && bytes < SIZE_MAX / 2)
        bytes *= 2;
    return has_room(http, bytes < http->req.body_max ? bytes : http->req.body_max);
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    struct dg_http *http = parser->data;
    http->body_seen += len;
    if (http->discard || (http->req.on_data && http->begun))
        return 0;
    if (http->req.on_data) {
        if (http->body_seen > http->req.body_max)
            return -1;
        http->req.on_data(http->req.owner, dg_span_make(at, len));
        return 0;
    }
    return has_room_to_grow(http, len) && dg_buf_append(&http->body, at, len) == DG_OK ? 0 : -1;
}

static int on_message_complete(llhttp_t *parser)
{
    struct dg_http *http = parser->data;
    http->message_complete = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t parser_settings = {
    .on_url = on_url,
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* ---- Phases ---------------------------------------------------------------------------------- */

static void enter(struct dg_http *http, enum dg_http_phase phase, uint32_t timeout_ms)
{
    http->phase = phase;
    http->phase_since = http->shared->now_ms;
    http->deadline = timeout_ms ? http->phase_since + timeout_ms : UINT64_MAX;
}

void dg_http_tell_output(struct dg_http *http)
{
    if (!http->processing && http->events->on_output)
        http->events->on_output(http->user, http);
}

void dg_http_kill(struct dg_http *http)
{
    http->dead = true;
    enter(http, DG_HTTP_PHASE_ENDED, 0);
    dg_http_tell_output(http);
}

struct dg_http *dg_http_new(const struct dg_http_shared *shared,
                            const struct dg_http_events *events, void *user)
{
    struct dg_http *http = dg_try_calloc(1, sizeof *http);
    if (!http)
        return NULL;
    http->shared = shared;
    http->events = events;
    http->user = user;
    const struct dg_http_limits *limits = &shared->limits;
    dg_buf_init(&http->in, SIZE_MAX / 2);
    dg_buf_init(&http->body, limits->body_bytes);
    dg_buf_init(&http->extra, 16 * 1024);
    dg_output_init(&http->out);
    dg_arena_init(&http->arena, limits->body_bytes * ARENA_PER_BODY_BYTE + ARENA_SPARE);
    enter(http, DG_HTTP_PHASE_IDLE, limits->idle_ms);
    return http;
}

void dg_http_free(struct dg_http *http)
{
    if (!http)
        return;
    if (http->has_req && http->req.on_gone)
        http->req.on_gone(http->req.owner);
    dg_buf_deinit(&http->in);
    dg_buf_deinit(&http->body);
    dg_buf_deinit(&http->extra);
    dg_output_deinit(&http->out);
    dg_arena_deinit(&http->arena);
    dg_free(http);
}

void dg_http_set_owner(struct dg_http *http, void *owner)
{
    http->owner = owner;
}

void *dg_http_owner(const struct dg_http *http)
{
    return http->owner;
}

/* Makes room for a new request. */
static void begin_request(struct dg_http *http)
{
    http->req = (struct dg_http_req){
        .http = http,
        .minor = 1,
        .arena = &http->arena,
        .path = DG_SPAN("/"),
        .body_max = http->shared->limits.body_bytes,
    };
    http->headers = NULL;
    http->headers_cap = 0;
    http->head_guard = (struct dg_http_guard_head){0};
    http->chunk_guard = (struct dg_http_guard_chunks){0};
    http->head_scanned = 0;
    http->body_left = http->body_seen = http->sent_bytes = 0;
    http->message_complete = http->chunked_in = http->expects_continue = http->discard = false;
    http->skipped_line = http->lacks_room = false;
    http->begun = http->finished = http->chunked_out = http->bodiless = http->has_req = false;
    http->keep = true;
    http->status = 0;
}

/* The answer is complete: frees the request and its memory; its body may still arrive. */
static void forget_request(struct dg_http *http)
{
    if (http->req.on_done)
        http->req.on_done(http->req.owner);
    http->has_req = http->req.is_held = false;
    dg_buf_clear(&http->extra);
    dg_buf_deinit(&http->body); /* a connection that waits for its next request holds nothing */
    http->body_room = 0;
    dg_arena_reset(&http->arena);
}

static void next_request(struct dg_http *http)
{
    enter(http, http->keep ? DG_HTTP_PHASE_IDLE : DG_HTTP_PHASE_ENDED,
          http->keep ? http->shared->limits.idle_ms : 0);
}

/* Refuses the current request; nothing more is read from this connection. */
static void refuse(struct dg_http *http, int status, const char *reason)
{
    enter(http, DG_HTTP_PHASE_ENDED, 0);
    http->keep = false;
    if (http->begun) /* answered already: only the rest of its body was bad */
        return;
    http->has_req = true;
    if (http->events->on_refused)
        http->events->on_refused(http->user, &http->req, status, reason);
    if (!http->begun) {
        char text[256];
        int len = snprintf(text, sizeof text, "%s\n", reason);
        dg_http_reply(
            &http->req, status, "text/plain; charset=utf-8",
            dg_span_make(text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1));
    }
}

/* ---- Heads ----------------------------------------------------------------------------------- */

static bool map_method(uint8_t method, enum dg_http_method *out)
{
    switch (method) {
    case HTTP_GET:
        *out = DG_HTTP_GET;
        return true;
    case HTTP_HEAD:
        *out = DG_HTTP_HEAD;
        return true;
    case HTTP_POST:
        *out = DG_HTTP_POST;
        return true;
    case HTTP_PUT:
        *out = DG_HTTP_PUT;
        return true;
    case HTTP_PATCH:
        *out = DG_HTTP_PATCH;
        return true;
    case HTTP_DELETE:
        *out = DG_HTTP_DELETE;
        return true;
    case HTTP_OPTIONS:
        *out = DG_HTTP_OPTIONS;
        return true;
    default:
        return false;
    }
}

bool dg_http_host_is_sane(struct dg_span host)
{
    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!alnum && !strchr("-._~:[]%!$&'()*+,;=", c))
            return false;
    }
    return true;
}

/* Checks the framing strictly by RFC 9112, section 6; returns 0 or a status. */
static int check_framing(struct dg_http *http, const char **reason)
{
    struct dg_http_req *req = &http->req;
    unsigned n_lengths = count_header(req, "content-length");
    unsigned n_codings = count_header(req, "transfer-encoding");
    if (n_lengths > 1) {
        *reason = "there is more than one Content-Length";
        return 400;
    }
    if (n_codings && n_lengths) {
        *reason = "there are both Content-Length and Transfer-Encoding";
        return 400;
    }
    if (n_codings && req->minor == 0) {
        *reason = "Transfer-Encoding in an HTTP/1.0 request";
        return 400;
    }
    if (n_codings > 1 ||
        (n_codings && !same_word(dg_http_header(req, "transfer-encoding"), "chunked"))) {
        *reason = "the only transfer coding understood is \"chunked\"";
        return 501;
    }
    if (n_codings && !http->chunked_in) {
        *reason = "the transfer coding could not be read";
        return 400;
    }
    return 0;
}

static int check_host(struct dg_http *http, const char **reason)
{
    struct dg_http_req *req = &http->req;
    unsigned n_hosts = count_header(req, "host");
    req->host = dg_http_header(req, "host");
    if (n_hosts > 1 || (n_hosts == 0 && req->minor >= 1)) {
        *reason = n_hosts ? "there is more than one Host header" : "the Host header is missing";
        return 400;
    }
    if (!dg_http_host_is_sane(req->host)) {
        *reason = "the Host header holds characters that no host name has";
        return 400;
    }
    return 0;
}

static int check_target(struct dg_http *http, struct dg_error *error)
{
    struct dg_http_req *req = &http->req;
    struct dg_target target;
    enum dg_err err = dg_target_parse(&http->arena, req->target, &target, error);
    if (err)
        return err == DG_ERR_NOMEM ? 503 : 400;
    if (dg_span_eq(target.path, DG_SPAN("*")) && req->method != DG_HTTP_OPTIONS) {
        dg_error_set(error, DG_ERR_FORMAT, "the request target \"*\" is for OPTIONS only");
        return 400;
    }
    req->path = target.path;
    req->query = target.query;
    if (target.authority.ptr) {
        if (!dg_http_host_is_sane(target.authority)) {
            dg_error_set(error, DG_ERR_FORMAT,
                         "the target's host holds characters that no host name has");
            return 400;
        }
        req->host = target.authority;
    }
    return 0;
}

/* Checks everything about a parsed head that llhttp leaves to us; returns 0 or the status to refuse
 * it with. */
static int check_head(struct dg_http *http, const char **reason, struct dg_error *error)
{
    struct dg_http_req *req = &http->req;
    req->minor = http->parser.http_minor;
    if (http->parser.http_major != 1 || req->minor > 1) {
        *reason = "only HTTP/1.0 and HTTP/1.1 are spoken here";
        return 505;
    }
    if (!map_method(http->parser.method, &req->method)) {
        *reason = "this method is not implemented";
        return 501;
    }
    if (req->target.len > http->shared->limits.url_bytes) {
        *reason = "the request target is too long";
        return 414;
    }
    int status = check_framing(http, reason);
    if (!status)
        status = check_host(http, reason);
    if (status)
        return status;
    status = check_target(http, error);
    if (status) {
        *reason = dg_error_text(error, DG_ERR_FORMAT);
        return status;
    }
    struct dg_span expect = dg_http_header(req, "expect");
    if (expect.ptr && req->minor >= 1) {
        if (!same_word(expect, "100-continue")) {
            *reason = "the only expectation understood is \"100-continue\"";
            return 417;
        }
        http->expects_continue = true;
    }
    return 0;
}

/* The HTTP status for an error of llhttp. */
static int status_of_parser(llhttp_errno_t parsed)
{
    switch (parsed) {
    case HPE_INVALID_METHOD:
        return 501;
    case HPE_INVALID_VERSION:
        return 505;
    default:
        return 400;
    }
}

/* Copies the head into the arena and has llhttp parse it; false when it was refused. */
static bool parse_head(struct dg_http *http, const char *bytes, size_t len)
{
    unsigned n_lines = http->head_guard.lines;
    char *head = dg_arena_alloc(&http->arena, len);
    http->headers_cap = n_lines > 0 ? n_lines - 1 : 0;
    http->headers = dg_arena_calloc(&http->arena, http->headers_cap + 1, sizeof *http->headers);
    if (!head || !http->headers) {
        refuse(http, 503, "there is no memory for this request");
        return false;
    }
    memcpy(head, bytes, len);
    http->req.headers = http->headers;
    llhttp_init(&http->parser, HTTP_REQUEST, &parser_settings);
    http->parser.data = http;
    llhttp_errno_t parsed = llhttp_execute(&http->parser, head, len);
    if (parsed == HPE_PAUSED && http->message_complete)
        parsed = HPE_OK;
    if (parsed != HPE_OK) {
        const char *reason = llhttp_get_error_reason(&http->parser);
        http->req.n_headers = 0; /* only half read: nobody may look at them */
        refuse(http, status_of_parser(parsed),
               reason && *reason ? reason : "the request is malformed");
        return false;
    }
    for (unsigned i = 0; i < http->req.n_headers; i++)
        http->headers[i].value = dg_chars_trim(http->headers[i].value, " \t");
    struct dg_error error = DG_ERROR_NONE;
    const char *reason = "";
    int status = check_head(http, &reason, &error);
    if (status) {
        refuse(http, status, reason);
        return false;
    }
    return true;
}

static const char no_room[] =
    "the memory for the bodies of requests (memory-limit) is used up; try again later";

/* The head is good: shows it to the owner and prepares for the body. */
static void start_body(struct dg_http *http)
{
    http->has_req = true;
    enter(http, DG_HTTP_PHASE_BODY, http->shared->limits.body_ms);
    if (http->events->on_head)
        http->events->on_head(http->user, &http->req);
    if (http->phase != DG_HTTP_PHASE_BODY)
        return;
    if (http->begun)
        return;
    if (http->body_left > http->req.body_max) {
        refuse(http, 413, "the body is larger than the limit");
        return;
    }
    if (http->req.on_data)
        return;
    /* A body of known length gets no more memory than that. */
    http->body.max = http->chunked_in ? http->req.body_max : (size_t)http->body_left;
    if (!http->chunked_in && !has_room(http, (size_t)http->body_left))
        refuse(http, 503, no_room);
}

/* One step of HEAD: consumes a whole head or nothing. */
static size_t read_head(struct dg_http *http, const char *bytes, size_t len)
{
    const struct dg_http_limits *limits = &http->shared->limits;
    /* One empty line before a request is ignored (RFC 9112, section 2.2). */
    if (bytes[0] == '\r' && !http->skipped_line && http->head_scanned == 0) {
        if (len == 1)
            return 0;
        http->skipped_line = true;
        if (bytes[1] == '\n')
            return 2;
    }
    size_t end;
    const char *problem = dg_http_guard_head_scan(&http->head_guard, bytes + http->head_scanned,
                                                  len - http->head_scanned, &end);
    if (problem) {
        refuse(http, 400, problem);
        return len;
    }
    size_t head_len = end == SIZE_MAX ? len : http->head_scanned + end;
    if (http->head_guard.lines == 0 && http->head_guard.line_bytes > limits->url_bytes + 32) {
        refuse(http, 414, "the request target is too long");
        return len;
    }
    if (head_len > limits->head_bytes || http->head_guard.lines > limits->headers + 1) {
        refuse(http, 431,
               http->head_guard.lines > limits->headers + 1
                   ? "there are more headers than the limit"
                   : "the headers are longer than the limit");
        return len;
    }
    http->head_scanned = len;
    if (end == SIZE_MAX)
        return 0;
    if (parse_head(http, bytes, head_len))
        start_body(http);
    return head_len;
}

/* ---- Bodies ---------------------------------------------------------------------------------- */

/* How many of the `len` bytes belong to the body; SIZE_MAX when they are refused. */
static size_t measure_body(struct dg_http *http, const char *bytes, size_t len)
{
    if (!http->chunked_in)
        return len < http->body_left ? len : (size_t)http->body_left;
    size_t end;
    const char *problem = dg_http_guard_chunks_scan(&http->chunk_guard, bytes, len, &end);
    if (problem) {
        refuse(http, 400, problem);
        return SIZE_MAX;
    }
    if (http->chunk_guard.trailer.lines > http->shared->limits.headers) {
        refuse(http, 431, "there are more trailer fields than the limit");
        return SIZE_MAX;
    }
    return end == SIZE_MAX ? len : end;
}

static size_t read_body(struct dg_http *http, const char *bytes, size_t len)
{
    size_t mine = measure_body(http, bytes, len);
    if (mine == SIZE_MAX)
        return len;
    llhttp_errno_t parsed = llhttp_execute(&http->parser, bytes, mine);
    if (parsed == HPE_PAUSED && http->message_complete)
        parsed = HPE_OK;
    if (parsed == HPE_USER) {
        const bool is_large = http->body_seen > http->req.body_max;
        refuse(http, is_large ? 413 : 503,
               is_large           ? "the body is larger than the limit"
               : http->lacks_room ? no_room
                                  : "there is no memory for this body");
        return len;
    }
    /* The guard, or our own count, and llhttp must agree on where the message ends. */
    bool at_end = http->chunked_in ? http->chunk_guard.done : mine == http->body_left;
    if (parsed != HPE_OK || http->message_complete != at_end) {
        refuse(http, 400, "the body's framing is malformed");
        return len;
    }
    if (!http->chunked_in)
        http->body_left -= mine;
    const struct dg_http_limits *limits = &http->shared->limits;
    if (http->deadline != UINT64_MAX && limits->body_rate) {
        const uint64_t earned_ms = limits->body_ms + http->body_seen * 1000 / limits->body_rate;
        http->deadline =
            http->phase_since + (earned_ms < limits->body_all_ms ? earned_ms : limits->body_all_ms);
    }
    return mine;
}

static void hand_over(struct dg_http *http)
{
    enter(http, DG_HTTP_PHASE_ANSWER, 0);
    http->req.body = dg_buf_span(&http->body);
    http->events->on_request(http->user, &http->req);
}

/* ---- The engine ------------------------------------------------------------------------------ */

/* A step that needs no input; true when it changed something. */
static bool settle(struct dg_http *http)
{
    if (http->has_req && http->finished) {
        forget_request(http);
        if (http->phase == DG_HTTP_PHASE_BODY && !http->message_complete && http->keep)
            http->discard = true;
        else if (http->phase == DG_HTTP_PHASE_BODY || http->phase == DG_HTTP_PHASE_ANSWER)
            next_request(http);
        return true;
    }
    if (http->phase != DG_HTTP_PHASE_BODY || !http->message_complete)
        return false;
    if (http->discard)
        next_request(http);
    else if (!http->begun)
        hand_over(http);
    else
        return false;
    return true;
}

/* A step that consumes input; returns how much, 0 when it needs more (or must wait). */
static size_t consume(struct dg_http *http, const char *bytes, size_t len)
{
    switch (http->phase) {
    case DG_HTTP_PHASE_IDLE:
        begin_request(http);
        enter(http, DG_HTTP_PHASE_HEAD, http->shared->limits.head_ms);
        return read_head(http, bytes, len);
    case DG_HTTP_PHASE_HEAD:
        return read_head(http, bytes, len);
    case DG_HTTP_PHASE_BODY:
        return http->message_complete ? 0 : read_body(http, bytes, len);
    case DG_HTTP_PHASE_ENDED:
        return len;
    default:
        return 0;
    }
}

static void owe_continue(struct dg_http *http)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (http->phase != DG_HTTP_PHASE_BODY || !http->expects_continue || http->begun)
        return;
    http->expects_continue = false;
    if (!http->message_complete && http->body_seen == 0 && http->in.len == 0 &&
        dg_output_append(&http->out, go_on, sizeof go_on - 1) != DG_OK)
        dg_http_kill(http);
}

/* Processes `bytes`; the caller keeps what was not consumed. */
static struct dg_span work(struct dg_http *http, struct dg_span bytes)
{
    for (;;) {
        if (settle(http))
            continue;
        uint8_t before = http->phase;
        size_t used = bytes.len ? consume(http, bytes.ptr, bytes.len) : 0;
        bytes = dg_span_sub(bytes, used, bytes.len);
        if (used == 0 && before == http->phase)
            return bytes;
    }
}

static void process(struct dg_http *http, const char *bytes, size_t len)
{
    http->processing = true;
    bool direct = http->in.len == 0; /* the usual case: nothing is copied */
    if (!direct && len && dg_buf_append(&http->in, bytes, len) != DG_OK)
        dg_http_kill(http);
    struct dg_span rest = work(http, direct ? dg_span_make(bytes, len) : dg_buf_span(&http->in));
    if (http->phase == DG_HTTP_PHASE_ENDED) {
        dg_buf_deinit(&http->in);
    } else if (!direct) {
        dg_buf_consume(&http->in, http->in.len - rest.len);
        if (http->in.len == 0)
            dg_buf_deinit(&http->in);
    } else if (rest.len && dg_buf_append(&http->in, rest.ptr, rest.len) != DG_OK) {
        dg_http_kill(http);
    }
    owe_continue(http);
    http->processing = false;
}

void dg_http_feed(struct dg_http *http, const char *bytes, size_t len)
{
    if (http->phase != DG_HTTP_PHASE_ENDED && !http->peer_done)
        process(http, bytes, len);
}

void dg_http_eof(struct dg_http *http)
{
    if (http->phase == DG_HTTP_PHASE_UPGRADED)
        return;
    http->peer_done = true;
    http->keep = false;
    /* As in most servers, a client that closes its side while its answer is being made counts as
     * gone, so that its work does not occupy the machine. Finished answers are still written. */
    if (http->has_req && !http->finished)
        http->dead = true;
    enter(http, DG_HTTP_PHASE_ENDED, 0);
}

void dg_http_answering(struct dg_http *http)
{
    if (http->phase != DG_HTTP_PHASE_BODY || http->message_complete)
        return;
    /* Answered without its body. A short one is read and dropped to keep the connection, but asking
     * for it ("100 Continue") only to drop it would be rude. */
    if (http->expects_continue || http->chunked_in || http->body_left > DISCARD_MAX)
        http->keep = false;
}

void dg_http_answered(struct dg_http *http)
{
    if (http->processing)
        return;
    process(http, NULL, 0);
    dg_http_tell_output(http);
}

bool dg_http_wants_input(const struct dg_http *http)
{
    if (http->peer_done || (http->phase == DG_HTTP_PHASE_BODY && http->req.is_held))
        return false;
    switch (http->phase) {
    case DG_HTTP_PHASE_ENDED:
        return true; /* to be thrown away, so that the peer can finish and read the answer */
    case DG_HTTP_PHASE_UPGRADED:
        return false;
    case DG_HTTP_PHASE_ANSWER:
        return http->in.len < http->shared->limits.pipelined_bytes;
    default:
        return dg_output_unwritten(&http->out) <
               dg_http_unread_max(http->shared->limits.stream_bytes);
    }
}

struct dg_span dg_http_output(const struct dg_http *http)
{
    return dg_output_span(&http->out);
}

void dg_http_written(struct dg_http *http, size_t len)
{
    dg_output_written(&http->out, len);
    if (dg_output_unwritten(&http->out) == 0)
        http->largest = 0;
    if (len > 0 && http->has_req && http->begun && !http->finished && !http->dead &&
        http->req.on_room && dg_output_unwritten(&http->out) <= http->req.stream_low)
        http->req.on_room(http->req.owner);
}

size_t dg_http_buffers(const struct dg_http *http, size_t *body)
{
    *body = http->body.cap > http->body_room ? http->body.cap : http->body_room;
    return http->in.cap + http->extra.cap + dg_output_memory(&http->out) + *body;
}

void dg_http_take_output(struct dg_http *http, struct dg_buf *into)
{
    dg_output_take(&http->out, into);
}

void dg_http_take_body(struct dg_http_req *req, struct dg_buf *into)
{
    struct dg_http *http = req->http;
    struct dg_buf spare = *into;
    *into = http->body;
    http->body_room = 0;
    http->body = spare;
    http->body.max = into->max;
    req->body = (struct dg_span){NULL, 0};
}

void dg_http_hold(struct dg_http_req *req)
{
    req->is_held = true;
}

void dg_http_go_on(struct dg_http_req *req)
{
    req->is_held = false;
    dg_http_tell_output(req->http);
}

bool dg_http_wants_close(const struct dg_http *http, bool *at_once)
{
    *at_once = http->dead;
    return http->phase == DG_HTTP_PHASE_ENDED && (!http->has_req || http->dead);
}

bool dg_http_is_idle(const struct dg_http *http)
{
    return http->phase == DG_HTTP_PHASE_IDLE || http->phase == DG_HTTP_PHASE_ENDED;
}

void dg_http_close_soon(struct dg_http *http, uint32_t grace_ms)
{
    http->keep = false;
    if (http->phase == DG_HTTP_PHASE_IDLE)
        enter(http, grace_ms ? DG_HTTP_PHASE_IDLE : DG_HTTP_PHASE_ENDED, grace_ms);
}

uint64_t dg_http_deadline(const struct dg_http *http)
{
    return http->deadline;
}

void dg_http_expire(struct dg_http *http)
{
    http->processing = true;
    if (http->phase == DG_HTTP_PHASE_IDLE)
        enter(http, DG_HTTP_PHASE_ENDED, 0);
    else if (http->phase == DG_HTTP_PHASE_HEAD)
        refuse(http, 408, "the headers did not arrive in time");
    else if (http->phase == DG_HTTP_PHASE_BODY)
        refuse(http, 408, "the body did not arrive in time");
    while (settle(http))
        ;
    http->processing = false;
}

struct dg_span dg_http_rest(const struct dg_http *http)
{
    return dg_buf_span(&http->in);
}
