/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* This file stores nothing about clients: the ring has the keys, and the quota has the counts. */
#include "access/access.h"
#include "base/memory/mem.h"

#include <stdio.h>

struct dg_access {
    const struct dg_clock *clock; /* borrowed */
    const struct dg_quota *quota; /* borrowed */
    struct dg_keyring *ring;      /* owned; NULL: no keys in use */
    struct dg_access_rules rules;
    bool (*may_lack)(void *ctx); /* NULL: this server knows all keys */
    void *ctx;
};

struct dg_access *dg_access_new(const struct dg_clock *clock, const struct dg_quota *quota)
{
    struct dg_access *access = dg_xcalloc(1, sizeof *access);
    access->clock = clock;
    access->quota = quota;
    access->rules = (struct dg_access_rules)DG_ACCESS_RULES_DEFAULT;
    return access;
}

void dg_access_free(struct dg_access *access)
{
    if (!access)
        return;
    dg_keyring_free(access->ring);
    dg_free(access);
}

void dg_access_set_rules(struct dg_access *access, const struct dg_access_rules *rules)
{
    access->rules = *rules;
}

void dg_access_set_ring(struct dg_access *access, struct dg_keyring *ring)
{
    dg_keyring_free(access->ring);
    access->ring = ring;
}

void dg_access_set_source(struct dg_access *access, bool (*may_lack)(void *ctx), void *ctx)
{
    access->may_lack = may_lack;
    access->ctx = ctx;
}

const struct dg_quota *dg_access_quota(const struct dg_access *access)
{
    return access->quota;
}

bool dg_access_has_keys(const struct dg_access *access)
{
    return access->ring != NULL;
}

size_t dg_access_n_keys(const struct dg_access *access)
{
    return access->ring ? dg_keyring_len(access->ring) : 0;
}

const struct dg_access_rules *dg_access_rules(const struct dg_access *access)
{
    return &access->rules;
}

static struct dg_who nobody(const struct dg_access *access)
{
    return (struct dg_who){.name = "", .role = DG_KEY_USER, .priority = access->rules.priority};
}

/* Finds the key by the hash in `who`. */
static enum dg_err find(const struct dg_access *access, struct dg_who *who)
{
    const struct dg_key *key;
    enum dg_err err =
        dg_keyring_find(access->ring, &who->hash, dg_clock_wall(access->clock) / DG_CLOCK_S, &key);
    if (err)
        return err;
    snprintf(who->name, sizeof who->name, "%s", key->name);
    who->role = (enum dg_key_role)key->role;
    who->priority = (enum dg_key_priority)key->priority;
    who->has_priority = true;
    return DG_OK;
}

enum dg_err dg_access_identify(const struct dg_access *access, struct dg_span sent,
                               struct dg_who *who)
{
    struct dg_who found = nobody(access);
    enum dg_err err = DG_OK;
    if (access->ring && sent.len > DG_SECRET_SENT_MAX)
        return DG_ERR_NOT_FOUND;
    if (access->ring && sent.len) {
        dg_secret_hash(sent, &found.hash);
        err = find(access, &found);
        if (err == DG_ERR_NOT_FOUND && access->may_lack && access->may_lack(access->ctx))
            err = DG_ERR_BUSY;
    }
    if (!err)
        *who = found;
    return err;
}

enum dg_err dg_access_again(const struct dg_access *access, struct dg_who *who)
{
    if (access->ring && dg_who_has_key(who))
        return find(access, who);
    *who = nobody(access);
    return DG_OK;
}

const struct dg_key *dg_access_key(const struct dg_access *access, const struct dg_who *who)
{
    const struct dg_key *key;
    if (!access->ring || !dg_who_has_key(who) ||
        dg_keyring_find(access->ring, &who->hash, dg_clock_wall(access->clock) / DG_CLOCK_S,
                        &key) != DG_OK)
        return NULL;
    return key;
}

struct dg_quota_ask dg_access_ask(const struct dg_access *access, const struct dg_who *who,
                                  struct dg_span client, struct dg_quota_id *id)
{
    const struct dg_key *key = dg_access_key(access, who);
    if (key) {
        snprintf(id->text, sizeof id->text, "%s", key->name);
        return (struct dg_quota_ask){
            .kind = DG_QUOTA_KEY,
            .id = dg_span_cstr(id->text),
            .limits = {[DG_QUOTA_REQUESTS] = (uint64_t)key->requests_per_minute,
                       [DG_QUOTA_CHARACTERS] = (uint64_t)key->characters_per_minute,
                       [DG_QUOTA_HOUR] = (uint64_t)key->requests_per_hour,
                       [DG_QUOTA_DAY] = (uint64_t)key->requests_per_day,
                       [DG_QUOTA_MONTH] = (uint64_t)key->characters_per_month},
        };
    }
    *id = dg_quota_address(client);
    return (struct dg_quota_ask){
        .kind = DG_QUOTA_ADDRESS,
        .id = dg_span_cstr(id->text),
        .limits = {[DG_QUOTA_REQUESTS] = access->rules.requests_per_minute,
                   [DG_QUOTA_CHARACTERS] = access->rules.characters_per_minute,
                   [DG_QUOTA_HOUR] = access->rules.requests_per_hour,
                   [DG_QUOTA_DAY] = access->rules.requests_per_day},
    };
}
