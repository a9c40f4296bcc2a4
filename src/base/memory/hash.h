/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* SipHash with a 128-bit key (Aumasson and Bernstein, 2012). Nobody can construct colliding entries
 * without knowing the key, so a hash table that clients fill stays fast.
 *
 *     struct dg_hash_key key = dg_hash_key_random();
 *     uint64_t h = dg_hash_bytes(&key, text);             SipHash-1-3, for tables
 *
 * Do not use it for signatures, passwords or stored data; libsodium serves those. Any thread. */
#ifndef DG_BASE_MEMORY_HASH_H
#define DG_BASE_MEMORY_HASH_H

#include "base/memory/span.h"

#include <stdint.h>

struct dg_hash_key {
    uint64_t k0, k1;
};

/* A key from getrandom(2), or from the clock and addresses where the kernel has none. */
struct dg_hash_key dg_hash_key_random(void);

uint64_t dg_hash_bytes(const struct dg_hash_key *key, struct dg_span bytes);

/* SipHash with `c` rounds per block and `d` final rounds; its authors recommend 2 and 4. */
uint64_t dg_hash_siphash(const struct dg_hash_key *key, struct dg_span bytes, int c, int d);

#endif
