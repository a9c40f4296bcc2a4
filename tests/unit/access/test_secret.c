/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

#include "access/secret.h"
#include "unit.h"

#include <sodium.h>

START_TEST(secrets_are_long_plain_and_different)
{
    char a[DG_SECRET_TEXT], b[DG_SECRET_TEXT];
    ck_assert_int_ge(sodium_init(), 0);
    dg_secret_make(a);
    dg_secret_make(b);
    ck_assert_uint_eq(strlen(a), DG_SECRET_TEXT - 1);
    ck_assert_int_eq(strncmp(a, "dgk_", 4), 0);
    ck_assert_uint_eq(strspn(a, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
                      strlen(a));
    ck_assert_str_ne(a, b);
}
END_TEST

START_TEST(a_hash_survives_being_written)
{
    struct dg_secret_hash hash, again = {{0}};
    char text[DG_SECRET_HASH_TEXT];
    ck_assert_int_ge(sodium_init(), 0);
    dg_secret_hash(DG_SPAN("abc"), &hash);
    dg_secret_hash_format(&hash, text);
    /* BLAKE2b-256 of "abc". */
    ck_assert_str_eq(text,
                     "blake2b:bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    ck_assert(dg_secret_hash_parse(dg_span_cstr(text), &again));
    ck_assert(dg_secret_equal(&hash, &again));
    again.bytes[31] ^= 1;
    ck_assert(!dg_secret_equal(&hash, &again));
}
END_TEST

START_TEST(what_is_no_hash_is_refused)
{
    static const char *const wrong[] = {
        "",
        "blake2b:",
        "blake2b:00",
        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319",
        "sha256::bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319",
        "blake2b:bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d5231",
        "blake2b:bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d5231g",
        "blake2b:bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d523190"};
    struct dg_secret_hash hash;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!dg_secret_hash_parse(dg_span_cstr(wrong[i]), &hash), "%s", wrong[i]);
}
END_TEST

DG_UNIT(secrets_are_long_plain_and_different, a_hash_survives_being_written,
        what_is_no_hash_is_refused)
