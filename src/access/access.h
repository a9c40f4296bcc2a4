/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Access control: who may use the server, and what they may do. It combines keys, the rules for
 * clients without a key, and quotas.
 *
 *     access = dg_access_new(&clock, &local_quota);
 *     dg_access_set_rules(access, &rules);                at start and after a reload
 *     dg_access_set_ring(access, ring);                   takes the ring; NULL: no keys in use
 *
 *     err = dg_access_identify(access, sent, &who);       for each request; "" without a key
 *     struct dg_quota_ask ask = dg_access_ask(access, &who, client, &id);
 *     ask.requests = 1;
 *     ask.characters = n;
 *     ticket = dg_quota_charge(dg_access_quota(access), &ask, then, ctx);
 *
 * A struct dg_who is a value, which may be kept and checked again later (dg_access_again); so a
 * revoked key stops working on an open WebSocket too. One thread: the loop's. */
#ifndef DG_ACCESS_ACCESS_H
#define DG_ACCESS_ACCESS_H

#include "access/keyring.h"
#include "access/quota.h"
#include "base/memory/clock.h"

struct dg_access;

struct dg_access_rules {
    bool require_key;
    /* Per address without a key; 0: no limit. */
    uint64_t requests_per_minute, characters_per_minute, requests_per_hour, requests_per_day;
    enum dg_key_priority priority; /* the highest priority of requests without a key */
};
#define DG_ACCESS_RULES_DEFAULT                                                                    \
    {                                                                                              \
        .priority = DG_KEY_INTERACTIVE                                                             \
    }

struct dg_who {
    char name[DG_KEY_NAME_MAX + 1]; /* the key's name; "" without a key */
    struct dg_secret_hash hash;     /* hash of the secret that was sent */
    enum dg_key_role role;
    enum dg_key_priority priority; /* the default and the highest priority of its requests */
    bool has_priority;             /* the priority comes from the key, not from the general rules */
};

static inline bool dg_who_has_key(const struct dg_who *who)
{
    return who->name[0] != '\0';
}

/* `quota` is borrowed. */
struct dg_access *dg_access_new(const struct dg_clock *clock, const struct dg_quota *quota);
void dg_access_free(struct dg_access *access); /* NULL is fine */

void dg_access_set_rules(struct dg_access *access, const struct dg_access_rules *rules);
void dg_access_set_ring(struct dg_access *access, struct dg_keyring *ring);

const struct dg_quota *dg_access_quota(const struct dg_access *access);

/* Returns true when keys are in use. When they are not, a key that a client sends is ignored. */
bool dg_access_has_keys(const struct dg_access *access);
size_t dg_access_n_keys(const struct dg_access *access);
const struct dg_access_rules *dg_access_rules(const struct dg_access *access);

/* Where servers share keys: `may_lack` returns true while this one may not know the newest. */
void dg_access_set_source(struct dg_access *access, bool (*may_lack)(void *ctx), void *ctx);

/* Finds out who sent a request. DG_OK: the owner of a key, or an anonymous client (`sent` is empty,
 * or keys are not in use), who may still lack permission. DG_ERR_NOT_FOUND: there is no such key.
 * DG_ERR_BUSY: this server knows no such key, but another may. DG_ERR_TIMEOUT: the key has
 * expired. */
enum dg_err dg_access_identify(const struct dg_access *access, struct dg_span sent,
                               struct dg_who *who) DG_MUST_CHECK;

/* Checks once more a client that was identified before, and refreshes `who`. */
enum dg_err dg_access_again(const struct dg_access *access, struct dg_who *who) DG_MUST_CHECK;

/* Returns the present key of a client; NULL if it has none. Borrowed until the next
 * dg_access_set_ring. */
const struct dg_key *dg_access_key(const struct dg_access *access, const struct dg_who *who);

/* Prepares a charge, without its costs: by key, or else by address. The address's id is written to
 * *id, which must live as long as the result. */
struct dg_quota_ask dg_access_ask(const struct dg_access *access, const struct dg_who *who,
                                  struct dg_span client, struct dg_quota_id *id);

#endif
