/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Who may still do how much: the interface behind which limits are counted. Here, in this process
 * (quota_local.h), or for many processes in a store that they share, which falls back to the local
 * one while it cannot be reached.
 *
 *     struct dg_quota_ask ask = {.kind = DG_QUOTA_KEY, .id = DG_SPAN("alice"), .requests = 1,
 *                                .characters = 120, .limits = {60, 10000, 5000000}};
 *     ticket = dg_quota_charge(quota, &ask, on_verdict, ctx);
 *         on_verdict(ctx, &verdict) is called exactly once: before this returns (ticket is NULL
 * then), or later from the loop, unless dg_quota_cancel(quota, ticket) comes first
 *     dg_quota_refund(quota, &ask);           the work was not done after all
 *     dg_quota_peek(quota, &ask, then, ctx);  the same verdict, with nothing taken
 *
 * A charge takes all that is asked for or nothing. A window holds a minute's (or month's) worth;
 * what costs more than a whole minute's worth is allowed when the window is full, and is paid off
 * before the next is. Months are calendar months, UTC.
 *
 * To implement it: fill a struct dg_quota_ops whose functions get `self`. An asynchronous one
 * copies what it needs of the ask, and must answer by itself after a while when nobody else does.
 * It charges a local quota along (with `then` NULL), so that what that one counts is right when it
 * has to step in.
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
    DG_QUOTA_MONTH,      /* characters per month; of keys only */
    DG_QUOTA_WINDOWS
};

enum dg_quota_kind { DG_QUOTA_KEY, DG_QUOTA_ADDRESS };

enum {
    DG_QUOTA_ID_MAX = 64,            /* bytes of an id */
    DG_QUOTA_LIMIT_MAX = 1000000000, /* of the windows per minute */
};

struct dg_quota_ask {
    enum dg_quota_kind kind;
    struct dg_span id;                 /* a key's name, or an address by dg_quota_address */
    uint64_t limits[DG_QUOTA_WINDOWS]; /* 0: no limit; what is used is counted all the same */
    uint64_t requests, characters;     /* what it costs */
};

struct dg_quota_state {
    uint64_t limit;     /* 0: there is none, and the rest means nothing */
    uint64_t remaining; /* after this charge */
    uint64_t reset_s;   /* until the window is full again */
};

struct dg_quota_verdict {
    bool allowed;
    enum dg_quota_window refused_by; /* when not allowed: the window that takes longest to allow it,
                                      */
    uint64_t retry_s;                /* which is so long, at least 1 */
    struct dg_quota_state windows[DG_QUOTA_WINDOWS];
    unsigned month;                            /* year * 100 + month, UTC */
    uint64_t month_requests, month_characters; /* used by the key this month, this charge included
                                                */
    bool is_local; /* a shared store could not be asked: this process's own count decided */
};

/* `verdict` is borrowed for the call. */
typedef void (*dg_quota_fn)(void *ctx, const struct dg_quota_verdict *verdict);

struct dg_quota_ticket; /* a question that is under way */

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

/* `then` may be NULL: the charge is taken if it is allowed, and nobody is told. */
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

/* Gives back what a charge with the same ask took. */
static inline void dg_quota_refund(const struct dg_quota *quota, const struct dg_quota_ask *ask)
{
    quota->ops->refund(quota->self, ask);
}

/* The question's `then` will not be called; what it charged may stay charged. */
static inline void dg_quota_cancel(const struct dg_quota *quota, struct dg_quota_ticket *ticket)
{
    quota->ops->cancel(quota->self, ticket);
}

/* The id under which a client's address is counted: an IPv4 address as it is, an IPv6 address as
 * its /64 network ("2001:db8:0:1::/64"), because that is what one customer has; anything else, such
 * as "unix:", as it is, cut at DG_QUOTA_ID_MAX. */
struct dg_quota_id {
    char text[DG_QUOTA_ID_MAX + 1];
};
struct dg_quota_id dg_quota_address(struct dg_span client);

#endif
