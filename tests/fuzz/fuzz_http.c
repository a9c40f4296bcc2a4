/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as an HTTP connection: whole and in small pieces, events and output must be the same.
 * The first byte picks the size of the pieces. */
#define _GNU_SOURCE /* memmem */
#include "base/memory/mem.h"
#include "net/proto/http.h"
#include "net/proto/http_reply.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct bench {
    struct dg_buf log;
    size_t n_out; /* bytes of output */
    bool refused;
};

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void note(struct bench *bench, const char *what, struct dg_span text)
{
    require(dg_buf_append_cstr(&bench->log, what) == DG_OK);
    require(dg_buf_append_span(&bench->log, text) == DG_OK);
}

static void on_request(void *user, struct dg_http_req *req)
{
    struct bench *bench = user;
    require(req->path.len > 0 && (req->path.ptr[0] == '/' || req->path.ptr[0] == '*'));
    require(req->body.len <= req->body_max);
    require(req->minor == 0 || dg_http_header(req, "host").ptr);
    note(bench, "path", req->path);
    note(bench, "query", req->query);
    for (unsigned i = 0; i < req->n_headers; i++) {
        note(bench, "name", req->headers[i].name);
        note(bench, "value", req->headers[i].value);
    }
    note(bench, "body", req->body);
    if (req->path.len % 2) {
        dg_http_reply(req, 200, "text/plain", req->body);
    } else {
        dg_http_reply_begin(req, 200, "text/plain");
        (void)!dg_http_reply_write(req, req->path);
        dg_http_reply_end(req);
    }
}

static void on_refused(void *user, struct dg_http_req *req, int status, const char *reason)
{
    require(status >= 400 && status < 600 && *reason);
    ((struct bench *)user)->refused = true;
}

static const struct dg_http_events events = {.on_request = on_request, .on_refused = on_refused};

static void run(struct bench *bench, const char *bytes, size_t len, size_t piece)
{
    struct dg_http_shared shared = {.limits = DG_HTTP_LIMITS_DEFAULT, .now_ms = 1};
    shared.limits.body_bytes = 4096;
    shared.limits.head_bytes = 2048;
    shared.limits.pipelined_bytes = 8192;
    struct dg_http *http = dg_http_new(&shared, &events, bench);
    require(http);
    for (size_t at = 0; at < len; at += piece) {
        size_t n = len - at < piece ? len - at : piece;
        char *exact = dg_xmalloc(n);
        memcpy(exact, bytes + at, n);
        dg_http_feed(http, exact, n);
        dg_free(exact);
        bench->n_out += dg_http_output(http).len;
        dg_http_written(http, dg_http_output(http).len);
    }
    bool at_once;
    note(bench, dg_http_wants_close(http, &at_once) ? "close" : "open", DG_SPAN(""));
    dg_http_free(http);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2 || len > 1 << 16)
        return 0;
    struct bench whole = {.n_out = 0}, sliced = {.n_out = 0};
    dg_buf_init(&whole.log, 1 << 28);
    dg_buf_init(&sliced.log, 1 << 28);
    const char *text = (const char *)bytes + 1;
    run(&whole, text, len - 1, len);
    run(&sliced, text, len - 1, 1 + bytes[0] % 32);
    require(whole.refused == sliced.refused);
    require(dg_span_eq(dg_buf_span(&whole.log), dg_buf_span(&sliced.log)));
    /* Which of two faults is found first, and whether "100 Continue" was owed, depends on the
     * slicing. */
    if (!whole.refused && !memmem(text, len - 1, "100-", 4))
        require(whole.n_out == sliced.n_out);
    dg_buf_deinit(&whole.log);
    dg_buf_deinit(&sliced.log);
    return 0;
}
