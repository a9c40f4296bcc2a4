/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Quotas: the interface for counting what clients use against their limits. One implementation
 * counts in this process (quota_local.h); another counts for many processes in a store that they
 * share, and falls back to the local one while the store is unreachable.
 *
 *     struct dg_quota_ask ask = {.kind = DG_QUOTA_KEY, .id = DG_SPAN("alice"), .requests = 1,
 *                                .characters = 120, .limits = {[DG_QUOTA_REQUESTS] = 60}};
 *     ticket = dg_quota_charge(quota, &ask, on_verdict, ctx);
 *     dg_quota_refund(quota, &ask);           the work was not done after all
 *     dg_quota_peek(quota, &ask, then, ctx);  the same verdict, but nothing is taken
 *
 * on_verdict(ctx, &verdict) is called exactly once: either before dg_quota_charge returns (then the
 * ticket is NULL), or later from the loop, unless dg_quota_cancel(quota, ticket) is called first.
 *
 * A charge takes the whole amount or nothing. A window holds as many units as its limit allows in
 * its time, and units flow in evenly; only the window of a month (a calendar month, UTC) begins
 * anew instead. In any other window, a charge of more than the whole window is allowed when the
 * window is full, and must be paid off before the next charge is allowed.
 *
 * To implement a quota, fill a struct dg_quota_ops; its functions get `self`. An asynchronous
 * implementation copies what it needs from the ask, and must answer by itself when the store does
 * not answer in time. It also charges a local quota (with `then` NULL), so that the local counts
 * are right when that quota has to take over.
 *
 * One thread: the loop's. */
#ifndef DG_ACCESS_QUOTA_H
#define DG_ACCESS_QUOTA_H

#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dg_quota_window {
    DG_QUOTA_REQUESTS,   /* per minute */
    DG_QUOTA_CHARACTERS, /* per minute */
    DG_QUOTA_HOUR,       /* requests per hour */
    DG_QUOTA_DAY,        /* requests per day */
    DG_QUOTA_MONTH,      /* characters per month; of keys only */
    DG_QUOTA_WINDOWS,
    DG_QUOTA_FLOWING = DG_QUOTA_MONTH /* the windows before this one are buckets */
};

enum dg_quota_kind { DG_QUOTA_KEY, DG_QUOTA_ADDRESS };

enum {
    DG_QUOTA_ID_MAX = 64,            /* bytes of an id */
    DG_QUOTA_LIMIT_MAX = 1000000000, /* the highest limit of a window of a minute */
    DG_QUOTA_LONG_MAX = 100000000,   /* the highest limit of a window of an hour or of a day */
};

/* What is fixed about each window. */
extern const struct dg_quota_about {
    const char *name;       /* "requests-hour", as in RateLimit-Policy */
    const char *limit_name; /* "requests_per_hour", as in /v1/usage */
    const char *unit;       /* "per 1 hour", as in LibreTranslate's "Slowdown: 20 per 1 hour" */
    uint64_t seconds;       /* for a month, thirty days */
    bool counts_requests;   /* otherwise it counts characters */
} dg_quota_windows[DG_QUOTA_WINDOWS];

struct dg_quota_ask {
    enum dg_quota_kind kind;
    struct dg_span id;                 /* a key's name, or an address by dg_quota_address */
    uint64_t limits[DG_QUOTA_WINDOWS]; /* 0: no limit, but usage is still counted */
    uint64_t requests, characters;     /* the cost */
    /* The name of a refund that several servers may ask for, some of them repeatedly: the shared
     * store makes it once, and the servers' own counts keep the charge. "": only this server asks,
     * once. */
    struct dg_span once;
    /* Of a refund: what the verdict on its charge said, so that it is given back where it was
     * taken, and never to a later month. Month 0: the present one. */
    unsigned month;
    bool is_local;
};

/* Returns true when any window but the month has a limit. */
bool dg_quota_is_limited(const struct dg_quota_ask *ask);

struct dg_quota_state {
    uint64_t limit;     /* 0: no limit, and the other fields mean nothing */
    uint64_t remaining; /* after this charge */
    uint64_t reset_s;   /* until the window is full again */
};

struct dg_quota_verdict {
    bool allowed;
    enum dg_quota_window refused_by; /* when not allowed: the window that refuses longest */
    uint64_t retry_s;                /* seconds until that window allows it; at least 1 */
    struct dg_quota_state windows[DG_QUOTA_WINDOWS];
    unsigned month;                            /* whose use is counted: year * 100 + month, UTC */
    uint64_t month_requests, month_characters; /* the key's use, this charge included */
    bool is_local; /* the shared store was unreachable, and this process's count decided */
};

/* `verdict` is borrowed for the call. */
typedef void (*dg_quota_fn)(void *ctx, const struct dg_quota_verdict *verdict);

struct dg_quota_ticket; /* a charge or peek that is under way */

struct dg_quota_ops {
    struct dg_quota_ticket *(*charge)(void *self, const struct dg_quota_ask *ask, dg_quota_fn then,
                                      void *ctx);
    struct dg_quota_ticket *(*peek)(void *self, const struct dg_quota_ask *ask, dg_quota_fn then,
                                    void *ctx);
    void (*refund)(void *self, const struct dg_quota_ask *ask);
    void (*cancel)(void *self, struct dg_quota_ticket *ticket);
};

struct dg_quota {
    const struct dg_quota_ops *ops;
    void *self;
};

/* With a NULL `then` the charge is taken if it is allowed, and no verdict is reported. */
static inline struct dg_quota_ticket *dg_quota_charge(const struct dg_quota *quota,
                                                      const struct dg_quota_ask *ask,
                                                      dg_quota_fn then, void *ctx)
{
    return quota->ops->charge(quota->self, ask, then, ctx);
}

static inline struct dg_quota_ticket *dg_quota_peek(const struct dg_quota *quota,
                                                    const struct dg_quota_ask *ask,
                                                    dg_quota_fn then, void *ctx)
{
    return quota->ops->peek(quota->self, ask, then, ctx);
}

/* Gives back what a charge with the same ask took. What it took from a month that is over is gone.
 */
static inline void dg_quota_refund(const struct dg_quota *quota, const struct dg_quota_ask *ask)
{
    quota->ops->refund(quota->self, ask);
}

/* Prevents the call of `then`; the charge may stay in force. */
static inline void dg_quota_cancel(const struct dg_quota *quota, struct dg_quota_ticket *ticket)
{
    quota->ops->cancel(quota->self, ticket);
}

/* The id under which a client's address is counted: an IPv4 address unchanged, an IPv6 address as
 * its /64 network ("2001:db8:0:1::/64"), because one customer has at least that; anything else,
 * such as "unix:", unchanged but cut at DG_QUOTA_ID_MAX. */
struct dg_quota_id {
    char text[DG_QUOTA_ID_MAX + 1];
};
struct dg_quota_id dg_quota_address(struct dg_span client);

#endif
