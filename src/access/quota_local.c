/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Each window says how long the cost would have to wait; the longest wait decides a refusal. When
 * memory for counting runs out, a request is allowed, because refusing would turn a shortage into
 * an outage. */
#include "access/quota_local.h"
#include "access/rates.h"
#include "access/calendar.h"
#include "base/memory/mem.h"

struct dg_quota_local {
    const struct dg_clock *clock;
    struct dg_usage *usage;
    struct dg_rates keys, addresses;
};

/* The counters of one client. */
struct counters {
    struct dg_rate *rate;         /* NULL: no limit but that of the month, or no memory */
    struct dg_usage_count *month; /* NULL: the client is an address, or there is no memory */
};

struct dg_quota_local *dg_quota_local_new(const struct dg_clock *clock, struct dg_usage *usage,
                                          size_t addresses_max)
{
    struct dg_quota_local *local = dg_xcalloc(1, sizeof *local);
    local->clock = clock;
    local->usage = usage;
    dg_rates_init(&local->keys, DG_KEY_FILE_KEYS);
    dg_rates_init(&local->addresses, addresses_max);
    return local;
}

void dg_quota_local_free(struct dg_quota_local *local)
{
    if (!local)
        return;
    dg_rates_deinit(&local->keys);
    dg_rates_deinit(&local->addresses);
    dg_free(local);
}

size_t dg_quota_local_addresses(const struct dg_quota_local *local)
{
    return dg_rates_len(&local->addresses);
}

static struct counters find(struct dg_quota_local *local, const struct dg_quota_ask *ask)
{
    const bool is_key = ask->kind == DG_QUOTA_KEY;
    return (struct counters){
        .rate = dg_quota_is_limited(ask)
                    ? dg_rates_get(is_key ? &local->keys : &local->addresses, ask->id)
                    : NULL,
        .month = is_key ? dg_usage_get(local->usage, ask->id) : NULL,
    };
}

static uint64_t cost_of(const struct dg_quota_ask *ask, int window)
{
    return dg_quota_windows[window].counts_requests ? ask->requests : ask->characters;
}

static uint64_t seconds(uint64_t ns)
{
    return ns / DG_CLOCK_S + (ns % DG_CLOCK_S != 0);
}

static uint64_t to_next_month(const struct dg_quota_local *local)
{
    uint64_t now = dg_usage_now(local->usage);
    return dg_calendar_next_month(now) - now;
}

/* Seconds until the window allows the cost; 0: now. */
static uint64_t wait_of(struct dg_quota_local *local, const struct dg_quota_ask *ask,
                        const struct counters *counters, int window)
{
    uint64_t limit = ask->limits[window], cost = cost_of(ask, window);
    if (limit == 0 || cost == 0)
        return 0;
    if (window < DG_QUOTA_FLOWING)
        return counters->rate
                   ? seconds(dg_token_bucket_wait(&counters->rate->buckets[window], limit,
                                                  dg_quota_windows[window].seconds, cost,
                                                  dg_clock_now(local->clock)))
                   : 0;
    bool fits = !counters->month || (counters->month->characters < limit &&
                                     cost <= limit - counters->month->characters);
    return fits ? 0 : to_next_month(local);
}

static void take(struct dg_quota_local *local, const struct dg_quota_ask *ask,
                 const struct counters *counters)
{
    uint64_t now = dg_clock_now(local->clock);
    for (int w = 0; w < DG_QUOTA_FLOWING; w++)
        if (ask->limits[w] && counters->rate)
            dg_token_bucket_take(&counters->rate->buckets[w], ask->limits[w],
                                 dg_quota_windows[w].seconds, cost_of(ask, w), now);
    if (counters->month)
        dg_usage_add(local->usage, counters->month, ask->requests, ask->characters);
}

static struct dg_quota_state state_of(struct dg_quota_local *local, const struct dg_quota_ask *ask,
                                      const struct counters *counters, int window)
{
    struct dg_quota_state state = {.limit = ask->limits[window], .remaining = ask->limits[window]};
    uint64_t now = dg_clock_now(local->clock);
    if (state.limit == 0)
        return state;
    if (window == DG_QUOTA_MONTH) {
        uint64_t used = counters->month ? counters->month->characters : 0;
        state.remaining = used < state.limit ? state.limit - used : 0;
        state.reset_s = to_next_month(local);
    } else if (counters->rate) {
        const struct dg_token_bucket *bucket = &counters->rate->buckets[window];
        state.remaining =
            dg_token_bucket_level(bucket, state.limit, dg_quota_windows[window].seconds, now);
        state.reset_s = seconds(dg_token_bucket_full_in(bucket, now));
    }
    return state;
}

static struct dg_quota_verdict judge(struct dg_quota_local *local, const struct dg_quota_ask *ask,
                                     const struct counters *counters, bool taking)
{
    struct dg_quota_verdict verdict = {.is_local = true,
                                       .month = dg_calendar_month(dg_usage_now(local->usage))};
    for (int w = 0; w < DG_QUOTA_WINDOWS; w++) {
        uint64_t wait = wait_of(local, ask, counters, w);
        if (wait > verdict.retry_s) {
            verdict.retry_s = wait;
            verdict.refused_by = (enum dg_quota_window)w;
        }
    }
    verdict.allowed = verdict.retry_s == 0;
    if (verdict.allowed && taking)
        take(local, ask, counters);
    for (int w = 0; w < DG_QUOTA_WINDOWS; w++)
        verdict.windows[w] = state_of(local, ask, counters, w);
    if (counters->month) {
        verdict.month_requests = counters->month->requests;
        verdict.month_characters = counters->month->characters;
    }
    return verdict;
}

static struct dg_quota_ticket *charge(void *self, const struct dg_quota_ask *ask, dg_quota_fn then,
                                      void *ctx)
{
    struct counters counters = find(self, ask);
    struct dg_quota_verdict verdict = judge(self, ask, &counters, true);
    if (then)
        then(ctx, &verdict);
    return NULL;
}

static struct dg_quota_ticket *peek(void *self, const struct dg_quota_ask *ask, dg_quota_fn then,
                                    void *ctx)
{
    struct counters counters = find(self, ask);
    struct dg_quota_verdict verdict = judge(self, ask, &counters, false);
    if (then)
        then(ctx, &verdict);
    return NULL;
}

static void refund(void *self, const struct dg_quota_ask *ask)
{
    struct dg_quota_local *local = self;
    struct counters counters = find(local, ask);
    for (int w = 0; w < DG_QUOTA_FLOWING; w++)
        if (ask->limits[w] && counters.rate)
            dg_token_bucket_give(&counters.rate->buckets[w], ask->limits[w],
                                 dg_quota_windows[w].seconds, cost_of(ask, w));
    if (counters.month && (!ask->month || ask->month == counters.month->month))
        dg_usage_sub(local->usage, counters.month, ask->requests, ask->characters);
}

static void cancel(void *self, struct dg_quota_ticket *ticket)
{
}

static const struct dg_quota_ops ops = {
    .charge = charge, .peek = peek, .refund = refund, .cancel = cancel};

struct dg_quota dg_quota_local(struct dg_quota_local *local)
{
    return (struct dg_quota){.ops = &ops, .self = local};
}
