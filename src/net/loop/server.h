/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The server: listeners and connections over one libuv loop, which it borrows. It owns sockets,
 * time and memory limits; what requests mean is the handler's affair.
 *
 *     struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
 *     err = dg_server_new(loop, &opts, &handler, user, log, &error, &server);
 *     err = dg_server_listen(server, "127.0.0.1:8090", &error);     as often as wanted
 *     uv_run(loop, UV_RUN_DEFAULT);
 *     ...
 *     dg_server_drain(server, 30000, on_drained, user);           later: no new connections, finish
 *     dg_server_close(server);                                    at once; idempotent
 *     uv_run(loop, UV_RUN_DEFAULT);                               lets the handles close
 *     dg_server_free(server);
 *
 * One thread: the loop's. */
#ifndef DG_NET_LOOP_SERVER_H
#define DG_NET_LOOP_SERVER_H

#include "base/log/log.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "net/loop/address.h"
#include "net/proto/http.h"
#include "net/proto/ws.h"

#include <uv.h>

struct dg_server;

struct dg_server_opts {
    struct dg_http_limits http;
    const char *server_name; /* of the Server header; NULL leaves it out */
    const char *url_prefix;  /* "/translate-api": cut off paths; others are 404; "" for none */
    const struct dg_network *trusted; /* proxies whose X-Forwarded-For and Forwarded are believed */
    size_t n_trusted;
    unsigned connections_max;
    unsigned connections_per_client_max; /* 0: no such limit */
    unsigned backlog;
    unsigned unix_mode; /* permissions of Unix sockets that we make */
};

#define DG_SERVER_OPTS_DEFAULT                                                                     \
    {                                                                                              \
        .http = DG_HTTP_LIMITS_DEFAULT, .server_name = "dragoman", .url_prefix = "",               \
        .connections_max = 10000, .backlog = 1024, .unix_mode = 0660                               \
    }

/* What requests are given to; see struct dg_http_events, whose contracts hold here. */
struct dg_server_handler {
    void (*on_head)(void *user, struct dg_http_req *req); /* may be NULL */
    void (*on_request)(void *user, struct dg_http_req *req);
    void (*on_refused)(void *user, struct dg_http_req *req, int status, const char *reason); /* or
                                                                                                NULL
                                                                                              */
};

/* `opts` is copied, its pointers and `handler` are borrowed; log may be NULL. */
enum dg_err dg_server_new(uv_loop_t *loop, const struct dg_server_opts *opts,
                          const struct dg_server_handler *handler, void *user, struct dg_log *log,
                          struct dg_error *error, struct dg_server **server) DG_MUST_CHECK;

/* After close, when the loop has run until it had no more handles. NULL is fine. */
void dg_server_free(struct dg_server *server);

/* "ADDRESS:PORT", "[ADDRESS]:PORT" or "unix:PATH". A stale Unix socket is replaced, a live one not.
 */
enum dg_err dg_server_listen(struct dg_server *server, const char *address,
                             struct dg_error *error) DG_MUST_CHECK;
/* A Unix socket for administrators: only its owner may connect (mode 0600), and its requests say
 * `is_private`. */
enum dg_err dg_server_listen_private(struct dg_server *server, const char *path,
                                     struct dg_error *error) DG_MUST_CHECK;
/* A listening socket that was inherited (systemd); taken over on success. */
enum dg_err dg_server_listen_fd(struct dg_server *server, int fd,
                                struct dg_error *error) DG_MUST_CHECK;

/* ---- WebSockets --------------------------------------------------------------------------------
 */

struct dg_server_socket {
    void (*on_message)(void *owner, struct dg_ws *ws, bool is_text, struct dg_span message);
    /* The socket is gone and must not be touched after this call; called once, always. */
    void (*on_gone)(void *owner);
};

/* Makes a WebSocket of the connection of `req`, which is gone when this returns 101; else it is
 * still to be answered with the status and sentence given. Arguments as for dg_ws_handshake and
 * dg_ws_new; what can be sent on *ws at once is. */
int dg_server_websocket(struct dg_http_req *req, const char *const *protocols,
                        const struct dg_ws_limits *limits, const struct dg_server_socket *handler,
                        void *owner, struct dg_ws **ws, const char **reason);

/* ---- Looking ------------------------------------------------------------------------------------
 */

/* How many listeners there are, and the address of each: port 0 shows as the port that was chosen.
 */
size_t dg_server_n_listeners(const struct dg_server *server);
const char *dg_server_address(const struct dg_server *server, size_t i);

/* Stops listening, lets running requests finish for at most `limit_ms`, closes idle connections
 * when no request has come for a second; tells WebSockets 1001. `on_drained` is called once, when
 * no connection is left. A second call only lowers the limit. */
void dg_server_drain(struct dg_server *server, uint64_t limit_ms, void (*on_drained)(void *user),
                     void *user);
bool dg_server_is_draining(const struct dg_server *server);

/* Closes everything at once. */
void dg_server_close(struct dg_server *server);

enum { DG_SERVER_SLOW_MS = 5, DG_SERVER_TURN_BUCKETS = 10, DG_SERVER_TURN_LEAST_US = 250 };

struct dg_server_stats {
    unsigned connections; /* open now */
    unsigned websockets;  /* of these */
    uint64_t accepted;    /* since the start */
    uint64_t refused;     /* because of the connection limits */
    uint64_t expired;     /* cut off by a timeout */
    uint64_t stalled;     /* cut off because they did not read */
    uint64_t bytes_in, bytes_out;
    /* Turns of the loop, from one sleep to the next: what everybody waits for while one of them is
     * served. */
    uint64_t turns, turns_slow; /* slow: more than DG_SERVER_SLOW_MS */
    uint64_t busy_ns, turn_max_ns;
    /* The same by the processor's clock: what the turns did themselves, whoever else had the core
     * meanwhile. By time, to 0.25, 0.5, 1, 2, ... ms; the last: longer. */
    uint64_t turns_cpu[DG_SERVER_TURN_BUCKETS];
    uint64_t turns_cpu_ns;
};
void dg_server_stats(const struct dg_server *server, struct dg_server_stats *stats);

#endif
