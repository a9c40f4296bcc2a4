/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Computes the hashes that publishers give: the SHA-256 of a file, and its name in git (SHA-1 over
 * "blob LENGTH", a NUL and the content).
 *
 *     char sha256[DG_DIGEST_SHA256 + 1];
 *     err = dg_digest_sha256(path, stop, sha256, &error);
 *     err = dg_digest_git(path, stop, sha1, &error);
 *
 * The file is read through a small buffer. SHA-1 is good enough to show that a file is the one that
 * a repository lists: whoever could forge such a file could also change the list. Any thread. */
#ifndef DG_FETCH_DIGEST_H
#define DG_FETCH_DIGEST_H

#include "base/memory/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_DIGEST_SHA256 = 64, DG_DIGEST_SHA1 = 40 };

/* `stop` may be NULL; a value other than 0 ends the work with DG_ERR_CANCELLED. */
enum dg_err dg_digest_sha256(const char *path, const volatile sig_atomic_t *stop,
                             char hex[DG_DIGEST_SHA256 + 1], struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_digest_git(const char *path, const volatile sig_atomic_t *stop,
                          char hex[DG_DIGEST_SHA1 + 1], struct dg_error *error) DG_MUST_CHECK;

/* SHA-1 (FIPS 180-4), a piece at a time. */
struct dg_sha1 {
    uint32_t h[5];
    uint64_t len; /* bytes so far */
    uint8_t block[64];
};
void dg_sha1_init(struct dg_sha1 *sha1);
void dg_sha1_add(struct dg_sha1 *sha1, const void *bytes, size_t len);
void dg_sha1_end(struct dg_sha1 *sha1, uint8_t digest[20]);

#endif
