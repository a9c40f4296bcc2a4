/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* wslay's frame layer takes frames apart; this file joins, checks and answers them. wslay keeps a 4
 * KB buffer per context, so a context exists only while a frame is incomplete: the machine counts
 * the bytes that it fed and the bytes of the frames that came out; when the two are equal, the
 * context holds nothing and is freed. The headers of our own frames (never masked, never
 * fragmented) are two to ten bytes and written by hand, for the same reason. */
#include "net/proto/ws.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "net/proto/output.h"

#include <wslay/wslay.h>

enum { CONTROL_MAX = 125, MASK_BYTES = 4, HEAD_MAX = 14 };

struct dg_ws {
    const struct dg_http_shared *shared;
    const struct dg_ws_limits *limits;
    const struct dg_ws_events *events;
    void *user;

    wslay_frame_context_ptr frames; /* NULL while nothing is half read */
    const char *feed;               /* what wslay may still take of the current input */
    size_t feed_len;
    uint64_t unaccounted;   /* bytes that wslay took and that no complete frame has explained yet */
    uint8_t last[HEAD_MAX]; /* [n_last] the last bytes that it took */
    size_t n_last;

    /* The frame being read. */
    uint64_t frame_left;
    uint64_t frame_bytes; /* header and payload */
    uint8_t frame_opcode; /* of enum wslay_opcode */
    bool frame_fin, in_frame;

    /* The message being read. */
    bool in_message, is_text;
    struct dg_buf message;
    size_t message_room;   /* bytes that it may take (on_room) */
    size_t n_valid;        /* bytes of a text that are known to be UTF-8 */
    struct dg_buf control; /* payload of a control frame; they may come between fragments */
    uint64_t message_since;

    bool is_held;
    struct dg_buf kept; /* what came while is_held */

    bool processing, close_sent, close_received, peer_done, dead, pinged;
    uint64_t heard_at; /* when the peer last sent anything */
    uint64_t close_at; /* when we sent our close */
    struct dg_output out;
    size_t largest; /* message since there was no output */
};

struct dg_ws *dg_ws_new(const struct dg_http_shared *shared, const struct dg_ws_limits *limits,
                        const struct dg_ws_events *events, void *user)
{
    struct dg_ws *ws = dg_try_calloc(1, sizeof *ws);
    if (!ws)
        return NULL;
    ws->shared = shared;
    ws->limits = limits;
    ws->events = events;
    ws->user = user;
    ws->heard_at = shared->now_ms;
    dg_buf_init(&ws->message, limits->message_bytes);
    dg_buf_init(&ws->control, CONTROL_MAX);
    dg_buf_init(&ws->kept, SIZE_MAX / 2);
    dg_output_init(&ws->out);
    return ws;
}

static void drop_frames(struct dg_ws *ws)
{
    if (ws->frames)
        wslay_frame_context_free(ws->frames);
    ws->frames = NULL;
}

void dg_ws_free(struct dg_ws *ws)
{
    if (!ws)
        return;
    drop_frames(ws);
    dg_buf_deinit(&ws->message);
    dg_buf_deinit(&ws->control);
    dg_buf_deinit(&ws->kept);
    dg_output_deinit(&ws->out);
    dg_free(ws);
}

/* ---- Sending --------------------------------------------------------------------------------- */

static void tell_output(struct dg_ws *ws)
{
    if (!ws->processing && ws->events->on_output)
        ws->events->on_output(ws->user);
}

static void give_up(struct dg_ws *ws)
{
    ws->dead = true;
    tell_output(ws);
}

/* One unfragmented, unmasked frame (RFC 6455, section 5.2). `owned` is the payload's memory, or
 * NULL when it is borrowed. */
static enum dg_err put_frame(struct dg_ws *ws, uint8_t opcode, struct dg_span payload,
                             struct dg_buf *owned)
{
    uint8_t head[10] = {(uint8_t)(0x80 | opcode)};
    size_t head_len = 2;
    if (payload.len < 126) {
        head[1] = (uint8_t)payload.len;
    } else {
        unsigned n = payload.len <= UINT16_MAX ? 2 : 8;
        head[1] = n == 2 ? 126 : 127;
        for (unsigned i = 0; i < n; i++)
            head[2 + i] = (uint8_t)((uint64_t)payload.len >> 8 * (n - 1 - i));
        head_len += n;
    }
    enum dg_err err = dg_output_append(&ws->out, head, head_len);
    if (!err)
        err = owned ? dg_output_give(&ws->out, owned)
                    : dg_output_append(&ws->out, payload.ptr, payload.len);
    if (err) {
        give_up(ws); /* what waits in the output is dropped, too */
        return err;
    }
    tell_output(ws);
    return DG_OK;
}

static enum dg_err send_message(struct dg_ws *ws, uint8_t opcode, struct dg_span payload,
                                struct dg_buf *owned)
{
    if (ws->close_sent || ws->dead)
        return DG_ERR_CLOSED;
    /* A single answer may exceed the amount that a peer may leave unread. */
    ws->largest = payload.len > ws->largest ? payload.len : ws->largest;
    if (dg_output_unwritten(&ws->out) + payload.len > ws->limits->stream_bytes + ws->largest) {
        give_up(ws);
        return DG_ERR_LIMIT;
    }
    return put_frame(ws, opcode, payload, owned);
}

enum dg_err dg_ws_send(struct dg_ws *ws, struct dg_span text)
{
    return send_message(ws, WSLAY_TEXT_FRAME, text, NULL);
}

enum dg_err dg_ws_give(struct dg_ws *ws, struct dg_buf *text)
{
    enum dg_err err = send_message(ws, WSLAY_TEXT_FRAME, dg_buf_span(text),
                                   text->len >= DG_OUTPUT_PIECE ? text : NULL);
    dg_buf_deinit(text);
    return err;
}

enum dg_err dg_ws_send_binary(struct dg_ws *ws, struct dg_span bytes)
{
    return send_message(ws, WSLAY_BINARY_FRAME, bytes, NULL);
}

/* Sends our close frame, once; `code` 1005 sends one without a code. */
static void send_close(struct dg_ws *ws, int code, struct dg_span reason)
{
    if (ws->close_sent || ws->dead)
        return;
    char payload[CONTROL_MAX];
    size_t len = 0;
    if (code != WSLAY_CODE_NO_STATUS_RCVD) {
        struct dg_span said = dg_utf8_clip(reason, sizeof payload - 2);
        payload[0] = (char)(code >> 8);
        payload[1] = (char)code;
        if (said.len)
            memcpy(payload + 2, said.ptr, said.len);
        len = 2 + said.len;
    }
    ws->close_sent = true;
    ws->close_at = ws->shared->now_ms;
    if (put_frame(ws, WSLAY_CONNECTION_CLOSE, dg_span_make(payload, len), NULL) != DG_OK)
        return;
    if (ws->events->on_closing)
        ws->events->on_closing(ws->user, ws, code);
}

void dg_ws_close(struct dg_ws *ws, int code, struct dg_span reason)
{
    send_close(ws, code, reason);
}

bool dg_ws_is_closing(const struct dg_ws *ws)
{
    return ws->close_sent || ws->close_received || ws->dead;
}

/* The peer broke a rule: closes with the reason and ignores further input. */
static void fail(struct dg_ws *ws, int code, const char *reason)
{
    send_close(ws, code, dg_span_cstr(reason));
    ws->close_received = true;
}

/* ---- Receiving ------------------------------------------------------------------------------- */

/* Keeps the last bytes that wslay took. */
static void keep_last(struct dg_ws *ws, const uint8_t *bytes, size_t n)
{
    const size_t n_new = n < HEAD_MAX ? n : HEAD_MAX,
                 n_old = ws->n_last < HEAD_MAX - n_new ? ws->n_last : HEAD_MAX - n_new;
    memmove(ws->last, ws->last + (ws->n_last - n_old), n_old);
    memcpy(ws->last + n_old, bytes + (n - n_new), n_new);
    ws->n_last = n_old + n_new;
}

static ssize_t on_recv(uint8_t *buf, size_t len, int flags, void *user_data)
{
    struct dg_ws *ws = user_data;
    if (ws->feed_len == 0)
        return -1; /* wslay: want read */
    size_t n = len < ws->feed_len ? len : ws->feed_len;
    memcpy(buf, ws->feed, n);
    ws->feed += n;
    ws->feed_len -= n;
    ws->unaccounted += n;
    keep_last(ws, buf, n);
    return (ssize_t)n;
}

static const struct wslay_frame_callbacks frame_callbacks = {.recv_callback = on_recv};

/* The close code that may be sent (RFC 6455, section 7.4). */
static bool is_close_code(int code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

static void on_close_frame(struct dg_ws *ws, struct dg_span payload)
{
    ws->close_received = true;
    if (payload.len == 0) {
        send_close(ws, WSLAY_CODE_NO_STATUS_RCVD, payload);
        return;
    }
    int code = payload.len >= 2 ? (uint8_t)payload.ptr[0] << 8 | (uint8_t)payload.ptr[1] : 0;
    if (!is_close_code(code))
        fail(ws, DG_WS_PROTOCOL_ERROR, "the close code is not permitted");
    else if (!dg_utf8_valid(dg_span_sub(payload, 2, payload.len), NULL))
        fail(ws, DG_WS_BAD_TEXT, "the reason for closing is not UTF-8");
    else
        send_close(ws, code, (struct dg_span){NULL, 0});
}

/* Checks a text as it arrives, because checking all of it at once would take milliseconds. False
 * if a character is invalid, or not complete yet. */
static bool check_text(struct dg_ws *ws)
{
    struct dg_span rest = dg_span_sub(dg_buf_span(&ws->message), ws->n_valid, ws->message.len);
    size_t bad_at = rest.len;
    bool is_valid = dg_utf8_valid(rest, &bad_at);
    ws->n_valid += is_valid ? rest.len : bad_at;
    return is_valid;
}

static void on_message_complete(struct dg_ws *ws)
{
    struct dg_span message = dg_buf_span(&ws->message);
    ws->in_message = false;
    if (ws->is_text && !check_text(ws))
        fail(ws, DG_WS_BAD_TEXT, "a text message is not UTF-8");
    else if (!ws->close_sent)
        ws->events->on_message(ws->user, ws, ws->is_text, message);
    dg_buf_deinit(&ws->message);
    ws->message_room = 0;
}

static void on_frame_complete(struct dg_ws *ws)
{
    ws->in_frame = false;
    ws->unaccounted -= ws->frame_bytes;
    if (!wslay_is_ctrl_frame(ws->frame_opcode)) {
        if (ws->frame_fin)
            on_message_complete(ws);
        return;
    }
    struct dg_span payload = dg_buf_span(&ws->control);
    if (ws->frame_opcode == WSLAY_CONNECTION_CLOSE)
        on_close_frame(ws, payload);
    else if (ws->frame_opcode == WSLAY_PING && !ws->close_sent)
        (void)!send_message(ws, WSLAY_PONG, payload, NULL); /* on failure the connection is given up
                                                               there */
    dg_buf_deinit(&ws->control);
}

/* A new data frame: does it fit what came before? */
static const char *begin_data_frame(struct dg_ws *ws, uint8_t opcode)
{
    if (opcode == WSLAY_CONTINUATION_FRAME)
        return ws->in_message ? NULL : "a continuation without a beginning";
    if (ws->in_message)
        return "a new message inside a fragmented one";
    ws->in_message = true;
    ws->n_valid = 0;
    ws->is_text = opcode == WSLAY_TEXT_FRAME;
    ws->message_since = ws->shared->now_ms;
    return NULL;
}

static bool begin_frame(struct dg_ws *ws, const struct wslay_frame_iocb *iocb)
{
    const char *problem = NULL;
    bool is_control = wslay_is_ctrl_frame(iocb->opcode);
    if (!iocb->mask)
        problem = "a frame is not masked";
    else if (iocb->rsv)
        problem = "a reserved bit is set";
    else if (iocb->opcode > WSLAY_PONG || (iocb->opcode > WSLAY_BINARY_FRAME && !is_control))
        problem = "an unknown kind of frame";
    else if (is_control && (!iocb->fin || iocb->payload_length > CONTROL_MAX))
        problem = "a control frame is fragmented or too long";
    else if (!is_control)
        problem = begin_data_frame(ws, iocb->opcode);
    if (problem) {
        fail(ws, DG_WS_PROTOCOL_ERROR, problem);
        return false;
    }
    if (!is_control && iocb->payload_length > ws->limits->message_bytes - ws->message.len) {
        fail(ws, DG_WS_TOO_BIG, "the message is larger than the limit");
        return false;
    }
    const size_t message_bytes = ws->message.len + (is_control ? 0 : (size_t)iocb->payload_length);
    if (message_bytes > ws->message_room && ws->events->on_room &&
        !ws->events->on_room(ws->user, ws, message_bytes)) {
        fail(ws, DG_WS_TRY_AGAIN, "the memory for messages (memory-limit) is used up");
        return false;
    }
    ws->message_room = message_bytes > ws->message_room ? message_bytes : ws->message_room;
    unsigned length_bytes = iocb->payload_length < 126           ? 0
                            : iocb->payload_length <= UINT16_MAX ? 2
                                                                 : 8;
    ws->in_frame = true;
    ws->frame_opcode = iocb->opcode;
    ws->frame_fin = iocb->fin;
    ws->frame_left = iocb->payload_length;
    ws->frame_bytes = 2 + length_bytes + MASK_BYTES + iocb->payload_length;
    return true;
}

/* wslay reports a frame only when its payload begins, but the header announces the length before
 * that. When wslay holds a header and nothing more, the frame begins here, so that a frame that is
 * too large is refused even if its payload never comes. */
static void look_at_header(struct dg_ws *ws)
{
    const uint64_t n = ws->unaccounted;
    if (ws->in_frame || n < 2 || n > ws->n_last)
        return;
    const uint8_t *head = ws->last + (ws->n_last - n);
    const unsigned small = head[1] & 127;
    const size_t n_length = small < 126 ? 0 : small == 126 ? 2 : 8;
    struct wslay_frame_iocb iocb = {.fin = head[0] >> 7,
                                    .rsv = head[0] >> 4 & 7,
                                    .opcode = head[0] & 15,
                                    .payload_length = n_length ? 0 : small,
                                    .mask = head[1] >> 7};
    if (n != 2 + n_length + (iocb.mask ? MASK_BYTES : 0))
        return;
    for (size_t i = 0; i < n_length; i++)
        iocb.payload_length = iocb.payload_length << 8 | head[2 + i];
    (void)begin_frame(ws, &iocb);
}

/* Takes one piece of a frame from wslay; false when there is none, or after a failure. */
static bool read_piece(struct dg_ws *ws)
{
    struct wslay_frame_iocb iocb;
    memset(&iocb, 0, sizeof iocb);
    ssize_t n = wslay_frame_recv(ws->frames, &iocb);
    if (n == WSLAY_ERR_WANT_READ) {
        look_at_header(ws);
        return false;
    }
    if (n < 0) {
        fail(ws, DG_WS_PROTOCOL_ERROR, "a frame's header is malformed");
        return false;
    }
    if (!ws->in_frame && !begin_frame(ws, &iocb))
        return false;
    struct dg_buf *into = wslay_is_ctrl_frame(ws->frame_opcode) ? &ws->control : &ws->message;
    if (iocb.data_length && dg_buf_append(into, iocb.data, iocb.data_length) != DG_OK) {
        fail(ws, DG_WS_INTERNAL, "there is no memory for this message");
        return false;
    }
    if (into == &ws->message && ws->is_text)
        (void)check_text(ws);
    ws->frame_left -= iocb.data_length;
    if (ws->frame_left == 0)
        on_frame_complete(ws);
    return true;
}

static void keep(struct dg_ws *ws, const char *bytes, size_t len)
{
    if (len && dg_buf_append(&ws->kept, bytes, len) != DG_OK)
        give_up(ws);
}

/* Parses the input until a message is held. */
static void work(struct dg_ws *ws, const char *bytes, size_t len)
{
    if (ws->close_received || ws->dead || (len == 0 && !ws->frames))
        return;
    ws->processing = true;
    if (!ws->frames && wslay_frame_context_init(&ws->frames, &frame_callbacks, ws) != 0) {
        ws->frames = NULL;
        give_up(ws);
    }
    ws->feed = bytes;
    ws->feed_len = len;
    while (ws->frames && !ws->close_received && !ws->dead && !ws->is_held && read_piece(ws))
        ;
    if (ws->is_held)
        keep(ws, ws->feed, ws->feed_len);
    ws->feed = NULL;
    ws->feed_len = 0;
    if (ws->unaccounted == 0 || ws->close_received)
        drop_frames(ws);
    ws->processing = false;
}

void dg_ws_feed(struct dg_ws *ws, const char *bytes, size_t len)
{
    if (ws->close_received || ws->dead || len == 0)
        return;
    ws->heard_at = ws->shared->now_ms;
    ws->pinged = false;
    if (ws->is_held)
        keep(ws, bytes, len);
    else
        work(ws, bytes, len);
}

void dg_ws_hold(struct dg_ws *ws)
{
    ws->is_held = true;
}

/* wslay may hold the beginning of what follows; then there is work even though no input was kept.
 */
void dg_ws_release(struct dg_ws *ws)
{
    struct dg_buf kept = ws->kept;
    dg_buf_init(&ws->kept, SIZE_MAX / 2);
    ws->is_held = false;
    ws->heard_at = ws->shared->now_ms;
    ws->pinged = false;
    work(ws, kept.ptr, kept.len);
    dg_buf_deinit(&kept);
    tell_output(ws); /* there may be output, and the machine wants input again */
}

void dg_ws_eof(struct dg_ws *ws)
{
    ws->peer_done = true;
    if (!ws->close_received)
        ws->dead = true;
}

/* ---- The owner's side ------------------------------------------------------------------------ */

void dg_ws_prepend(struct dg_ws *ws, struct dg_buf *output)
{
    if (dg_output_prepend(&ws->out, output) != DG_OK)
        give_up(ws);
}

struct dg_span dg_ws_output(const struct dg_ws *ws)
{
    return dg_output_span(&ws->out);
}

void dg_ws_written(struct dg_ws *ws, size_t len)
{
    dg_output_written(&ws->out, len);
    if (dg_output_unwritten(&ws->out) == 0)
        ws->largest = 0;
    dg_output_trim(&ws->out);
}

void dg_ws_take_output(struct dg_ws *ws, struct dg_buf *into)
{
    dg_output_take(&ws->out, into);
}

size_t dg_ws_buffers(const struct dg_ws *ws, size_t *body)
{
    *body = ws->message.cap > ws->message_room ? ws->message.cap : ws->message_room;
    return ws->kept.cap + ws->control.cap + dg_output_memory(&ws->out) + *body;
}

bool dg_ws_wants_input(const struct dg_ws *ws)
{
    if (ws->peer_done || ws->dead || ws->is_held)
        return false;
    return ws->close_received ||
           dg_output_unwritten(&ws->out) < dg_http_unread_max(ws->limits->stream_bytes);
}

bool dg_ws_wants_close(const struct dg_ws *ws, bool *at_once)
{
    *at_once = ws->dead;
    return ws->dead || (ws->close_sent && ws->close_received);
}

uint64_t dg_ws_deadline(const struct dg_ws *ws)
{
    if (ws->close_sent)
        return ws->close_at + ws->limits->close_ms;
    if (ws->is_held)
        return UINT64_MAX; /* we do not read at present, so the client's silence means nothing */
    uint64_t silence = ws->heard_at + (uint64_t)ws->limits->ping_ms * (ws->pinged ? 2 : 1);
    uint64_t message = ws->message_since + ws->limits->message_ms;
    return ws->in_message && message < silence ? message : silence;
}

void dg_ws_expire(struct dg_ws *ws)
{
    ws->processing = true;
    uint64_t now = ws->shared->now_ms;
    if (ws->close_sent) {
        ws->dead = true;
    } else if (ws->in_message && now >= ws->message_since + ws->limits->message_ms) {
        fail(ws, DG_WS_POLICY, "the message did not arrive in time");
    } else if (ws->pinged) {
        ws->dead = true;
    } else {
        ws->pinged = true;
        (void)!send_message(ws, WSLAY_PING, (struct dg_span){NULL, 0}, NULL);
    }
    ws->processing = false;
}
