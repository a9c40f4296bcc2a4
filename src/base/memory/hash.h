/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* SipHash with a 128-bit key (Aumasson and Bernstein, 2012): without the key nobody can make keys
 * that collide, so a hash table filled from the network stays a hash table.
 *
 *     struct dg_hash_key key = dg_hash_key_random();
 *     uint64_t h = dg_hash_bytes(&key, text);             SipHash-1-3, for tables
 *
 * Not for signatures, passwords or anything stored: that is libsodium's work. Any thread. */
#ifndef DG_BASE_MEMORY_HASH_H
#define DG_BASE_MEMORY_HASH_H

#include "base/memory/span.h"

#include <stdint.h>

struct dg_hash_key {
    uint64_t k0, k1;
};

/* From the kernel; falls back to clock and addresses where there is no getrandom(2). */
struct dg_hash_key dg_hash_key_random(void);

uint64_t dg_hash_bytes(const struct dg_hash_key *key, struct dg_span bytes);

/* SipHash with `c` rounds a block and `d` at the end; the authors' own is 2-4. */
uint64_t dg_hash_siphash(const struct dg_hash_key *key, struct dg_span bytes, int c, int d);

#endif
