/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Creation and release, the time wheel, draining. Connections are in conn.c, sockets that listen in
 * listener.c.
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

static void on_input_read(uv_check_t *worker)
{
    const struct dg_server *server = worker->data;
    if (server->opts.turn)
        dg_turn_run(server->opts.turn);
}

static void on_idle(uv_idle_t *goer)
{
    (void)goer;
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
    if (!server->opts.turn)
        return;
    dg_turn_end(server->opts.turn);
    if (dg_list_is_empty(&server->opts.turn->queue))
        uv_idle_stop(&server->goer);
    else
        uv_idle_start(&server->goer, on_idle);
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
    made->ticker.data = made->flusher.data = made->worker.data = made;
    uv_timer_init(loop, &made->ticker); /* these cannot fail */
    uv_idle_init(loop, &made->goer);
    uv_check_init(loop, &made->worker);
    uv_check_start(&made->worker, on_input_read);
    uv_unref((uv_handle_t *)&made->worker);
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

static void stop_listening(struct dg_server *server)
{
    struct dg_listener *listener = server->listeners;
    server->listeners = NULL;
    server->n_listeners = 0;
    while (listener) {
        struct dg_listener *next = listener->next;
        dg_listener_close(listener);
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
    uv_close((uv_handle_t *)&server->worker, NULL);
    uv_close((uv_handle_t *)&server->goer, NULL);
}

/* ---- Listening ------------------------------------------------------------------------------- */

static void on_refused(struct dg_listener *listener, int code, bool is_told)
{
    struct dg_server *server = listener->opts.user;
    dg_server_touch(server);
    const uint64_t second = server->shared.now_ms / 1000 + 1;
    server->stats.refused += is_told;
    if (server->not_accepted_s == second)
        return;
    server->not_accepted_s = second;
    dg_log_event(server->log, DG_LOG_WARNING, "net",
                 DG_LOG_FIELDS(dg_log_str("listener", listener->text)),
                 "cannot accept a connection: %s", uv_strerror(-code));
}

static struct dg_listener_opts listener_opts(struct dg_server *server)
{
    return (struct dg_listener_opts){.backlog = (int)server->opts.backlog,
                                     .unix_mode = server->opts.unix_mode,
                                     .refusal = dg_conn_refusal,
                                     .on_accepted = dg_conn_accept,
                                     .on_refused = on_refused,
                                     .user = server};
}

static void add_listener(struct dg_server *server, struct dg_listener *listener)
{
    struct dg_listener **end = &server->listeners;
    while (*end)
        end = &(*end)->next;
    *end = listener;
    server->n_listeners++;
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
                            "cannot listen on unix:%s: there is a file that is not a socket", path);
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

static enum dg_err listen_on(struct dg_server *server, const struct dg_address *address,
                             bool is_private, struct dg_error *error)
{
    struct dg_listener_opts opts = listener_opts(server);
    struct dg_listener *listener;
    enum dg_err err = address->is_unix ? remove_stale(address->path, error) : DG_OK;
    if (is_private)
        opts.unix_mode = PRIVATE_MODE;
    if (!err)
        err = dg_listener_open(server->loop, address, &opts, error, &listener);
    if (err)
        return err;
    listener->is_private = is_private;
    add_listener(server, listener);
    return DG_OK;
}

enum dg_err dg_server_listen(struct dg_server *server, const char *text, struct dg_error *error)
{
    struct dg_address address;
    enum dg_err err = dg_address_parse(text, &address, error);
    return err ? err : listen_on(server, &address, false, error);
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
    return err ? err : listen_on(server, &address, true, error);
}

enum dg_err dg_server_listen_fd(struct dg_server *server, int fd, struct dg_error *error)
{
    const struct dg_listener_opts opts = listener_opts(server);
    struct dg_listener *listener;
    enum dg_err err = dg_listener_adopt(server->loop, fd, &opts, error, &listener);
    if (!err)
        add_listener(server, listener);
    return err;
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
    for (struct dg_listener *listener = server->listeners; listener; listener = listener->next)
        dg_listener_resume(listener);
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
