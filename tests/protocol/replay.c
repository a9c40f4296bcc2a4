/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Replays protocol scenarios: bytes in, events and bytes out.
 *
 *     replay FILE...                 each scenario whole, byte by byte, and split at every position
 *     replay --write FILE...         writes what happened into the file; to be reviewed
 *
 * A scenario file holds comments ("# ..."), and steps:
 *
 *     machine http | ws              first line
 *     limit NAME NUMBER              body, head, url, headers, message, ...
 *     > TEXT                         bytes to feed, with \r \n \t \\ \xHH; consecutive lines join
 *     >> N TEXT                      the same N times over
 *     wait MS                        time passes; deadlines expire
 *     eof
 *     = EVENT / < OUTPUT             what must have happened by then: events, and lines of output
 *
 * The HTTP handler never answers "/hold...", answers "/head..." at once with 403 from the headers
 * alone, and everything else with 200 and the request's path and body. The WebSocket handler
 * echoes, but closes with 1000 on the text "bye". Every slicing must give the same events and the
 * same output. */
#include "base/memory/mem.h"
#include "net/proto/http.h"
#include "net/proto/http_reply.h"
#include "net/proto/ws.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 1 << 20, LOG_MAX = 8 << 20 };

enum slicing { WHOLE, BYTES, SPLIT };

struct replay {
    struct dg_http_shared shared;
    struct dg_ws_limits ws_limits;
    struct dg_http *http;
    struct dg_ws *ws;
    struct dg_buf events; /* lines "= ..." since the last check */
    struct dg_buf output; /* bytes since the last check */
};

/* ---- Writing bytes so that people can read them ---------------------------------------------- */

static void put_escaped(struct dg_buf *buf, struct dg_span bytes)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < bytes.len && !err; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];
        size_t same = 1;
        while (i + same < bytes.len && (unsigned char)bytes.ptr[i + same] == c)
            same++;
        if (same > 40) { /* "x{1000}" */
            err = dg_buf_printf(buf, "\\x%02X{%zu}", c, same);
            i += same - 1;
        } else if (c == '\r' || c == '\n' || c == '\t' || c == '\\') {
            err = dg_buf_printf(buf, "\\%c",
                                c == '\r'   ? 'r'
                                : c == '\n' ? 'n'
                                : c == '\t' ? 't'
                                            : '\\');
        } else if (c < 0x20 || c >= 0x7F) {
            err = dg_buf_printf(buf, "\\x%02X", c);
        } else {
            err = dg_buf_append_byte(buf, (char)c);
        }
    }
    if (err)
        abort();
}

static void event(struct replay *replay, const char *what, struct dg_span detail)
{
    if (dg_buf_printf(&replay->events, "= %s", what) != DG_OK)
        abort();
    put_escaped(&replay->events, detail);
    if (dg_buf_append_byte(&replay->events, '\n') != DG_OK)
        abort();
}

/* ---- The handlers ---------------------------------------------------------------------------- */

static void on_gone(void *owner)
{
    event(owner, "gone", (struct dg_span){NULL, 0});
}

static void on_head(void *user, struct dg_http_req *req)
{
    req->owner = user;
    req->on_gone = on_gone;
    if (dg_span_starts(req->path, DG_SPAN("/head")))
        dg_http_reply(req, 403, "text/plain", DG_SPAN("no"));
}

static void on_request(void *user, struct dg_http_req *req)
{
    struct dg_buf text;
    dg_buf_init(&text, LOG_MAX);
    if (dg_buf_printf(
            &text, "%s %.*s?%.*s 1.%u host=%.*s headers=%u body=", dg_http_method_name(req->method),
            DG_SPAN_FMT(req->path), DG_SPAN_FMT(req->query), req->minor, DG_SPAN_FMT(req->host),
            req->n_headers) != DG_OK ||
        dg_buf_append_span(&text, req->body) != DG_OK)
        abort();
    event(user, "request ", dg_buf_span(&text));
    if (!dg_span_starts(req->path, DG_SPAN("/hold")))
        dg_http_reply(req, 200, NULL, DG_SPAN("ok\n"));
    dg_buf_deinit(&text);
}

static void on_refused(void *user, struct dg_http_req *req, int status, const char *reason)
{
    char text[300];
    int len = snprintf(text, sizeof text, "%d %s", status, reason);
    event(user, "refused ", dg_span_make(text, (size_t)len));
    dg_http_reply(req, status, NULL, (struct dg_span){NULL, 0});
}

static const struct dg_http_events http_events = {
    .on_head = on_head, .on_request = on_request, .on_refused = on_refused};

static void on_message(void *user, struct dg_ws *ws, bool is_text, struct dg_span message)
{
    event(user, is_text ? "text " : "binary ", message);
    if (dg_span_eq(message, DG_SPAN("bye")))
        dg_ws_close(ws, DG_WS_NORMAL, DG_SPAN("as you wish"));
    else if (is_text ? dg_ws_send(ws, message) : dg_ws_send_binary(ws, message))
        event(user, "unsent", (struct dg_span){NULL, 0});
}

static void on_closing(void *user, struct dg_ws *ws, int code)
{
    char text[16];
    int len = snprintf(text, sizeof text, "%d", code);
    event(user, "closing ", dg_span_make(text, (size_t)len));
}

static const struct dg_ws_events ws_events = {.on_message = on_message, .on_closing = on_closing};

/* ---- The machine ----------------------------------------------------------------------------- */

static void collect(struct replay *replay)
{
    struct dg_span out = replay->ws ? dg_ws_output(replay->ws) : dg_http_output(replay->http);
    if (dg_buf_append_span(&replay->output, out) != DG_OK)
        abort();
    if (replay->ws)
        dg_ws_written(replay->ws, out.len);
    else
        dg_http_written(replay->http, out.len);
}

static bool wants_close(struct replay *replay, bool *at_once)
{
    return replay->ws ? dg_ws_wants_close(replay->ws, at_once)
                      : dg_http_wants_close(replay->http, at_once);
}

static void feed(struct replay *replay, const char *bytes, size_t len)
{
    /* The data comes from memory of exactly its size, so that sanitizers see a read past the
     * end. */
    char *exact = dg_xmalloc(len ? len : 1);
    memcpy(exact, bytes, len);
    if (replay->ws)
        dg_ws_feed(replay->ws, exact, len);
    else
        dg_http_feed(replay->http, exact, len);
    dg_free(exact);
    collect(replay);
}

static void feed_sliced(struct replay *replay, struct dg_span bytes, enum slicing slicing,
                        size_t at)
{
    if (slicing == BYTES) {
        for (size_t i = 0; i < bytes.len; i++)
            feed(replay, bytes.ptr + i, 1);
    } else if (slicing == SPLIT && at < bytes.len) {
        feed(replay, bytes.ptr, at);
        feed(replay, bytes.ptr + at, bytes.len - at);
    } else {
        feed(replay, bytes.ptr, bytes.len);
    }
}

static void pass_time(struct replay *replay, uint64_t ms)
{
    uint64_t until = replay->shared.now_ms + ms;
    for (int i = 0; i < 10; i++) {
        uint64_t deadline =
            replay->ws ? dg_ws_deadline(replay->ws) : dg_http_deadline(replay->http);
        bool at_once;
        if (deadline > until || wants_close(replay, &at_once))
            break;
        if (deadline > replay->shared.now_ms)
            replay->shared.now_ms = deadline;
        event(replay, "expired", (struct dg_span){NULL, 0});
        if (replay->ws)
            dg_ws_expire(replay->ws);
        else
            dg_http_expire(replay->http);
        collect(replay);
    }
    replay->shared.now_ms = until;
}

static void set_limit(struct replay *replay, const char *name, long value)
{
    struct dg_http_limits *http = &replay->shared.limits;
    struct dg_ws_limits *ws = &replay->ws_limits;
    size_t n = (size_t)value;
    if (strcmp(name, "body") == 0)
        http->body_bytes = n;
    else if (strcmp(name, "head") == 0)
        http->head_bytes = n;
    else if (strcmp(name, "url") == 0)
        http->url_bytes = n;
    else if (strcmp(name, "headers") == 0)
        http->headers = (unsigned)n;
    else if (strcmp(name, "message") == 0)
        ws->message_bytes = n;
    else if (strcmp(name, "stream") == 0)
        http->stream_bytes = ws->stream_bytes = n;
    else {
        fprintf(stderr, "replay: there is no limit '%s'\n", name);
        exit(2);
    }
}

/* Writes the events since the last check, as lines. */
static void take_log(struct replay *replay, struct dg_buf *log)
{
    struct dg_span rest = dg_buf_span(&replay->output);
    if (dg_buf_append(log, replay->events.ptr, replay->events.len) != DG_OK)
        abort();
    while (rest.len) {
        const char *lf = replay->ws ? NULL : memchr(rest.ptr, '\n', rest.len);
        size_t len = lf ? (size_t)(lf - rest.ptr) + 1 : rest.len;
        if (dg_buf_append_cstr(log, "< ") != DG_OK)
            abort();
        put_escaped(log, dg_span_sub(rest, 0, len));
        if (dg_buf_append_byte(log, '\n') != DG_OK)
            abort();
        rest = dg_span_sub(rest, len, rest.len);
    }
    bool at_once;
    if (wants_close(replay, &at_once) &&
        dg_buf_printf(log, "= close%s\n", at_once ? " at once" : ""))
        abort();
    dg_buf_clear(&replay->events);
    dg_buf_clear(&replay->output);
}

/* ---- Scenarios ------------------------------------------------------------------------------- */

static int hex_value(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10;
}

static void put_unescaped(struct dg_buf *buf, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == '\\' && i + 1 < len) {
            c = text[++i];
            if (c == 'x' && i + 2 < len) {
                c = (char)(hex_value(text[i + 1]) << 4 | hex_value(text[i + 2]));
                i += 2;
            } else {
                c = c == 'r' ? '\r' : c == 'n' ? '\n' : c == 't' ? '\t' : c;
            }
        }
        if (dg_buf_append_byte(buf, c) != DG_OK)
            abort();
    }
}

struct scenario {
    const char *path;
    struct dg_span text;
    struct dg_buf written; /* the scenario with what really happened; for --write and messages */
    bool passed;
    size_t longest; /* the longest of the inputs between two checks */
};

static void start_machine(struct replay *replay, const char *kind)
{
    if (strcmp(kind, "ws") == 0)
        replay->ws = dg_ws_new(&replay->shared, &replay->ws_limits, &ws_events, replay);
    else
        replay->http = dg_http_new(&replay->shared, &http_events, replay);
}

struct run {
    struct replay replay;
    struct dg_buf input;    /* collected, not fed yet */
    struct dg_buf expected; /* lines of the current check */
    char kind[8];
    bool started;
};

static void flush_input(struct run *run, struct scenario *scenario, enum slicing slicing, size_t at)
{
    if (!run->started)
        start_machine(&run->replay, run->kind);
    run->started = true;
    if (run->input.len > scenario->longest)
        scenario->longest = run->input.len;
    if (run->input.len)
        feed_sliced(&run->replay, dg_buf_span(&run->input), slicing, at);
    dg_buf_clear(&run->input);
}

static void check(struct run *run, struct scenario *scenario)
{
    struct dg_buf log;
    dg_buf_init(&log, LOG_MAX);
    if (run->started)
        take_log(&run->replay, &log);
    if (!dg_span_eq(dg_buf_span(&log), dg_buf_span(&run->expected)))
        scenario->passed = false;
    if (dg_buf_append(&scenario->written, log.ptr, log.len) != DG_OK)
        abort();
    dg_buf_clear(&run->expected);
    dg_buf_deinit(&log);
}

static void act(struct run *run, struct scenario *scenario, const char *line, size_t len,
                enum slicing slicing, size_t at)
{
    char word[64] = "", name[64] = "";
    long number = 0;
    if (len >= 2 && line[0] == '>' && line[1] == ' ') {
        put_unescaped(&run->input, line + 2, len - 2);
    } else if (sscanf(line, ">> %ld ", &number) == 1) {
        const char *text = strchr(line + 3, ' ') + 1;
        for (long i = 0; i < number; i++)
            put_unescaped(&run->input, text, len - (size_t)(text - line));
    } else if (sscanf(line, "machine %7s", run->kind) == 1) {
    } else if (sscanf(line, "limit %63s %ld", name, &number) == 2) {
        set_limit(&run->replay, name, number);
    } else if (sscanf(line, "wait %ld", &number) == 1) {
        flush_input(run, scenario, slicing, at);
        pass_time(&run->replay, (uint64_t)number);
    } else if (strncmp(line, "eof", 3) == 0) {
        flush_input(run, scenario, slicing, at);
        if (run->replay.ws)
            dg_ws_eof(run->replay.ws);
        else
            dg_http_eof(run->replay.http);
        collect(&run->replay);
    } else if (sscanf(line, "%63s", word) == 1 && word[0] != '#') {
        fprintf(stderr, "replay: %s: cannot read '%.*s'\n", scenario->path, (int)len, line);
        exit(2);
    }
}

static void run_once(struct scenario *scenario, enum slicing slicing, size_t at)
{
    struct run run = {.kind = "http"};
    run.replay.shared.limits = (struct dg_http_limits)DG_HTTP_LIMITS_DEFAULT;
    run.replay.ws_limits = (struct dg_ws_limits)DG_WS_LIMITS_DEFAULT;
    run.replay.shared.now_ms = 1000000;
    dg_buf_init(&run.input, LOG_MAX);
    dg_buf_init(&run.expected, LOG_MAX);
    dg_buf_init(&run.replay.events, LOG_MAX);
    dg_buf_init(&run.replay.output, LOG_MAX);
    dg_buf_clear(&scenario->written);
    scenario->passed = true;
    bool checking = false;
    const char *line = scenario->text.ptr, *end = line + scenario->text.len;
    while (line < end) {
        const char *lf = memchr(line, '\n', (size_t)(end - line));
        size_t len = (size_t)((lf ? lf : end) - line);
        bool is_check = len > 1 && (line[0] == '=' || line[0] == '<') && line[1] == ' ';
        if (is_check && !checking)
            flush_input(&run, scenario, slicing, at);
        if (!is_check && checking)
            check(&run, scenario);
        checking = is_check;
        struct dg_buf *into = is_check ? &run.expected : &scenario->written;
        if (dg_buf_append(into, line, len) != DG_OK || dg_buf_append_byte(into, '\n') != DG_OK)
            abort();
        if (!is_check)
            act(&run, scenario, line, len, slicing, at);
        line = lf ? lf + 1 : end;
    }
    flush_input(&run, scenario, slicing, at);
    check(&run, scenario);
    dg_http_free(run.replay.http);
    dg_ws_free(run.replay.ws);
    dg_buf_deinit(&run.replay.events);
    dg_buf_deinit(&run.replay.output);
    dg_buf_deinit(&run.input);
    dg_buf_deinit(&run.expected);
}

static bool report(const struct scenario *scenario, const char *how, size_t at)
{
    if (scenario->passed)
        return true;
    printf("%s: %s %zu: this happened:\n%s\n", scenario->path, how, at, scenario->written.ptr);
    return false;
}

static bool run_all(struct scenario *scenario)
{
    run_once(scenario, WHOLE, 0);
    if (!report(scenario, "whole", 0))
        return false;
    run_once(scenario, BYTES, 0);
    if (!report(scenario, "byte by byte", 0))
        return false;
    /* Long inputs are split at a spread of positions, short ones at each. */
    size_t step = 1 + scenario->longest / 2000;
    for (size_t at = 1; at < scenario->longest; at += step) {
        run_once(scenario, SPLIT, at);
        if (!report(scenario, "split at", at))
            return false;
    }
    return true;
}

static char *read_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    char *text = dg_xmalloc(FILE_MAX);
    *len = fread(text, 1, FILE_MAX, file);
    fclose(file);
    return text;
}

static void write_file(const struct scenario *scenario)
{
    FILE *file = fopen(scenario->path, "wb");
    if (!file ||
        fwrite(scenario->written.ptr, 1, scenario->written.len, file) != scenario->written.len) {
        perror(scenario->path);
        exit(2);
    }
    fclose(file);
}

int main(int argc, char **argv)
{
    bool writing = argc > 1 && strcmp(argv[1], "--write") == 0;
    int n_failed = 0, n = 0;
    for (int i = writing ? 2 : 1; i < argc; i++, n++) {
        struct scenario scenario = {.path = argv[i]};
        char *text = read_file(argv[i], &scenario.text.len);
        scenario.text.ptr = text;
        dg_buf_init(&scenario.written, LOG_MAX);
        if (writing) {
            run_once(&scenario, WHOLE, 0);
            write_file(&scenario);
        } else {
            n_failed += !run_all(&scenario);
        }
        dg_buf_deinit(&scenario.written);
        dg_free(text);
    }
    printf("%d scenarios, %d failed\n", n, n_failed);
    return n_failed ? 1 : 0;
}
