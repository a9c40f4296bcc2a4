/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* An array with one entry per secret (two for a key whose old secret is still valid), and a map
 * into it. */
#include "access/keyring.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"

#include <sodium.h>

enum { TAG_BYTES = 16 };

struct place {
    uint8_t tag[TAG_BYTES];
    const struct dg_secret_hash *hash;
    const struct dg_key *key;
    uint64_t until_s; /* 0: as long as the key */
};

struct dg_keyring {
    struct dg_key_file file;
    struct place *places; /* owned */
    size_t n_places;
    struct dg_map by_tag;
    uint8_t secret[crypto_generichash_KEYBYTES];
};

static void make_tag(const struct dg_keyring *ring, const struct dg_secret_hash *hash,
                     uint8_t tag[TAG_BYTES])
{
    crypto_generichash(tag, TAG_BYTES, hash->bytes, sizeof hash->bytes, ring->secret,
                       sizeof ring->secret);
}

static enum dg_err add(struct dg_keyring *ring, const struct dg_key *key,
                       const struct dg_secret_hash *hash, uint64_t until_s)
{
    struct place *place = &ring->places[ring->n_places++];
    *place = (struct place){.hash = hash, .key = key, .until_s = until_s};
    make_tag(ring, hash, place->tag);
    return dg_map_put_ptr(&ring->by_tag, dg_span_make((const char *)place->tag, TAG_BYTES), place);
}

enum dg_err dg_keyring_new(struct dg_key_file *file, struct dg_keyring **out)
{
    struct dg_keyring *ring = dg_try_calloc(1, sizeof *ring);
    if (!ring)
        return DG_ERR_NOMEM;
    randombytes_buf(ring->secret, sizeof ring->secret);
    dg_map_init(&ring->by_tag, 2 * file->n + 1);
    ring->places = dg_try_calloc(2 * file->n + 1, sizeof *ring->places);
    enum dg_err err = ring->places ? dg_map_reserve(&ring->by_tag, 2 * file->n) : DG_ERR_NOMEM;
    for (size_t i = 0; i < file->n && !err; i++) {
        const struct dg_key *key = &file->keys[i];
        err = add(ring, key, &key->hash, 0);
        if (!err && key->old_until_s)
            err = add(ring, key, &key->old_hash, key->old_until_s);
    }
    if (err) {
        dg_keyring_free(ring);
        return err;
    }
    ring->file = *file; /* the array that the places point into */
    *file = (struct dg_key_file){.n = 0};
    *out = ring;
    return DG_OK;
}

void dg_keyring_free(struct dg_keyring *ring)
{
    if (!ring)
        return;
    dg_map_deinit(&ring->by_tag);
    dg_free(ring->places);
    dg_key_file_deinit(&ring->file);
    dg_free(ring);
}

enum dg_err dg_keyring_find(const struct dg_keyring *ring, const struct dg_secret_hash *hash,
                            uint64_t now_s, const struct dg_key **key)
{
    static const struct dg_secret_hash nobody = {{0}};
    uint8_t tag[TAG_BYTES];
    make_tag(ring, hash, tag);
    const struct place *place =
        dg_map_get_ptr(&ring->by_tag, dg_span_make((const char *)tag, TAG_BYTES));
    bool same = dg_secret_equal(hash, place ? place->hash : &nobody);
    if (!place || !same || (place->until_s && now_s >= place->until_s))
        return DG_ERR_NOT_FOUND;
    if (place->key->expires_s && now_s >= place->key->expires_s)
        return DG_ERR_TIMEOUT;
    *key = place->key;
    return DG_OK;
}

size_t dg_keyring_len(const struct dg_keyring *ring)
{
    return ring->file.n;
}

bool dg_keyring_is_none(const struct dg_keyring *ring)
{
    return ring->file.is_none;
}
