/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Keys and signatures in minisign's file formats, so that minisign verifies our signatures and we
 * verify those of minisign.
 *
 * Each file is text: a line "untrusted comment: ...", which proves nothing, and base64. Numbers are
 * little-endian.
 *
 *     public key   "Ed" id[8] key[32]
 *     secret key   "Ed" kdf[2] "B2" salt[32] ops u64 mem u64, then id[8] key[64] check[32];
 *                  with kdf "Sc" those 104 bytes are XORed with scrypt(password, salt); with a
 *                  kdf of two zero bytes they are not encrypted
 *     signature    "ED" id[8] sig[64] over BLAKE2b-512 of the file ("Ed": over the file itself),
 *                  then a line "trusted comment: TEXT" and base64 of a signature over sig and TEXT
 *
 * Texts are spans, and results go to buffers; nothing here opens files. */
#ifndef DG_MODEL_FILE_MINISIGN_H
#define DG_MODEL_FILE_MINISIGN_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdint.h>

enum { DG_MINISIGN_COMMENT_MAX = 1024, DG_MINISIGN_FILE_MAX = 8192 };

struct dg_minisign_public {
    uint8_t id[8];
    uint8_t key[32];
};

struct dg_minisign_secret { /* must be wiped with dg_minisign_wipe */
    uint8_t id[8];
    uint8_t key[64];
};

/* Makes a new pair of keys. */
enum dg_err dg_minisign_generate(struct dg_minisign_public *public_key,
                                 struct dg_minisign_secret *secret_key) DG_MUST_CHECK;

/* Reads a public key file, or its base64 alone; `print` writes the file. */
enum dg_err dg_minisign_public_parse(struct dg_minisign_public *key, struct dg_span text,
                                     struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_minisign_public_print(const struct dg_minisign_public *key,
                                     struct dg_buf *out) DG_MUST_CHECK;

/* Returns true when the file's secret key is encrypted and a password is needed. */
bool dg_minisign_secret_is_encrypted(struct dg_span text);

/* Reads a secret key file. DG_ERR_DENIED: the password is wrong. Decrypting a key takes a second
 * and up to a gigabyte of memory, as scrypt intends. */
enum dg_err dg_minisign_secret_parse(struct dg_minisign_secret *key, struct dg_span text,
                                     struct dg_span password, struct dg_error *error) DG_MUST_CHECK;

/* Appends a secret key file. With an empty password the key is not encrypted (minisign -W). */
enum dg_err dg_minisign_secret_print(const struct dg_minisign_secret *key, struct dg_span password,
                                     struct dg_buf *out, struct dg_error *error) DG_MUST_CHECK;
void dg_minisign_wipe(struct dg_minisign_secret *key);

/* Appends a signature file for `message`; the trusted comment is one line. */
enum dg_err dg_minisign_sign(const struct dg_minisign_secret *key, struct dg_span message,
                             struct dg_span trusted_comment, struct dg_buf *out,
                             struct dg_error *error) DG_MUST_CHECK;

/* Checks a signature file against `n` keys, one of which must match; every fault is
 * DG_ERR_INTEGRITY. `trusted_comment` borrows from `signature`. */
enum dg_err dg_minisign_verify(const struct dg_minisign_public *keys, size_t n,
                               struct dg_span message, struct dg_span signature,
                               struct dg_span *trusted_comment,
                               struct dg_error *error) DG_MUST_CHECK;

#endif
