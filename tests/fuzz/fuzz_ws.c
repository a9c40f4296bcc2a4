/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a WebSocket's: whole and in small pieces, messages and output must be the same. The
 * first byte picks the size of the pieces. */
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "net/proto/ws.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void on_message(void *user, struct dg_ws *ws, bool is_text, struct dg_span message)
{
    struct dg_buf *log = user;
    require(!is_text || dg_utf8_valid(message, NULL));
    require(message.len <= 4096);
    require(dg_buf_append_cstr(log, is_text ? "text" : "binary") == DG_OK);
    require(dg_buf_append_span(log, message) == DG_OK);
    require((is_text ? dg_ws_send(ws, message) : dg_ws_send_binary(ws, message)) != DG_ERR_NOMEM);
}

static const struct dg_ws_events events = {.on_message = on_message};

static void run(struct dg_buf *log, const char *bytes, size_t len, size_t piece)
{
    const struct dg_http_shared shared = {.now_ms = 1};
    struct dg_ws_limits limits = DG_WS_LIMITS_DEFAULT;
    limits.message_bytes = 4096;
    struct dg_ws *ws = dg_ws_new(&shared, &limits, &events, log);
    require(ws);
    struct dg_buf out;
    dg_buf_init(&out, 1 << 28);
    for (size_t at = 0; at < len; at += piece) {
        size_t n = len - at < piece ? len - at : piece;
        char *exact = dg_xmalloc(n);
        memcpy(exact, bytes + at, n);
        dg_ws_feed(ws, exact, n);
        dg_free(exact);
        require(dg_buf_append_span(&out, dg_ws_output(ws)) == DG_OK);
        dg_ws_written(ws, dg_ws_output(ws).len);
    }
    require(dg_buf_append_span(log, dg_buf_span(&out)) == DG_OK);
    bool at_once;
    require(dg_buf_append_cstr(log, dg_ws_wants_close(ws, &at_once) ? "close" : "open") == DG_OK);
    dg_buf_deinit(&out);
    dg_ws_free(ws);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2 || len > 1 << 16)
        return 0;
    struct dg_buf whole, sliced;
    dg_buf_init(&whole, 1 << 28);
    dg_buf_init(&sliced, 1 << 28);
    run(&whole, (const char *)bytes + 1, len - 1, len);
    run(&sliced, (const char *)bytes + 1, len - 1, 1 + bytes[0] % 32);
    require(dg_span_eq(dg_buf_span(&whole), dg_buf_span(&sliced)));
    dg_buf_deinit(&whole);
    dg_buf_deinit(&sliced);
    return 0;
}
