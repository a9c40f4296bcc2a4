/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Random numbers for sampling and simulation. (Secrets come from libsodium.) Each generator has its
 * own small state, and the same seed gives the same numbers on every machine.
 *
 *     struct dg_rng rng;
 *     dg_rng_init(&rng, seed, lane);         lanes of one seed are independent of each other
 *     double x = dg_rng_uniform(&rng); */
#ifndef DG_BASE_MEMORY_RNG_H
#define DG_BASE_MEMORY_RNG_H

#include <stdint.h>

struct dg_rng {
    uint64_t state[4];
};

void dg_rng_init(struct dg_rng *rng, uint64_t seed, uint64_t lane);

/* 64 random bits. */
uint64_t dg_rng_next(struct dg_rng *rng);

/* Uniform in [0, 1). */
double dg_rng_uniform(struct dg_rng *rng);

#endif
