/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/hash.h"
#include "unit.h"

START_TEST(agrees_with_the_published_vectors_of_siphash_2_4)
{
    /* Key 00 01 .. 0f, inputs "", 00, 00 01, ...: from the paper's reference vectors. */
    const struct dg_hash_key key = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
    char input[16];
    for (int i = 0; i < 16; i++)
        input[i] = (char)i;
    ck_assert_uint_eq(dg_hash_siphash(&key, dg_span_make(input, 0), 2, 4), 0x726fdb47dd0e0e31u);
    ck_assert_uint_eq(dg_hash_siphash(&key, dg_span_make(input, 15), 2, 4), 0xa129ca6149be45e5u);
    ck_assert_uint_eq(dg_hash_bytes(&key, dg_span_make(input, 15)),
                      dg_hash_siphash(&key, dg_span_make(input, 15), 1, 3));
}
END_TEST

START_TEST(random_keys_differ)
{
    struct dg_hash_key a = dg_hash_key_random(), b = dg_hash_key_random();
    ck_assert(a.k0 != b.k0 || a.k1 != b.k1);
}
END_TEST

START_TEST(does_not_depend_on_where_the_bytes_lie)
{
    const struct dg_hash_key key = {1, 2};
    char room[64];
    for (size_t len = 0; len < 40; len++) {
        for (size_t i = 0; i < sizeof room; i++)
            room[i] = (char)(i * 37);
        uint64_t expected = dg_hash_bytes(&key, dg_span_make(room, len));
        for (size_t shift = 1; shift < 9; shift++) {
            memmove(room + shift, room + shift - 1, len);
            ck_assert_uint_eq(dg_hash_bytes(&key, dg_span_make(room + shift, len)), expected);
        }
    }
    ck_assert_uint_eq(dg_hash_bytes(&key, dg_span_make(NULL, 0)), dg_hash_bytes(&key, DG_SPAN("")));
}
END_TEST

START_TEST(depends_on_key_length_and_every_bit)
{
    const struct dg_hash_key key = {1, 2}, other = {1, 3};
    char room[21] = {0};
    struct dg_span text = dg_span_make(room, 20);
    uint64_t hash = dg_hash_bytes(&key, text);
    ck_assert_uint_ne(hash, dg_hash_bytes(&other, text));
    ck_assert_uint_ne(hash, dg_hash_bytes(&key, dg_span_make(room, 21)));
    for (int bit = 0; bit < 160; bit++) {
        room[bit / 8] = (char)(1 << bit % 8);
        ck_assert_uint_ne(hash, dg_hash_bytes(&key, text));
        room[bit / 8] = 0;
    }
}
END_TEST

DG_UNIT(agrees_with_the_published_vectors_of_siphash_2_4, random_keys_differ,
        does_not_depend_on_where_the_bytes_lie, depends_on_key_length_and_every_bit)
