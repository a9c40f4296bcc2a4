/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The checks of RFC 6455, section 4.2.1, in its order, and the answer of 4.2.2. */
#include "net/proto/ws_handshake.h"
#include "net/proto/http_reply.h"
#include "net/proto/sha1.h"

#include <sodium.h>
#include <strings.h>

enum { KEY_LEN = 24, KEY_BYTES = 16 };

void dg_ws_accept_key(struct dg_span key, char accept[DG_WS_ACCEPT_LEN + 1])
{
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    char text[KEY_LEN + sizeof guid];
    uint8_t digest[DG_SHA1_BYTES];
    size_t len = key.len < KEY_LEN ? key.len : KEY_LEN;
    memcpy(text, key.ptr, len);
    memcpy(text + len, guid, sizeof guid - 1);
    dg_sha1(dg_span_make(text, len + sizeof guid - 1), digest);
    sodium_bin2base64(accept, DG_WS_ACCEPT_LEN + 1, digest, sizeof digest,
                      sodium_base64_VARIANT_ORIGINAL);
}

static bool key_is_sane(struct dg_span key)
{
    unsigned char bytes[KEY_BYTES];
    size_t len = 0;
    return key.len == KEY_LEN &&
           sodium_base642bin(bytes, sizeof bytes, key.ptr, key.len, NULL, &len, NULL,
                             sodium_base64_VARIANT_ORIGINAL) == 0 &&
           len == KEY_BYTES;
}

bool dg_ws_wanted(const struct dg_http_req *req)
{
    return dg_http_list_has(dg_http_header(req, "upgrade"), "websocket");
}

static unsigned count(const struct dg_http_req *req, const char *name)
{
    unsigned n = 0;
    for (unsigned i = 0; i < req->n_headers; i++)
        n += req->headers[i].name.len == strlen(name) &&
             strncasecmp(req->headers[i].name.ptr, name, strlen(name)) == 0;
    return n;
}

/* The first of our protocols that any Sec-WebSocket-Protocol header of the client offers. */
static const char *choose(const struct dg_http_req *req, const char *const *protocols)
{
    for (; *protocols; protocols++)
        for (unsigned i = 0; i < req->n_headers; i++)
            if (req->headers[i].name.len == 22 &&
                strncasecmp(req->headers[i].name.ptr, "sec-websocket-protocol", 22) == 0 &&
                dg_http_list_has(req->headers[i].value, *protocols))
                return *protocols;
    return NULL;
}

int dg_ws_handshake(struct dg_http_req *req, const char *const *protocols, const char **chosen,
                    const char **reason)
{
    if (req->method != DG_HTTP_GET || req->minor < 1 || !dg_ws_wanted(req) ||
        !dg_http_list_has(dg_http_header(req, "connection"), "upgrade")) {
        dg_http_reply_header(req, "Upgrade", DG_SPAN("websocket"));
        *reason =
            "this path speaks WebSocket: send GET with Upgrade: websocket and Connection: Upgrade";
        return 426;
    }
    if (!dg_span_eq(dg_http_header(req, "sec-websocket-version"), DG_SPAN("13"))) {
        dg_http_reply_header(req, "Sec-WebSocket-Version", DG_SPAN("13"));
        *reason = "the only WebSocket version spoken here is 13";
        return 426;
    }
    struct dg_span key = dg_http_header(req, "sec-websocket-key");
    if (count(req, "sec-websocket-key") != 1 || !key_is_sane(key)) {
        *reason = "Sec-WebSocket-Key must be there once, the base64 form of 16 bytes";
        return 400;
    }
    const char *found = protocols ? choose(req, protocols) : NULL;
    if (protocols && !found && count(req, "sec-websocket-protocol") > 0) {
        *reason = "none of the sub-protocols offered is spoken here";
        return 400;
    }
    char accept[DG_WS_ACCEPT_LEN + 1];
    dg_ws_accept_key(key, accept);
    dg_http_reply_header(req, "Upgrade", DG_SPAN("websocket"));
    dg_http_reply_header(req, "Connection", DG_SPAN("Upgrade"));
    dg_http_reply_header(req, "Sec-WebSocket-Accept", dg_span_cstr(accept));
    if (found)
        dg_http_reply_header(req, "Sec-WebSocket-Protocol", dg_span_cstr(found));
    *chosen = found;
    return 101;
}
