/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Keys that several servers have in common, whatever becomes of the place where they meet.
 *
 *     keys = dg_shared_keys_new(secret);
 *     err = dg_shared_keys_load(keys, text, &error);           what was saved
 *     err = dg_shared_keys_take_file(keys, &file, now_ms, &error);   what changed in our own file
 *     verdict = dg_shared_keys_take_row(keys, name, row);      what another server says of a key
 *     err = dg_shared_keys_print_row(keys, name, &row);        what we say of it
 *     err = dg_shared_keys_make(keys, &file);                  all keys that count
 *     err = dg_shared_keys_save(keys, &text);
 *     dg_shared_keys_free(keys);
 *
 * Of each name the newest word counts, a key or that it is revoked, whoever said it and in whatever
 * order it is heard. A revoked name is remembered for good, so that a server that was away, a key
 * file of before and a store that is set back do not bring a key back: one of that name counts
 * again only when it was made after the revocation. A change to our own key file is dated by the
 * clock, and later than what was known; a key that is seen there for the first time is as old as it
 * says.
 *
 * A row is a word with its date, authenticated with the servers' secret: whoever keeps the rows can
 * hold them back, but not make any. One thread. */
#ifndef DG_ACCESS_SHARED_KEYS_H
#define DG_ACCESS_SHARED_KEYS_H

#include "access/key_file.h"

enum {
    DG_SHARED_KEYS_SECRET_MIN = 32, /* bytes */
    DG_SHARED_KEYS_MAX = 200000,    /* names, revoked ones counted */
    DG_SHARED_KEYS_BYTES = 128 << 20,
};

struct dg_shared_keys;

struct dg_shared_keys *dg_shared_keys_new(struct dg_span secret);
void dg_shared_keys_free(struct dg_shared_keys *keys); /* NULL is fine */

/* DG_ERR_INVALID: the file has no key and does not say that this is on purpose; DG_ERR_LIMIT,
 * DG_ERR_NOMEM. */
enum dg_err dg_shared_keys_take_file(struct dg_shared_keys *keys, const struct dg_key_file *file,
                                     uint64_t now_ms, struct dg_error *error) DG_MUST_CHECK;

enum dg_shared_keys_verdict {
    DG_SHARED_KEYS_FALSE, /* it is no row of servers with this secret, or there is no memory */
    DG_SHARED_KEYS_SAME,
    DG_SHARED_KEYS_NEWER, /* and counts from now on */
    DG_SHARED_KEYS_OLDER, /* than what we know: they are to be told */
};
enum dg_shared_keys_verdict dg_shared_keys_take_row(struct dg_shared_keys *keys,
                                                    struct dg_span name, struct dg_span row);

/* DG_ERR_NOT_FOUND: the name is not known. */
enum dg_err dg_shared_keys_print_row(const struct dg_shared_keys *keys, struct dg_span name,
                                     struct dg_buf *row) DG_MUST_CHECK;

/* The names, in no particular order; *at is 0 at first. */
struct dg_shared_keys_state {
    uint64_t version; /* the caller's: that of the row where it is kept */
    bool is_new;      /* others are to be told; the caller takes it back */
};
bool dg_shared_keys_next(const struct dg_shared_keys *keys, size_t *at, const char **name,
                         struct dg_shared_keys_state **state);
struct dg_shared_keys_state *dg_shared_keys_state_of(const struct dg_shared_keys *keys,
                                                     struct dg_span name);

/* The caller's to deinit. DG_ERR_FORMAT, ...: two keys have one secret. */
enum dg_err dg_shared_keys_make(const struct dg_shared_keys *keys,
                                struct dg_key_file *file) DG_MUST_CHECK;

/* DG_ERR_FORMAT: it is damaged, and what came before that is taken. */
enum dg_err dg_shared_keys_save(const struct dg_shared_keys *keys,
                                struct dg_buf *text) DG_MUST_CHECK;
enum dg_err dg_shared_keys_load(struct dg_shared_keys *keys, struct dg_span text,
                                struct dg_error *error) DG_MUST_CHECK;

#endif
