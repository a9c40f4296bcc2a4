/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The generator behind sampling: a counter stepped by the golden ratio, mixed by the finaliser of
 * splitmix64 (Steele, Lea, Flood 2014). Every seed gives a full period of 2^64. */
#include "text/spm_int.h"

double dg_spm_rng_unit(struct dg_spm_rng *rng)
{
    uint64_t x = rng->state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-53;
}
