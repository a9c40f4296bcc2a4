/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Who may come in, and what they may do: keys, the rules for those without one, and quotas
 * together.
 *
 *     access = dg_access_new(&clock, &local_quota);
 *     dg_access_set_rules(access, &rules);                at start and after a reload
 *     dg_access_set_ring(access, ring);                   takes it; NULL: no keys in use
 *
 *     err = dg_access_identify(access, sent, &who);       for each request; sent is "" without a
 * key if (!dg_access_allows(access, &who, model)) ... struct dg_quota_ask ask =
 * dg_access_ask(access, &who, client, &id); ask.requests = 1; ask.characters = n; ticket =
 * dg_quota_charge(dg_access_quota(access), &ask, then, ctx);
 *
 * A struct dg_who is a value: it may be kept as long as wanted and asked again (dg_access_again),
 * which is how a revoked key ends on a WebSocket that is open. One thread: the loop's. */
#ifndef DG_ACCESS_ACCESS_H
#define DG_ACCESS_ACCESS_H

#include "access/keyring.h"
#include "access/quota.h"
#include "base/memory/clock.h"

struct dg_access;

struct dg_access_rules {
    bool require_key;
    uint64_t requests_per_minute, characters_per_minute; /* of an address without a key; 0: no limit
                                                          */
    enum dg_key_priority priority;                       /* the highest without a key */
};
#define DG_ACCESS_RULES_DEFAULT                                                                    \
    {                                                                                              \
        .priority = DG_KEY_INTERACTIVE                                                             \
    }

struct dg_who {
    char name[DG_KEY_NAME_MAX + 1]; /* of the key; "" without one */
    struct dg_secret_hash hash;     /* of what was sent */
    enum dg_key_role role;
    enum dg_key_priority priority; /* what its requests get, and the highest they may ask for */
    bool has_priority;             /* the key says so, not only the rules for everybody */
};

static inline bool dg_who_has_key(const struct dg_who *who)
{
    return who->name[0] != '\0';
}

/* `quota` is borrowed; so is what replaces it. */
struct dg_access *dg_access_new(const struct dg_clock *clock, const struct dg_quota *quota);
void dg_access_free(struct dg_access *access); /* NULL is fine */

void dg_access_set_rules(struct dg_access *access, const struct dg_access_rules *rules);
void dg_access_set_ring(struct dg_access *access, struct dg_keyring *ring);

/* Counts elsewhere from now on, in a store that several processes share; nothing may be under way.
 */
void dg_access_set_quota(struct dg_access *access, const struct dg_quota *quota);
const struct dg_quota *dg_access_quota(const struct dg_access *access);

/* Keys are in use; without, what a client sends as one means nothing. */
bool dg_access_has_keys(const struct dg_access *access);
size_t dg_access_n_keys(const struct dg_access *access);
const struct dg_access_rules *dg_access_rules(const struct dg_access *access);

/* DG_OK: a key's owner, or nobody in particular (sent is empty, or keys are not in use), whether or
 * not that is enough; DG_ERR_NOT_FOUND: the key is nobody's; DG_ERR_TIMEOUT: it has expired. */
enum dg_err dg_access_identify(const struct dg_access *access, struct dg_span sent,
                               struct dg_who *who) DG_MUST_CHECK;

/* The same for somebody who was identified before; the facts in `who` are refreshed. */
enum dg_err dg_access_again(const struct dg_access *access, struct dg_who *who) DG_MUST_CHECK;

/* The key of somebody, as it is now; NULL without one. Borrowed until the next set_ring. */
const struct dg_key *dg_access_key(const struct dg_access *access, const struct dg_who *who);

/* Whether a model of this name may be used. */
bool dg_access_allows(const struct dg_access *access, const struct dg_who *who,
                      struct dg_span model);

/* The question to the quota, but for what it costs: by key, else by address, whose id is put into
 * *id, which has to live as long as the ask. */
struct dg_quota_ask dg_access_ask(const struct dg_access *access, const struct dg_who *who,
                                  struct dg_span client, struct dg_quota_id *id);

#endif
