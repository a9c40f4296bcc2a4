/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One atomic number, `call`, holds the round, the number of its parts and the next part. A thread
 * takes a part by exchanging `call` for its successor. The exchange succeeds only in the round
 * whose number the thread read, and that round cannot end before the part is done. So `fn` and
 * `ctx`, which the thread reads after the exchange, belong to the same round. */
#include "base/thread/helpers.h"

#include <sched.h>
#include <stdbool.h>

enum {
    PART_BITS = 12,
    PAUSES = 32,       /* between two yields of the core: about a microsecond */
    LOOKS_MOST = 256,  /* times PAUSES without work, before a helper leaves */
    WAITS_MOST = 1024, /* pauses of a leader that waits for the last parts, before it yields the
                          core */
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

void dg_helpers_init(struct dg_helpers *helpers, size_t most)
{
    *helpers = (struct dg_helpers){.most = most};
    atomic_init(&helpers->call, 0);
    atomic_init(&helpers->n_done, 0);
    atomic_init(&helpers->n_helpers, 0);
}

size_t dg_helpers_count(struct dg_helpers *helpers)
{
    return atomic_load_explicit(&helpers->n_helpers, memory_order_relaxed);
}

/* Does one part of the present round; false when none is left. */
static bool do_part(struct dg_helpers *helpers)
{
    uint64_t call = atomic_load_explicit(&helpers->call, memory_order_acquire);
    do {
        if (next_of(call) == parts_of(call))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&helpers->call, &call, call + 1,
                                                    memory_order_acq_rel, memory_order_acquire));
    helpers->fn(helpers->ctx, next_of(call));
    atomic_fetch_add_explicit(&helpers->n_done, 1, memory_order_release);
    return true;
}

void dg_helpers_run(struct dg_helpers *helpers, dg_helpers_fn fn, void *ctx, size_t n_parts)
{
    const uint64_t round =
        (atomic_load_explicit(&helpers->call, memory_order_relaxed) >> 2 * PART_BITS) + 1;
    helpers->fn = fn;
    helpers->ctx = ctx;
    atomic_store_explicit(&helpers->n_done, 0, memory_order_relaxed);
    atomic_store_explicit(&helpers->call, round << 2 * PART_BITS | (uint64_t)n_parts << PART_BITS,
                          memory_order_release);
    size_t n_own = 0;
    while (do_part(helpers))
        n_own++;
    helpers->n_parts += n_parts;
    helpers->n_helped += n_parts - n_own;
    for (unsigned n = 0; atomic_load_explicit(&helpers->n_done, memory_order_acquire) < n_parts;
         n++)
        if (n < WAITS_MOST)
            relax();
        else
            sched_yield();
}

void dg_helpers_help(struct dg_helpers *helpers, const atomic_uint_fast64_t *calls, uint64_t seen)
{
    if (atomic_fetch_add(&helpers->n_helpers, 1) < helpers->most)
        for (unsigned looks = 0; looks < LOOKS_MOST * PAUSES && atomic_load(calls) == seen;) {
            if (do_part(helpers)) {
                looks = 0;
                continue;
            }
            if (++looks % PAUSES == 0)
                sched_yield();
            relax();
        }
    atomic_fetch_sub(&helpers->n_helpers, 1);
}
