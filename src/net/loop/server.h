/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The server: listeners and connections on a borrowed libuv loop. It manages sockets, time and
 * memory limits; the handler interprets the requests.
 *
 *     struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
 *     err = dg_server_new(loop, &opts, &handler, user, log, &error, &server);
 *     err = dg_server_listen(server, "127.0.0.1:8090", &error);     as often as wanted
 *     uv_run(loop, UV_RUN_DEFAULT);
 *     ...
 *     dg_server_drain(server, 30000, on_drained, user);           later: accepts no more, finishes
 *     dg_server_close(server);                                    closes at once; idempotent
 *     uv_run(loop, UV_RUN_DEFAULT);                               lets the handles close
 *     dg_server_free(server);
 *
 * One thread: the loop's. */
#ifndef DG_NET_LOOP_SERVER_H
#define DG_NET_LOOP_SERVER_H

#include "base/log/log.h"
#include "base/memory/allowance.h"
#include "base/memory/error.h"
#include "base/memory/turn.h"
#include "net/loop/address.h"
#include "net/proto/http.h"
#include "net/proto/ws.h"

#include <uv.h>

struct dg_server;

struct dg_server_opts {
    struct dg_http_limits http;
    const char *server_name; /* the Server header; NULL leaves it out */
    const char *url_prefix;  /* "/translate-api": removed from paths; others are 404; "": none */
    const struct dg_network *trusted; /* proxies whose X-Forwarded-For and Forwarded count */
    size_t n_trusted;
    unsigned connections_max;
    unsigned connections_per_client_max; /* 0: no such limit */
    unsigned backlog;
    unsigned unix_mode; /* permissions of Unix sockets that we make */
    /* borrowed; counts the buffers of connections. NULL: nobody does */
    struct dg_allowance *buffers;
    /* borrowed; the loop's turns, which the server ends and whose queue it runs. NULL: connections
     * are read without a limit */
    struct dg_turn *turn;
};

#define DG_SERVER_OPTS_DEFAULT                                                                     \
    {                                                                                              \
        .http = DG_HTTP_LIMITS_DEFAULT, .server_name = "dragoman", .url_prefix = "",               \
        .connections_max = 10000, .backlog = 1024, .unix_mode = 0660                               \
    }

/* The functions that handle requests, as in struct dg_http_events: each connection's machine calls
 * them itself. */
struct dg_server_handler {
    /* first calls dg_server_arrived; or NULL */
    void (*on_head)(void *user, struct dg_http_req *req);
    void (*on_request)(void *user, struct dg_http_req *req);
    bool (*on_body)(void *user, struct dg_http_req *req, size_t bytes); /* first calls
                                                                           dg_server_count_buffers;
                                                                           or NULL */
    /* or NULL */
    void (*on_refused)(void *user, struct dg_http_req *req, int status, const char *reason);
};

/* Sets what the owner of a request's connection knows of it: `client`, `public_host`, `secure`,
 * `is_private`, and the path without the server's prefix. */
void dg_server_arrived(struct dg_http_req *req);

/* Counts what the connection holds already (dg_server_opts.buffers). Call it before asking for
 * more. */
void dg_server_count_buffers(const struct dg_http_req *req);

/* Copies `opts`; borrows its pointers and `handler`. `log` may be NULL. */
enum dg_err dg_server_new(uv_loop_t *loop, const struct dg_server_opts *opts,
                          const struct dg_server_handler *handler, void *user, struct dg_log *log,
                          struct dg_error *error, struct dg_server **server) DG_MUST_CHECK;

/* Call this after close, when the loop has run until it had no more handles. NULL is fine. */
void dg_server_free(struct dg_server *server);

/* "ADDRESS:PORT", "[ADDRESS]:PORT" or "unix:PATH". A stale Unix socket is replaced; a socket in use
 * is not. */
enum dg_err dg_server_listen(struct dg_server *server, const char *address,
                             struct dg_error *error) DG_MUST_CHECK;
/* Listens on a Unix socket for administrators: only its owner may connect (mode 0600), and its
 * requests have `is_private`. */
enum dg_err dg_server_listen_private(struct dg_server *server, const char *path,
                                     struct dg_error *error) DG_MUST_CHECK;
/* Uses an inherited listening socket (systemd), which the server owns on success. */
enum dg_err dg_server_listen_fd(struct dg_server *server, int fd,
                                struct dg_error *error) DG_MUST_CHECK;

/* ---- WebSockets ------------------------------------------------------------------------------ */

struct dg_server_socket {
    void (*on_message)(void *owner, struct dg_ws *ws, bool is_text, struct dg_span message);
    /* The socket is gone and must not be used after this call. Always called exactly once. */
    void (*on_gone)(void *owner);
};

/* Makes the connection of `req` a WebSocket. On 101 the request is gone; otherwise the caller
 * answers it with the returned status and *reason. Arguments as for dg_ws_handshake and dg_ws_new.
 * The caller may send on *ws at once. */
int dg_server_websocket(struct dg_http_req *req, const char *const *protocols,
                        const struct dg_ws_limits *limits, const struct dg_server_socket *handler,
                        void *owner, struct dg_ws **ws, const char **reason);

/* ---- State and shutdown ---------------------------------------------------------------------- */

/* The number of listeners, and the address of each, with the chosen port in place of port 0. */
size_t dg_server_n_listeners(const struct dg_server *server);
const char *dg_server_address(const struct dg_server *server, size_t i);

/* Stops listening, lets running requests finish for at most `limit_ms`, closes idle connections
 * after a second without a request, and closes WebSockets with 1001. Calls `on_drained` once, when
 * no connection is left. A second call only lowers the limit. */
void dg_server_drain(struct dg_server *server, uint64_t limit_ms, void (*on_drained)(void *user),
                     void *user);
bool dg_server_is_draining(const struct dg_server *server);

/* Closes everything at once. */
void dg_server_close(struct dg_server *server);

enum { DG_SERVER_SLOW_MS = 5, DG_SERVER_TURN_BUCKETS = 10, DG_SERVER_TURN_LEAST_US = 250 };

struct dg_server_stats {
    unsigned connections; /* open now */
    unsigned websockets;  /* open now, included in connections */
    uint64_t accepted;    /* since the start */
    uint64_t refused;     /* because of the connection limits */
    uint64_t expired;     /* cut off by a timeout */
    uint64_t stalled;     /* cut off because they did not read */
    uint64_t bytes_in, bytes_out;
    size_t body_bytes; /* memory of bodies and messages that are coming or being answered */
    /* Turns of the loop, from one sleep to the next. While a turn serves one connection, all others
     * wait. */
    uint64_t turns, turns_slow; /* slow: more than DG_SERVER_SLOW_MS */
    uint64_t busy_ns, turn_max_ns;
    /* Turns by their processor time, which does not count time when other programs had the core: up
     * to 0.25, 0.5, 1, 2, ... ms; the last bucket has all longer ones. */
    uint64_t turns_cpu[DG_SERVER_TURN_BUCKETS];
    uint64_t turns_cpu_ns;
};
void dg_server_stats(const struct dg_server *server, struct dg_server_stats *stats);

#endif
