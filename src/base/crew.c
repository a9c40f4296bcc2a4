/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One number says which round it is, how many parts it has and which is next. Taking a part is to exchange that number
 * for the next one: it succeeds only in the round that was looked at, and that round cannot end before the part is
 * done. So `fn` and `ctx`, which are read after the exchange, are the round's own. */
#include "base/crew.h"

#include <sched.h>
#include <stdbool.h>

enum {
    PART_BITS = 12,
    PAUSES = 32,       /* about a microsecond of looking, then others may have the core */
    LOOKS_MOST = 256,  /* of so many pauses, before a helper leaves */
    WAITS_MOST = 1024, /* pauses of a leader that waits for the last parts, before others may have the core */
};

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static size_t next_of(uint64_t call)
{
    return call & ((1u << PART_BITS) - 1);
}

static size_t parts_of(uint64_t call)
{
    return next_of(call >> PART_BITS);
}

void dg_crew_init(struct dg_crew *crew, size_t most)
{
    *crew = (struct dg_crew){.most = most};
    atomic_init(&crew->call, 0);
    atomic_init(&crew->n_done, 0);
    atomic_init(&crew->n_helpers, 0);
}

size_t dg_crew_n_helpers(struct dg_crew *crew)
{
    return atomic_load_explicit(&crew->n_helpers, memory_order_relaxed);
}

/* Does one part of the present round; false: none is left. */
static bool do_part(struct dg_crew *crew)
{
    uint64_t call = atomic_load_explicit(&crew->call, memory_order_acquire);
    do {
        if (next_of(call) == parts_of(call))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&crew->call, &call, call + 1, memory_order_acq_rel,
                                                    memory_order_acquire));
    crew->fn(crew->ctx, next_of(call));
    atomic_fetch_add_explicit(&crew->n_done, 1, memory_order_release);
    return true;
}

void dg_crew_run(struct dg_crew *crew, dg_crew_fn fn, void *ctx, size_t n_parts)
{
    const uint64_t round = (atomic_load_explicit(&crew->call, memory_order_relaxed) >> 2 * PART_BITS) + 1;
    crew->fn = fn;
    crew->ctx = ctx;
    atomic_store_explicit(&crew->n_done, 0, memory_order_relaxed);
    atomic_store_explicit(&crew->call, round << 2 * PART_BITS | (uint64_t)n_parts << PART_BITS, memory_order_release);
    size_t n_own = 0;
    while (do_part(crew))
        n_own++;
    crew->n_parts += n_parts;
    crew->n_helped += n_parts - n_own;
    for (unsigned n = 0; atomic_load_explicit(&crew->n_done, memory_order_acquire) < n_parts; n++)
        if (n < WAITS_MOST)
            relax();
        else
            sched_yield();
}

void dg_crew_help(struct dg_crew *crew, const atomic_uint_fast64_t *calls, uint64_t seen)
{
    if (atomic_fetch_add(&crew->n_helpers, 1) < crew->most)
        for (unsigned looks = 0; looks < LOOKS_MOST * PAUSES && atomic_load(calls) == seen;) {
            if (do_part(crew)) {
                looks = 0;
                continue;
            }
            if (++looks % PAUSES == 0)
                sched_yield();
            relax();
        }
    atomic_fetch_sub(&crew->n_helpers, 1);
}
