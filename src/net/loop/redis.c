/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Every command is an ask in one list, oldest first, which is the order in which Redis answers. An
 * ask that has timed out stays in the list, without its `fn`, until its answer comes or the
 * connection ends.
 *
 * One timer checks the list every TICK_MS while it is not empty; another one connects, and ends
 * what has failed, so that nothing is taken down while it is in use. Commands of one turn of the
 * loop are sent together. */
#define _GNU_SOURCE 1 /* memmem */
#include "net/loop/redis.h"

#include "base/memory/list.h"
#include "base/memory/mem.h"
#include "net/loop/outgoing.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum {
    TICK_MS = 5,
    CONNECT_MS = 2000, /* until the handshake is answered */
    OVERDUE_MS = 1000, /* an answer that takes this long ends the connection, which is made anew */
    RETRY_LEAST_MS = 100, /* between attempts, doubling */
    RETRY_MOST_MS = 5000,
    REASON_MAX = 200,
};

enum state { AWAY, CONNECTING, UP, CLOSED };

struct dg_redis_ask {
    struct dg_list link;
    struct dg_redis *redis;
    dg_redis_fn fn; /* NULL: nobody waits for the result, or it was reported already */
    void *ctx;
    uint64_t began_ms, until_ms;
    size_t bytes;
    bool is_late;
};

struct dg_redis {
    uv_loop_t *loop;
    struct dg_log *log;
    struct dg_outgoing_target targets[DG_REDIS_ADDRESSES_MAX];
    size_t n_targets, at;              /* at: the one whose turn it is */
    size_t n_failed;                   /* attempts since it was up */
    char *sentinel;                    /* owned; "": none */
    char *user, *password;             /* owned */
    struct dg_tls *tls;                /* owned; NULL: none */
    struct dg_outgoing_target present; /* of `link` */
    enum state state;
    struct dg_outgoing *link; /* while CONNECTING or UP */
    size_t n_lookups;
    struct dg_redis_reader reader;
    struct dg_buf out; /* not sent yet */
    bool is_reading;   /* replies are being reported, which uses the reader's bytes */
    bool is_stale;     /* the reader's bytes are of a connection that is gone */
    bool asks_sentinel, is_replica;
    struct dg_outgoing_target master; /* the master that a Sentinel named; no port: none was named
                                         yet */
    char reason[REASON_MAX];          /* why the connection is about to be dropped; "": it is not */
    uv_timer_t ticker, connector;
    uv_prepare_t flusher;
    uint64_t retry_ms;
    bool was_logged; /* that it is away */
    struct dg_list asks;
    size_t n_asks, n_late, bytes;
    struct dg_redis_stats stats;
};

/* ---- Away and back --------------------------------------------------------------------------- */

static void on_connector(uv_timer_t *timer);

/* Logs once each time that Redis goes away, not for each attempt. */
static void log_away(struct dg_redis *redis, const char *reason)
{
    if (!redis->was_logged)
        dg_log_event(redis->log, DG_LOG_WARNING, "redis",
                     DG_LOG_FIELDS(dg_log_str("address", redis->present.text)),
                     "Redis is unavailable, the server goes on without it: %s", reason);
    redis->was_logged = true;
}

static void tell(struct dg_redis_ask *ask, const struct dg_redis_reply *reply)
{
    dg_redis_fn fn = ask->fn;
    ask->fn = NULL;
    if (fn)
        fn(ask->ctx, reply);
}

/* Ends the oldest ask. */
static void end_ask(struct dg_redis *redis, const struct dg_redis_reply *reply)
{
    struct dg_redis_ask *ask = DG_LIST_ITEM(redis->asks.next, struct dg_redis_ask, link);
    dg_list_unlink(&ask->link);
    redis->n_asks--;
    redis->bytes -= ask->bytes;
    redis->n_late -= ask->is_late;
    if (reply->kind == DG_REDIS_NONE)
        redis->stats.n_lost++;
    else
        redis->stats.n_answered++;
    tell(ask, reply);
    dg_free(ask);
}

static void reset_reader(struct dg_redis *redis)
{
    redis->is_stale = redis->is_reading;
    if (redis->is_stale)
        return;
    dg_redis_reader_deinit(&redis->reader);
    dg_redis_reader_init(&redis->reader);
}

/* When the next attempt is due: soon, while there are other addresses to try. */
static uint64_t next_attempt_ms(struct dg_redis *redis)
{
    const uint64_t retry_ms = redis->retry_ms;
    if (++redis->n_failed % redis->n_targets != 0)
        return RETRY_LEAST_MS;
    redis->retry_ms = retry_ms * 2 < RETRY_MOST_MS ? retry_ms * 2 : RETRY_MOST_MS;
    return retry_ms;
}

/* Drops the connection, whose asks end without an answer, and tries again later. */
static void drop(struct dg_redis *redis, const char *reason)
{
    const struct dg_redis_reply none = {.kind = DG_REDIS_NONE};
    dg_outgoing_close(redis->link);
    redis->link = NULL;
    dg_buf_deinit(&redis->out);
    dg_buf_init(&redis->out, 2 * DG_REDIS_BYTES_MAX);
    uv_prepare_stop(&redis->flusher);
    reset_reader(redis);
    if (redis->state != CLOSED) {
        log_away(redis, reason);
        redis->state = AWAY;
        redis->at = (redis->at + 1) % redis->n_targets;
        redis->master.port = 0;
        uv_timer_start(&redis->connector, on_connector, next_attempt_ms(redis), 0);
    }
    redis->reason[0] = '\0';
    while (!dg_list_is_empty(&redis->asks))
        end_ask(redis, &none);
}

/* Marks the connection as useless; it is dropped in the next turn of the loop. */
static void fail(struct dg_redis *redis, struct dg_span reason)
{
    if (*redis->reason || redis->state == CLOSED)
        return;
    snprintf(redis->reason, sizeof redis->reason, "%.*s",
             (int)(reason.len < 150 ? reason.len : 150), reason.ptr);
    uv_timer_start(&redis->connector, on_connector, 0, 0);
}

/* ---- Asks ------------------------------------------------------------------------------------ */

static void on_tick(uv_timer_t *timer)
{
    struct dg_redis *redis = timer->data;
    const struct dg_redis_reply none = {.kind = DG_REDIS_NONE};
    uint64_t now = uv_now(redis->loop);
    if (dg_list_is_empty(&redis->asks)) {
        uv_timer_stop(timer);
        return;
    }
    /* `fn` may append to the list, which is harmless here; it removes nothing. */
    for (struct dg_list *at = redis->asks.next; at != &redis->asks; at = at->next) {
        struct dg_redis_ask *ask = DG_LIST_ITEM(at, struct dg_redis_ask, link);
        if (ask->is_late || now < ask->until_ms)
            continue;
        ask->is_late = true;
        redis->n_late++;
        redis->stats.n_late++;
        tell(ask, &none);
    }
    const struct dg_redis_ask *oldest = DG_LIST_ITEM(redis->asks.next, struct dg_redis_ask, link);
    if (redis->state == UP && now >= oldest->began_ms + OVERDUE_MS)
        drop(redis, "it does not answer");
}

static void on_flush(uv_prepare_t *flusher)
{
    struct dg_redis *redis = flusher->data;
    uv_prepare_stop(flusher);
    if (dg_outgoing_write(redis->link, dg_buf_span(&redis->out)) != DG_OK)
        fail(redis, DG_SPAN("nothing can be sent to it"));
    dg_buf_clear(&redis->out);
}

static enum dg_err put_command(struct dg_buf *out, const struct dg_span *args, size_t n_args)
{
    const size_t before = out->len;
    enum dg_err err = dg_buf_printf(out, "*%zu\r\n", n_args);
    for (size_t i = 0; !err && i < n_args; i++) {
        err = dg_buf_printf(out, "$%zu\r\n", args[i].len);
        if (!err)
            err = dg_buf_append_span(out, args[i]);
        if (!err)
            err = dg_buf_append_cstr(out, "\r\n");
    }
    if (err)
        dg_buf_truncate(out, before);
    return err;
}

/* Sends a command in any state but AWAY; NULL when there is too much under way, or no memory. */
static struct dg_redis_ask *send_command(struct dg_redis *redis, const struct dg_span *args,
                                         size_t n_args, uint64_t timeout_ms, dg_redis_fn fn,
                                         void *ctx)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n_args; i++)
        bytes += args[i].len;
    struct dg_redis_ask *ask =
        redis->bytes + bytes > DG_REDIS_BYTES_MAX ? NULL : dg_try_calloc(1, sizeof *ask);
    if (!ask || put_command(&redis->out, args, n_args) != DG_OK) {
        dg_free(ask);
        return NULL;
    }
    ask->redis = redis;
    ask->fn = fn;
    ask->ctx = ctx;
    ask->began_ms = uv_now(redis->loop);
    ask->until_ms = ask->began_ms + timeout_ms;
    ask->bytes = bytes;
    redis->n_asks++;
    redis->bytes += bytes;
    dg_list_link_last(&redis->asks, &ask->link);
    uv_prepare_start(&redis->flusher, on_flush);
    if (!uv_is_active((uv_handle_t *)&redis->ticker))
        uv_timer_start(&redis->ticker, on_tick, TICK_MS, TICK_MS);
    return ask;
}

struct dg_redis_ask *dg_redis_ask(struct dg_redis *redis, const struct dg_span *args, size_t n_args,
                                  uint64_t timeout_ms, dg_redis_fn fn, void *ctx)
{
    struct dg_redis_ask *ask = NULL;
    if (redis->state == UP && !*redis->reason && redis->n_late == 0 &&
        redis->n_asks < DG_REDIS_ASKS_MAX && n_args <= DG_REDIS_ARGS_MAX)
        ask = send_command(redis, args, n_args, timeout_ms, fn, ctx);
    if (ask)
        redis->stats.n_asked++;
    else
        redis->stats.n_refused++;
    return ask;
}

void dg_redis_forget(struct dg_redis_ask *ask)
{
    ask->fn = NULL;
}

/* ---- What Redis says ------------------------------------------------------------------------- */

static bool begins_with(struct dg_span text, const char *word)
{
    return text.len >= strlen(word) && memcmp(text.ptr, word, strlen(word)) == 0;
}

static const char *reason_of(enum dg_err err)
{
    return err == DG_ERR_LIMIT   ? "an answer is too long"
           : err == DG_ERR_NOMEM ? "there is no memory for an answer"
                                 : "its answer is not one that Redis gives";
}

/* Hides an error text of Redis, which may be logged, if it repeats our password. */
static void hide_password(const struct dg_redis *redis, struct dg_redis_reply *reply)
{
    if (reply->kind == DG_REDIS_REFUSED && *redis->password && reply->text.len > 0 &&
        memmem(reply->text.ptr, reply->text.len, redis->password, strlen(redis->password)))
        reply->text = DG_SPAN("it refuses, and its message contains the password");
}

static void on_link_bytes(void *user, struct dg_span bytes)
{
    struct dg_redis *redis = user;
    const struct dg_outgoing *link = redis->link;
    struct dg_redis_reply reply;
    bool is_there = true;
    if (*redis->reason)
        return;
    redis->is_reading = true;
    enum dg_err err = dg_redis_reader_feed(&redis->reader, bytes);
    while (!err && is_there && redis->link == link) {
        if (redis->n_asks == 0 && dg_redis_reader_has_rest(&redis->reader)) {
            fail(redis, DG_SPAN("it sent something that was not asked for"));
            break;
        }
        err = dg_redis_reader_next(&redis->reader, &reply, &is_there);
        if (err || !is_there)
            break;
        if (reply.kind == DG_REDIS_REFUSED && redis->state == UP &&
            begins_with(reply.text, "READONLY"))
            fail(redis, DG_SPAN("it is a replica"));
        hide_password(redis, &reply);
        end_ask(redis, &reply);
    }
    redis->is_reading = false;
    if (redis->is_stale)
        reset_reader(redis);
    else if (err)
        fail(redis, dg_span_cstr(reason_of(err)));
}

/* ---- Connecting ------------------------------------------------------------------------------ */

static void begin_link(struct dg_redis *redis);

/* The last reply of the handshake. A wrong password ends here and is tried again later, because it
 * may be corrected in Redis. */
static void on_pong(void *user, const struct dg_redis_reply *reply)
{
    struct dg_redis *redis = user;
    if (redis->state != CONNECTING || *redis->reason || reply->kind == DG_REDIS_NONE)
        return;
    if (reply->kind != DG_REDIS_OK || redis->is_replica) {
        fail(redis, redis->is_replica                 ? DG_SPAN("it is a replica")
                    : reply->kind == DG_REDIS_REFUSED ? reply->text
                                                      : DG_SPAN("it does not answer a PING"));
        return;
    }
    redis->state = UP;
    redis->retry_ms = RETRY_LEAST_MS;
    redis->n_failed = 0;
    redis->was_logged = false;
    redis->stats.n_connected++;
    uv_timer_stop(&redis->connector);
    dg_log_event(redis->log, DG_LOG_NOTICE, "redis",
                 DG_LOG_FIELDS(dg_log_str("address", redis->present.text)), "Redis is available");
}

/* A Redis that does not report its role is taken for a master until it answers READONLY. */
static void on_role(void *user, const struct dg_redis_reply *reply)
{
    struct dg_redis *redis = user;
    redis->is_replica = reply->kind == DG_REDIS_TEXTS && reply->n_texts > 0 &&
                        !dg_span_eq(reply->texts[0], DG_SPAN("master"));
}

static void on_master(void *user, const struct dg_redis_reply *reply)
{
    struct dg_redis *redis = user;
    struct dg_error error = DG_ERROR_NONE;
    if (redis->state != CONNECTING || reply->kind == DG_REDIS_NONE)
        return;
    if (reply->kind != DG_REDIS_TEXTS || reply->n_texts != 2 ||
        dg_outgoing_target_make(reply->texts[0], reply->texts[1], &redis->master, &error) !=
            DG_OK) {
        redis->master.port = 0;
        fail(redis, reply->kind == DG_REDIS_REFUSED ? reply->text
                    : reply->kind == DG_REDIS_NIL
                        ? DG_SPAN("the Sentinel knows no master of that name")
                        : DG_SPAN("the Sentinel does not tell the master"));
        return;
    }
    uv_timer_start(&redis->connector, on_connector, 0, 0); /* continues there */
}

static void on_link_open(void *user)
{
    struct dg_redis *redis = user;
    struct dg_span auth[] = {DG_SPAN("AUTH"), dg_span_cstr(redis->user),
                             dg_span_cstr(redis->password)};
    const struct dg_span role[] = {DG_SPAN("ROLE")}, ping[] = {DG_SPAN("PING")};
    const struct dg_span master[] = {DG_SPAN("SENTINEL"), DG_SPAN("get-master-addr-by-name"),
                                     dg_span_cstr(redis->sentinel)};
    bool is_sent = true;
    if (*redis->password) { /* a Sentinel may want none, and then refuses it */
        if (!*redis->user)
            auth[1] = auth[2];
        is_sent = send_command(redis, auth, *redis->user ? 3 : 2, CONNECT_MS, NULL, NULL);
    }
    if (is_sent && redis->asks_sentinel)
        is_sent = send_command(redis, master, 3, CONNECT_MS, on_master, redis);
    if (is_sent && !redis->asks_sentinel && (redis->n_targets > 1 || *redis->sentinel))
        is_sent = send_command(redis, role, 1, CONNECT_MS, on_role, redis);
    if (is_sent && !redis->asks_sentinel)
        is_sent = send_command(redis, ping, 1, CONNECT_MS, on_pong, redis);
    if (!is_sent)
        fail(redis, DG_SPAN("there is no memory for a connection"));
}

static void on_link_end(void *user, const char *reason)
{
    drop(user, reason);
}

static const struct dg_outgoing_ops link_ops = {
    .on_open = on_link_open, .on_bytes = on_link_bytes, .on_end = on_link_end};

/* Connects to a Sentinel first, then to the master that it named. */
static void begin_link(struct dg_redis *redis)
{
    redis->asks_sentinel = *redis->sentinel && redis->master.port == 0;
    redis->present =
        *redis->sentinel && redis->master.port ? redis->master : redis->targets[redis->at];
    redis->is_replica = false;
    redis->state = CONNECTING;
    uv_timer_start(&redis->connector, on_connector, CONNECT_MS, 0);
    redis->link = redis->n_lookups > 0 ? NULL
                                       : dg_outgoing_open(redis->loop, &redis->present, redis->tls,
                                                          &link_ops, redis, &redis->n_lookups);
    if (!redis->link)
        drop(redis, redis->n_lookups > 0 ? "a name is still being looked up"
                                         : "there is no memory for a connection");
}

/* The Sentinel has named the master: leaves it. */
static void leave_sentinel(struct dg_redis *redis)
{
    const struct dg_redis_reply none = {.kind = DG_REDIS_NONE};
    dg_outgoing_close(redis->link);
    redis->link = NULL;
    reset_reader(redis);
    dg_buf_clear(&redis->out);
    while (!dg_list_is_empty(&redis->asks))
        end_ask(redis, &none);
    begin_link(redis);
}

/* It is time for an attempt, or the present one has failed or took too long. */
static void on_connector(uv_timer_t *timer)
{
    struct dg_redis *redis = timer->data;
    if (*redis->reason) {
        char reason[REASON_MAX];
        memcpy(reason, redis->reason, sizeof reason);
        drop(redis, reason);
    } else if (redis->link && redis->asks_sentinel && redis->master.port) {
        leave_sentinel(redis);
    } else if (redis->link) {
        drop(redis, "it does not answer");
    } else {
        begin_link(redis);
    }
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* One or more, with commas between. */
static enum dg_err read_addresses(const char *text, struct dg_outgoing_target *targets, size_t *n,
                                  struct dg_error *error)
{
    enum dg_err err = DG_OK;
    *n = 0;
    for (const char *at = text; !err && at; *n += 1) {
        const char *comma = strchr(at, ',');
        struct dg_span one = dg_span_make(at, comma ? (size_t)(comma - at) : strlen(at));
        while (one.len > 0 && one.ptr[0] == ' ')
            one = dg_span_sub(one, 1, one.len);
        while (one.len > 0 && one.ptr[one.len - 1] == ' ')
            one.len--;
        err = *n == DG_REDIS_ADDRESSES_MAX
                  ? dg_error_set(error, DG_ERR_LIMIT, "expected at most %d addresses",
                                 DG_REDIS_ADDRESSES_MAX)
                  : dg_outgoing_target_parse(one, &targets[*n], error);
        at = comma ? comma + 1 : NULL;
    }
    return err;
}

enum dg_err dg_redis_check_addresses(const char *addresses, struct dg_error *error)
{
    struct dg_outgoing_target targets[DG_REDIS_ADDRESSES_MAX];
    size_t n;
    return read_addresses(addresses, targets, &n, error);
}

enum dg_err dg_redis_open(uv_loop_t *loop, const struct dg_redis_opts *opts, struct dg_log *log,
                          struct dg_error *error, struct dg_redis **out)
{
    struct dg_redis *redis = dg_xcalloc(1, sizeof *redis);
    enum dg_err err = read_addresses(opts->addresses, redis->targets, &redis->n_targets, error);
    if (!err && opts->tls)
        err = dg_tls_new(opts->tls, error, &redis->tls);
    if (err) {
        dg_free(redis);
        return err;
    }
    redis->loop = loop;
    redis->log = log;
    redis->sentinel = dg_xstrdup(opts->sentinel);
    redis->user = dg_xstrdup(opts->user);
    redis->password = dg_xstrdup(opts->password);
    redis->retry_ms = RETRY_LEAST_MS;
    dg_redis_reader_init(&redis->reader);
    dg_buf_init(&redis->out, 2 * DG_REDIS_BYTES_MAX);
    dg_list_init(&redis->asks);
    uv_timer_init(loop, &redis->ticker);
    uv_timer_init(loop, &redis->connector);
    uv_prepare_init(loop, &redis->flusher);
    redis->ticker.data = redis->connector.data = redis->flusher.data = redis;
    uv_timer_start(&redis->connector, on_connector, 0, 0);
    *out = redis;
    return DG_OK;
}

void dg_redis_close(struct dg_redis *redis)
{
    if (!redis || redis->state == CLOSED)
        return;
    redis->state = CLOSED;
    drop(redis, "");
    uv_close((uv_handle_t *)&redis->ticker, NULL);
    uv_close((uv_handle_t *)&redis->connector, NULL);
    uv_close((uv_handle_t *)&redis->flusher, NULL);
}

void dg_redis_free(struct dg_redis *redis)
{
    if (!redis)
        return;
    dg_redis_reader_deinit(&redis->reader);
    dg_buf_deinit(&redis->out);
    dg_tls_free(redis->tls);
    dg_free(redis->sentinel);
    dg_free(redis->user);
    sodium_memzero(redis->password, strlen(redis->password));
    dg_free(redis->password);
    dg_free(redis);
}

void dg_redis_read_stats(const struct dg_redis *redis, struct dg_redis_stats *stats)
{
    *stats = redis->stats;
    stats->is_up = redis->state == UP;
}
