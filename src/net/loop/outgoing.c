/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A link lives until nobody holds it any more: its owner, the loop for its timer, a look-up, an
 * attempt to connect, and each write. Each attempt has a socket of its own, which the loop closes.
 */
#include "net/loop/outgoing.h"
#include "base/memory/mem.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

enum { READ_SIZE = 64 * 1024 };

union socket {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

struct dg_outgoing {
    uv_loop_t *loop;
    struct dg_outgoing_target target;
    const struct dg_outgoing_ops *ops;
    void *user;
    size_t *n_lookups;
    struct dg_tls *tls; /* NULL: none */
    struct dg_tls_session *session;
    union socket *socket; /* NULL: none now */
    uv_timer_t beginning; /* reports later what failed at once */
    uv_getaddrinfo_t lookup;
    uv_connect_t connecting;
    struct addrinfo *found, *next; /* found: owned; next: to be tried */
    size_t n_holds;
    bool is_looking, is_open, is_over, is_closed;
    char reason[200];
    char *bytes; /* owned; [READ_SIZE] */
};

/* ---- Targets --------------------------------------------------------------------------------- */

static enum dg_err refuse(struct dg_error *error, struct dg_span text)
{
    return dg_error_set(error, DG_ERR_INVALID,
                        "read '%.*s', expected HOST:PORT, [ADDRESS]:PORT or unix:PATH",
                        text.len < 200 ? (int)text.len : 200, text.ptr ? text.ptr : "");
}

static bool is_host_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           strchr("-._:%", c) != NULL;
}

enum dg_err dg_outgoing_target_make(struct dg_span host, struct dg_span port,
                                    struct dg_outgoing_target *target, struct dg_error *error)
{
    bool is_good = host.len > 0 && host.len < DG_OUTGOING_HOST && port.len > 0 && port.len <= 5;
    unsigned number = 0;
    for (size_t i = 0; is_good && i < host.len; i++)
        is_good = host.ptr[i] && is_host_char(host.ptr[i]);
    for (size_t i = 0; is_good && i < port.len; i++) {
        is_good = port.ptr[i] >= '0' && port.ptr[i] <= '9';
        number = number * 10 + (unsigned)(port.ptr[i] - '0');
    }
    if (!is_good || number == 0 || number > 65535)
        return refuse(error, host);
    *target = (struct dg_outgoing_target){.port = number};
    memcpy(target->host, host.ptr, host.len);
    const bool has_colon = memchr(host.ptr, ':', host.len) != NULL;
    snprintf(target->text, sizeof target->text, has_colon ? "[%s]:%u" : "%s:%u", target->host,
             number);
    return DG_OK;
}

static enum dg_err make_unix(struct dg_span path, struct dg_outgoing_target *target,
                             struct dg_error *error)
{
    if (path.len == 0 || path.len >= sizeof((struct sockaddr_un *)NULL)->sun_path ||
        memchr(path.ptr, '\0', path.len))
        return refuse(error, path);
    *target = (struct dg_outgoing_target){.is_unix = true};
    memcpy(target->host, path.ptr, path.len);
    snprintf(target->text, sizeof target->text, "unix:%s", target->host);
    return DG_OK;
}

enum dg_err dg_outgoing_target_parse(struct dg_span text, struct dg_outgoing_target *target,
                                     struct dg_error *error)
{
    size_t colon = text.len;
    if (text.len > 5 && memcmp(text.ptr, "unix:", 5) == 0)
        return make_unix(dg_span_sub(text, 5, text.len), target, error);
    while (colon > 0 && text.ptr[colon - 1] != ':')
        colon--;
    struct dg_span host = dg_span_sub(text, 0, colon ? colon - 1 : 0);
    const bool has_brackets = host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';
    if (has_brackets)
        host = dg_span_sub(host, 1, host.len - 2);
    if (colon == 0 || (!has_brackets && memchr(host.ptr, ':', host.len)))
        return refuse(error, text);
    return dg_outgoing_target_make(host, dg_span_sub(text, colon, text.len), target, error) == DG_OK
               ? DG_OK
               : refuse(error, text);
}

/* ---- Its life -------------------------------------------------------------------------------- */

static void release(struct dg_outgoing *link)
{
    if (--link->n_holds > 0)
        return;
    dg_tls_session_free(link->session);
    if (link->found)
        uv_freeaddrinfo(link->found);
    dg_free(link->bytes);
    dg_free(link);
}

static void on_timer_closed(uv_handle_t *timer)
{
    release(timer->data);
}

static void on_socket_closed(uv_handle_t *handle)
{
    dg_free(handle);
}

static void close_socket(struct dg_outgoing *link)
{
    if (link->socket)
        uv_close(&link->socket->handle, on_socket_closed);
    link->socket = NULL;
}

static void end(struct dg_outgoing *link, const char *reason)
{
    if (link->is_over || link->is_closed)
        return;
    link->is_over = true;
    close_socket(link);
    link->ops->on_end(link->user, reason);
}

void dg_outgoing_close(struct dg_outgoing *link)
{
    if (!link || link->is_closed)
        return;
    link->is_closed = true;
    close_socket(link);
    uv_close((uv_handle_t *)&link->beginning, on_timer_closed);
    if (link->is_looking)
        (void)uv_cancel((uv_req_t *)&link->lookup); /* if it has not begun yet */
    release(link);
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

struct piece {
    uv_write_t write;
    struct dg_outgoing *link;
    char bytes[];
};

static void on_written(uv_write_t *write, int status)
{
    struct piece *piece = write->data;
    struct dg_outgoing *link = piece->link;
    dg_free(piece);
    if (status < 0 && status != UV_ECANCELED)
        end(link, uv_strerror(status));
    release(link);
}

static enum dg_err send_bytes(struct dg_outgoing *link, struct dg_span bytes)
{
    if (bytes.len == 0)
        return DG_OK;
    struct piece *piece = dg_try_malloc(sizeof *piece + bytes.len);
    if (!piece)
        return DG_ERR_NOMEM;
    piece->link = link;
    piece->write.data = piece;
    memcpy(piece->bytes, bytes.ptr, bytes.len);
    const uv_buf_t buf = uv_buf_init(piece->bytes, (unsigned)bytes.len);
    if (uv_write(&piece->write, &link->socket->stream, &buf, 1, on_written) != 0) {
        dg_free(piece);
        return DG_ERR_CLOSED;
    }
    link->n_holds++;
    return DG_OK;
}

/* Sends the bytes that TLS has for the other side. */
static enum dg_err send_output(struct dg_outgoing *link)
{
    const enum dg_err err = send_bytes(link, dg_tls_session_output(link->session));
    dg_tls_session_sent(link->session);
    return err;
}

enum dg_err dg_outgoing_write(struct dg_outgoing *link, struct dg_span text)
{
    struct dg_error error = DG_ERROR_NONE;
    if (!link->is_open || link->is_over || link->is_closed)
        return DG_ERR_CLOSED;
    if (!link->session)
        return send_bytes(link, text);
    const enum dg_err err = dg_tls_session_write(link->session, text, &error);
    return err ? DG_ERR_CLOSED : send_output(link);
}

static void open_link(struct dg_outgoing *link)
{
    link->is_open = true;
    link->ops->on_open(link->user);
}

static void take_encrypted(struct dg_outgoing *link, struct dg_span received)
{
    struct dg_error error = DG_ERROR_NONE;
    char plain[16 * 1024];
    size_t n = 1;
    enum dg_err err = dg_tls_session_feed(link->session, received);
    while (!err && n > 0 && !link->is_closed) {
        err = dg_tls_session_read(link->session, plain, sizeof plain, &n, &error);
        const bool is_said = send_output(link) == DG_OK;
        if (!err && !is_said)
            err = DG_ERR_NOMEM;
        if (!err && !link->is_open && dg_tls_session_is_open(link->session))
            open_link(link);
        if (!err && n > 0 && !link->is_closed)
            link->ops->on_bytes(link->user, dg_span_make(plain, n));
    }
    if (err)
        end(link, err == DG_ERR_CLOSED ? "it closed the connection" : dg_error_text(&error, err));
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    const struct dg_outgoing *link = handle->data;
    (void)size;
    *buf = uv_buf_init(link->bytes, READ_SIZE);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct dg_outgoing *link = stream->data;
    if (n == 0)
        return;
    link->n_holds++; /* it may be closed in here */
    if (n < 0)
        end(link, n == UV_EOF ? "it closed the connection" : uv_strerror((int)n));
    else if (link->session)
        take_encrypted(link, dg_span_make(buf->base, (size_t)n));
    else
        link->ops->on_bytes(link->user, dg_span_make(buf->base, (size_t)n));
    release(link);
}

/* ---- Connecting ------------------------------------------------------------------------------ */

static void try_next(struct dg_outgoing *link);

static void begin_reading(struct dg_outgoing *link)
{
    enum dg_err err = DG_OK;
    link->bytes = dg_try_malloc(READ_SIZE);
    if (!link->bytes || uv_read_start(&link->socket->stream, on_alloc, on_read) != 0)
        err = DG_ERR_NOMEM;
    if (!err && link->tls && !link->target.is_unix) {
        err = dg_tls_session_new(link->tls, link->target.host, &link->session);
        if (!err)
            err = send_output(link);
    } else if (!err) {
        open_link(link);
    }
    if (err)
        end(link, "there is no memory for a connection");
}

static void on_connected(uv_connect_t *connecting, int status)
{
    struct dg_outgoing *link = connecting->data;
    if (!link->is_closed && !link->is_over && status == 0) {
        begin_reading(link);
    } else if (!link->is_closed && !link->is_over) {
        snprintf(link->reason, sizeof link->reason, "%s", uv_strerror(status));
        close_socket(link);
        try_next(link);
    }
    release(link);
}

static union socket *new_socket(struct dg_outgoing *link)
{
    union socket *socket = dg_try_calloc(1, sizeof *socket);
    if (!socket || (link->target.is_unix ? uv_pipe_init(link->loop, &socket->pipe, 0)
                                         : uv_tcp_init(link->loop, &socket->tcp)) != 0) {
        dg_free(socket);
        return NULL;
    }
    socket->handle.data = link;
    return socket;
}

/* Begins to connect to an address. False: that failed at once, and on_connected is not called. */
static bool connect_to(struct dg_outgoing *link, const struct sockaddr *address)
{
    int status = 0;
    link->socket = new_socket(link);
    if (!link->socket) {
        snprintf(link->reason, sizeof link->reason, "there is no memory for a connection");
        return false;
    }
    link->connecting.data = link;
    if (link->target.is_unix) {
        uv_pipe_connect(&link->connecting, &link->socket->pipe, link->target.host, on_connected);
    } else {
        uv_tcp_nodelay(&link->socket->tcp, 1);
        uv_tcp_keepalive(&link->socket->tcp, 1, 60);
        status = uv_tcp_connect(&link->connecting, &link->socket->tcp, address, on_connected);
    }
    if (status != 0) {
        snprintf(link->reason, sizeof link->reason, "%s", uv_strerror(status));
        close_socket(link);
        return false;
    }
    link->n_holds++;
    return true;
}

/* Tries the next address of the name. */
static void try_next(struct dg_outgoing *link)
{
    while (link->next) {
        const struct addrinfo *info = link->next;
        link->next = info->ai_next;
        if (connect_to(link, info->ai_addr))
            return;
    }
    end(link, link->reason);
}

static void on_found(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
    struct dg_outgoing *link = lookup->data;
    (*link->n_lookups)--;
    link->is_looking = false;
    link->found = link->next = found;
    if (!link->is_closed && status != 0)
        end(link, uv_strerror(status));
    else if (!link->is_closed)
        try_next(link);
    release(link);
}

static void look_up(struct dg_outgoing *link)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    char port[8];
    snprintf(port, sizeof port, "%u", link->target.port);
    link->lookup.data = link;
    if (uv_getaddrinfo(link->loop, &link->lookup, on_found, link->target.host, port, &hints) != 0) {
        end(link, "the name cannot be looked up");
        return;
    }
    link->is_looking = true;
    link->n_holds++;
    (*link->n_lookups)++;
}

static void on_beginning(uv_timer_t *timer)
{
    struct dg_outgoing *link = timer->data;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    bool begins = true;
    if (link->target.is_unix)
        begins = connect_to(link, NULL);
    else if (uv_ip4_addr(link->target.host, (int)link->target.port, &v4) == 0)
        begins = connect_to(link, (const struct sockaddr *)&v4);
    else if (uv_ip6_addr(link->target.host, (int)link->target.port, &v6) == 0)
        begins = connect_to(link, (const struct sockaddr *)&v6);
    else
        look_up(link);
    if (!begins)
        end(link, link->reason);
}

struct dg_outgoing *dg_outgoing_open(uv_loop_t *loop, const struct dg_outgoing_target *target,
                                     struct dg_tls *tls, const struct dg_outgoing_ops *ops,
                                     void *user, size_t *n_lookups)
{
    struct dg_outgoing *link = dg_try_calloc(1, sizeof *link);
    if (!link)
        return NULL;
    link->loop = loop;
    link->target = *target;
    link->tls = tls;
    link->ops = ops;
    link->user = user;
    link->n_lookups = n_lookups;
    link->n_holds = 2; /* by its owner, and by the timer */
    uv_timer_init(loop, &link->beginning);
    link->beginning.data = link;
    uv_timer_start(&link->beginning, on_beginning, 0, 0);
    return link;
}
