/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* libsodium does all the work. */
#include "access/secret.h"

#include <sodium.h>
#include <string.h>

static const char hash_prefix[] = "blake2b:";
enum { HASH_PREFIX_LEN = sizeof hash_prefix - 1, PREFIX_LEN = sizeof DG_SECRET_PREFIX - 1 };

void dg_secret_make(char text[DG_SECRET_TEXT])
{
    uint8_t random[DG_SECRET_BYTES];
    randombytes_buf(random, sizeof random);
    memcpy(text, DG_SECRET_PREFIX, PREFIX_LEN);
    sodium_bin2base64(text + PREFIX_LEN, DG_SECRET_TEXT - PREFIX_LEN, random, sizeof random,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(random, sizeof random);
}

void dg_secret_hash(struct dg_span secret, struct dg_secret_hash *hash)
{
    crypto_generichash(hash->bytes, sizeof hash->bytes, (const uint8_t *)secret.ptr, secret.len,
                       NULL, 0);
}

bool dg_secret_equal(const struct dg_secret_hash *a, const struct dg_secret_hash *b)
{
    return sodium_memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

void dg_secret_hash_format(const struct dg_secret_hash *hash, char text[DG_SECRET_HASH_TEXT])
{
    memcpy(text, hash_prefix, HASH_PREFIX_LEN);
    sodium_bin2hex(text + HASH_PREFIX_LEN, DG_SECRET_HASH_TEXT - HASH_PREFIX_LEN, hash->bytes,
                   sizeof hash->bytes);
}

bool dg_secret_hash_parse(struct dg_span text, struct dg_secret_hash *hash)
{
    uint8_t bytes[DG_SECRET_BYTES];
    size_t len;
    if (text.len != DG_SECRET_HASH_TEXT - 1 ||
        memcmp(text.ptr, hash_prefix, HASH_PREFIX_LEN) != 0 ||
        sodium_hex2bin(bytes, sizeof bytes, text.ptr + HASH_PREFIX_LEN, text.len - HASH_PREFIX_LEN,
                       NULL, &len, NULL) != 0 ||
        len != sizeof bytes)
        return false;
    memcpy(hash->bytes, bytes, sizeof bytes);
    return true;
}
