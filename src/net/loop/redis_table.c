/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* In Redis a table is six keys: META (a hash: the epoch, and the version of the newest change),
 * ROWS (a hash: texts by id), VERSIONS (a sorted set: ids by version), GONE (likewise, of removed
 * rows), ALIVE (a sorted set: servers by when they last asked, in Redis's milliseconds) and SEEN (a
 * hash: what they know). Two scripts do all the work on them, and Redis runs each script as one
 * step. */
#include "net/loop/redis_table.h"

#include "base/memory/buf.h"
#include "base/memory/list.h"
#include "base/memory/mem.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum {
    PACE_MS = 100,      /* between two requests for news */
    HURRY_MS = 10,      /* the interval while somebody waits for a change */
    ASK_MS = 900,       /* for an answer */
    PATIENCE_MS = 1000, /* the time until a change is sent, and then until this server knows its
                           result */
    SETTLE_MS = 1000,   /* until all others know it */
    NAME_LEN = 32,      /* of an epoch, of a server */
    N_KEYS = 6,
    HEAD = 3, /* texts of an answer before the rows */
    ROW = 3,
};

/* KEYS: as above. ARGV: the epoch that we know, the version that we know, an epoch for a new table,
 * our name. Returns the epoch, the version up to which the rows go, the version that all live
 * servers know, and the rows: id, version, text. */
static const char sync_script[] =
    "local epoch = redis.call('HGET', KEYS[1], 'epoch')\n"
    "local newest = tonumber(redis.call('HGET', KEYS[1], 'version') or '0')\n"
    "if not epoch or (newest > 0 and redis.call('EXISTS', KEYS[2], KEYS[3]) < 2) then\n"
    "  redis.call('DEL', unpack(KEYS))\n"
    "  epoch = ARGV[3]\n"
    "  newest = 0\n"
    "  redis.call('HSET', KEYS[1], 'epoch', epoch, 'version', '0')\n"
    "end\n"
    "local since = tonumber(ARGV[2])\n"
    "if epoch ~= ARGV[1] then since = 0 end\n"
    "local time = redis.call('TIME')\n"
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n"
    "redis.call('ZADD', KEYS[5], now, ARGV[4])\n"
    "redis.call('HSET', KEYS[6], ARGV[4], since)\n"
    "for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now - 1500)) do\n"
    "  redis.call('ZREM', KEYS[5], name)\n"
    "  redis.call('HDEL', KEYS[6], name)\n"
    "end\n"
    "local least = since\n"
    "for _, seen in ipairs(redis.call('HVALS', KEYS[6])) do\n"
    "  least = math.min(least, tonumber(seen))\n"
    "end\n"
    "local out = {epoch, '', string.format('%d', least)}\n"
    "local upto, bytes = since, 0\n"
    "if newest > since then\n"
    "  local found = redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. string.format('%d', since),\n"
    "                           '+inf', 'WITHSCORES', 'LIMIT', 0, 256)\n"
    "  for i = 1, #found, 2 do\n"
    "    local text = redis.call('HGET', KEYS[2], found[i])\n"
    "    if not text then\n"
    "      redis.call('DEL', unpack(KEYS))\n"
    "      return redis.error_reply('a row is lost; the table begins anew')\n"
    "    end\n"
    "    if bytes > 0 and bytes + #text > 1048576 then break end\n"
    "    bytes = bytes + #text + 64\n"
    "    upto = tonumber(found[i + 1])\n"
    "    out[#out + 1] = found[i]\n"
    "    out[#out + 1] = string.format('%d', upto)\n"
    "    out[#out + 1] = text\n"
    "  end\n"
    "end\n"
    "out[2] = string.format('%d', upto)\n"
    "return out\n";

/* ARGV: the epoch, the id, its present version (0: it never existed), the text (empty: removes
 * it). */
static const char put_script[] =
    DG_REDIS_TABLE_LUA "local has = tonumber(redis.call('ZSCORE', KEYS[3], ARGV[2]) or '0')\n"
                       "if has ~= tonumber(ARGV[3]) then return {0, has} end\n"
                       "return {1, set(ARGV[2], ARGV[4])}\n";

/* A change on its way: in `puts` until Redis has decided, then in `settling` until all
 * servers know what it is now. */
struct put {
    struct dg_list link;
    struct dg_redis_table *table;        /* NULL: the table has answered it; the reply frees it */
    struct dg_redis_table_script script; /* its keys and arguments lie in `text` */
    struct dg_buf text;
    dg_redis_table_fn fn;
    void *ctx;
    bool is_sent;
    uint64_t until_ms, settled_ms;
    int64_t more;
    uint64_t made;   /* the version that the row got, or the one that was there before */
    enum dg_err err; /* says which of the two versions `made` is */
};

struct dg_redis_table {
    uv_loop_t *loop;
    struct dg_redis *redis;
    const struct dg_redis_table_ops *ops;
    void *user;
    struct dg_log *log;
    uv_timer_t timer;
    uint64_t pace_ms; /* at which the timer rings */
    char keys[N_KEYS][64];
    char server[NAME_LEN + 1], epoch[NAME_LEN + 1]; /* epoch: "" until Redis has told it */
    uint64_t version, next_version;                 /* next: while rows are applied */
    struct dg_redis_ask *asking;                    /* NULL: no request for news is under way */
    uint64_t asked_ms, current_ms; /* the times of the latest request, and of the latest one to
                                      which there was no news */
    bool is_applying, is_complete, said_nonsense;
    bool is_closed, is_gone, is_freed; /* gone: the loop has closed the timer */
    struct dg_list puts, settling;
};

static const char *const key_names[N_KEYS] = {"meta", "rows", "versions", "gone", "alive", "seen"};

static uint64_t now_ms(const struct dg_redis_table *table)
{
    return uv_now(table->loop);
}

static void make_name(char name[NAME_LEN + 1])
{
    unsigned char random[NAME_LEN / 2];
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(name, NAME_LEN + 1, random, sizeof random);
}

static void say_nonsense(struct dg_redis_table *table, struct dg_span said)
{
    if (!table->said_nonsense)
        dg_log_event(table->log, DG_LOG_ERROR, "redis", DG_LOG_FIELDS(dg_log_span("said", said)),
                     "Redis does not keep a shared table; this server goes on with what it has");
    table->said_nonsense = true;
}

/* ---- Changes --------------------------------------------------------------------------------- */

static void free_put(struct put *put)
{
    dg_list_unlink(&put->link);
    dg_buf_deinit(&put->text);
    dg_free(put);
}

/* Reports the result of a change; the change is freed now, or when Redis has replied. */
static void end_put(struct put *put, enum dg_err err)
{
    dg_redis_table_fn fn = put->fn;
    void *ctx = put->ctx;
    const int64_t more = put->more;
    put->fn = NULL;
    if (put->is_sent) {
        dg_list_unlink(&put->link);
        dg_list_init(&put->link);
        put->table = NULL;
    } else {
        free_put(put);
    }
    fn(ctx, err, more);
}

void dg_redis_table_ignore(void *ctx, enum dg_err err, int64_t more)
{
}

static void on_put(void *ctx, const struct dg_redis_reply *reply)
{
    struct put *put = ctx;
    struct dg_redis_table *table = put->table;
    const bool is_good = reply->kind == DG_REDIS_NUMBERS && reply->n_numbers >= 2;
    put->is_sent = false;
    if (!table) {
        free_put(put);
    } else if (is_good && reply->numbers[0] >= 0 && reply->numbers[1] >= 0) {
        put->err = reply->numbers[0] ? DG_OK : DG_ERR_EXISTS;
        put->made = (uint64_t)reply->numbers[1];
        put->until_ms = now_ms(table) + PATIENCE_MS;
        put->settled_ms = now_ms(table) + (put->err || put->script.is_for_us ? 0 : SETTLE_MS);
        put->more = reply->n_numbers > 2 ? reply->numbers[2] : 0;
        dg_list_unlink(&put->link);
        dg_list_link_last(&table->settling, &put->link);
    } else if (!is_good) {
        if (reply->kind != DG_REDIS_NONE)
            say_nonsense(table, reply->text);
        end_put(put, DG_ERR_BUSY);
    } /* otherwise it is sent again when the new epoch is known */
}

/* EVAL, the script, and the keys. */
static size_t begin_command(const struct dg_redis_table *table, struct dg_span *args,
                            struct dg_span script, const struct dg_span *keys, size_t n_keys)
{
    static const char *const numbers[] = {"6", "7", "8"};
    size_t n = 0;
    args[n++] = DG_SPAN("EVAL");
    args[n++] = script;
    args[n++] = dg_span_cstr(numbers[n_keys]);
    for (size_t i = 0; i < N_KEYS; i++)
        args[n++] = dg_span_cstr(table->keys[i]);
    for (size_t i = 0; i < n_keys; i++)
        args[n++] = keys[i];
    return n;
}

static void send_put(struct put *put)
{
    const struct dg_redis_table_script *script = &put->script;
    struct dg_redis_table *table = put->table;
    struct dg_span args[3 + N_KEYS + DG_REDIS_TABLE_KEYS + 1 + DG_REDIS_TABLE_ARGS];
    size_t n = begin_command(table, args, script->text, script->keys, script->n_keys);
    args[n++] = dg_span_cstr(table->epoch);
    for (size_t i = 0; i < script->n_args; i++)
        args[n++] = script->args[i];
    put->is_sent = dg_redis_ask(table->redis, args, n, ASK_MS, on_put, put) != NULL;
}

static void send_puts(struct dg_redis_table *table)
{
    for (struct dg_list *at = table->puts.next, *next; at != &table->puts; at = next) {
        struct put *put = DG_LIST_ITEM(at, struct put, link);
        next = at->next;
        if (!put->is_sent && *table->epoch)
            send_put(put);
    }
}

/* Ends the changes whose time is over, one at a time, because a callback may change the list. */
static struct put *first_over(const struct dg_redis_table *table)
{
    for (struct dg_list *at = table->puts.next; at != &table->puts; at = at->next) {
        struct put *put = DG_LIST_ITEM(at, struct put, link);
        if (!put->is_sent && now_ms(table) >= put->until_ms)
            return put;
    }
    return NULL;
}

/* `least` is the version that all servers know. */
static struct put *first_settled(const struct dg_redis_table *table, uint64_t least)
{
    for (struct dg_list *at = table->settling.next; at != &table->settling; at = at->next) {
        struct put *put = DG_LIST_ITEM(at, struct put, link);
        const bool we_know = table->version >= put->made || now_ms(table) >= put->until_ms;
        if (we_know && (least >= put->made || now_ms(table) >= put->settled_ms))
            return put;
    }
    return NULL;
}

static void settle(struct dg_redis_table *table, uint64_t least)
{
    struct put *put;
    while ((put = first_settled(table, least)))
        end_put(put, put->err);
}

/* The table began anew: decisions that we had not heard of may be lost with the old one. */
static void doubt_unknown(struct dg_redis_table *table)
{
    for (struct dg_list *at = table->settling.next; at != &table->settling; at = at->next) {
        struct put *put = DG_LIST_ITEM(at, struct put, link);
        if (table->version < put->made)
            put->err = DG_ERR_BUSY;
        put->made = 0; /* there is nothing to wait for */
    }
}

/* ---- News ------------------------------------------------------------------------------------ */

static bool read_number(struct dg_span text, uint64_t *number)
{
    uint64_t value = 0;
    if (text.len == 0 || text.len > 16)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    *number = value;
    return true;
}

static void on_news(void *ctx, const struct dg_redis_reply *reply);

static void ask(struct dg_redis_table *table)
{
    struct dg_span args[3 + N_KEYS + 4];
    char version[24], epoch[NAME_LEN + 1];
    size_t n =
        begin_command(table, args, dg_span_make(sync_script, sizeof sync_script - 1), NULL, 0);
    if (table->asking || table->is_applying || table->is_closed)
        return;
    make_name(epoch);
    snprintf(version, sizeof version, "%" PRIu64, table->version);
    args[n++] = dg_span_cstr(table->epoch);
    args[n++] = dg_span_cstr(version);
    args[n++] = dg_span_cstr(epoch);
    args[n++] = dg_span_cstr(table->server);
    table->asked_ms = now_ms(table);
    table->asking = dg_redis_ask(table->redis, args, n, ASK_MS, on_news, table);
}

/* The rows of an answer; NULL when they are malformed. */
static struct dg_redis_table_row *read_rows(const struct dg_span *texts, size_t n)
{
    struct dg_redis_table_row *rows = dg_try_calloc(n ? n : 1, sizeof *rows);
    bool is_good = rows != NULL;
    for (size_t i = 0; i < n && is_good; i++) {
        rows[i].id = texts[ROW * i];
        rows[i].text = texts[ROW * i + 2];
        is_good = rows[i].id.len > 0 && rows[i].id.len <= DG_REDIS_TABLE_ID &&
                  read_number(texts[ROW * i + 1], &rows[i].version);
    }
    if (is_good)
        return rows;
    dg_free(rows);
    return NULL;
}

static void take_news(struct dg_redis_table *table, const struct dg_redis_reply *reply)
{
    const struct dg_span *texts = reply->texts;
    uint64_t upto = 0, least = 0;
    struct dg_redis_table_row *rows = NULL;
    const bool is_good = reply->kind == DG_REDIS_TEXTS && reply->n_texts >= HEAD &&
                         (reply->n_texts - HEAD) % ROW == 0 && texts[0].len == NAME_LEN &&
                         read_number(texts[1], &upto) && read_number(texts[2], &least);
    const size_t n = is_good ? (reply->n_texts - HEAD) / ROW : 0;
    if (is_good)
        rows = read_rows(texts + HEAD, n);
    if (!rows) {
        say_nonsense(table, reply->text);
        return;
    }
    if (!dg_span_eq(texts[0], dg_span_cstr(table->epoch))) {
        doubt_unknown(table);
        memcpy(table->epoch, texts[0].ptr, NAME_LEN);
        table->version = 0;
        table->is_complete = false;
        table->ops->reset(table->user);
    }
    table->next_version = upto;
    if (n == 0)
        table->current_ms = table->asked_ms;
    if (n > 0) {
        table->is_applying = true;
        table->ops->apply(table->user, rows, n);
    } else if (!table->is_complete) {
        table->is_complete = true;
        table->said_nonsense = false;
        table->ops->complete(table->user);
    }
    dg_free(rows);
    settle(table, least);
}

static void set_pace(struct dg_redis_table *table);

static void on_news(void *ctx, const struct dg_redis_reply *reply)
{
    struct dg_redis_table *table = ctx;
    table->asking = NULL;
    if (table->is_closed)
        return;
    if (reply->kind != DG_REDIS_NONE)
        take_news(table, reply);
    set_pace(table);
}

void dg_redis_table_applied(struct dg_redis_table *table)
{
    table->is_applying = false;
    table->version = table->next_version;
    ask(table);
}

/* Whoever has asked counts as alive, and a change is answered when all that are alive know it, or
 * after SETTLE_MS. So a change that was answered by now is known here, or older than the request.
 */
bool dg_redis_table_is_current(const struct dg_redis_table *table)
{
    return !table || (table->is_complete && now_ms(table) - table->current_ms < SETTLE_MS);
}

static void on_timer(uv_timer_t *timer)
{
    struct dg_redis_table *table = timer->data;
    struct put *put;
    send_puts(table);
    ask(table);
    while ((put = first_over(table)))
        end_put(put, DG_ERR_BUSY);
    settle(table, 0);
    set_pace(table);
}

static void set_pace(struct dg_redis_table *table)
{
    const bool hurries = !dg_list_is_empty(&table->puts) || !dg_list_is_empty(&table->settling);
    const uint64_t pace_ms = hurries ? HURRY_MS : PACE_MS;
    if (table->is_closed || pace_ms == table->pace_ms)
        return;
    table->pace_ms = pace_ms;
    uv_timer_start(&table->timer, on_timer, pace_ms, pace_ms);
}

/* ---- From outside ---------------------------------------------------------------------------- */

static bool copy_texts(struct put *put, struct dg_span *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t at = put->text.len;
        if (dg_buf_append_span(&put->text, texts[i]) != DG_OK)
            return false;
        texts[i] = dg_span_make(put->text.ptr ? put->text.ptr + at : "", texts[i].len);
    }
    return true;
}

void dg_redis_table_run(struct dg_redis_table *table, const struct dg_redis_table_script *script,
                        dg_redis_table_fn fn, void *ctx)
{
    size_t bytes = 0;
    for (size_t i = 0; i < script->n_keys; i++)
        bytes += script->keys[i].len;
    for (size_t i = 0; i < script->n_args; i++)
        bytes += script->args[i].len;
    enum dg_err err = table->is_closed                                  ? DG_ERR_CLOSED
                      : bytes > DG_REDIS_TABLE_TEXT + DG_REDIS_TABLE_ID ? DG_ERR_LIMIT
                                                                        : DG_OK;
    struct put *put = err ? NULL : dg_try_calloc(1, sizeof *put);
    if (put) {
        dg_list_init(&put->link);
        put->script = *script;
        dg_buf_init(&put->text, bytes + 1);
        /* Allocated at its final length, because the spans point into it. */
        err = dg_buf_reserve(&put->text, bytes);
        if (!err && !(copy_texts(put, put->script.keys, script->n_keys) &&
                      copy_texts(put, put->script.args, script->n_args)))
            err = DG_ERR_NOMEM;
    } else if (!err) {
        err = DG_ERR_NOMEM;
    }
    if (err) {
        if (put)
            free_put(put);
        fn(ctx, err, 0);
        return;
    }
    put->table = table;
    put->fn = fn;
    put->ctx = ctx;
    put->until_ms = now_ms(table) + PATIENCE_MS;
    dg_list_link_last(&table->puts, &put->link);
    send_puts(table);
    set_pace(table);
}

void dg_redis_table_put(struct dg_redis_table *table, struct dg_span id, struct dg_span text,
                        uint64_t version, dg_redis_table_fn fn, void *ctx)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, version);
    const struct dg_redis_table_script script = {
        .text = dg_span_make(put_script, sizeof put_script - 1),
        .args = {id, dg_span_cstr(number), text},
        .n_args = 3};
    dg_redis_table_run(table, &script, fn, ctx);
}

void dg_redis_table_remove(struct dg_redis_table *table, struct dg_span id, uint64_t version,
                           dg_redis_table_fn fn, void *ctx)
{
    dg_redis_table_put(table, id, (struct dg_span){"", 0}, version, fn, ctx);
}

struct dg_redis_table *dg_redis_table_new(uv_loop_t *loop, struct dg_redis *redis, const char *name,
                                          const struct dg_redis_table_ops *ops, void *user,
                                          struct dg_log *log)
{
    struct dg_redis_table *table = dg_xcalloc(1, sizeof *table);
    table->loop = loop;
    table->redis = redis;
    table->ops = ops;
    table->user = user;
    table->log = log;
    for (size_t i = 0; i < N_KEYS; i++)
        snprintf(table->keys[i], sizeof table->keys[i], "dragoman:1:%.32s:%s", name, key_names[i]);
    make_name(table->server);
    dg_list_init(&table->puts);
    dg_list_init(&table->settling);
    uv_timer_init(loop, &table->timer);
    table->timer.data = table;
    set_pace(table);
    return table;
}

static void on_closed(uv_handle_t *handle)
{
    struct dg_redis_table *table = handle->data;
    table->is_gone = true;
    if (table->is_freed)
        dg_free(table);
}

void dg_redis_table_close(struct dg_redis_table *table)
{
    if (!table || table->is_closed)
        return;
    table->is_closed = true;
    while (!dg_list_is_empty(&table->puts))
        end_put(DG_LIST_ITEM(table->puts.next, struct put, link), DG_ERR_CLOSED);
    while (!dg_list_is_empty(&table->settling))
        end_put(DG_LIST_ITEM(table->settling.next, struct put, link),
                DG_LIST_ITEM(table->settling.next, struct put, link)->err);
    if (table->asking)
        dg_redis_forget(table->asking);
    uv_close((uv_handle_t *)&table->timer, on_closed);
}

void dg_redis_table_free(struct dg_redis_table *table)
{
    if (!table)
        return;
    table->is_freed = true;
    if (table->is_gone)
        dg_free(table);
}
