/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Keeps the keys and values of beginnings of prompts for later prompts that begin alike: a system
 * prompt, a template, the earlier turns of a conversation. A row depends only on the tokens up to
 * it, so that a prompt that shares a beginning gets the bits that it would have computed.
 *
 * There are few entries, each a list of tokens and of the cached positions that hold them, with a
 * reference on every position. Each prompt that has been read leaves an entry. If the prompt
 * continues an entry, it replaces the entry; if the two only begin alike, the entry is shortened to
 * their common beginning. So after two requests with the same beginning, that beginning stays. The
 * least recently used entry makes room for a new one. Entries take only positions that are not
 * promised to any slot, at most half of all, and give them up as soon as a slot needs them, so they
 * take no memory besides the pool. */
#include "network/net_int.h"

enum { LEAST = 8 }; /* tokens; it is faster to compute fewer tokens again than to share them */

void dg_net_prefix_carve(struct dg_net_state *state, struct net_carve *carve)
{
    for (size_t i = 0; i < NET_PREFIXES; i++) {
        struct net_prefix *prefix = &state->prefixes[i];
        *prefix = (struct net_prefix){.n = 0};
        prefix->ids = dg_net_carve(carve, state->limits.source_len, sizeof *prefix->ids);
        prefix->at = dg_net_carve(carve, state->limits.source_len, sizeof *prefix->at);
    }
}

/* Shortens an entry to `n` tokens. */
static void shorten(struct dg_net_state *state, struct net_prefix *prefix, size_t n)
{
    while (prefix->n > n) {
        dg_net_drop_position(state, prefix->at[--prefix->n]);
        state->n_kept--;
    }
}

/* Returns the least recently used entry other than `but`; NULL: there is none. */
static struct net_prefix *oldest(struct dg_net_state *state, const struct net_prefix *but)
{
    struct net_prefix *found = NULL;
    for (size_t i = 0; i < NET_PREFIXES; i++) {
        struct net_prefix *prefix = &state->prefixes[i];
        if (prefix->n && prefix != but && (!found || prefix->used < found->used))
            found = prefix;
    }
    return found;
}

void dg_net_prefix_give_way(struct dg_net_state *state)
{
    for (struct net_prefix *prefix; state->n_promised + state->n_kept > state->limits.kv_tokens &&
                                    (prefix = oldest(state, NULL));)
        shorten(state, prefix, 0);
}

/* Finds the entry that has most of the first `n` tokens in common, *n_common of them; NULL: no
 * entry has enough. */
static struct net_prefix *find(struct dg_net_state *state, const int32_t *ids, size_t n,
                               size_t *n_common)
{
    struct net_prefix *found = NULL;
    *n_common = LEAST - 1;
    for (size_t i = 0; i < NET_PREFIXES; i++) {
        struct net_prefix *prefix = &state->prefixes[i];
        size_t same = 0;
        while (same < prefix->n && same < n && prefix->ids[same] == ids[same])
            same++;
        if (same > *n_common) {
            *n_common = same;
            found = prefix;
        }
    }
    if (found)
        found->used = ++state->n_prefix_uses;
    return found;
}

size_t dg_net_prefix_share(struct dg_net_state *state, struct net_slot *slot, const int32_t *ids)
{
    size_t n = 0;
    const struct net_prefix *prefix = find(state, ids, slot->n_source - 1, &n);
    if (!prefix)
        return 0;
    for (size_t i = 0; i < n; i++) {
        dg_net_drop_position(state, slot->source_at[i]);
        slot->source_at[i] = prefix->at[i];
        state->refs[prefix->at[i]]++;
    }
    return n;
}

/* Makes room for `n` more kept positions without touching `prefix`; returns false if that is
 * impossible. */
static bool make_room(struct dg_net_state *state, const struct net_prefix *prefix, size_t n)
{
    const size_t all = state->limits.kv_tokens;
    while (state->n_kept + n > all / 2 || state->n_promised + state->n_kept + n > all) {
        struct net_prefix *other = oldest(state, prefix);
        if (!other)
            return false;
        shorten(state, other, 0);
    }
    return true;
}

void dg_net_prefix_keep(struct dg_net_state *state, const struct net_slot *slot, const int32_t *ids)
{
    const size_t n = slot->n_source - 1;
    size_t n_common = 0;
    struct net_prefix *prefix = n >= LEAST ? find(state, ids, n, &n_common) : NULL;
    if (n < LEAST)
        return;
    if (prefix && n_common < prefix->n) {
        shorten(state, prefix, n_common);
        return;
    }
    for (size_t i = 0; i < NET_PREFIXES && !prefix; i++)
        if (state->prefixes[i].n == 0)
            prefix = &state->prefixes[i];
    if (!prefix) {
        prefix = oldest(state, NULL);
        shorten(state, prefix, 0);
    }
    if (!make_room(state, prefix, n - prefix->n))
        return;
    prefix->used = ++state->n_prefix_uses;
    for (; prefix->n < n; prefix->n++) {
        prefix->ids[prefix->n] = ids[prefix->n];
        prefix->at[prefix->n] = slot->source_at[prefix->n];
        state->refs[prefix->at[prefix->n]]++;
        state->n_kept++;
    }
}
