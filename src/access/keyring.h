/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The keys that hold now, found by the secret that a client sent.
 *
 *     err = dg_keyring_new(&file, &ring);                 takes the file's keys
 *     dg_secret_hash(sent, &hash);
 *     err = dg_keyring_find(ring, &hash, now_s, &key);    NOT_FOUND: nobody's; TIMEOUT: expired
 *     dg_keyring_free(ring);
 *
 * Immutable: new keys are a new ring. What is remembered of a client is the hash of what it sent,
 * which is looked up again when it matters, so that a revoked key ends with the ring it was in.
 *
 * The time that a look-up takes says nothing about the hashes that are kept: the table is ordered
 * by another hash under a random key of this process, and the hash itself is compared in constant
 * time. Any thread may look; one frees. */
#ifndef DG_ACCESS_KEYRING_H
#define DG_ACCESS_KEYRING_H

#include "access/key_file.h"

struct dg_keyring;

/* On success the keys are the ring's and `file` is empty. */
enum dg_err dg_keyring_new(struct dg_key_file *file, struct dg_keyring **ring) DG_MUST_CHECK;
void dg_keyring_free(struct dg_keyring *ring); /* NULL is fine */

/* *key is borrowed until the ring is freed. A secret from before a rotation is good until its time.
 */
enum dg_err dg_keyring_find(const struct dg_keyring *ring, const struct dg_secret_hash *hash,
                            uint64_t now_s, const struct dg_key **key) DG_MUST_CHECK;

size_t dg_keyring_len(const struct dg_keyring *ring);

#endif
