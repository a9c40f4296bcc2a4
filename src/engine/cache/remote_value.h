/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: the keys and values of a remote cache, and the verification of values that it
 * returns.
 *
 *     key     "dragoman:1:" and 64 hexadecimal digits: BLAKE2b-256 of the program's version, the
 *             model's fingerprint, its longest target, how keys and values are stored, in which
 *             type products are computed, and the local cache's key (cache.h)
 *
 *     value   "DGA1", answers, then 16 bytes: BLAKE2b of all that precedes, keyed with the key. An
 *             answer is its finish and whether it was repaired (a byte each), log-probability and
 *             score (8 bytes each), the number of its ids (4 bytes), its ids and their
 *             log-probabilities (4 bytes each); everything in little-endian order
 *
 * Pure functions, any thread. */
#ifndef DG_ENGINE_CACHE_REMOTE_VALUE_H
#define DG_ENGINE_CACHE_REMOTE_VALUE_H

#include "base/memory/buf.h"
#include "decode/decoder.h"
#include "engine/cache/remote.h"
#include "sched/ticket.h"

enum { DG_FINGERPRINT_BYTES = 32 };

/* Hashes the content of the files of a model directory. */
enum dg_err dg_remote_fingerprint(const char *dir, struct dg_error *error,
                                  unsigned char fingerprint[DG_FINGERPRINT_BYTES]) DG_MUST_CHECK;

/* `local` is the key that dg_cache_key made for version 0. Writes text with its NUL. */
void dg_remote_key(const unsigned char fingerprint[DG_FINGERPRINT_BYTES],
                   const struct dg_decoder_limits *limits, struct dg_span local,
                   char key[DG_REMOTE_KEY_MAX]);

/* Appends a ticket's answers. DG_ERR_UNSUPPORTED: the answers cannot be shared (they have an
 * alignment, or one is incomplete). */
enum dg_err dg_remote_value_write(const struct dg_ticket *ticket, const char *key,
                                  struct dg_buf *value) DG_MUST_CHECK;

/* Gives a new ticket the answers in `value`, as if it had been translated. DG_ERR_INTEGRITY, with
 * the ticket unchanged: dg_remote_value_write does not write this value for this key, or the value
 * has an id that is not below `n_words`. */
enum dg_err dg_remote_value_read(struct dg_span value, const char *key, size_t n_words,
                                 struct dg_ticket *ticket) DG_MUST_CHECK;

#endif
