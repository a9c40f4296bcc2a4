/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Xoshiro256** (Blackman, Vigna 2018), seeded by splitmix64 (Steele, Lea, Flood 2014). */
#include "base/memory/rng.h"

/* Splitmix64: spreads a seed over the state. */
static uint64_t spread(uint64_t *x)
{
    uint64_t z = *x += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

void dg_rng_init(struct dg_rng *rng, uint64_t seed, uint64_t lane)
{
    uint64_t x = seed;
    uint64_t mixed = spread(&x) ^ lane * 0xD1342543DE82EF95u;
    for (int i = 0; i < 4; i++)
        rng->state[i] = spread(&mixed);
}

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

uint64_t dg_rng_next(struct dg_rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

double dg_rng_uniform(struct dg_rng *rng)
{
    return (double)(dg_rng_next(rng) >> 11) * 0x1.0p-53;
}
