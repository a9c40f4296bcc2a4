/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "fetch/digest.h"
#include "tmpdir.h"
#include "unit.h"

#include <stdio.h>

static char root[DG_TMPDIR_CAP], path[DG_TMPDIR_CAP + 16];

static void write_file(const char *text)
{
    dg_tmpdir_make(root);
    snprintf(path, sizeof path, "%s/file", root);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(hashes_are_those_of_the_standards)
{
    char hex[DG_DIGEST_SHA256 + 1];
    write_file("hello\n");
    ck_assert_int_eq(dg_digest_sha256(path, NULL, hex, NULL), DG_OK);
    ck_assert_str_eq(hex, "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
    ck_assert_int_eq(dg_digest_git(path, NULL, hex, NULL), DG_OK);
    ck_assert_str_eq(hex, "ce013625030ba8dba906f756967f9e9ca394464a"); /* git hash-object */
    volatile sig_atomic_t stop = 1;
    ck_assert_int_eq(dg_digest_sha256(path, &stop, hex, NULL), DG_ERR_CANCELLED);
    dg_tmpdir_remove(root);
    ck_assert_int_eq(dg_digest_sha256(path, NULL, hex, NULL), DG_ERR_NOT_FOUND);
}
END_TEST

START_TEST(sha1_does_not_mind_the_pieces)
{
    static const uint8_t expected[20] = {0x34, 0xaa, 0x97, 0x3c, 0xd4, 0xc4, 0xda,
                                         0xa4, 0xf6, 0x1e, 0xeb, 0x2b, 0xdb, 0xad,
                                         0x27, 0x31, 0x65, 0x34, 0x01, 0x6f};
    uint8_t digest[20];
    char a[1000];
    memset(a, 'a', sizeof a);
    for (size_t piece = 1; piece <= sizeof a; piece = piece * 3 + 1) { /* a million times "a" */
        struct dg_sha1 sha1;
        dg_sha1_init(&sha1);
        for (size_t left = 1000 * 1000; left;) {
            const size_t n = left < piece ? left : piece;
            dg_sha1_add(&sha1, a, n);
            left -= n;
        }
        dg_sha1_end(&sha1, digest);
        ck_assert_mem_eq(digest, expected, sizeof expected);
    }
}
END_TEST

DG_UNIT(hashes_are_those_of_the_standards, sha1_does_not_mind_the_pieces)
