/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* marian-server's WebSocket, GET /translate: a text frame of lines in, a text frame of as many
 * translated lines out, in the order they came. That API names no language; here ?source= and
 * ?target= may name them, and must where the models leave a choice. A frame that fails is answered
 * by closing the socket with the reason, since there is no other way to say it. */
#include "api/compat/compat_routes.h"
#include "api/http/api_int.h"
#include "base/memory/mem.h"

#include <stdio.h>

/* The first two limit what waits on one socket. */
enum {
    FRAMES_MAX = 64,
    FRAMES_BYTES_MAX = 4 << 20,
    ANSWER_MAX = 64 << 20,
    LINES_MAX = 10000,
    TAG_MAX = 64
};

struct frame {
    struct dg_list link;
    size_t len;
    char text[]; /* [len] */
};

struct socket {
    struct dg_api *api;
    struct dg_ws *ws;
    char from[TAG_MAX], to[TAG_MAX];
    struct dg_list frames; /* list of struct frame that wait */
    size_t n_frames, n_bytes;
    struct dg_compat *compat; /* the frame under way, or NULL */
    struct dg_charge charge;  /* the charge for that frame */
    struct dg_who who;        /* known from the headers of the handshake */
    char client[64];          /* the client's address as text */
};

static void next_frame(struct socket *socket);

/* ---- Frames out ------------------------------------------------------------------------------ */

static void send_lines(struct socket *socket, struct dg_compat *compat)
{
    struct dg_buf buf;
    dg_buf_init(&buf, ANSWER_MAX);
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < compat->n && !err; i++) {
        err = dg_buf_append_span(&buf, dg_compat_result(compat, i));
        if (!err)
            err = dg_buf_append_byte(&buf, '\n');
    }
    if (err)
        dg_charge_refund(&socket->charge, 503, 0);
    if (err)
        dg_ws_close(socket->ws, DG_WS_INTERNAL, DG_SPAN("there is no memory"));
    else
        /* on_gone reports a client that has left */
        (void)!dg_ws_send(socket->ws, dg_buf_span(&buf));
    dg_buf_deinit(&buf);
}

static void on_end(struct dg_compat *compat, const struct dg_failure *failure)
{
    struct socket *socket = compat->user;
    socket->compat = NULL;
    if (failure) /* no line of the frame was delivered */
        dg_charge_refund(&socket->charge, failure->status, 0);
    if (failure)
        dg_ws_close(socket->ws, DG_WS_INTERNAL, dg_span_cstr(failure->message));
    else
        send_lines(socket, compat);
    if (!failure)
        next_frame(socket);
}

/* ---- Frames in ------------------------------------------------------------------------------- */

/* Takes each line for a text; a line end at the very end does not begin another. */
static enum dg_err cut_lines(struct dg_compat *compat, struct dg_span text)
{
    size_t n = 1, at = 0;
    if (text.len && text.ptr[text.len - 1] == '\n')
        text.len--;
    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '\n';
    enum dg_err err = n > LINES_MAX ? DG_ERR_LIMIT : dg_compat_texts(compat, n);
    for (size_t i = 0; i < n && !err; i++) {
        const char *newline = at < text.len ? memchr(text.ptr + at, '\n', text.len - at) : NULL;
        size_t end = newline ? (size_t)(newline - text.ptr) : text.len;
        compat->items[i].text = dg_span_sub(text, at, end - at);
        at = end + 1;
    }
    return err;
}

/* Called after the gate: begins, or closes with the reason. */
static void on_charged(void *work, const struct dg_failure *refusal)
{
    struct socket *socket = work;
    if (!refusal) {
        dg_compat_start(socket->compat, NULL);
        return;
    }
    dg_ws_close(socket->ws, DG_WS_POLICY, dg_span_cstr(refusal->message));
    dg_compat_drop(socket->compat);
    socket->compat = NULL;
}

static void begin(struct socket *socket, struct dg_span text)
{
    struct dg_compat *compat = dg_compat_new_for(socket->api, text.len * 4 + (4 << 20));
    enum dg_err err = compat ? DG_OK : DG_ERR_NOMEM;
    struct dg_span kept = {NULL, 0};
    if (!err) {
        compat->user = socket;
        compat->job->may_wait = true; /* a refusal would be the end of the socket */
        compat->on_end = on_end;
        kept = dg_arena_copy(compat->arena, text);
        err = kept.ptr ? cut_lines(compat, kept) : DG_ERR_NOMEM;
    }
    if (err) {
        dg_ws_close(socket->ws, err == DG_ERR_LIMIT ? DG_WS_TOO_BIG : DG_WS_INTERNAL,
                    dg_span_cstr(dg_err_sentence(err)));
        if (compat)
            dg_compat_drop(compat);
        return;
    }
    compat->from = *socket->from ? dg_languages_find(&compat->langs, dg_span_cstr(socket->from),
                                                     DG_LANGUAGE_ANY)
                                 : NULL;
    compat->to = *socket->to
                     ? dg_languages_find(&compat->langs, dg_span_cstr(socket->to), DG_LANGUAGE_ANY)
                     : NULL;
    compat->job->options.request.keep_lines_whole = true;
    socket->compat = compat;
    const struct dg_gate_wish wish = {.characters = dg_compat_characters(compat),
                                      .request = &compat->job->options.request,
                                      .arena = compat->arena};
    dg_charge_begin(&socket->charge, socket->api, &socket->who, dg_span_cstr(socket->client), &wish,
                    on_charged, socket);
}

static void next_frame(struct socket *socket)
{
    /* the frames that wait are freed with the socket */
    if (socket->compat || dg_ws_is_closing(socket->ws))
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
        dg_ws_close(ws, DG_WS_UNSUPPORTED, DG_SPAN("expected text frames"));
        return;
    }
    const bool has_room =
        socket->n_frames < FRAMES_MAX && message.len <= FRAMES_BYTES_MAX - socket->n_bytes;
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
    if (!socket->compat)
        next_frame(socket);
}

static void on_gone(void *owner)
{
    struct socket *socket = owner;
    struct dg_list *at;
    dg_charge_cancel(&socket->charge);
    if (socket->compat)
        dg_compat_drop(socket->compat);
    while ((at = dg_list_pop_first(&socket->frames)))
        dg_free(DG_LIST_ITEM(at, struct frame, link));
    dg_free(socket);
}

/* ---- The handshake --------------------------------------------------------------------------- */

static void keep_tag(const struct dg_language *language, char tag[TAG_MAX])
{
    struct dg_span text = dg_span_cstr(language ? language->tag.text : "");
    memcpy(tag, text.ptr, text.len + 1); /* the text has at most DG_LANGTAG_TEXT bytes */
}
_Static_assert((int)DG_LANGTAG_TEXT <= (int)TAG_MAX, "a tag has no room");

/* Takes the languages from the query, or from the only model. */
static bool choose(struct dg_compat *compat, struct dg_error *error)
{
    size_t n_targets = 0;
    if (dg_fields_get(&compat->fields, "target"))
        return dg_compat_pair(compat, "source", "target", error);
    for (size_t i = 0; i < compat->langs.n; i++) {
        if (!(compat->langs.items[i].sides & DG_LANGUAGE_TARGET))
            continue;
        compat->to = &compat->langs.items[i];
        n_targets++;
    }
    if (n_targets != 1)
        dg_error_set(error, DG_ERR_INVALID,
                     "this server translates to %zu languages; name one with ?target= and, if "
                     "needed, ?source=",
                     n_targets);
    return n_targets == 1;
}

void dg_compat_marian(struct dg_call *call, struct dg_compat *compat)
{
    static const char *const protocols[] = {NULL};
    static const struct dg_ws_limits limits = DG_WS_LIMITS_DEFAULT;
    static const struct dg_server_socket handler = {.on_message = on_message, .on_gone = on_gone};
    struct dg_error error = DG_ERROR_NONE;
    const char *reason = "there is no memory";
    if (!choose(compat, &error)) {
        dg_compat_fail(compat, 400, "invalid_value", error.text);
        return;
    }
    struct socket *socket = dg_try_calloc(1, sizeof *socket);
    int status = 503;
    if (socket) {
        socket->api = call->api;
        socket->who = call->charge.who;
        snprintf(socket->client, sizeof socket->client, "%.*s", DG_SPAN_FMT(call->req->client));
        dg_list_init(&socket->frames);
        keep_tag(compat->from, socket->from);
        keep_tag(compat->to, socket->to);
        dg_call_add_headers(call);
        status = dg_server_websocket(call->req, protocols, &limits, &handler, socket, &socket->ws,
                                     &reason);
    }
    if (status == 101) {
        dg_compat_drop(compat);
        return;
    }
    dg_free(socket);
    char message[256];
    snprintf(message, sizeof message, "The WebSocket was refused: %s.", reason);
    dg_compat_fail(compat, status, "websocket", message);
}
