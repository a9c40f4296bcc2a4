/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The internals of the server, shared by server.c (listeners, time) and conn.c (connections). */
#ifndef DG_NET_LOOP_SERVER_INT_H
#define DG_NET_LOOP_SERVER_INT_H

#include "net/loop/listener.h"
#include "net/loop/server.h"

#include <netinet/in.h>

struct dg_conn;

/* A timer wheel, a ring of lists: a connection with a deadline is filed under the latest tick at
 * which it must be checked. Moving a deadline later is free: the connection is found too early and
 * filed again. */
enum { DG_WHEEL_SLOTS = 512, DG_WHEEL_TICK_MS = 200, DG_READ_BYTES = 64 * 1024 };

struct dg_server {
    uv_loop_t *loop;
    struct dg_server_opts opts;
    const struct dg_server_handler *handler;
    struct dg_http_events events; /* the handler's, which the machines call without a detour */
    void *user;
    struct dg_log *log;
    struct dg_http_shared shared;
    uint64_t date_s; /* the second for which shared.date was made, by the loop's time */

    struct dg_listener *listeners; /* newest first */
    size_t n_listeners;
    struct dg_conn *conns; /* all of them */
    struct dg_conn *dirty; /* with output to write before the loop sleeps */
    struct dg_conn *wheel[DG_WHEEL_SLOTS];
    uint64_t wheel_tick; /* the last tick processed */
    struct dg_server_stats stats;

    uv_timer_t ticker; /* runs while there are connections */
    uv_prepare_t flusher;
    uv_check_t worker;        /* runs the turn's queue when input was read */
    uv_idle_t goer;           /* active while that queue has work: keeps the loop from sleeping */
    bool times_turns;         /* the loop measures how long it sleeps */
    uint64_t slept_at, slept; /* time of its last sleep; total sleep until then */
    uint64_t turns_began;     /* processor time of the thread, when the present turn began */
    bool closing;
    bool draining;
    uint64_t drain_until_ms;
    uint64_t not_accepted_s; /* when it was last logged that a connection cannot be accepted */
    void (*on_drained)(void *user);
    void *drained_user;

    char read_bytes[DG_READ_BYTES]; /* one connection is read at a time */
};

/* A connection; lives until its handle's close callback. */
struct dg_conn {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } h;
    struct dg_server *server;
    struct dg_conn *next, **link;             /* of server->conns */
    struct dg_conn *dirty_next;               /* of server->dirty */
    struct dg_conn *wheel_next, **wheel_link; /* of a wheel slot; link NULL when not filed */
    uint64_t wheel_at;                        /* the tick it is filed under */
    struct dg_http *http;                     /* owned; NULL after it has become a WebSocket */
    struct dg_ws *ws;                         /* owned; NULL before it becomes one */
    const struct dg_server_socket *socket;    /* borrowed */
    void *socket_owner;
    uv_write_t write;
    struct dg_buf writing;  /* owned; in flight while write_busy */
    size_t held, held_body; /* of the server's buffers; of its stats.body_bytes */
    uint64_t write_since;   /* time of the last progress in writing */
    size_t write_left;      /* bytes that the peer had not taken then */
    uint64_t linger_until;  /* until when the peer's bytes are read after our last byte */
    bool write_busy, dirty, closing, shut, reading, is_unix, is_private;
    char client[INET6_ADDRSTRLEN]; /* the peer's address; "unix:" */
};

/* Updates shared.now_ms and the date. Every function that the loop calls calls this first. */
void dg_server_touch(struct dg_server *server);

/* Starts the wheel, because there is a connection. */
void dg_server_keep_time(struct dg_server *server);

/* Makes a connection of a descriptor that a listener of the server has accepted. */
void dg_conn_accept(struct dg_listener *listener, int fd);

/* The answer to connections beyond the limit. */
extern const struct dg_span dg_conn_refusal;

/* Reports from the machines of a server's connections, with their receiver: the handler, or the
 * connection. */
void dg_conn_events(const struct dg_server_handler *handler, struct dg_http_events *events);

/* Writes the output, closes the connection if that is wanted, and files the next deadline. */
void dg_conn_flush(struct dg_conn *conn);

/* The wheel has found the connection: acts if its deadline has really passed. */
void dg_conn_check_deadline(struct dg_conn *conn);

/* Closes the connection when its current request is done, or at once if it is idle. */
void dg_conn_wind_down(struct dg_conn *conn);

/* Closes without another byte. */
void dg_conn_close(struct dg_conn *conn);

void dg_wheel_file(struct dg_conn *conn, uint64_t deadline_ms);
void dg_wheel_unfile(struct dg_conn *conn);

/* A connection is gone, so the drain may be complete. */
void dg_server_on_conn_gone(struct dg_server *server);

#endif
