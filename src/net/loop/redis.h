/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A client of Redis on the loop that never makes anybody wait longer than they said, and never
 * fails louder than "no answer".
 *
 *     err = dg_redis_open(loop, &opts, log, &error, &redis);        begins to connect; does not
 * wait for it struct dg_span command[] = {DG_SPAN("GET"), key}; if (dg_redis_ask(redis, command, 2,
 * 20, on_reply, ctx)) ... on_reply is called once, later, within 20 ms or so; else: not now
 *     dg_redis_close(redis);                                      loop's thread; what waits is told
 *     dg_redis_free(redis);                                       after the loop has run out
 *
 * hiredis speaks the protocol, its libuv adapter reads and writes. The clocks are ours: version
 * 0.14 has no time limits on asynchronous commands, and its adapter does not notice a refused
 * connection.
 *
 *     away ---- timer ----> connecting ---- AUTH, PING answered ----> up
 *       ^                       | refused, wrong password, 1 s           | closed, or an answer
 *       +-----------------------+------- 100 ms, doubling to 5 s --------+ due for 1 s
 *
 * While an answer is overdue nobody else is made to wait: dg_redis_ask says no at once until it has
 * come. How much is under way is bounded in number and bytes. One thread: the loop's. */
#ifndef DG_NET_LOOP_REDIS_H
#define DG_NET_LOOP_REDIS_H

#include "base/log/log.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum {
    DG_REDIS_ASKS_MAX = 1024,             /* under way */
    DG_REDIS_BYTES_MAX = 8 * 1024 * 1024, /* of commands under way */
    DG_REDIS_ARGS_MAX = 24,               /* of a command */
    DG_REDIS_NUMBERS_MAX = 16,            /* of a reply */
};

struct dg_redis_opts {
    const char *address;  /* "127.0.0.1:6379", "[::1]:6379" or "unix:/run/redis/redis.sock" */
    const char *user;     /* of Redis's; "": the default one */
    const char *password; /* "": none; copied, as all of these are */
};

enum dg_redis_kind {
    DG_REDIS_NONE, /* no answer: too late, connection lost, closing */
    DG_REDIS_NIL,  /* there is no such key */
    DG_REDIS_TEXT,
    DG_REDIS_NUMBERS, /* an integer, or an array of them */
    DG_REDIS_OK,      /* a status such as OK */
    DG_REDIS_REFUSED, /* an error; text says which */
};

struct dg_redis_reply {
    enum dg_redis_kind kind;
    struct dg_span text;
    int64_t numbers[DG_REDIS_NUMBERS_MAX];
    size_t n_numbers;
};

/* `reply` is borrowed for the call. */
typedef void (*dg_redis_fn)(void *ctx, const struct dg_redis_reply *reply);

struct dg_redis;
struct dg_redis_ask;

/* False in a build without hiredis, where open says DG_ERR_UNSUPPORTED. */
bool dg_redis_is_built(void);

enum dg_err dg_redis_open(uv_loop_t *loop, const struct dg_redis_opts *opts, struct dg_log *log,
                          struct dg_error *error, struct dg_redis **redis) DG_MUST_CHECK;

/* Asks, and answers within about `timeout_ms` whatever Redis does; `fn` is not called before this
 * returns. `fn` NULL: nobody wants to know. NULL: not now, and `fn` is not called. The arguments
 * are copied. */
struct dg_redis_ask *dg_redis_ask(struct dg_redis *redis, const struct dg_span *args, size_t n_args,
                                  uint64_t timeout_ms, dg_redis_fn fn, void *ctx);

/* `fn` will not be called. */
void dg_redis_forget(struct dg_redis_ask *ask);

/* NULL is fine for both. */
void dg_redis_close(struct dg_redis *redis);
void dg_redis_free(struct dg_redis *redis);

struct dg_redis_stats {
    bool is_up;
    uint64_t n_asked, n_refused, n_answered, n_late, n_lost; /* refused: "not now" */
    uint64_t n_connected;                                    /* how often a connection came up */
    size_t n_under_way;
};
void dg_redis_read_stats(const struct dg_redis *redis, struct dg_redis_stats *stats);

#endif
