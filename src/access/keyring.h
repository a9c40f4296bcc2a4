/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The keys now in force, found by the secret that a client sent.
 *
 *     err = dg_keyring_new(&file, &ring);                 takes the file's keys
 *     dg_secret_hash(sent, &hash);
 *     err = dg_keyring_find(ring, &hash, now_s, &key);    NOT_FOUND: no such key; TIMEOUT: expired
 *     dg_keyring_free(ring);
 *
 * A ring is immutable; changed keys make a new ring. The server keeps only the hash of a client's
 * secret, and looks it up again whenever that matters, so that a revoked key stops working once a
 * new ring has replaced the old one.
 *
 * The duration of a look-up reveals nothing about the stored hashes: the table is ordered by
 * another hash under a random key of this process, and the hashes themselves are compared in
 * constant time. Any thread may look up; one thread frees. */
#ifndef DG_ACCESS_KEYRING_H
#define DG_ACCESS_KEYRING_H

#include "access/key_file.h"

struct dg_keyring;

/* On success the ring owns the keys and `file` is empty. */
enum dg_err dg_keyring_new(struct dg_key_file *file, struct dg_keyring **ring) DG_MUST_CHECK;
void dg_keyring_free(struct dg_keyring *ring); /* NULL is fine */

/* Finds the key of a secret. *key is borrowed until the ring is freed. A secret from before a
 * rotation is valid until its old-until. */
enum dg_err dg_keyring_find(const struct dg_keyring *ring, const struct dg_secret_hash *hash,
                            uint64_t now_s, const struct dg_key **key) DG_MUST_CHECK;

size_t dg_keyring_len(const struct dg_keyring *ring);

/* Returns whether the file states that it deliberately has no key. */
bool dg_keyring_is_none(const struct dg_keyring *ring);

#endif
