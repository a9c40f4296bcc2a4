/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Makes small ZIP archives for tests, with exactly the bytes that a test asks for.
 *
 *     struct dg_zip_maker maker;
 *     dg_zip_maker_init(&maker);
 *     dg_zip_maker_add(&maker, "word/document.xml", xml, DG_ZIP_MADE_DEFLATED);
 *     struct dg_span zip = dg_zip_maker_end(&maker);
 *     dg_zip_maker_deinit(&maker); */
#ifndef DG_TESTS_ZIP_MAKER_H
#define DG_TESTS_ZIP_MAKER_H

#include "base/memory/buf.h"
#include "unit.h"

#include <zlib.h>

enum {
    DG_ZIP_MADE_STORED = 0,
    DG_ZIP_MADE_DEFLATED = 1,
    DG_ZIP_MADE_DESCRIBED = 2, /* the sizes follow the data */
    DG_ZIP_MADE_ENCRYPTED = 4, /* the size that the header states */
};

struct dg_zip_maker {
    struct dg_buf bytes, rows;
    unsigned n;
};

static inline void dg_zip_maker_init(struct dg_zip_maker *maker)
{
    *maker = (struct dg_zip_maker){.n = 0};
    dg_buf_init(&maker->bytes, 64 << 20);
    dg_buf_init(&maker->rows, 64 << 20);
}

static inline void dg_zip_maker_deinit(struct dg_zip_maker *maker)
{
    dg_buf_deinit(&maker->bytes);
    dg_buf_deinit(&maker->rows);
}

static inline void dg_zip_maker_number(struct dg_buf *buf, size_t value, int n)
{
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(dg_buf_append_byte(buf, (char)(value >> (8 * i) & 0xff)), DG_OK);
}

static inline void dg_zip_maker_put(struct dg_buf *buf, struct dg_span bytes)
{
    ck_assert_int_eq(dg_buf_append_span(buf, bytes), DG_OK);
}

static inline void dg_zip_maker_add(struct dg_zip_maker *maker, const char *name,
                                    struct dg_span data, unsigned how)
{
    const struct dg_span none = {NULL, 0}, path = dg_span_cstr(name);
    const bool is_deflated = how & DG_ZIP_MADE_DEFLATED, is_described = how & DG_ZIP_MADE_DESCRIBED;
    const size_t crc = crc32_z(0, (const Bytef *)data.ptr, data.len), at = maker->bytes.len;
    const size_t flags = (is_described ? 8 : 0) | (how & DG_ZIP_MADE_ENCRYPTED ? 1 : 0);
    uLongf len = compressBound((uLong)data.len);
    unsigned char *packed = malloc(len + 1);
    ck_assert_ptr_nonnull(packed);
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)data.ptr, .avail_in = (uInt)data.len};
    ck_assert_int_eq(deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_out = packed;
    stream.avail_out = (uInt)len;
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    const struct dg_span body =
        is_deflated ? dg_span_make((const char *)packed, stream.total_out) : data;
    struct dg_buf *const headers[] = {&maker->bytes, &maker->rows};
    deflateEnd(&stream);
    for (int i = 0; i < 2; i++) {
        const bool hides = i == 0 && is_described;
        dg_zip_maker_put(headers[i], i ? DG_SPAN("PK\1\2\x14\3") : DG_SPAN("PK\3\4"));
        dg_zip_maker_number(headers[i], 20, 2);
        dg_zip_maker_number(headers[i], flags, 2);
        dg_zip_maker_number(headers[i], is_deflated ? 8 : 0, 2);
        dg_zip_maker_number(headers[i], 0x6A2B5D79, 4); /* a day and a time */
        dg_zip_maker_number(headers[i], hides ? 0 : crc, 4);
        dg_zip_maker_number(headers[i], hides ? 0 : body.len, 4);
        dg_zip_maker_number(headers[i], hides ? 0 : data.len, 4);
        dg_zip_maker_number(headers[i], path.len, 2);
        dg_zip_maker_number(headers[i], i ? 0 : 6, 2);
        if (i) {
            dg_zip_maker_number(headers[i], 0, 8);
            dg_zip_maker_number(headers[i], 0x81A4, 2);
            dg_zip_maker_number(headers[i], at, 4);
        }
        dg_zip_maker_put(headers[i], path);
        dg_zip_maker_put(headers[i], i ? none : DG_SPAN("\xFE\xCA\2\0ab")); /* an extra field */
    }
    dg_zip_maker_put(&maker->bytes, body);
    if (is_described) {
        dg_zip_maker_put(&maker->bytes, DG_SPAN("PK\7\10"));
        dg_zip_maker_number(&maker->bytes, crc, 4);
        dg_zip_maker_number(&maker->bytes, body.len, 4);
        dg_zip_maker_number(&maker->bytes, data.len, 4);
    }
    maker->n++;
    free(packed);
}

static inline struct dg_span dg_zip_maker_end(struct dg_zip_maker *maker)
{
    const size_t at = maker->bytes.len, len = maker->rows.len;
    dg_zip_maker_put(&maker->bytes, dg_buf_span(&maker->rows));
    dg_zip_maker_put(&maker->bytes, DG_SPAN("PK\5\6"));
    dg_zip_maker_number(&maker->bytes, 0, 4);
    dg_zip_maker_number(&maker->bytes, maker->n, 2);
    dg_zip_maker_number(&maker->bytes, maker->n, 2);
    dg_zip_maker_number(&maker->bytes, len, 4);
    dg_zip_maker_number(&maker->bytes, at, 4);
    dg_zip_maker_number(&maker->bytes, 5, 2);
    dg_zip_maker_put(&maker->bytes, DG_SPAN("notes"));
    return dg_buf_span(&maker->bytes);
}

#endif
