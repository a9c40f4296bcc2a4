/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/mem.h"
#include "fetch/unpack.h"
#include "tmpdir.h"
#include "unit.h"

#include <stdio.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { LEN = 300 * 1000, ROOM = 400 * 1000 };

static char root[DG_TMPDIR_CAP], from[DG_TMPDIR_CAP + 16], to[DG_TMPDIR_CAP + 16];
static unsigned char raw[LEN], packed[ROOM];
static size_t n_packed;

static void save(size_t n)
{
    FILE *file = fopen(from, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(packed, 1, n, file), n);
    ck_assert_int_eq(fclose(file), 0);
}

static void start(enum dg_packing packing)
{
    dg_tmpdir_make(root);
    snprintf(from, sizeof from, "%s/from", root);
    snprintf(to, sizeof to, "%s/to", root);
    for (size_t i = 0; i < LEN; i++)
        raw[i] = (unsigned char)(i * i / 7);
    if (packing == DG_PACKING_ZSTD) {
        n_packed = ZSTD_compress(packed, ROOM, raw, LEN, 1);
    } else {
        z_stream z = {.next_in = raw, .avail_in = LEN, .next_out = packed, .avail_out = ROOM};
        ck_assert_int_eq(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
        ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
        n_packed = ROOM - z.avail_out;
        deflateEnd(&z);
    }
    save(n_packed);
}

static enum dg_err unpack(enum dg_packing packing, uint64_t size, uint64_t max)
{
    const struct dg_unpack_opts opts = {.packing = packing, .size = size, .max = max};
    return dg_unpack(from, to, &opts, NULL);
}

static void check_packing(enum dg_packing packing)
{
    start(packing);
    ck_assert_uint_eq(dg_unpack_stated(from, packing), LEN);
    const enum dg_err err = unpack(packing, LEN, 0);
    ck_assert_int_eq(err, DG_OK);
    FILE *file = fopen(to, "rb");
    static unsigned char again[LEN + 1];
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(again, 1, sizeof again, file), LEN);
    ck_assert_mem_eq(again, raw, LEN);
    fclose(file);
    ck_assert_int_eq(unlink(to), 0);
    ck_assert_int_eq(unpack(packing, 0, 1 << 20), DG_OK);
    ck_assert_int_eq(unlink(to), 0);
    ck_assert_int_eq(unpack(packing, LEN - 1, 0), DG_ERR_LIMIT);
    ck_assert_int_eq(unpack(packing, 0, 1000), DG_ERR_LIMIT);
    ck_assert_int_eq(unpack(packing, LEN + 1, 0), DG_ERR_FORMAT);
    ck_assert_int_ne(access(to, F_OK), 0);
    for (size_t n = 0; n < n_packed; n = n * 2 + 1) {
        save(n);
        ck_assert_int_ne(unpack(packing, LEN, 0), DG_OK);
    }
    packed[n_packed] = 'x';
    save(n_packed + 1);
    ck_assert_int_eq(unpack(packing, LEN, 0), DG_ERR_FORMAT);
    ck_assert_int_ne(access(to, F_OK), 0);
    dg_tmpdir_remove(root);
}

START_TEST(gzip_is_unpacked_and_cut_off)
{
    check_packing(DG_PACKING_GZIP);
}
END_TEST

START_TEST(zstandard_is_unpacked_and_cut_off)
{
    check_packing(DG_PACKING_ZSTD);
}
END_TEST

DG_UNIT(gzip_is_unpacked_and_cut_off, zstandard_is_unpacked_and_cut_off)
