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
 *
 *     dg_shared_quota_turn(&shared);        now and then: asks again for the refunds that Redis has
 *                                           not confirmed
 *     dg_shared_quota_deinit(&shared);      before Redis is freed
 *
 * Each refund has a name, which Redis remembers, so that it is made once, however often it is asked
 * for. At most DG_SHARED_QUOTA_HELD are held; one whose answer has not come for as long as Redis
 * remembers its name is given up, because Redis may have made it. */
#ifndef DG_DAEMON_SHARED_QUOTA_H
#define DG_DAEMON_SHARED_QUOTA_H

#include "access/quota.h"
#include "access/wall_time.h"
#include "base/memory/clock.h"
#include "net/loop/redis.h"

enum { DG_SHARED_QUOTA_HELD = 10000 };

/* Zeros and the fields that are set suffice to begin. */
struct dg_shared_quota {
    struct dg_redis *redis; /* borrowed */
    struct dg_quota local;  /* counts as well, and decides when Redis does not answer */
    uint64_t timeout_ms;
    struct dg_log *log;
    struct dg_wall_time steady;            /* the clock that says which month it is */
    bool was_logged;                       /* the log has said that Redis refuses the script */
    struct dg_shared_refund *first, *last; /* refunds that Redis has not confirmed, oldest first */
    size_t n_refunds;
};

struct dg_quota dg_shared_quota_ops(struct dg_shared_quota *shared);
void dg_shared_quota_turn(struct dg_shared_quota *shared);
void dg_shared_quota_deinit(struct dg_shared_quota *shared);

#endif
