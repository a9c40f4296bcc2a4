/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* FIPS 180-4, section 6.1, over a padded copy of the text. */
#include "net/proto/sha1.h"

#include <assert.h>

enum { BLOCK = 64, ROUNDS = 80 };

static uint32_t rotate(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

static void compress(uint32_t h[5], const uint8_t block[BLOCK])
{
    uint32_t w[ROUNDS];
    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
               (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
    for (int t = 16; t < ROUNDS; t++)
        w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (int t = 0; t < ROUNDS; t++) {
        uint32_t f, k;
        if (t < 20) {
            f = (b & c) | (~b & d);
            k = 0x5A827999;
        } else if (t < 40) {
            f = b ^ c ^ d;
            k = 0x6ED9EBA1;
        } else if (t < 60) {
            f = (b & c) | (b & d) | (c & d);
            k = 0x8F1BBCDC;
        } else {
            f = b ^ c ^ d;
            k = 0xCA62C1D6;
        }
        uint32_t next = rotate(a, 5) + f + e + k + w[t];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

void dg_sha1(struct dg_span text, uint8_t digest[DG_SHA1_BYTES])
{
    assert(text.len <= DG_SHA1_TEXT_MAX);
    uint8_t padded[DG_SHA1_TEXT_MAX + 2 * BLOCK] = {0};
    uint32_t h[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    if (text.len)
        memcpy(padded, text.ptr, text.len);
    padded[text.len] = 0x80;
    size_t len = (text.len + 9 + BLOCK - 1) / BLOCK * BLOCK;
    uint64_t bits = (uint64_t)text.len * 8;
    for (int i = 0; i < 8; i++)
        padded[len - 1 - (size_t)i] = (uint8_t)(bits >> 8 * i);
    for (size_t at = 0; at < len; at += BLOCK)
        compress(h, padded + at);
    for (int i = 0; i < DG_SHA1_BYTES; i++)
        digest[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}
