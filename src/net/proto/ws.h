/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The server side of one WebSocket after its handshake (RFC 6455) as a pure state machine: bytes
 * in, messages and bytes out. It works like http.h, whose clock it shares.
 *
 *     struct dg_ws *ws = dg_ws_new(&shared, &limits, &events, user);
 *     dg_ws_feed(ws, bytes, len);                  may call events.on_message
 *     err = dg_ws_send(ws, text);                  DG_ERR_LIMIT: the peer did not read; it ended
 *     dg_ws_close(ws, 1001, DG_SPAN("bye"));       starts the closing handshake
 *     dg_ws_free(ws);
 *
 * The machine answers pings, joins fragments, checks that texts are UTF-8, and checks and answers
 * close codes. It pings a peer that is silent for ping_ms, and ends the connection when the peer
 * stays silent for as long again. Between messages a machine holds no buffer and no wslay context
 * and takes a few hundred bytes. One thread. */
#ifndef DG_NET_PROTO_WS_H
#define DG_NET_PROTO_WS_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "net/proto/http.h"

struct dg_ws;

struct dg_ws_limits {
    size_t message_bytes; /* of one message, fragments joined; a longer one closes with 1009 */
    size_t stream_bytes;  /* the connection ends when this much, besides the largest message, is
                             unwritten */
    uint32_t ping_ms;     /* silence before a ping, and after it */
    uint32_t message_ms;  /* from a message's first byte to its last */
    uint32_t close_ms;    /* for the peer's answer to our close */
};

#define DG_WS_LIMITS_DEFAULT                                                                       \
    {                                                                                              \
        .message_bytes = 2 * 1024 * 1024, .stream_bytes = 16 * 1024 * 1024, .ping_ms = 30 * 1000,  \
        .message_ms = 30 * 1000, .close_ms = 5 * 1000                                              \
    }

/* Status codes that we send (RFC 6455, section 7.4.1). */
enum {
    DG_WS_NORMAL = 1000,
    DG_WS_GOING_AWAY = 1001,
    DG_WS_PROTOCOL_ERROR = 1002,
    DG_WS_UNSUPPORTED = 1003,
    DG_WS_BAD_TEXT = 1007,
    DG_WS_POLICY = 1008,
    DG_WS_TOO_BIG = 1009,
    DG_WS_INTERNAL = 1011,
    DG_WS_TRY_AGAIN = 1013,
};

struct dg_ws_events {
    /* A whole message, borrowed for the call. A text is valid UTF-8; a binary message is any bytes.
     */
    void (*on_message)(void *user, struct dg_ws *ws, bool is_text, struct dg_span message);
    /* The message being read will take `bytes`, according to its frames so far. Returns false when
     * there is no memory for it at the moment; the connection then closes with 1013. NULL is
     * fine. */
    bool (*on_room)(void *user, struct dg_ws *ws, size_t bytes);
    /* The closing handshake has begun, from either side; no message will follow. `code` is 1005
     * when the peer gave none. NULL is fine. */
    void (*on_closing)(void *user, struct dg_ws *ws, int code);
    /* Output or the wish to close arose outside dg_ws_feed. */
    void (*on_output)(void *user);
};

/* NULL when there is no memory. The pointers are borrowed. */
struct dg_ws *dg_ws_new(const struct dg_http_shared *shared, const struct dg_ws_limits *limits,
                        const struct dg_ws_events *events, void *user) DG_MUST_CHECK;
void dg_ws_free(struct dg_ws *ws); /* NULL is fine; not from an event */

void dg_ws_feed(struct dg_ws *ws, const char *bytes, size_t len);
void dg_ws_eof(struct dg_ws *ws);

/* Hold, called from on_message, delivers no other message and reads nothing more from the peer
 * until release, which must not be called from an event. This way slow messages are handled in
 * order, and a peer cannot pile them up. */
void dg_ws_hold(struct dg_ws *ws);
void dg_ws_release(struct dg_ws *ws);

/* Send one text or binary message. DG_ERR_CLOSED after a close; DG_ERR_LIMIT or DG_ERR_NOMEM when
 * the connection had to end. */
enum dg_err dg_ws_send(struct dg_ws *ws, struct dg_span text) DG_MUST_CHECK;
enum dg_err dg_ws_give(struct dg_ws *ws, struct dg_buf *text) DG_MUST_CHECK; /* takes its memory */
enum dg_err dg_ws_send_binary(struct dg_ws *ws, struct dg_span bytes) DG_MUST_CHECK;

/* Starts the closing handshake; the reason is cut at 123 bytes. A second call does nothing. */
void dg_ws_close(struct dg_ws *ws, int code, struct dg_span reason);
bool dg_ws_is_closing(const struct dg_ws *ws);

/* As in http.h. dg_ws_prepend puts the HTTP answer to the handshake before the output and takes the
 * buffer's memory. */
void dg_ws_prepend(struct dg_ws *ws, struct dg_buf *output);
struct dg_span dg_ws_output(const struct dg_ws *ws);
void dg_ws_written(struct dg_ws *ws, size_t len);
void dg_ws_take_output(struct dg_ws *ws, struct dg_buf *into);
size_t dg_ws_buffers(const struct dg_ws *ws, size_t *body); /* `body`: the message's */
bool dg_ws_wants_input(const struct dg_ws *ws);
bool dg_ws_wants_close(const struct dg_ws *ws, bool *at_once);
uint64_t dg_ws_deadline(const struct dg_ws *ws);
void dg_ws_expire(struct dg_ws *ws);

#endif
