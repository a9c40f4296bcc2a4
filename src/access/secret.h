/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A key's secret, which a client sends, and the hash by which the server recognises it.
 *
 *     dg_secret_make(text);                         "dgk_" and 43 letters: 256 random bits
 *     dg_secret_hash(dg_span_cstr(text), &hash);    BLAKE2b, 256 bits: what the server keeps
 *     if (dg_secret_equal(&hash, &other)) ...       in constant time
 *
 * A fast hash is safe here, because nobody can guess 256 random bits, and secrets are never chosen
 * by people. sodium_init must have been called. Any thread. */
#ifndef DG_ACCESS_SECRET_H
#define DG_ACCESS_SECRET_H

#include "base/memory/span.h"

#include <stdbool.h>
#include <stdint.h>

#define DG_SECRET_PREFIX "dgk_"
enum {
    DG_SECRET_BYTES = 32,
    DG_SECRET_TEXT = 4 + 43 + 1,                       /* prefix, base64url, NUL */
    DG_SECRET_HASH_TEXT = 8 + 2 * DG_SECRET_BYTES + 1, /* "blake2b:", hex, NUL */
    DG_SECRET_SENT_MAX = 256,                          /* longer secrets match no key */
};

struct dg_secret_hash {
    uint8_t bytes[DG_SECRET_BYTES];
};

void dg_secret_make(char text[DG_SECRET_TEXT]);

void dg_secret_hash(struct dg_span secret, struct dg_secret_hash *hash);
bool dg_secret_equal(const struct dg_secret_hash *a, const struct dg_secret_hash *b);

/* Write a hash as "blake2b:" and 64 hexadecimal digits, and read it back; false when the text is
 * anything else. */
void dg_secret_hash_format(const struct dg_secret_hash *hash, char text[DG_SECRET_HASH_TEXT]);
bool dg_secret_hash_parse(struct dg_span text, struct dg_secret_hash *hash);

#endif
