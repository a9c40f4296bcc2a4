/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Quotas counted in this process: minutes in token buckets, months in a struct dg_usage. Verdicts
 * come at once, within the call.
 *
 *     struct dg_quota_local *local = dg_quota_local_new(&clock, usage, addresses_max);
 *     struct dg_quota quota = dg_quota_local(local);             borrows it
 *     dg_quota_local_free(local);
 *
 * One thread. */
#ifndef DG_ACCESS_QUOTA_LOCAL_H
#define DG_ACCESS_QUOTA_LOCAL_H

#include "access/quota.h"
#include "access/usage.h"
#include "base/memory/clock.h"

struct dg_quota_local;

/* Borrows clock and usage. At most `addresses_max` addresses are remembered (access/rates.h). */
struct dg_quota_local *dg_quota_local_new(const struct dg_clock *clock, struct dg_usage *usage,
                                          size_t addresses_max);
void dg_quota_local_free(struct dg_quota_local *local); /* NULL is fine */

struct dg_quota dg_quota_local(struct dg_quota_local *local);

/* Addresses that are remembered now. */
size_t dg_quota_local_addresses(const struct dg_quota_local *local);

#endif
