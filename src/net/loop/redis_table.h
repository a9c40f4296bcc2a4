/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A table of texts that several servers share in one Redis. Each server has its own copy.
 *
 *     table = dg_redis_table_new(loop, redis, "glossaries", &ops, user, log);
 *     dg_redis_table_put(table, id, text, version, on_put, ctx);       0: a new row
 *     dg_redis_table_remove(table, id, version, on_put, ctx);
 *     dg_redis_table_close(table);            waiting changes end with DG_ERR_CLOSED
 *     dg_redis_table_free(table);             after that
 *
 * Every change gets the next number of the table, and each server asks ten times a second for what
 * has changed since the last number that it knows. It also tells Redis that number. So a change is
 * answered when every live server has it, or after a second, and a client that has its answer finds
 * the change on any server.
 *
 * A change names the version of the row that it starts from, and is refused when there is a newer
 * one. Removed rows stay as empty texts (the newest TOMBSTONES of them), so that a server that was
 * disconnected learns of the removal. When Redis has lost the table, or a part of it, the table
 * begins anew under another name (its epoch): then `reset` is called, all rows are delivered again,
 * and after `complete` the owner puts those of its rows that were not delivered.
 *
 * One thread: the loop's. */
#ifndef DG_NET_LOOP_REDIS_TABLE_H
#define DG_NET_LOOP_REDIS_TABLE_H

#include "net/loop/redis.h"

enum { DG_REDIS_TABLE_TEXT = 7 * 1024 * 1024, DG_REDIS_TABLE_ID = 64 };

struct dg_redis_table_row {
    struct dg_span id;
    struct dg_span text; /* empty: the row is removed */
    uint64_t version;
};

struct dg_redis_table_ops {
    /* Forgets all versions that the owner knows. */
    void (*reset)(void *user);
    /* Takes rows that changed, in order, and calls dg_redis_table_applied when it has done so, now
     * or later. The rows are borrowed for the call, and may hold anything that Redis sent. */
    void (*apply)(void *user, const struct dg_redis_table_row *rows, size_t n);
    /* All rows have been delivered, for the first time after a reset. */
    void (*complete)(void *user);
};

struct dg_redis_table;

/* All pointers are borrowed. */
struct dg_redis_table *dg_redis_table_new(uv_loop_t *loop, struct dg_redis *redis, const char *name,
                                          const struct dg_redis_table_ops *ops, void *user,
                                          struct dg_log *log);

void dg_redis_table_applied(struct dg_redis_table *table);

/* Returns true when this server knows every change that has been answered anywhere. It may not when
 * it has just started, or when Redis has not answered it for a second: then a row that it does not
 * know may exist. NULL is fine: nothing is shared. */
bool dg_redis_table_is_current(const struct dg_redis_table *table);

/* Called once, maybe before put returns; `more` is the additional result of a script.
 * DG_ERR_EXISTS: the row has another version; DG_ERR_LIMIT: the text is too long; DG_ERR_BUSY:
 * Redis does not answer, and the change may have been made or not; DG_ERR_CLOSED, DG_ERR_NOMEM. */
typedef void (*dg_redis_table_fn)(void *ctx, enum dg_err err, int64_t more);
void dg_redis_table_ignore(void *ctx, enum dg_err err, int64_t more); /* does nothing */

/* `text` is copied and not empty. */
void dg_redis_table_put(struct dg_redis_table *table, struct dg_span id, struct dg_span text,
                        uint64_t version, dg_redis_table_fn fn, void *ctx);
void dg_redis_table_remove(struct dg_redis_table *table, struct dg_span id, uint64_t version,
                           dg_redis_table_fn fn, void *ctx);

/* A change of more than one row, and of other keys: a script in Lua that begins with
 * DG_REDIS_TABLE_LUA, which defines set(id, text): it changes a row, or removes it when the text is
 * empty, and returns its version. The keys from KEYS[7] on are the script's own; ARGV[1] is the
 * epoch, and the arguments from ARGV[2] on are the script's own. It returns {1, version} or {1,
 * version, more} when everything is done, or {0, version} when something exists already; then the
 * caller gets DG_ERR_EXISTS once this server knows that version. All texts except the script's are
 * copied. */
enum { DG_REDIS_TABLE_KEYS = 2, DG_REDIS_TABLE_ARGS = 7 };
struct dg_redis_table_script {
    struct dg_span text; /* borrowed until it is over */
    struct dg_span keys[DG_REDIS_TABLE_KEYS];
    size_t n_keys;
    struct dg_span args[DG_REDIS_TABLE_ARGS];
    size_t n_args;
    bool is_for_us; /* the change is over when this server knows its version, whether or not others
                       do */
};
void dg_redis_table_run(struct dg_redis_table *table, const struct dg_redis_table_script *script,
                        dg_redis_table_fn fn, void *ctx);

#define DG_REDIS_TABLE_LUA                                                                         \
    "if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return {-1, 0} end\n"                 \
    "local function set(id, text)\n"                                                               \
    "  local version = redis.call('HINCRBY', KEYS[1], 'version', 1)\n"                             \
    "  redis.call('ZADD', KEYS[3], version, id)\n"                                                 \
    "  redis.call('HSET', KEYS[2], id, text)\n"                                                    \
    "  if text == '' then\n"                                                                       \
    "    redis.call('ZADD', KEYS[4], version, id)\n"                                               \
    "    for _, old in ipairs(redis.call('ZRANGE', KEYS[4], 0, -10001)) do\n"                      \
    "      redis.call('ZREM', KEYS[4], old)\n"                                                     \
    "      redis.call('ZREM', KEYS[3], old)\n"                                                     \
    "      redis.call('HDEL', KEYS[2], old)\n"                                                     \
    "    end\n"                                                                                    \
    "  end\n"                                                                                      \
    "  return version\n"                                                                           \
    "end\n"

/* NULL is fine for both; free frees it when the loop has closed it, or at once if it has. */
void dg_redis_table_close(struct dg_redis_table *table);
void dg_redis_table_free(struct dg_redis_table *table);

#endif
