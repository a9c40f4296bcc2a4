/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Random numbers for training: the n-th number of a stream is a function of (seed, stream, n), so
 * that a resumed run needs only these three numbers to draw what it would have drawn without the
 * interruption.
 *
 *     struct dg_random random = dg_random_make(seed, epoch);
 *     size_t at = dg_random_below(&random, n);
 *
 * SplitMix64 (Steele, Lea and Flood, 2014). Not for secrets. One thread for each stream. */
#ifndef DG_TRAIN_DATA_RANDOM_H
#define DG_TRAIN_DATA_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct dg_random {
    uint64_t state;
};

static inline uint64_t dg_random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Combines two numbers into one key. */
static inline uint64_t dg_random_key(uint64_t a, uint64_t b)
{
    return dg_random_mix(dg_random_mix(a + 0x9e3779b97f4a7c15u) + (b + 1) * 0xd1342543de82ef95u);
}

static inline struct dg_random dg_random_make(uint64_t seed, uint64_t stream)
{
    return (struct dg_random){dg_random_key(seed, stream)};
}

static inline uint64_t dg_random_next(struct dg_random *random)
{
    return dg_random_mix(random->state += 0x9e3779b97f4a7c15u);
}

/* Returns a number from 0 to n - 1; n is from 1 to 2^32. */
static inline size_t dg_random_below(struct dg_random *random, size_t n)
{
    return (size_t)(((dg_random_next(random) >> 32) * (uint64_t)n) >> 32);
}

/* Returns a number from 0 to 1, 1 excluded. */
static inline double dg_random_unit(struct dg_random *random)
{
    return (double)(dg_random_next(random) >> 11) * 0x1p-53;
}

#endif
