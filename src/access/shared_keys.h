/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Keys that several servers share through a store, and what each server remembers of them. A
 * statement about a name is either a key or its revocation, and has a date. The newest statement
 * counts, whichever server made it and in whatever order they arrive. A revocation is remembered
 * for good. So a server that was away, an old copy of a key file or a store that lost its data
 * cannot bring a key back: a key of that name counts again only if it was made after the
 * revocation. A change in our own key file is dated by the clock, but always later than what was
 * known; a key that is seen there for the first time has the date that the file gives. A row is a
 * statement with its date, authenticated with the secret of the servers: whoever keeps the rows can
 * withhold them, but cannot forge one. One thread. */
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

/* Takes the statements of our own key file. DG_ERR_INVALID: the file has no keys and does not say
 * that this is on purpose; DG_ERR_LIMIT, DG_ERR_NOMEM. */
enum dg_err dg_shared_keys_take_file(struct dg_shared_keys *keys, const struct dg_key_file *file,
                                     uint64_t now_ms, struct dg_error *error) DG_MUST_CHECK;

enum dg_shared_keys_verdict {
    DG_SHARED_KEYS_FALSE, /* no server with this secret made the row, or there is no memory */
    DG_SHARED_KEYS_SAME,
    DG_SHARED_KEYS_NEWER, /* the row is newer than what we know, and counts from now on */
    /* the row is older than what we know, so the other servers must be told */
    DG_SHARED_KEYS_OLDER,
};
enum dg_shared_keys_verdict dg_shared_keys_take_row(struct dg_shared_keys *keys,
                                                    struct dg_span name, struct dg_span row);

/* Appends the row of a name. DG_ERR_NOT_FOUND: the name is not known. */
enum dg_err dg_shared_keys_print_row(const struct dg_shared_keys *keys, struct dg_span name,
                                     struct dg_buf *row) DG_MUST_CHECK;

/* Walks over the names, in no particular order; *at is 0 at first. */
struct dg_shared_keys_state {
    uint64_t version; /* for the caller: the version of the row in the store */
    bool is_new;      /* the other servers must be told; the caller resets it */
};
bool dg_shared_keys_next(const struct dg_shared_keys *keys, size_t *at, const char **name,
                         struct dg_shared_keys_state **state);
struct dg_shared_keys_state *dg_shared_keys_state_of(const struct dg_shared_keys *keys,
                                                     struct dg_span name);

/* Makes a key file of all keys in force; the caller deinits it. */
enum dg_err dg_shared_keys_make(const struct dg_shared_keys *keys,
                                struct dg_key_file *file) DG_MUST_CHECK;

/* Write all statements as text, and read them back. DG_ERR_FORMAT: the text is damaged; what came
 * before the damage was taken. */
enum dg_err dg_shared_keys_save(const struct dg_shared_keys *keys,
                                struct dg_buf *text) DG_MUST_CHECK;
enum dg_err dg_shared_keys_load(struct dg_shared_keys *keys, struct dg_span text,
                                struct dg_error *error) DG_MUST_CHECK;

#endif
