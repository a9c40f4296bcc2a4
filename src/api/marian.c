/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* marian-server's WebSocket, GET /translate: a text frame of lines in, a text frame of as many translated lines out,
 * in the order they came. It names no language; here ?source= and ?target= may, and must where the models leave a
 * choice. A frame that fails is answered by closing the socket with the reason, since there is no other way to say it. */
#include "api/api_int.h"
#include "api/other.h"
#include "base/mem.h"

#include <stdio.h>

/* The first two: waiting on one socket. */
enum { FRAMES_MAX = 64, FRAMES_BYTES_MAX = 4 << 20, ANSWER_MAX = 64 << 20, LINES_MAX = 10000, TAG_MAX = 64 };

struct frame {
    struct dg_list link;
    size_t len;
    char text[]; /* [len] */
};

struct socket {
    struct dg_api *api;
    struct dg_ws *ws;
    char from[TAG_MAX], to[TAG_MAX];
    struct dg_list frames; /* of struct frame: waiting */
    size_t n_frames, n_bytes;
    struct dg_relay *relay; /* the frame under way, or NULL */
    struct dg_charge charge; /* of that */
    struct dg_who who;      /* by the headers of the handshake */
    char client[64];        /* address, as text */
};

static void next_frame(struct socket *socket);

/* ---- Frames out ---------------------------------------------------------------------------------- */

static void send_lines(struct socket *socket, struct dg_relay *relay)
{
    struct dg_buf buf;
    dg_buf_init(&buf, ANSWER_MAX);
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < relay->n && !err; i++) {
        err = dg_buf_append_span(&buf, dg_relay_result(relay, i));
        if (!err)
            err = dg_buf_append_byte(&buf, '\n');
    }
    if (err)
        dg_ws_close(socket->ws, DG_WS_INTERNAL, DG_SPAN("there is no memory"));
    else
        (void)!dg_ws_send(socket->ws, dg_buf_span(&buf)); /* who has left is told by on_gone */
    dg_buf_deinit(&buf);
}

static void on_end(struct dg_relay *relay, const struct dg_failure *failure)
{
    struct socket *socket = relay->user;
    socket->relay = NULL;
    if (failure)
        dg_ws_close(socket->ws, DG_WS_INTERNAL, dg_span_cstr(failure->message));
    else
        send_lines(socket, relay);
    if (!failure)
        next_frame(socket);
}

/* ---- Frames in ----------------------------------------------------------------------------------- */

/* One text for each line; a line end at the very end begins none. */
static enum dg_err cut_lines(struct dg_relay *relay, struct dg_span text)
{
    size_t n = 1, at = 0;
    if (text.len && text.ptr[text.len - 1] == '\n')
        text.len--;
    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '\n';
    enum dg_err err = n > LINES_MAX ? DG_ERR_LIMIT : dg_relay_texts(relay, n);
    for (size_t i = 0; i < n && !err; i++) {
        const char *newline = at < text.len ? memchr(text.ptr + at, '\n', text.len - at) : NULL;
        size_t end = newline ? (size_t)(newline - text.ptr) : text.len;
        relay->items[i].text = dg_span_sub(text, at, end - at);
        at = end + 1;
    }
    return err;
}

/* Through the gate: begins, or closes with the reason. */
static void on_charged(void *work, const struct dg_failure *refusal)
{
    struct socket *socket = work;
    if (!refusal) {
        dg_relay_start(socket->relay, NULL);
        return;
    }
    dg_ws_close(socket->ws, DG_WS_POLICY, dg_span_cstr(refusal->message));
    dg_relay_drop(socket->relay);
    socket->relay = NULL;
}

static void begin(struct socket *socket, struct dg_span text)
{
    struct dg_relay *relay = dg_relay_new_for(socket->api, text.len * 4 + (4 << 20));
    enum dg_err err = relay ? DG_OK : DG_ERR_NOMEM;
    struct dg_span kept = {NULL, 0};
    if (!err) {
        relay->user = socket;
        relay->job->may_wait = true; /* a refusal would be the end of the socket */
        relay->on_end = on_end;
        kept = dg_arena_copy(relay->arena, text);
        err = kept.ptr ? cut_lines(relay, kept) : DG_ERR_NOMEM;
    }
    if (err) {
        dg_ws_close(socket->ws, err == DG_ERR_LIMIT ? DG_WS_TOO_BIG : DG_WS_INTERNAL, dg_span_cstr(dg_err_sentence(err)));
        if (relay)
            dg_relay_drop(relay);
        return;
    }
    relay->from = *socket->from ? dg_languages_find(&relay->langs, dg_span_cstr(socket->from), DG_LANGUAGE_ANY) : NULL;
    relay->to = *socket->to ? dg_languages_find(&relay->langs, dg_span_cstr(socket->to), DG_LANGUAGE_ANY) : NULL;
    relay->job->ask.request.keep_lines_whole = true;
    socket->relay = relay;
    const struct dg_gate_wish wish = {.characters = dg_relay_characters(relay), .request = &relay->job->ask.request,
                                      .arena = relay->arena};
    dg_charge_begin(&socket->charge, socket->api, &socket->who, dg_span_cstr(socket->client), &wish, on_charged, socket);
}

static void next_frame(struct socket *socket)
{
    if (socket->relay || dg_ws_is_closing(socket->ws)) /* then what waits goes with the socket */
        return;
    struct dg_list *first = dg_list_pop_first(&socket->frames);
    if (!first)
        return;
    struct frame *frame = DG_LIST_ITEM(first, struct frame, link);
    socket->n_frames--;
    socket->n_bytes -= frame->len;
    begin(socket, dg_span_make(frame->text, frame->len));
    dg_free(frame);
}

static void on_message(void *owner, struct dg_ws *ws, bool is_text, struct dg_span message)
{
    struct socket *socket = owner;
    if (!is_text) {
        dg_ws_close(ws, DG_WS_UNSUPPORTED, DG_SPAN("frames are texts"));
        return;
    }
    const bool has_room = socket->n_frames < FRAMES_MAX && message.len <= FRAMES_BYTES_MAX - socket->n_bytes;
    struct frame *frame = has_room ? dg_try_malloc(sizeof *frame + message.len) : NULL;
    if (!frame) {
        dg_ws_close(ws, DG_WS_POLICY, DG_SPAN("too many frames are waiting"));
        return;
    }
    dg_list_init(&frame->link);
    frame->len = message.len;
    if (message.len)
        memcpy(frame->text, message.ptr, message.len);
    dg_list_link_last(&socket->frames, &frame->link);
    socket->n_frames++;
    socket->n_bytes += frame->len;
    if (!socket->relay)
        next_frame(socket);
}

static void on_gone(void *owner)
{
    struct socket *socket = owner;
    struct dg_list *at;
    dg_charge_cancel(&socket->charge);
    if (socket->relay)
        dg_relay_drop(socket->relay);
    while ((at = dg_list_pop_first(&socket->frames)))
        dg_free(DG_LIST_ITEM(at, struct frame, link));
    dg_free(socket);
}

/* ---- The handshake -------------------------------------------------------------------------------- */

static void keep_tag(const struct dg_language *language, char tag[TAG_MAX])
{
    struct dg_span text = dg_span_cstr(language ? language->tag.text : "");
    memcpy(tag, text.ptr, text.len + 1); /* of at most DG_LANGTAG_TEXT */
}
_Static_assert((int)DG_LANGTAG_TEXT <= (int)TAG_MAX, "a tag has no room");

/* The languages of the query, or of the one model. */
static bool choose(struct dg_relay *relay, struct dg_why *why)
{
    size_t n_targets = 0;
    if (dg_fields_get(&relay->fields, "target"))
        return dg_other_pair(relay, "source", "target", why);
    for (size_t i = 0; i < relay->langs.n; i++) {
        if (!(relay->langs.items[i].sides & DG_LANGUAGE_TARGET))
            continue;
        relay->to = &relay->langs.items[i];
        n_targets++;
    }
    if (n_targets != 1)
        dg_why_set(why, DG_ERR_INVALID, "this server translates to %zu languages; name one as ?target=, and maybe ?source=",
                   n_targets);
    return n_targets == 1;
}

void dg_other_marian(struct dg_call *call, struct dg_relay *relay)
{
    static const char *const protocols[] = {NULL};
    static const struct dg_ws_limits limits = DG_WS_LIMITS_DEFAULT;
    static const struct dg_server_socket handler = {.on_message = on_message, .on_gone = on_gone};
    struct dg_why why = DG_WHY_NONE;
    const char *reason = "there is no memory";
    if (!choose(relay, &why)) {
        dg_relay_fail(relay, 400, "invalid_value", why.text);
        return;
    }
    struct socket *socket = dg_try_calloc(1, sizeof *socket);
    int status = 503;
    if (socket) {
        socket->api = call->api;
        socket->who = call->charge.who;
        snprintf(socket->client, sizeof socket->client, "%.*s", DG_SPAN_FMT(call->req->client));
        dg_list_init(&socket->frames);
        keep_tag(relay->from, socket->from);
        keep_tag(relay->to, socket->to);
        dg_call_add_headers(call);
        status = dg_server_websocket(call->req, protocols, &limits, &handler, socket, &socket->ws, &reason);
    }
    if (status == 101) {
        dg_relay_drop(relay);
        return;
    }
    dg_free(socket);
    char message[256];
    snprintf(message, sizeof message, "The WebSocket was refused: %s.", reason);
    dg_relay_fail(relay, status, "websocket", message);
}
