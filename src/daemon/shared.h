/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What several daemons share through one Redis: the sentences that they translated, the
 * quotas that they enforce, and their glossaries (api/v1/glossaries.h).
 *     err = dg_shared_open(&shared, loop, options, log, &error);    NULL: the option redis is empty
 *     err = dg_shared_attach(shared, engine, &error);               before models are loaded
 *     quota = dg_shared_quota(shared, &local);                      asks Redis first, else `local`
 *     dg_shared_close(shared);             while the loop and the engine still run
 *     dg_shared_free(shared);              after the loop
 *
 * Nothing here fails because of Redis: when an answer does not come in time (option redis-timeout),
 * the work goes on without Redis, and while one answer is overdue nobody waits for another
 * (net/loop/redis.h). The loop's thread. */
#ifndef DG_DAEMON_SHARED_H
#define DG_DAEMON_SHARED_H

#include "access/quota.h"
#include "base/log/log.h"
#include "base/memory/clock.h"
#include "base/memory/error.h"
#include "daemon/options.h"
#include "net/loop/redis.h"

#include <uv.h>

struct dg_shared;
struct dg_engine;

/* Fails when the password file cannot be read, or the build has no Redis; not when Redis cannot be
 * reached. `options` must live as long as *shared. */
enum dg_err dg_shared_open(struct dg_shared **shared, uv_loop_t *loop,
                           const struct dg_options *options, struct dg_log *log,
                           struct dg_error *error) DG_MUST_CHECK;

/* Reads the files of the password and of TLS, and connects to nothing; fails like dg_shared_open.
 */
enum dg_err dg_shared_check(const struct dg_options *options, struct dg_error *error) DG_MUST_CHECK;

/* In all functions below, `shared` may be NULL. */
enum dg_err dg_shared_attach(struct dg_shared *shared, struct dg_engine *engine,
                             struct dg_error *error) DG_MUST_CHECK;

/* `local` (borrowed) counts as well, and decides when Redis does not answer. With a NULL `shared`
 * the result is *local. */
struct dg_quota dg_shared_quota(struct dg_shared *shared, const struct dg_quota *local);

/* Returns the connection, for other things that servers share; NULL when nothing is shared. */
struct dg_redis *dg_shared_redis(struct dg_shared *shared);

void dg_shared_close(struct dg_shared *shared); /* idempotent */
void dg_shared_free(struct dg_shared *shared);

#endif
