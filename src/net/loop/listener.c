/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A poll handle reports waiting connections. This file accepts them itself, so that it also decides
 * what to do when accept fails. The reserve is a descriptor of the root folder. */
#define _GNU_SOURCE /* accept4 */
#include "net/loop/listener.h"
#include "base/memory/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Further connections wait for the loop's next turn, so that existing ones are served in
 * between. */
enum { ACCEPTS_PER_TURN = 64, UNREAD_MAX = 4096 };

static void keep_reserve(struct dg_listener *listener)
{
    if (listener->reserve < 0)
        listener->reserve = open("/", O_RDONLY | O_CLOEXEC);
}

/* ---- Accepting ------------------------------------------------------------------------------- */

static int accept_one(const struct dg_listener *listener)
{
    return accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

void dg_listener_refuse(const struct dg_listener *listener, int fd)
{
    char unread[UNREAD_MAX];
    (void)!send(fd, listener->opts.refusal.ptr, listener->opts.refusal.len, MSG_NOSIGNAL);
    /* Unread bytes would make the kernel reset the connection before the client has the answer. */
    (void)!recv(fd, unread, sizeof unread, 0);
    close(fd);
}

/* Accepts a connection with the reserve descriptor, and refuses it. */
static bool turn_away(struct dg_listener *listener)
{
    if (listener->reserve < 0)
        return false;
    close(listener->reserve);
    listener->reserve = -1;
    const int fd = accept_one(listener);
    if (fd >= 0)
        dg_listener_refuse(listener, fd);
    keep_reserve(listener);
    return fd >= 0;
}

static void on_readable(uv_poll_t *poll, int status, int events);

static void on_pause_over(uv_timer_t *timer)
{
    dg_listener_resume(timer->data);
}

static void pause_listener(struct dg_listener *listener)
{
    uv_poll_stop(&listener->poll);
    uv_timer_start(&listener->timer, on_pause_over, DG_LISTENER_PAUSE_MS, 0);
}

void dg_listener_resume(struct dg_listener *listener)
{
    keep_reserve(listener);
    if (uv_is_active((uv_handle_t *)&listener->poll))
        return;
    uv_timer_stop(&listener->timer);
    uv_poll_start(&listener->poll, UV_READABLE, on_readable);
}

/* Whether the next connection may be tried at once. */
static bool go_on_after(struct dg_listener *listener, int error)
{
    if (error == EAGAIN || error == EWOULDBLOCK)
        return false;
    if (error == EINTR || error == ECONNABORTED)
        return true;
    const bool is_told = (error == EMFILE || error == ENFILE) && turn_away(listener);
    if (listener->opts.on_refused)
        listener->opts.on_refused(listener, error, is_told);
    if (!is_told)
        pause_listener(listener);
    return is_told;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct dg_listener *listener = poll->data;
    (void)status; /* accept reports it, too */
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_TURN && uv_is_active((uv_handle_t *)poll); i++) {
        const int fd = accept_one(listener);
        if (fd >= 0)
            listener->opts.on_accepted(listener, fd);
        else if (!go_on_after(listener, errno))
            return;
    }
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* The address that a TCP listener really has. */
static void name_tcp(struct dg_listener *listener)
{
    struct sockaddr_storage bound;
    socklen_t len = sizeof bound;
    char host[INET6_ADDRSTRLEN] = "?";
    if (getsockname(listener->fd, (struct sockaddr *)&bound, &len) != 0)
        return;
    if (bound.ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&bound;
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
        snprintf(listener->text, sizeof listener->text, "[%s]:%u", host, ntohs(v6->sin6_port));
    } else {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&bound;
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
        snprintf(listener->text, sizeof listener->text, "%s:%u", host, ntohs(v4->sin_port));
    }
}

static enum dg_err cannot(struct dg_error *error, const char *what, const char *text)
{
    const int code = errno;
    return dg_error_set(error, dg_err_from_errno(code), "cannot %s %s: %s%s", what, text,
                        uv_strerror(-code),
                        code == EADDRINUSE ? " (is another server running there?)" : "");
}

static struct dg_listener *make_listener(int fd, const struct dg_listener_opts *opts)
{
    struct dg_listener *listener = dg_xcalloc(1, sizeof *listener);
    listener->opts = *opts;
    listener->fd = fd;
    listener->reserve = -1;
    listener->poll.data = listener->timer.data = listener;
    return listener;
}

/* On failure the listener is gone, and its descriptor is the caller's again. */
static enum dg_err start(uv_loop_t *loop, struct dg_listener *listener, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    int code = 0;
    if (listen(listener->fd, listener->opts.backlog) != 0)
        err = cannot(error, "listen on", listener->text);
    else if ((code = uv_poll_init(loop, &listener->poll, listener->fd)) != 0)
        err = dg_error_set(error, dg_err_from_errno(-code), "cannot listen on %s: %s",
                           listener->text, uv_strerror(-code));
    if (err) {
        dg_free(listener);
        return err;
    }
    uv_timer_init(loop, &listener->timer);
    listener->n_handles = 2;
    if (!listener->is_unix)
        name_tcp(listener);
    keep_reserve(listener);
    uv_poll_start(&listener->poll, UV_READABLE, on_readable);
    return DG_OK;
}

/* No other user may connect between bind and a change of permissions. */
static int bind_unix(int fd, const char *path, unsigned permissions)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const size_t len = strlen(path) + 1;
    if (len > sizeof name.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(name.sun_path, path, len);
    const mode_t before = umask(0777 & ~permissions);
    const int got = bind(fd, (const struct sockaddr *)&name, sizeof name);
    umask(before);
    return got;
}

/* A v6 wildcard takes v6 only, so that a v4 one can exist on the same port. */
static int bind_tcp(int fd, const struct sockaddr_storage *name)
{
    const int on = 1;
    const bool v6 = name->ss_family == AF_INET6;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        (v6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0))
        return -1;
    return bind(fd, (const struct sockaddr *)name,
                v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
}

enum dg_err dg_listener_open(uv_loop_t *loop, const struct dg_address *address,
                             const struct dg_listener_opts *opts, struct dg_error *error,
                             struct dg_listener **out)
{
    const int family = address->is_unix ? AF_UNIX : address->socket.ss_family;
    const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return cannot(error, "make a socket for", address->text);
    if ((address->is_unix ? bind_unix(fd, address->path, opts->unix_mode)
                          : bind_tcp(fd, &address->socket)) != 0) {
        enum dg_err err = cannot(error, "listen on", address->text);
        close(fd);
        return err;
    }
    struct dg_listener *listener = make_listener(fd, opts);
    listener->is_unix = address->is_unix;
    snprintf(listener->text, sizeof listener->text, "%s", address->text);
    if (address->is_unix)
        snprintf(listener->path, sizeof listener->path, "%s", address->path);
    enum dg_err err = start(loop, listener, error);
    if (err) {
        if (address->is_unix)
            unlink(address->path);
        close(fd);
        return err;
    }
    *out = listener;
    return DG_OK;
}

enum dg_err dg_listener_adopt(uv_loop_t *loop, int fd, const struct dg_listener_opts *opts,
                              struct dg_error *error, struct dg_listener **out)
{
    struct sockaddr_storage bound;
    socklen_t len = sizeof bound;
    if (getsockname(fd, (struct sockaddr *)&bound, &len) != 0)
        return dg_error_errno(error, "inherited descriptor %d is not a socket", fd);
    const bool is_unix = bound.ss_family == AF_UNIX;
    if (!is_unix && bound.ss_family != AF_INET && bound.ss_family != AF_INET6)
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "inherited descriptor %d is neither a TCP nor a Unix socket", fd);
    struct dg_listener *listener = make_listener(fd, opts);
    listener->is_unix = is_unix;
    snprintf(listener->text, sizeof listener->text, is_unix ? "unix:(inherited)" : "(inherited)");
    enum dg_err err = start(loop, listener, error);
    if (!err)
        *out = listener;
    return err;
}

/* ---- The end --------------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
    struct dg_listener *listener = handle->data;
    if (--listener->n_handles == 0)
        dg_free(listener);
}

void dg_listener_close(struct dg_listener *listener)
{
    if (!listener)
        return;
    uv_close((uv_handle_t *)&listener->poll, on_closed);
    uv_close((uv_handle_t *)&listener->timer, on_closed);
    if (listener->path[0])
        unlink(listener->path);
    close(listener->fd);
    if (listener->reserve >= 0)
        close(listener->reserve);
}
