/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Quotas in Redis: the implementation of access/quota.h that many daemons share.
 *
 *     struct dg_shared_quota shared = {.redis = redis, .local = local, .timeout_ms = 20};
 *     struct dg_quota quota = dg_shared_quota_ops(&shared);
 *
 * One script, run by Redis as one step, does what access/quota_local.c does, with the same
 * arithmetic and Redis's clock; a client's windows and month are one hash,
 * "dragoman:1:quota:key:NAME" or "...:address:ADDRESS", which expires by itself. The loop's thread.
 */
#ifndef DG_DAEMON_SHARED_QUOTA_H
#define DG_DAEMON_SHARED_QUOTA_H

#include "access/quota.h"
#include "access/wall_time.h"
#include "base/memory/clock.h"
#include "net/loop/redis.h"

struct dg_shared_quota {
    struct dg_redis *redis; /* borrowed */
    struct dg_quota local;  /* counts as well, and decides when Redis does not answer */
    uint64_t timeout_ms;
    struct dg_log *log;
    struct dg_wall_time steady; /* the clock that says which month it is */
    bool was_logged;            /* the log has said that Redis refuses the script */
};

struct dg_quota dg_shared_quota_ops(struct dg_shared_quota *shared);

#endif
