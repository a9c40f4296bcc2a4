/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A table of texts that several servers keep in one Redis, and of which each has a copy.
 *
 *     table = dg_redis_table_new(loop, redis, "glossaries", &ops, user, log);
 *     dg_redis_table_put(table, id, text, version, on_put, ctx);       0: a new row
 *     dg_redis_table_remove(table, id, version, on_put, ctx);
 *     dg_redis_table_close(table);            what waits is answered with DG_ERR_CLOSED
 *     dg_redis_table_free(table);             after the loop has finished
 *
 * Every change gets the next number of the table, and each server asks ten times a second for what
 * has changed since the last number that it knows. It says which that is, so that a change is
 * answered when every server that is alive has it, or after a second: whoever was answered finds
 * the change on any server.
 *
 * A change names the version of the row that it starts from, and is refused when there is a newer
 * one. Removed rows stay as empty texts (the newest TOMBSTONES of them), so that a server that was
 * away learns of it. When Redis has lost the table, or a part of it, the table begins anew under
 * another name (its epoch): then `reset` is called, the rows come again, and after `complete` the
 * owner puts those that it has and that did not come.
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
    /* All versions that are known are forgotten. */
    void (*reset)(void *user);
    /* Takes rows that changed, in order, and calls dg_redis_table_applied when it has, now or
     * later. They are borrowed for the call, and whatever Redis says they are. */
    void (*apply)(void *user, const struct dg_redis_table_row *rows, size_t n);
    /* All rows have come, for the first time after a reset. */
    void (*complete)(void *user);
};

struct dg_redis_table;

/* All is borrowed; `name` is a literal. */
struct dg_redis_table *dg_redis_table_new(uv_loop_t *loop, struct dg_redis *redis, const char *name,
                                          const struct dg_redis_table_ops *ops, void *user,
                                          struct dg_log *log);

void dg_redis_table_applied(struct dg_redis_table *table);

/* Called once, maybe before put returns. DG_ERR_EXISTS: the row has another version; DG_ERR_LIMIT:
 * the text is too long; DG_ERR_BUSY: Redis does not answer, and the change may have been made or
 * not; DG_ERR_CLOSED, DG_ERR_NOMEM. */
typedef void (*dg_redis_table_fn)(void *ctx, enum dg_err err);

/* `text` is copied and not empty; `fn` may be NULL. */
void dg_redis_table_put(struct dg_redis_table *table, struct dg_span id, struct dg_span text,
                        uint64_t version, dg_redis_table_fn fn, void *ctx);
void dg_redis_table_remove(struct dg_redis_table *table, struct dg_span id, uint64_t version,
                           dg_redis_table_fn fn, void *ctx);

/* NULL is fine for both. */
void dg_redis_table_close(struct dg_redis_table *table);
void dg_redis_table_free(struct dg_redis_table *table);

#endif
