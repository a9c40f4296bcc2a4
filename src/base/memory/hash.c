/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* SipHash, after the paper: four words of state, each 8 bytes of input mixed in between rounds, the
 * length in the last block's top byte. Words are little-endian on every machine. */
#include "base/memory/hash.h"

#include <sys/random.h>
#include <time.h>

struct state {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline void mix(struct state *s, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotate(s->v1, 13) ^ s->v0;
        s->v3 = rotate(s->v3, 16) ^ s->v2;
        s->v0 = rotate(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = rotate(s->v1, 17) ^ s->v2;
        s->v3 = rotate(s->v3, 21) ^ s->v0;
        s->v2 = rotate(s->v2, 32);
    }
}

/* Reads up to 8 bytes as a little-endian word. */
static inline uint64_t load(const char *bytes, size_t n)
{
    uint64_t word = 0;
    memcpy(&word, bytes, n);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline uint64_t siphash(const struct dg_hash_key *key, struct dg_span bytes, int c, int d)
{
    struct state s = {key->k0 ^ 0x736f6d6570736575u, key->k1 ^ 0x646f72616e646f6du,
                      key->k0 ^ 0x6c7967656e657261u, key->k1 ^ 0x7465646279746573u};
    size_t at = 0;
    for (; bytes.len - at >= 8; at += 8) {
        uint64_t word = load(bytes.ptr + at, 8);
        s.v3 ^= word;
        mix(&s, c);
        s.v0 ^= word;
    }
    uint64_t last = (uint64_t)bytes.len << 56;
    if (at < bytes.len)
        last |= load(bytes.ptr + at, bytes.len - at);
    s.v3 ^= last;
    mix(&s, c);
    s.v0 ^= last;
    s.v2 ^= 0xFF;
    mix(&s, d);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t dg_hash_bytes(const struct dg_hash_key *key, struct dg_span bytes)
{
    return siphash(key, bytes, 1, 3);
}

uint64_t dg_hash_siphash(const struct dg_hash_key *key, struct dg_span bytes, int c, int d)
{
    return siphash(key, bytes, c, d);
}

struct dg_hash_key dg_hash_key_random(void)
{
    struct dg_hash_key key;
    if (getrandom(&key, sizeof key, GRND_NONBLOCK) == (ssize_t)sizeof key)
        return key;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    key.k0 = (uint64_t)now.tv_nsec * 0x9E3779B97F4A7C15u ^ (uint64_t)now.tv_sec;
    key.k1 = (uint64_t)(uintptr_t)&key ^ key.k0 << 17;
    return key;
}
