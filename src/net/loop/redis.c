/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Redis, with our own timers. Every command is an ask in one list, oldest first, which is the order
 * in which Redis answers. hiredis calls on_reply for each exactly once, without a reply when the
 * connection ends. An ask that has timed out stays in the list, without its `fn`, until then. A
 * reply without a command would fail an assertion in hiredis and abort the process, so our own
 * functions that build replies refuse it, which ends the connection.
 *
 * One timer checks the list every TICK_MS while it is not empty; another timer connects. */
#include "net/loop/redis.h"

#include "config.h"

#include "base/memory/list.h"
#include "base/memory/mem.h"
#include "net/loop/address.h"

#ifdef DG_HAVE_REDIS

#include <arpa/inet.h>
#include <hiredis/adapters/libuv.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

enum {
    TICK_MS = 5,
    CONNECT_MS = 1000,    /* until the handshake is answered */
    OVERDUE_MS = 1000,    /* an answer that long is not waited for: the connection is made anew */
    RETRY_LEAST_MS = 100, /* between attempts, doubling */
    RETRY_MOST_MS = 5000,
};

enum state { AWAY, CONNECTING, UP, CLOSED };

struct dg_redis_ask {
    struct dg_list link;
    struct dg_redis *redis;
    dg_redis_fn fn; /* NULL: nobody wants to know, or told already */
    void *ctx;
    uint64_t began_ms, until_ms;
    size_t bytes;
    bool is_late;
};

struct dg_redis {
    uv_loop_t *loop;
    struct dg_log *log;
    struct dg_address address;
    char *user, *password; /* owned */
    enum state state;
    redisAsyncContext *context;             /* while CONNECTING or UP */
    redisReplyObjectFunctions theirs, ours; /* what makes replies: hiredis's, and with a look at
                                               what was asked */
    bool said_unasked, said_too_much;
    void (*add_read)(void *events); /* the adapter's */
    uv_timer_t ticker, connector;
    uint64_t retry_ms;
    bool was_logged; /* that it is away */
    struct dg_list asks;
    size_t n_asks, n_late, bytes;
    struct dg_redis_stats stats;
};

bool dg_redis_is_built(void)
{
    return true;
}

/* ---- Away and back --------------------------------------------------------------------------- */

static void on_connector(uv_timer_t *timer);

/* Logs once each time that Redis goes away, not for each attempt. */
static void log_away(struct dg_redis *redis, const char *reason)
{
    if (!redis->was_logged)
        dg_log_event(redis->log, DG_LOG_WARNING, "redis",
                     DG_LOG_FIELDS(dg_log_str("address", redis->address.text)),
                     "Redis is away, we go on without it: %s", reason);
    redis->was_logged = true;
}

/* Drops the connection, whose asks end without an answer, and tries again later. */
static void drop(struct dg_redis *redis, const char *reason)
{
    redisAsyncContext *context = redis->context;
    redis->context = NULL;
    if (redis->state != CLOSED) {
        log_away(redis, reason);
        redis->state = AWAY;
        uv_timer_start(&redis->connector, on_connector, redis->retry_ms, 0);
        redis->retry_ms = redis->retry_ms * 2 < RETRY_MOST_MS ? redis->retry_ms * 2 : RETRY_MOST_MS;
    }
    if (context) {
        context->data = NULL;
        redisAsyncFree(context);
    }
}

static void on_disconnect(const redisAsyncContext *context, int status)
{
    struct dg_redis *redis = context->data;
    if (!redis || redis->context != context)
        return;
    redis->context = NULL; /* hiredis frees it */
    drop(redis, redis->said_unasked                   ? "it said what nobody had asked for"
                : redis->said_too_much                ? "an answer is too long"
                : context->errstr && *context->errstr ? context->errstr
                                                      : "it closed the connection");
}

/* ---- Replies as they are made ---------------------------------------------------------------- */

#if HIREDIS_MAJOR >= 1
typedef size_t array_len;
#else
typedef int array_len;
#endif

/* True for the beginning of a reply when no ask waits for one. An ask goes when its reply is whole,
 * before the next. */
static bool is_unasked(const redisReadTask *task)
{
    struct dg_redis *redis = task->privdata;
    bool refused = !task->parent && redis->n_asks == 0;
    redis->said_unasked |= refused;
    return refused;
}

static const redisReplyObjectFunctions *theirs(const redisReadTask *task)
{
    return &((struct dg_redis *)task->privdata)->theirs;
}

static void *create_string(const redisReadTask *task, char *text, size_t len)
{
    return is_unasked(task) ? NULL : theirs(task)->createString(task, text, len);
}

static void *create_array(const redisReadTask *task, array_len len)
{
    struct dg_redis *redis = task->privdata;
    if (len > DG_REDIS_ELEMENTS_MAX) {
        redis->said_too_much = true;
        return NULL;
    }
    return is_unasked(task) ? NULL : theirs(task)->createArray(task, len);
}

static void *create_integer(const redisReadTask *task, long long value)
{
    return is_unasked(task) ? NULL : theirs(task)->createInteger(task, value);
}

static void *create_nil(const redisReadTask *task)
{
    return is_unasked(task) ? NULL : theirs(task)->createNil(task);
}

#if HIREDIS_MAJOR >= 1
static void *create_double(const redisReadTask *task, double value, char *text, size_t len)
{
    return is_unasked(task) ? NULL : theirs(task)->createDouble(task, value, text, len);
}

static void *create_bool(const redisReadTask *task, int value)
{
    return is_unasked(task) ? NULL : theirs(task)->createBool(task, value);
}
#endif

static void watch_replies(struct dg_redis *redis, redisReader *reader)
{
    redis->said_unasked = redis->said_too_much = false;
    redis->theirs = redis->ours = *reader->fn;
    redis->ours.createString = create_string;
    redis->ours.createArray = create_array;
    redis->ours.createInteger = create_integer;
    redis->ours.createNil = create_nil;
#if HIREDIS_MAJOR >= 1
    redis->ours.createDouble = create_double;
    redis->ours.createBool = create_bool;
#endif
    reader->fn = &redis->ours;
    reader->privdata = redis;
}

/* ---- Asks ------------------------------------------------------------------------------------ */

static bool is_text(const redisReply *from)
{
    return from->type == REDIS_REPLY_STRING || from->type == REDIS_REPLY_STATUS ||
           from->type == REDIS_REPLY_NIL;
}

/* The texts below `from` behind the `n` that are there already; SIZE_MAX when something else is
 * among them. hiredis bounds the depth. */
static size_t gather_texts(const redisReply *from, struct dg_span *texts, size_t n)
{
    for (size_t i = 0; i < from->elements && n != SIZE_MAX; i++) {
        const redisReply *element = from->element[i];
        if (element->type == REDIS_REPLY_ARRAY) {
            n = gather_texts(element, texts, n);
        } else if (!is_text(element)) {
            n = SIZE_MAX;
        } else {
            if (texts)
                texts[n] = element->type == REDIS_REPLY_NIL
                               ? (struct dg_span){NULL, 0}
                               : dg_span_make(element->str, element->len);
            n++;
        }
    }
    return n;
}

/* The texts become the caller's to free. */
static void read_texts(const redisReply *from, struct dg_redis_reply *reply)
{
    const size_t n = gather_texts(from, NULL, 0);
    struct dg_span *texts = n < SIZE_MAX ? dg_try_calloc(n ? n : 1, sizeof *texts) : NULL;
    if (!texts) {
        reply->kind = DG_REDIS_REFUSED;
        reply->text = n < SIZE_MAX ? DG_SPAN("there is no memory for the answer")
                                   : DG_SPAN("the answer is not a list of numbers or texts");
        return;
    }
    reply->kind = DG_REDIS_TEXTS;
    reply->n_texts = gather_texts(from, texts, 0);
    reply->texts = texts;
}

static void read_array(const redisReply *from, struct dg_redis_reply *reply)
{
    bool is_numbers = from->elements <= DG_REDIS_NUMBERS_MAX;
    for (size_t i = 0; i < from->elements && is_numbers; i++)
        is_numbers = from->element[i]->type == REDIS_REPLY_INTEGER;
    if (!is_numbers || from->elements == 0) {
        read_texts(from, reply);
        return;
    }
    reply->kind = DG_REDIS_NUMBERS;
    for (size_t i = 0; i < from->elements; i++)
        reply->numbers[reply->n_numbers++] = from->element[i]->integer;
}

static struct dg_redis_reply read_reply(const redisReply *from)
{
    struct dg_redis_reply reply = {.kind = DG_REDIS_NONE};
    if (!from)
        return reply;
    switch (from->type) {
    case REDIS_REPLY_STRING:
        reply.kind = DG_REDIS_TEXT;
        reply.text = dg_span_make(from->str, from->len);
        break;
    case REDIS_REPLY_STATUS:
        reply.kind = DG_REDIS_OK;
        reply.text = dg_span_make(from->str, from->len);
        break;
    case REDIS_REPLY_ERROR:
        reply.kind = DG_REDIS_REFUSED;
        reply.text = dg_span_make(from->str, from->len);
        break;
    case REDIS_REPLY_INTEGER:
        reply.kind = DG_REDIS_NUMBERS;
        reply.numbers[reply.n_numbers++] = from->integer;
        break;
    case REDIS_REPLY_ARRAY:
        read_array(from, &reply);
        break;
    default:
        reply.kind = DG_REDIS_NIL;
        break;
    }
    return reply;
}

static void tell(struct dg_redis_ask *ask, const struct dg_redis_reply *reply)
{
    dg_redis_fn fn = ask->fn;
    ask->fn = NULL;
    if (fn)
        fn(ask->ctx, reply);
}

/* hiredis calls this at the end of an ask. */
static void on_reply(redisAsyncContext *context, void *from, void *user)
{
    struct dg_redis_ask *ask = user;
    struct dg_redis *redis = ask->redis;
    struct dg_redis_reply reply = read_reply(from);
    if (!from)
        on_disconnect(context, REDIS_ERR); /* hiredis says so by itself only when it was connected
                                            */
    dg_list_unlink(&ask->link);
    redis->n_asks--;
    redis->bytes -= ask->bytes;
    redis->n_late -= ask->is_late;
    if (reply.kind == DG_REDIS_NONE)
        redis->stats.n_lost++;
    else
        redis->stats.n_answered++;
    tell(ask, &reply);
    dg_free((void *)reply.texts);
    dg_free(ask);
}

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

/* Sends a command in any state; NULL when hiredis fails or memory runs out. */
static struct dg_redis_ask *send_command(struct dg_redis *redis, const struct dg_span *args,
                                         size_t n_args, uint64_t timeout_ms, dg_redis_fn fn,
                                         void *ctx)
{
    const char *texts[DG_REDIS_ARGS_MAX];
    size_t lens[DG_REDIS_ARGS_MAX];
    struct dg_redis_ask *ask = dg_try_calloc(1, sizeof *ask);
    if (!ask)
        return NULL;
    for (size_t i = 0; i < n_args; i++) {
        texts[i] = args[i].len ? args[i].ptr : "";
        lens[i] = args[i].len;
        ask->bytes += lens[i];
    }
    ask->redis = redis;
    ask->fn = fn;
    ask->ctx = ctx;
    ask->began_ms = uv_now(redis->loop);
    ask->until_ms = ask->began_ms + timeout_ms;
    if (redis->bytes + ask->bytes > DG_REDIS_BYTES_MAX ||
        redisAsyncCommandArgv(redis->context, on_reply, ask, (int)n_args, texts, lens) !=
            REDIS_OK) {
        dg_free(ask);
        return NULL;
    }
    redis->n_asks++;
    redis->bytes += ask->bytes;
    dg_list_link_last(&redis->asks, &ask->link);
    if (!uv_is_active((uv_handle_t *)&redis->ticker))
        uv_timer_start(&redis->ticker, on_tick, TICK_MS, TICK_MS);
    return ask;
}

struct dg_redis_ask *dg_redis_ask(struct dg_redis *redis, const struct dg_span *args, size_t n_args,
                                  uint64_t timeout_ms, dg_redis_fn fn, void *ctx)
{
    struct dg_redis_ask *ask = NULL;
    if (redis->state == UP && redis->n_late == 0 && redis->n_asks < DG_REDIS_ASKS_MAX &&
        n_args <= DG_REDIS_ARGS_MAX)
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

/* ---- Connecting ------------------------------------------------------------------------------ */

/* The last reply of the handshake. A wrong password ends here and is tried again later, because it
 * may be corrected in Redis. */
static void on_pong(void *user, const struct dg_redis_reply *reply)
{
    struct dg_redis *redis = user;
    char reason[200];
    if (redis->state != CONNECTING || reply->kind == DG_REDIS_NONE)
        return; /* the connector's timer ends this */
    if (reply->kind == DG_REDIS_REFUSED) {
        snprintf(reason, sizeof reason, "%.*s",
                 (int)(reply->text.len < 150 ? reply->text.len : 150), reply->text.ptr);
        log_away(redis, reason);
        return; /* likewise; not from inside hiredis */
    }
    redis->state = UP;
    redis->retry_ms = RETRY_LEAST_MS;
    redis->was_logged = false;
    redis->stats.n_connected++;
    uv_timer_stop(&redis->connector);
    dg_log_event(redis->log, DG_LOG_NOTICE, "redis",
                 DG_LOG_FIELDS(dg_log_str("address", redis->address.text)), "Redis is there");
}

static bool shake_hands(struct dg_redis *redis)
{
    struct dg_span auth[] = {DG_SPAN("AUTH"), dg_span_cstr(redis->user),
                             dg_span_cstr(redis->password)};
    struct dg_span ping[] = {DG_SPAN("PING")};
    if (*redis->password) {
        if (!*redis->user)
            auth[1] = auth[2];
        if (!send_command(redis, auth, *redis->user ? 3 : 2, CONNECT_MS, NULL, NULL))
            return false;
    }
    return send_command(redis, ping, 1, CONNECT_MS, on_pong, redis) != NULL;
}

static redisAsyncContext *connect_to(const struct dg_address *address)
{
    char host[INET6_ADDRSTRLEN] = "";
    if (address->is_unix)
        return redisAsyncConnectUnix(address->path);
    if (address->socket.ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->socket;
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
        return redisAsyncConnect(host, ntohs(v6->sin6_port));
    }
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->socket;
    inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
    return redisAsyncConnect(host, ntohs(v4->sin_port));
}

/* hiredis keeps an answer until all of it is there. It says that it will read on after each piece,
 * which is where we look how much it keeps; it is still busy then, so that the timer drops it. */
static void add_read(void *events)
{
    const redisAsyncContext *context = ((redisLibuvEvents *)events)->context;
    struct dg_redis *redis = context->data;
    if (redis && redis->context == context && context->c.reader &&
        context->c.reader->len > DG_REDIS_REPLY_MAX && !redis->said_too_much) {
        redis->said_too_much = true;
        uv_timer_start(&redis->connector, on_connector, 0, 0);
    }
    if (redis)
        redis->add_read(events);
}

/* It is time for an attempt, or the present one took too long or said too much. */
static void on_connector(uv_timer_t *timer)
{
    struct dg_redis *redis = timer->data;
    if (redis->context) {
        drop(redis, redis->said_too_much ? "an answer is too long" : "it does not answer");
        return;
    }
    redisAsyncContext *context = connect_to(&redis->address);
    redis->context = context;
    if (!context || context->err || redisLibuvAttach(context, redis->loop) != REDIS_OK) {
        char reason[200];
        snprintf(reason, sizeof reason, "%.150s",
                 context && context->err ? context->errstr : "there is no memory for a connection");
        drop(redis, reason);
        return;
    }
    context->data = redis;
    redis->add_read = context->ev.addRead;
    context->ev.addRead = add_read;
    watch_replies(redis, context->c.reader);
    redisAsyncSetDisconnectCallback(context, on_disconnect);
    redis->state = CONNECTING;
    uv_timer_start(&redis->connector, on_connector, CONNECT_MS, 0);
    if (!shake_hands(redis))
        drop(redis, "there is no memory for a connection");
}

/* ---- Life ------------------------------------------------------------------------------------ */

enum dg_err dg_redis_open(uv_loop_t *loop, const struct dg_redis_opts *opts, struct dg_log *log,
                          struct dg_error *error, struct dg_redis **out)
{
    struct dg_address address;
    enum dg_err err = dg_address_parse(opts->address, &address, error);
    if (err)
        return err;
    struct dg_redis *redis = dg_xcalloc(1, sizeof *redis);
    redis->loop = loop;
    redis->log = log;
    redis->address = address;
    redis->user = dg_xstrdup(opts->user);
    redis->password = dg_xstrdup(opts->password);
    redis->retry_ms = RETRY_LEAST_MS;
    dg_list_init(&redis->asks);
    uv_timer_init(loop, &redis->ticker);
    uv_timer_init(loop, &redis->connector);
    redis->ticker.data = redis->connector.data = redis;
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
}

void dg_redis_free(struct dg_redis *redis)
{
    if (!redis)
        return;
    dg_free(redis->user);
    dg_free(redis->password);
    dg_free(redis);
}

void dg_redis_read_stats(const struct dg_redis *redis, struct dg_redis_stats *stats)
{
    *stats = redis->stats;
    stats->is_up = redis->state == UP;
    stats->n_under_way = redis->n_asks;
}

#else

bool dg_redis_is_built(void)
{
    return false;
}

enum dg_err dg_redis_open(uv_loop_t *loop, const struct dg_redis_opts *opts, struct dg_log *log,
                          struct dg_error *error, struct dg_redis **out)
{
    return dg_error_set(
        error, DG_ERR_UNSUPPORTED,
        "this program was built without Redis; configure it --with-redis (on Debian: "
        "apt-get install libhiredis-dev)");
}

struct dg_redis_ask *dg_redis_ask(struct dg_redis *redis, const struct dg_span *args, size_t n_args,
                                  uint64_t timeout_ms, dg_redis_fn fn, void *ctx)
{
    return NULL;
}

void dg_redis_forget(struct dg_redis_ask *ask)
{
}

void dg_redis_close(struct dg_redis *redis)
{
}

void dg_redis_free(struct dg_redis *redis)
{
}

void dg_redis_read_stats(const struct dg_redis *redis, struct dg_redis_stats *stats)
{
    *stats = (struct dg_redis_stats){.is_up = false};
}

#endif
