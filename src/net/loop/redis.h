/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A Redis client on the loop. No command takes longer than its caller allows, and every failure is
 * just "no answer".
 *
 *     err = dg_redis_open(loop, &opts, log, &error, &redis);     connects in the background
 *     struct dg_span command[] = {DG_SPAN("GET"), key};
 *     if (dg_redis_ask(redis, command, 2, 20, on_reply, ctx))
 *         ...                                calls on_reply once, later, within about 20 ms
 *     else
 *         ...                                Redis is not available now
 *     dg_redis_close(redis);                 loop's thread; waiting commands get "no answer"
 *     dg_redis_free(redis);                  after the loop has finished
 *
 * The addresses are that of one Redis, those of several of which one is the master, or those of
 * Sentinels, which know the master. With several addresses, the client leaves a server that is a
 * replica or answers READONLY, and tries the next address.
 *
 *     away ---- timer ----> [Sentinel ---->] connecting ---- AUTH, ROLE, PING answered ----> up
 *       ^                       | refused, wrong password, a replica, 2 s    | closed, nonsense, or
 *       +-----------------------+------ 100 ms, doubling to 5 s -------------+ an answer 1 s late
 *
 * While an answer is overdue, dg_redis_ask refuses all commands at once. The commands under way are
 * bounded in number and bytes. net/proto/redis_reader.h reads what Redis sends; the connection ends
 * when that is not a reply, or replies to no command. One thread: the loop's. */
#ifndef DG_NET_LOOP_REDIS_H
#define DG_NET_LOOP_REDIS_H

#include "base/log/log.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "net/loop/tls.h"
#include "net/proto/redis_reader.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum {
    DG_REDIS_ASKS_MAX = 1024,             /* under way */
    DG_REDIS_BYTES_MAX = 8 * 1024 * 1024, /* of commands under way */
    DG_REDIS_ARGS_MAX = 24,               /* of a command */
    DG_REDIS_ADDRESSES_MAX = 16,
};

/* dg_redis_open copies these texts, and reads the files of `tls`. */
struct dg_redis_opts {
    const char *addresses; /* "redis.example:6379", "[::1]:6379" or "unix:/run/redis/redis.sock";
                              several with commas between */
    const char *sentinel;  /* the master's name, if the addresses are those of Sentinels; "": the
                              master is at one of the addresses */
    const char *user;      /* a Redis user; "": the default one */
    const char *password;  /* "": none */
    const struct dg_tls_opts *tls; /* NULL: no TLS */
};

/* `reply` is borrowed for the call. */
typedef void (*dg_redis_fn)(void *ctx, const struct dg_redis_reply *reply);

struct dg_redis;
struct dg_redis_ask;

/* Whether dg_redis_open would accept the addresses. */
enum dg_err dg_redis_check_addresses(const char *addresses, struct dg_error *error) DG_MUST_CHECK;

enum dg_err dg_redis_open(uv_loop_t *loop, const struct dg_redis_opts *opts, struct dg_log *log,
                          struct dg_error *error, struct dg_redis **redis) DG_MUST_CHECK;

/* Sends a command. `fn` is called after this returns, within about `timeout_ms`, whatever Redis
 * does; it may be NULL. Returns NULL when Redis is not available now; then `fn` is not called. The
 * arguments are copied. */
struct dg_redis_ask *dg_redis_ask(struct dg_redis *redis, const struct dg_span *args, size_t n_args,
                                  uint64_t timeout_ms, dg_redis_fn fn, void *ctx);

/* Prevents the call of `fn`. */
void dg_redis_forget(struct dg_redis_ask *ask);

/* NULL is fine for both. */
void dg_redis_close(struct dg_redis *redis);
void dg_redis_free(struct dg_redis *redis);

struct dg_redis_stats {
    bool is_up;
    uint64_t n_asked, n_refused, n_answered, n_late, n_lost; /* refused: at once, by dg_redis_ask */
    uint64_t n_connected;                                    /* how often a connection came up */
};
void dg_redis_read_stats(const struct dg_redis *redis, struct dg_redis_stats *stats);

#endif
