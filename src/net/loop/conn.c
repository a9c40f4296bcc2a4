/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One connection: a libuv stream around an HTTP machine, or, after a handshake, a WebSocket
 * machine.
 *
 * Reading uses the server's single buffer. Writing is tried at once; what the kernel does not take
 * goes into one uv_write at a time, whose completion writes what has collected since. To close,
 * when the machine wants it and everything is written, the sending side is shut down and the peer
 * gets LINGER_MS to close its own (closing with unread input sends a reset, which can destroy the
 * answer in flight). The memory is freed only in the handle's close callback. */
#include "base/memory/mem.h"
#include "net/loop/forwarded.h"
#include "net/loop/server_int.h"
#include "net/proto/ws_handshake.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/sockios.h>
#endif

enum { LINGER_MS = 2000 };

/* How long, while the server drains, an idle connection stays open for a request that is on its
 * way. A proxy that sends a request just as we close cannot know whether we have executed it, and
 * may not retry it elsewhere. */
enum { LAST_REQUEST_MS = 1000 };

/* ---- Whichever machine there is -------------------------------------------------------------- */

static struct dg_span output(const struct dg_conn *conn)
{
    return conn->http ? dg_http_output(conn->http) : dg_ws_output(conn->ws);
}

static void written(struct dg_conn *conn, size_t len)
{
    if (conn->http)
        dg_http_written(conn->http, len);
    else
        dg_ws_written(conn->ws, len);
}

static void take_output(struct dg_conn *conn)
{
    if (conn->http)
        dg_http_take_output(conn->http, &conn->writing);
    else
        dg_ws_take_output(conn->ws, &conn->writing);
}

static bool wants_input(const struct dg_conn *conn)
{
    return conn->http ? dg_http_wants_input(conn->http) : dg_ws_wants_input(conn->ws);
}

static bool wants_close(const struct dg_conn *conn, bool *at_once)
{
    return conn->http ? dg_http_wants_close(conn->http, at_once)
                      : dg_ws_wants_close(conn->ws, at_once);
}

static uint64_t machine_deadline(const struct dg_conn *conn)
{
    return conn->http ? dg_http_deadline(conn->http) : dg_ws_deadline(conn->ws);
}

/* Counts what the connection's buffers take now. */
static void count_buffers(struct dg_conn *conn)
{
    struct dg_server *server = conn->server;
    size_t body = 0, of_ws = 0, bytes = conn->writing.cap;
    if (conn->http)
        bytes += dg_http_buffers(conn->http, &body);
    if (conn->ws)
        bytes += dg_ws_buffers(conn->ws, &of_ws);
    body += of_ws;
    dg_allowance_hold(server->opts.buffers, &conn->held, bytes);
    server->stats.body_bytes = server->stats.body_bytes - conn->held_body + body;
    conn->held_body = body;
}

/* The WebSocket takes over after the handshake, when HTTP has passed on its answer and all earlier
 * output; it gets the bytes that HTTP has not read. */
static void switch_machines(struct dg_conn *conn)
{
    if (!conn->http || !conn->ws || conn->write_busy)
        return;
    struct dg_http *http = conn->http;
    struct dg_buf out, piece;
    enum dg_err err = DG_OK;
    dg_buf_init(&out, SIZE_MAX / 2);
    dg_buf_init(&piece, SIZE_MAX / 2);
    while (!err && dg_http_output(http).len) {
        dg_buf_clear(&piece);
        dg_http_take_output(http, &piece);
        err = dg_buf_append_span(&out, dg_buf_span(&piece));
    }
    if (err)
        dg_ws_eof(conn->ws); /* the connection cannot continue without it */
    else
        dg_ws_prepend(conn->ws, &out);
    dg_buf_deinit(&piece);
    dg_buf_deinit(&out);
    conn->http = NULL;
    struct dg_span rest = dg_http_rest(http);
    dg_ws_feed(conn->ws, rest.ptr, rest.len);
    dg_http_free(http);
}

/* ---- Closing --------------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
    struct dg_conn *conn = handle->data;
    struct dg_server *server = conn->server;
    if (conn->ws) {
        conn->socket->on_gone(conn->socket_owner);
        server->stats.websockets--;
    }
    dg_http_free(conn->http);
    dg_ws_free(conn->ws);
    dg_allowance_hold(server->opts.buffers, &conn->held, 0);
    server->stats.body_bytes -= conn->held_body;
    *conn->link = conn->next;
    if (conn->next)
        conn->next->link = conn->link;
    if (conn->dirty) {
        struct dg_conn **at = &server->dirty;
        while (*at != conn)
            at = &(*at)->dirty_next;
        *at = conn->dirty_next;
    }
    dg_buf_deinit(&conn->writing);
    dg_free(conn);
    server->stats.connections--;
    dg_server_on_conn_gone(server);
}

void dg_conn_close(struct dg_conn *conn)
{
    if (conn->closing)
        return;
    conn->closing = true;
    dg_wheel_unfile(conn);
    uv_close(&conn->h.handle, on_closed);
}

/* Closes a connection whose peer does not read. A reset keeps the kernel from trying to deliver
 * what is in its buffers. */
static void cut_off(struct dg_conn *conn)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    int fd;
    if (uv_fileno(&conn->h.handle, &fd) == 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    conn->server->stats.stalled++;
    dg_conn_close(conn);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void on_written(uv_write_t *write, int status)
{
    struct dg_conn *conn = write->data;
    conn->write_busy = false;
    if (conn->closing)
        return;
    dg_server_touch(conn->server);
    if (status != 0) {
        dg_conn_close(conn);
        return;
    }
    conn->write_since = conn->server->shared.now_ms;
    written(conn, conn->writing.len);
    dg_buf_deinit(&conn->writing);
    dg_conn_flush(conn);
}

/* Bytes that the peer has not taken: those in libuv, and those in the kernel where it reports them.
 * The kernel takes more from libuv only when a third of its buffer of megabytes is free, which
 * takes a slow peer minutes. */
static size_t bytes_untaken(const struct dg_conn *conn)
{
    size_t n = uv_stream_get_write_queue_size(&conn->h.stream);
#ifdef SIOCOUTQ
    int fd, kept = 0;
    if (uv_fileno(&conn->h.handle, &fd) == 0 && ioctl(fd, SIOCOUTQ, &kept) == 0 && kept > 0)
        n += (size_t)kept;
#endif
    return n;
}

/* Writes what the kernel takes at once; hands the rest to libuv. False when the connection broke.
 */
static bool write_out(struct dg_conn *conn)
{
    struct dg_span out = output(conn);
    if (conn->write_busy || out.len == 0)
        return true;
    uv_buf_t piece =
        uv_buf_init((char *)out.ptr, out.len > UINT32_MAX / 2 ? UINT32_MAX / 2 : (unsigned)out.len);
    int n = uv_try_write(&conn->h.stream, &piece, 1);
    if (n < 0 && n != UV_EAGAIN)
        return false;
    conn->write_since = conn->server->shared.now_ms;
    if (n > 0) {
        conn->server->stats.bytes_out += (unsigned)n;
        written(conn, (size_t)n);
    }
    if (output(conn).len == 0)
        return true;
    take_output(conn);
    conn->server->stats.bytes_out += conn->writing.len;
    conn->write.data = conn;
    piece = uv_buf_init(conn->writing.ptr, (unsigned)conn->writing.len);
    conn->write_busy = true;
    if (uv_write(&conn->write, &conn->h.stream, &piece, 1, on_written) != 0)
        return false;
    conn->write_left = bytes_untaken(conn);
    return true;
}

/* True when everything is written and the machine wants to close. */
static void finish(struct dg_conn *conn)
{
    if (!wants_input(conn) || conn->server->closing) {
        dg_conn_close(conn);
        return;
    }
    if (conn->shut)
        return;
    conn->shut = true;
    conn->linger_until = conn->server->shared.now_ms + LINGER_MS;
    int fd;
    if (uv_fileno(&conn->h.handle, &fd) != 0 || shutdown(fd, SHUT_WR) != 0)
        dg_conn_close(conn);
}

static uint64_t deadline_of(const struct dg_conn *conn)
{
    uint64_t deadline = conn->shut ? conn->linger_until : machine_deadline(conn);
    if (conn->write_busy) {
        uint64_t write_until = conn->write_since + conn->server->shared.limits.write_ms;
        deadline = write_until < deadline ? write_until : deadline;
    }
    return deadline;
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);

/* Input that comes when the turn has no time for it stays with the kernel, which reports it again.
 */
static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    const struct dg_conn *conn = handle->data;
    struct dg_server *server = conn->server;
    const bool has_time = !server->opts.turn || dg_turn_takes_input(server->opts.turn);
    *buf = uv_buf_init(has_time ? server->read_bytes : NULL, has_time ? DG_READ_BYTES : 0);
}

/* Reads while the machine wants input. */
static void set_reading(struct dg_conn *conn)
{
    bool wanted = wants_input(conn);
    if (wanted == conn->reading)
        return;
    conn->reading = wanted;
    if (wanted)
        uv_read_start(&conn->h.stream, on_alloc, on_read);
    else
        uv_read_stop(&conn->h.stream);
}

void dg_conn_flush(struct dg_conn *conn)
{
    if (conn->closing)
        return;
    switch_machines(conn);
    bool at_once;
    bool close_wanted = wants_close(conn, &at_once);
    if ((close_wanted && at_once) || !write_out(conn)) {
        if (close_wanted && at_once && conn->write_busy)
            cut_off(conn);
        dg_conn_close(conn);
        return;
    }
    if (close_wanted && !conn->write_busy)
        finish(conn);
    if (conn->closing)
        return;
    set_reading(conn);
    count_buffers(conn);
    dg_wheel_file(conn, deadline_of(conn));
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct dg_conn *conn = stream->data;
    if (n == 0 || n == UV_ENOBUFS || conn->closing)
        return; /* UV_ENOBUFS: on_alloc has left it to the next turn */
    dg_server_touch(conn->server);
    if (n > 0) {
        conn->server->stats.bytes_in += (size_t)n;
        if (conn->http)
            dg_http_feed(conn->http, buf->base, (size_t)n);
        else
            dg_ws_feed(conn->ws, buf->base, (size_t)n);
    } else if (n == UV_EOF) {
        if (conn->http)
            dg_http_eof(conn->http);
        else
            dg_ws_eof(conn->ws);
    } else {
        dg_conn_close(conn);
        return;
    }
    dg_conn_flush(conn);
}

/* ---- Time ------------------------------------------------------------------------------------ */

static void expire(struct dg_conn *conn)
{
    if (!conn->http) {
        bool at_once;
        dg_ws_expire(conn->ws);
        conn->server->stats.expired += wants_close(conn, &at_once);
        return;
    }
    conn->server->stats.expired += !conn->server->draining;
    bool was_idle = dg_http_is_idle(conn->http);
    dg_http_expire(conn->http);
    if (was_idle)
        dg_conn_close(conn); /* nobody waits for a last message */
}

/* Keeps a peer that takes an answer slowly but steadily, at the rate that bodies must have. */
static void note_progress(struct dg_conn *conn, uint64_t now)
{
    const struct dg_http_limits *limits = &conn->server->shared.limits;
    const size_t left = bytes_untaken(conn);
    uint64_t wanted = (now - conn->write_since) * limits->body_rate / 1000;
    if (left >= conn->write_left || conn->write_left - left < wanted)
        return;
    conn->write_left = left;
    conn->write_since = now;
}

void dg_conn_check_deadline(struct dg_conn *conn)
{
    struct dg_server *server = conn->server;
    uint64_t now = server->shared.now_ms;
    if (conn->write_busy)
        note_progress(conn, now);
    if (conn->write_busy && now >= conn->write_since + server->shared.limits.write_ms) {
        cut_off(conn);
    } else if (conn->shut && now >= conn->linger_until) {
        dg_conn_close(conn);
    } else if (!conn->shut && now >= machine_deadline(conn)) {
        expire(conn);
    }
    dg_conn_flush(conn);
}

void dg_conn_wind_down(struct dg_conn *conn)
{
    if (conn->closing)
        return;
    if (conn->ws)
        dg_ws_close(conn->ws, DG_WS_GOING_AWAY, DG_SPAN("the server is shutting down"));
    else
        dg_http_close_soon(conn->http, LAST_REQUEST_MS);
    dg_conn_flush(conn);
}

/* ---- What the machine tells ------------------------------------------------------------------ */

/* Removes the prefix from the path; a path without the prefix becomes empty, which no route has. */
static struct dg_span below_prefix(struct dg_span path, struct dg_span prefix)
{
    if (!dg_span_starts(path, prefix))
        return (struct dg_span){"", 0};
    path = dg_span_sub(path, prefix.len, path.len);
    if (path.len == 0)
        return DG_SPAN("/");
    return path.ptr[0] == '/' ? path : (struct dg_span){"", 0};
}

void dg_server_arrived(struct dg_http_req *req)
{
    const struct dg_conn *conn = dg_http_owner(req->http);
    if (!conn)
        return;
    const struct dg_server_opts *opts = &conn->server->opts;
    dg_forwarded(req, dg_span_cstr(conn->client), opts->trusted, opts->n_trusted, &req->client,
                 &req->public_host, &req->secure);
    req->is_private = conn->is_private;
    if (opts->url_prefix && *opts->url_prefix)
        req->path = below_prefix(req->path, dg_span_cstr(opts->url_prefix));
}

void dg_server_count_buffers(const struct dg_http_req *req)
{
    struct dg_conn *conn = dg_http_owner(req->http);
    if (conn)
        count_buffers(conn);
}

static void on_head(void *user, struct dg_http_req *req)
{
    (void)user;
    dg_server_arrived(req);
}

static void on_refused(void *user, struct dg_http_req *req, int status, const char *reason)
{
    const struct dg_conn *conn = dg_http_owner(req->http);
    if (!req->client.len)
        req->client = dg_span_cstr(conn->client);
    const struct dg_server_handler *handler = conn->server->handler;
    if (handler->on_refused)
        handler->on_refused(user, req, status, reason);
}

/* Output that did not arise from a read of this connection is written before the loop sleeps. */
static void on_output(void *user)
{
    struct dg_conn *conn = user;
    if (conn->dirty || conn->closing)
        return;
    conn->dirty = true;
    conn->dirty_next = conn->server->dirty;
    conn->server->dirty = conn;
}

static void on_http_output(void *user, struct dg_http *http)
{
    (void)user;
    on_output(dg_http_owner(http));
}

void dg_conn_events(const struct dg_server_handler *handler, struct dg_http_events *events)
{
    *events = (struct dg_http_events){.on_head = handler->on_head ? handler->on_head : on_head,
                                      .on_body = handler->on_body,
                                      .on_request = handler->on_request,
                                      .on_refused = on_refused,
                                      .on_output = on_http_output};
}

/* ---- WebSockets ------------------------------------------------------------------------------ */

static void on_ws_message(void *user, struct dg_ws *ws, bool is_text, struct dg_span message)
{
    struct dg_conn *conn = user;
    conn->socket->on_message(conn->socket_owner, ws, is_text, message);
}

/* A message gets at most half of what is left, so that something is always left for others. */
static bool on_ws_room(void *user, struct dg_ws *ws, size_t bytes)
{
    struct dg_conn *conn = user;
    (void)ws;
    count_buffers(conn);
    const size_t more = bytes - conn->held_body;
    return bytes <= conn->held_body || more <= dg_allowance_left(conn->server->opts.buffers) / 2;
}

static const struct dg_ws_events ws_events = {
    .on_message = on_ws_message, .on_room = on_ws_room, .on_output = on_output};

int dg_server_websocket(struct dg_http_req *req, const char *const *protocols,
                        const struct dg_ws_limits *limits, const struct dg_server_socket *handler,
                        void *owner, struct dg_ws **ws, const char **reason)
{
    struct dg_conn *conn = dg_http_owner(req->http);
    const char *chosen = NULL;
    if (conn->server->draining) {
        *reason = "the server is shutting down";
        return 503;
    }
    int status = dg_ws_handshake(req, protocols, &chosen, reason);
    if (status != 101)
        return status;
    conn->ws = dg_ws_new(&conn->server->shared, limits, &ws_events, conn);
    if (!conn->ws) {
        *reason = "there is no memory for another WebSocket";
        return 503;
    }
    conn->socket = handler;
    conn->socket_owner = owner;
    conn->server->stats.websockets++;
    *ws = conn->ws;
    dg_http_upgrade(req);
    on_output(conn);
    return 101;
}

/* ---- Accepting ------------------------------------------------------------------------------- */

static void name_client(struct dg_conn *conn)
{
    struct sockaddr_storage peer;
    int len = sizeof peer;
    memcpy(conn->client, "unix:", sizeof "unix:");
    if (conn->is_unix || uv_tcp_getpeername(&conn->h.tcp, (struct sockaddr *)&peer, &len) != 0)
        return;
    if (peer.ss_family == AF_INET6)
        inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&peer)->sin6_addr, conn->client,
                  sizeof conn->client);
    else
        inet_ntop(AF_INET, &((struct sockaddr_in *)&peer)->sin_addr, conn->client,
                  sizeof conn->client);
}

static bool is_over_limit(struct dg_server *server, const struct dg_conn *conn)
{
    if (server->stats.connections > server->opts.connections_max)
        return true;
    unsigned max = server->opts.connections_per_client_max;
    if (max == 0 || conn->is_unix)
        return false;
    unsigned same = 0;
    for (const struct dg_conn *other = server->conns; other; other = other->next)
        same += strcmp(other->client, conn->client) == 0;
    return same > max;
}

/* In the form of the API's errors (docs/api/openapi.yaml). */
#define REFUSAL_BODY                                                                               \
    "{\"error\":{\"code\":\"overloaded\",\"message\":\"There are too many clients.\"},"            \
    "\"request_id\":\"\"}"
#define REFUSAL                                                                                    \
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 87\r\n" \
    "Retry-After: 1\r\nConnection: close\r\n\r\n" REFUSAL_BODY
_Static_assert(sizeof REFUSAL_BODY - 1 == 87, "as Content-Length says");
const struct dg_span dg_conn_refusal = {REFUSAL, sizeof REFUSAL - 1};

static void turn_away(struct dg_conn *conn)
{
    uv_buf_t piece = uv_buf_init((char *)dg_conn_refusal.ptr, (unsigned)dg_conn_refusal.len);
    conn->server->stats.refused++;
    uv_try_write(&conn->h.stream, &piece, 1);
    dg_conn_close(conn);
}

void dg_conn_accept(struct dg_listener *listener, int fd)
{
    struct dg_server *server = listener->opts.user;
    dg_server_touch(server);
    struct dg_conn *conn = dg_try_calloc(1, sizeof *conn);
    if (!conn) {
        server->stats.refused++;
        dg_listener_refuse(listener, fd);
        return;
    }
    conn->server = server;
    conn->is_unix = listener->is_unix;
    conn->is_private = listener->is_private;
    dg_buf_init(&conn->writing, SIZE_MAX / 2);
    if (conn->is_unix)
        uv_pipe_init(server->loop, &conn->h.pipe, 0);
    else
        uv_tcp_init(server->loop, &conn->h.tcp);
    conn->h.handle.data = conn;
    conn->next = server->conns;
    conn->link = &server->conns;
    if (conn->next)
        conn->next->link = &conn->next;
    server->conns = conn;
    server->stats.connections++;
    server->stats.accepted++;
    int code = conn->is_unix ? uv_pipe_open(&conn->h.pipe, fd) : uv_tcp_open(&conn->h.tcp, fd);
    if (code != 0)
        close(fd);
    conn->http = code == 0 ? dg_http_new(&server->shared, &server->events, server->user) : NULL;
    if (!conn->http) {
        dg_conn_close(conn);
        return;
    }
    dg_http_set_owner(conn->http, conn);
    name_client(conn);
    if (is_over_limit(server, conn)) {
        turn_away(conn);
        return;
    }
    if (!conn->is_unix)
        uv_tcp_nodelay(&conn->h.tcp, 1);
    dg_server_keep_time(server);
    dg_conn_flush(conn);
}
