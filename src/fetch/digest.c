/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* SHA-256 is libsodium's. libsodium has no SHA-1, so SHA-1 is implemented here. */
#include "fetch/digest.h"
#include "base/memory/error.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 64 * 1024 };

/* ---- SHA-1 ----------------------------------------------------------------------------------- */

static uint32_t turn(uint32_t word, int bits)
{
    return word << bits | word >> (32 - bits);
}

static void mix(struct dg_sha1 *sha1)
{
    uint32_t w[80];
    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)sha1->block[4 * t] << 24 | (uint32_t)sha1->block[4 * t + 1] << 16 |
               (uint32_t)sha1->block[4 * t + 2] << 8 | sha1->block[4 * t + 3];
    for (int t = 16; t < 80; t++)
        w[t] = turn(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    uint32_t a = sha1->h[0], b = sha1->h[1], c = sha1->h[2], d = sha1->h[3], e = sha1->h[4];
    for (int t = 0; t < 80; t++) {
        const uint32_t f = t < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                           : t < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                           : t < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                                    : (b ^ c ^ d) + 0xca62c1d6;
        const uint32_t next = turn(a, 5) + f + e + w[t];
        e = d;
        d = c;
        c = turn(b, 30);
        b = a;
        a = next;
    }
    sha1->h[0] += a;
    sha1->h[1] += b;
    sha1->h[2] += c;
    sha1->h[3] += d;
    sha1->h[4] += e;
}

void dg_sha1_init(struct dg_sha1 *sha1)
{
    *sha1 = (struct dg_sha1){
        .h = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0},
    };
}

void dg_sha1_add(struct dg_sha1 *sha1, const void *bytes, size_t len)
{
    const uint8_t *from = bytes;
    while (len) {
        const size_t used = sha1->len % sizeof sha1->block, room = sizeof sha1->block - used;
        const size_t n = len < room ? len : room;
        memcpy(sha1->block + used, from, n);
        sha1->len += n;
        from += n;
        len -= n;
        if (n == room)
            mix(sha1);
    }
}

void dg_sha1_end(struct dg_sha1 *sha1, uint8_t digest[20])
{
    static const uint8_t one = 0x80, zero = 0;
    const uint64_t bits = sha1->len * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    dg_sha1_add(sha1, &one, 1);
    while (sha1->len % 64 != 56)
        dg_sha1_add(sha1, &zero, 1);
    dg_sha1_add(sha1, length, sizeof length);
    for (int i = 0; i < 20; i++)
        digest[i] = (uint8_t)(sha1->h[i / 4] >> (24 - i % 4 * 8));
}

/* ---- Files ----------------------------------------------------------------------------------- */

struct digest {
    bool is_git;
    crypto_hash_sha256_state sha256;
    struct dg_sha1 sha1;
};

static void add(struct digest *digest, const void *bytes, size_t len)
{
    if (digest->is_git)
        dg_sha1_add(&digest->sha1, bytes, len);
    else
        crypto_hash_sha256_update(&digest->sha256, bytes, len);
}

static enum dg_err pass(struct digest *digest, const char *path, const volatile sig_atomic_t *stop,
                        struct dg_error *error)
{
    char piece[PIECE], head[32];
    struct stat st;
    enum dg_err err = DG_OK;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) != 0) {
        err = dg_error_errno(error, "cannot read %s", path);
    } else if (digest->is_git) {
        const int n = snprintf(head, sizeof head, "blob %lld", (long long)st.st_size);
        add(digest, head, (size_t)n + 1);
    }
    while (!err) {
        const ssize_t n = read(fd, piece, sizeof piece);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            err = dg_error_errno(error, "cannot read %s", path);
        else if (n > 0)
            add(digest, piece, (size_t)n);
        if (!err && stop && *stop)
            err = dg_error_set(error, DG_ERR_CANCELLED, "stopped");
    }
    if (fd >= 0)
        close(fd);
    return err;
}

enum dg_err dg_digest_sha256(const char *path, const volatile sig_atomic_t *stop,
                             char hex[DG_DIGEST_SHA256 + 1], struct dg_error *error)
{
    struct digest digest = {.is_git = false};
    uint8_t bytes[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_init(&digest.sha256);
    enum dg_err err = pass(&digest, path, stop, error);
    if (err)
        return err;
    crypto_hash_sha256_final(&digest.sha256, bytes);
    sodium_bin2hex(hex, DG_DIGEST_SHA256 + 1, bytes, sizeof bytes);
    return DG_OK;
}

enum dg_err dg_digest_git(const char *path, const volatile sig_atomic_t *stop,
                          char hex[DG_DIGEST_SHA1 + 1], struct dg_error *error)
{
    struct digest digest = {.is_git = true};
    uint8_t bytes[20];
    dg_sha1_init(&digest.sha1);
    enum dg_err err = pass(&digest, path, stop, error);
    if (err)
        return err;
    dg_sha1_end(&digest.sha1, bytes);
    sodium_bin2hex(hex, DG_DIGEST_SHA1 + 1, bytes, sizeof bytes);
    return DG_OK;
}
