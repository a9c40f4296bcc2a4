/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What several daemons share through one Redis: the sentences that they translated, and the quotas
 * that they enforce.
 *
 *     err = dg_shared_open(&shared, loop, options, log, &error);    NULL when the option redis is
 * empty err = dg_shared_attach(shared, engine, &error);               before models are loaded
 *     quota = dg_shared_quota(shared, &local);                    asks Redis first, `local` when it
 * must dg_shared_close(shared);                                    while the loop and the engine
 * still run dg_shared_free(shared);                                     after the loop
 *
 * Nothing here fails because of Redis: an answer that does not come in time (option redis-timeout)
 * is as if there were no Redis, and while one is overdue nobody else waits for another
 * (net/loop/redis.h). The loop's thread. */
#ifndef DG_DAEMON_SHARED_H
#define DG_DAEMON_SHARED_H

#include "access/quota.h"
#include "base/log/log.h"
#include "base/memory/clock.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "daemon/options.h"
#include "net/loop/redis.h"

#include <uv.h>

struct dg_shared;
struct dg_engine;

/* A file of a password that cannot be read, or a build without Redis, ends the start; a Redis that
 * is away does not. `options` live as long. */
enum dg_err dg_shared_open(struct dg_shared **shared, uv_loop_t *loop,
                           const struct dg_options *options, struct dg_log *log,
                           struct dg_error *error) DG_MUST_CHECK;

/* NULL shared is fine everywhere below. */
enum dg_err dg_shared_attach(struct dg_shared *shared, struct dg_engine *engine,
                             struct dg_error *error) DG_MUST_CHECK;

/* `local` counts along, decides when Redis does not, and is borrowed. Without a shared one it is
 * *local itself. */
struct dg_quota dg_shared_quota(struct dg_shared *shared, const struct dg_quota *local);

void dg_shared_close(struct dg_shared *shared); /* idempotent */
void dg_shared_free(struct dg_shared *shared);

#endif
