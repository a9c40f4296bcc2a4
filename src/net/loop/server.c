/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Listeners, the time wheel, drain. Connections are in conn.c.
 *
 * One timer serves all timeouts: every DG_WHEEL_TICK_MS it processes the wheel's slots that are
 * due. It runs only while there are connections, so an idle server sleeps. Output produced anywhere
 * (a handler, a completion from another thread) marks its connection dirty; a uv_prepare, which
 * runs right before the loop would sleep, writes all of it, so a burst of tokens is one write. */
#include "net/loop/server.h"
#include "base/memory/clock.h"
#include "base/memory/error.h"
#include "base/memory/mem.h"
#include "net/loop/server_int.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { PRIVATE_MODE = 0600 };

void dg_server_touch(struct dg_server *server)
{
    server->shared.now_ms = uv_now(server->loop);
    uint64_t second = server->shared.now_ms / 1000;
    if (second == server->date_s && server->shared.date[0])
        return;
    const struct dg_clock clock = DG_CLOCK_REAL;
    server->date_s = second;
    dg_http_set_date(&server->shared, dg_clock_wall(&clock) / DG_CLOCK_S);
}

/* ---- The wheel ------------------------------------------------------------------------------- */

void dg_wheel_unfile(struct dg_conn *conn)
{
    if (!conn->wheel_link)
        return;
    *conn->wheel_link = conn->wheel_next;
    if (conn->wheel_next)
        conn->wheel_next->wheel_link = conn->wheel_link;
    conn->wheel_link = NULL;
}

void dg_wheel_file(struct dg_conn *conn, uint64_t deadline_ms)
{
    struct dg_server *server = conn->server;
    if (deadline_ms == UINT64_MAX)
        return; /* in any slot it would be found too early and passed over */
    uint64_t tick = deadline_ms / DG_WHEEL_TICK_MS + 1;
    if (tick <= server->wheel_tick)
        tick = server->wheel_tick + 1;
    if (tick > server->wheel_tick + DG_WHEEL_SLOTS - 1)
        tick = server->wheel_tick + DG_WHEEL_SLOTS - 1;
    if (conn->wheel_link && conn->wheel_at <= tick)
        return;
    dg_wheel_unfile(conn);
    struct dg_conn **slot = &server->wheel[tick % DG_WHEEL_SLOTS];
    conn->wheel_at = tick;
    conn->wheel_next = *slot;
    conn->wheel_link = slot;
    if (*slot)
        (*slot)->wheel_link = &conn->wheel_next;
    *slot = conn;
}

static void work_off_slot(struct dg_conn **slot)
{
    /* The list moves to its own head, because any of its connections may disappear meanwhile. */
    struct dg_conn *head = *slot;
    *slot = NULL;
    if (head)
        head->wheel_link = &head;
    while (head) {
        struct dg_conn *conn = head;
        dg_wheel_unfile(conn);
        dg_conn_check_deadline(conn);
    }
}

static void close_all_connections(struct dg_server *server)
{
    for (struct dg_conn *conn = server->conns; conn; conn = conn->next)
        dg_conn_close(conn);
}

static void on_tick(uv_timer_t *timer)
{
    struct dg_server *server = timer->data;
    dg_server_touch(server);
    uint64_t now = server->shared.now_ms / DG_WHEEL_TICK_MS;
    /* After a long sleep each slot needs to be looked at once only. */
    if (now > server->wheel_tick + DG_WHEEL_SLOTS)
        server->wheel_tick = now - DG_WHEEL_SLOTS;
    while (server->wheel_tick < now) {
        server->wheel_tick++;
        work_off_slot(&server->wheel[server->wheel_tick % DG_WHEEL_SLOTS]);
    }
    if (server->draining && server->shared.now_ms >= server->drain_until_ms)
        close_all_connections(server);
    if (!server->conns)
        uv_timer_stop(timer);
}

void dg_server_keep_time(struct dg_server *server)
{
    if (uv_is_active((uv_handle_t *)&server->ticker) || server->closing)
        return;
    server->wheel_tick = server->shared.now_ms / DG_WHEEL_TICK_MS;
    uv_timer_start(&server->ticker, on_tick, DG_WHEEL_TICK_MS, DG_WHEEL_TICK_MS);
}

/* Processor time of this thread. */
static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * DG_CLOCK_S + (uint64_t)t.tv_nsec;
}

static void count_cpu(struct dg_server *server)
{
    uint64_t now = cpu_ns(), ns = server->turns_began ? now - server->turns_began : 0;
    size_t bucket = 0;
    while (bucket + 1 < DG_SERVER_TURN_BUCKETS && ns > (uint64_t)DG_SERVER_TURN_LEAST_US * 1000
                                                           << bucket)
        bucket++;
    server->stats.turns_cpu[bucket]++;
    server->stats.turns_cpu_ns += ns;
    server->turns_began = now;
}

/* Counts the turn that ends here, without its sleep. */
static void count_turn(struct dg_server *server)
{
    uint64_t now = uv_hrtime(), slept = uv_metrics_idle_time(server->loop);
    uint64_t passed = now - server->slept_at, sleep = slept - server->slept;
    uint64_t busy = passed > sleep ? passed - sleep : 0;
    struct dg_server_stats *stats = &server->stats;
    stats->turns++;
    stats->busy_ns += busy;
    stats->turns_slow += busy > DG_SERVER_SLOW_MS * DG_CLOCK_MS;
    stats->turn_max_ns = busy > stats->turn_max_ns ? busy : stats->turn_max_ns;
    server->slept_at = now;
    server->slept = slept;
    count_cpu(server);
}

static void on_before_sleep(uv_prepare_t *prepare)
{
    struct dg_server *server = prepare->data;
    while (server->dirty) {
        struct dg_conn *conn = server->dirty;
        server->dirty = conn->dirty_next;
        conn->dirty = false;
        dg_conn_flush(conn);
    }
    if (server->times_turns)
        count_turn(server);
}

/* ---- Life ------------------------------------------------------------------------------------ */

enum dg_err dg_server_new(uv_loop_t *loop, const struct dg_server_opts *opts,
                          const struct dg_server_handler *handler, void *user, struct dg_log *log,
                          struct dg_error *error, struct dg_server **server)
{
    struct dg_server *made = dg_try_calloc(1, sizeof *made);
    if (!made)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for the server");
    made->loop = loop;
    made->opts = *opts;
    made->handler = handler;
    dg_conn_events(handler, &made->events);
    made->user = user;
    made->log = log;
    made->shared.limits = opts->http;
    made->shared.server = opts->server_name;
    made->ticker.data = made->flusher.data = made;
    uv_timer_init(loop, &made->ticker); /* these two cannot fail */
    uv_prepare_init(loop, &made->flusher);
    uv_prepare_start(&made->flusher, on_before_sleep);
    uv_unref((uv_handle_t *)&made->flusher);
    made->times_turns = uv_loop_configure(loop, UV_METRICS_IDLE_TIME) == 0;
    made->slept_at = uv_hrtime();
    made->slept = uv_metrics_idle_time(loop);
    dg_server_touch(made);
    made->wheel_tick = made->shared.now_ms / DG_WHEEL_TICK_MS;
    *server = made;
    return DG_OK;
}

void dg_server_free(struct dg_server *server)
{
    if (!server)
        return;
    dg_free(server);
}

static void on_listener_closed(uv_handle_t *handle)
{
    dg_free(handle->data);
}

static void stop_listening(struct dg_server *server)
{
    struct dg_listener *listener = server->listeners;
    server->listeners = NULL;
    server->n_listeners = 0;
    while (listener) {
        struct dg_listener *next = listener->next;
        uv_close(&listener->h.handle, on_listener_closed);
        listener = next;
    }
}

void dg_server_close(struct dg_server *server)
{
    if (server->closing)
        return;
    server->closing = true;
    stop_listening(server);
    close_all_connections(server);
    uv_close((uv_handle_t *)&server->ticker, NULL);
    uv_close((uv_handle_t *)&server->flusher, NULL);
}

/* ---- Listening ------------------------------------------------------------------------------- */

static void on_connection(uv_stream_t *stream, int status)
{
    struct dg_listener *listener = stream->data;
    struct dg_server *server = listener->server;
    const uint64_t second = uv_now(server->loop) / 1000 + 1;
    if (status == 0) {
        dg_conn_accept(listener);
    } else if (server->not_accepted_s != second) { /* it fails again in every turn of the loop */
        server->not_accepted_s = second;
        dg_log_event(server->log, DG_LOG_WARNING, "net",
                     DG_LOG_FIELDS(dg_log_str("listener", listener->text)),
                     "cannot accept a connection: %s", uv_strerror(status));
    }
}

static struct dg_listener *make_listener(struct dg_server *server, bool is_unix)
{
    struct dg_listener *listener = dg_xcalloc(1, sizeof *listener);
    listener->server = server;
    listener->is_unix = is_unix;
    if (is_unix)
        uv_pipe_init(server->loop, &listener->h.pipe, 0);
    else
        uv_tcp_init(server->loop, &listener->h.tcp);
    listener->h.handle.data = listener;
    return listener;
}

/* The address that a TCP listener really has. */
static void name_tcp(struct dg_listener *listener)
{
    struct sockaddr_storage bound;
    int len = sizeof bound;
    char host[INET6_ADDRSTRLEN] = "?";
    if (uv_tcp_getsockname(&listener->h.tcp, (struct sockaddr *)&bound, &len) != 0)
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

/* Listens, or closes the listener with a sentence. */
static enum dg_err start_listener(struct dg_listener *listener, struct dg_error *error)
{
    struct dg_server *server = listener->server;
    int code = uv_listen(&listener->h.stream, (int)server->opts.backlog, on_connection);
    if (code != 0) {
        enum dg_err err = dg_error_set(
            error, dg_err_from_errno(-code), "cannot listen on %s: %s%s", listener->text,
            uv_strerror(code), code == UV_EADDRINUSE ? " (is another server running there?)" : "");
        uv_close(&listener->h.handle, on_listener_closed);
        return err;
    }
    if (!listener->is_unix)
        name_tcp(listener);
    struct dg_listener **end = &server->listeners;
    while (*end)
        end = &(*end)->next;
    *end = listener;
    server->n_listeners++;
    return DG_OK;
}

/* Removes a socket on which no process listens any more. DG_ERR_EXISTS when one does, or when the
 * path is not a socket. */
static enum dg_err remove_stale(const char *path, struct dg_error *error)
{
    struct stat info;
    if (lstat(path, &info) != 0)
        return DG_OK;
    if (!S_ISSOCK(info.st_mode))
        return dg_error_set(error, DG_ERR_EXISTS,
                            "cannot listen on unix:%s: there is a file that is no socket", path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return dg_error_errno(error, "cannot make a socket");
    bool alive = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    if (alive)
        return dg_error_set(error, DG_ERR_EXISTS,
                            "cannot listen on unix:%s: another server is running there", path);
    unlink(path);
    return DG_OK;
}

static enum dg_err listen_unix(struct dg_server *server, const struct dg_address *address,
                               bool is_private, struct dg_error *error)
{
    enum dg_err err = remove_stale(address->path, error);
    if (err)
        return err;
    struct dg_listener *listener = make_listener(server, true);
    snprintf(listener->text, sizeof listener->text, "%s", address->text);
    listener->is_private = is_private;
    /* No other user may connect between bind and chmod. */
    mode_t before = umask(0777 & ~(is_private ? PRIVATE_MODE : server->opts.unix_mode));
    int code = uv_pipe_bind(&listener->h.pipe, address->path);
    umask(before);
    if (code != 0) {
        uv_close(&listener->h.handle, on_listener_closed);
        return dg_error_set(error, dg_err_from_errno(-code), "cannot bind %s: %s", address->text,
                            uv_strerror(code));
    }
    return start_listener(listener, error);
}

enum dg_err dg_server_listen(struct dg_server *server, const char *text, struct dg_error *error)
{
    struct dg_address address;
    enum dg_err err = dg_address_parse(text, &address, error);
    if (err)
        return err;
    if (address.is_unix)
        return listen_unix(server, &address, false, error);
    struct dg_listener *listener = make_listener(server, false);
    snprintf(listener->text, sizeof listener->text, "%s", address.text);
    /* A v6 wildcard takes v6 only, so that it can stand beside a v4 one. */
    bool v6 = address.socket.ss_family == AF_INET6;
    int code = uv_tcp_bind(&listener->h.tcp, (const struct sockaddr *)&address.socket,
                           v6 ? UV_TCP_IPV6ONLY : 0);
    if (code != 0) {
        uv_close(&listener->h.handle, on_listener_closed);
        return dg_error_set(error, dg_err_from_errno(-code), "cannot bind %s: %s", text,
                            uv_strerror(code));
    }
    return start_listener(listener, error);
}

enum dg_err dg_server_listen_private(struct dg_server *server, const char *path,
                                     struct dg_error *error)
{
    struct dg_address address;
    char text[DG_ADDRESS_TEXT];
    if (snprintf(text, sizeof text, "unix:%s", path) >= (int)sizeof text)
        return dg_error_set(error, DG_ERR_RANGE,
                            "the path of the socket has %zu bytes, expected less than %zu",
                            strlen(path), sizeof text - 5);
    enum dg_err err = dg_address_parse(text, &address, error);
    return err ? err : listen_unix(server, &address, true, error);
}

enum dg_err dg_server_listen_fd(struct dg_server *server, int fd, struct dg_error *error)
{
    struct sockaddr_storage bound;
    socklen_t len = sizeof bound;
    if (getsockname(fd, (struct sockaddr *)&bound, &len) != 0)
        return dg_error_errno(error, "inherited descriptor %d is no socket", fd);
    bool is_unix = bound.ss_family == AF_UNIX;
    if (!is_unix && bound.ss_family != AF_INET && bound.ss_family != AF_INET6)
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "inherited descriptor %d is neither a TCP nor a Unix socket", fd);
    struct dg_listener *listener = make_listener(server, is_unix);
    snprintf(listener->text, sizeof listener->text, is_unix ? "unix:(inherited)" : "(inherited)");
    int code = is_unix ? uv_pipe_open(&listener->h.pipe, fd) : uv_tcp_open(&listener->h.tcp, fd);
    if (code != 0) {
        uv_close(&listener->h.handle, on_listener_closed);
        return dg_error_set(error, dg_err_from_errno(-code),
                            "cannot use inherited descriptor %d: %s", fd, uv_strerror(code));
    }
    return start_listener(listener, error);
}

size_t dg_server_n_listeners(const struct dg_server *server)
{
    return server->n_listeners;
}

const char *dg_server_address(const struct dg_server *server, size_t i)
{
    const struct dg_listener *listener = server->listeners;
    while (i-- > 0)
        listener = listener->next;
    return listener->text;
}

/* ---- Drain ----------------------------------------------------------------------------------- */

void dg_server_on_conn_gone(struct dg_server *server)
{
    if (!server->draining || server->conns || !server->on_drained)
        return;
    void (*on_drained)(void *) = server->on_drained;
    server->on_drained = NULL;
    on_drained(server->drained_user);
}

void dg_server_drain(struct dg_server *server, uint64_t limit_ms, void (*on_drained)(void *user),
                     void *user)
{
    dg_server_touch(server);
    uint64_t until = server->shared.now_ms + limit_ms;
    if (server->draining) {
        if (until < server->drain_until_ms)
            server->drain_until_ms = until;
        return;
    }
    server->draining = server->shared.closing = true;
    server->drain_until_ms = until;
    server->on_drained = on_drained;
    server->drained_user = user;
    stop_listening(server);
    for (struct dg_conn *conn = server->conns; conn; conn = conn->next)
        dg_conn_wind_down(conn);
    dg_server_on_conn_gone(server);
}

bool dg_server_is_draining(const struct dg_server *server)
{
    return server->draining;
}

void dg_server_stats(const struct dg_server *server, struct dg_server_stats *stats)
{
    *stats = server->stats;
}
