/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "net/proto/gzip.h"
#include "net/proto/sha1.h"
#include "net/proto/sse.h"
#include "net/proto/target.h"
#include "net/proto/ws_handshake.h"
#include "unit.h"

#include <zlib.h>

START_TEST(form_pairs_are_decoded)
{
    struct dg_arena arena;
    dg_arena_init(&arena, 1 << 16);
    struct dg_query query = dg_query_over(DG_SPAN("&q=a+b%20c&empty=&flag&&n=%00&%C3%A9=1=2"));
    static const struct {
        struct dg_span name, value;
    } pairs[] = {{{"q", 1}, {"a b c", 5}},
                 {{"empty", 5}, {"", 0}},
                 {{"flag", 4}, {"", 0}},
                 {{"n", 1}, {"\0", 1}},
                 {{"\xC3\xA9", 2}, {"1=2", 3}}};
    struct dg_span name, value;
    bool more = true;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ck_assert_int_eq(dg_query_next(&query, &arena, &name, &value, &more), DG_OK);
        ck_assert(more && dg_span_eq(name, pairs[i].name) && dg_span_eq(value, pairs[i].value));
    }
    ck_assert_int_eq(dg_query_next(&query, &arena, &name, &value, &more), DG_OK);
    ck_assert(!more);
    dg_arena_deinit(&arena);
}
END_TEST

START_TEST(bad_form_pairs_are_refused)
{
    static const struct {
        struct dg_span text;
        enum dg_err err;
    } cases[] = {{{"q=%4", 4}, DG_ERR_FORMAT},
                 {{"q=%GG", 5}, DG_ERR_FORMAT},
                 {{"q=%", 3}, DG_ERR_FORMAT},
                 {{"q=%C3", 5}, DG_ERR_UTF8},
                 {{"%FF=1", 5}, DG_ERR_UTF8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_arena arena;
        dg_arena_init(&arena, 1 << 16);
        struct dg_query query = dg_query_over(cases[i].text);
        struct dg_span name, value;
        bool more;
        ck_assert_int_eq(dg_query_next(&query, &arena, &name, &value, &more), cases[i].err);
        dg_arena_deinit(&arena);
    }
}
END_TEST

START_TEST(gzip_can_be_read_back)
{
    static char text[100000], back[100000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)("abcdefgh"[i % 8] + (i * i) % 7);
    struct dg_buf buf;
    dg_buf_init(&buf, 1 << 20);
    ck_assert_int_eq(dg_gzip(&buf, dg_span_make(text, sizeof text)), DG_OK);
    z_stream stream = {.next_in = (Bytef *)buf.ptr,
                       .avail_in = (uInt)buf.len,
                       .next_out = (Bytef *)back,
                       .avail_out = sizeof back};
    ck_assert_int_eq(inflateInit2(&stream, 15 + 16), Z_OK);
    ck_assert_int_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
    ck_assert_uint_eq(stream.total_out, sizeof text);
    ck_assert_mem_eq(text, back, sizeof text);
    inflateEnd(&stream);
    dg_buf_deinit(&buf);
    dg_buf_init(&buf, 10);
    ck_assert_int_eq(dg_gzip(&buf, DG_SPAN("hello")), DG_ERR_LIMIT);
    dg_buf_deinit(&buf);
}
END_TEST

START_TEST(sha1_agrees_with_the_standard)
{
    /* FIPS 180-4's examples and the lengths around a block's end. */
    static const struct {
        const char *text;
        uint8_t first[4];
    } cases[] = {
        {"", {0xDA, 0x39, 0xA3, 0xEE}},
        {"abc", {0xA9, 0x99, 0x3E, 0x36}},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", {0x84, 0x98, 0x3E, 0x44}},
    };
    uint8_t digest[DG_SHA1_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dg_sha1(dg_span_cstr(cases[i].text), digest);
        ck_assert_mem_eq(digest, cases[i].first, 4);
    }
    char accept[DG_WS_ACCEPT_LEN + 1];
    dg_ws_accept_key(DG_SPAN("dGhlIHNhbXBsZSBub25jZQ=="), accept); /* RFC 6455, section 1.3 */
    ck_assert_str_eq(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}
END_TEST

/* What an event looks like around the data "x"; NULL: it does not fit. */
static const char *event_of(struct dg_buf *buf, const char *name, struct dg_span id)
{
    dg_buf_clear(buf);
    return dg_sse_open(buf, name, id) == DG_OK && dg_buf_append_byte(buf, 'x') == DG_OK &&
                   dg_sse_close(buf) == DG_OK
               ? buf->ptr
               : NULL;
}

START_TEST(events_have_what_they_need)
{
    struct dg_buf buf;
    dg_buf_init(&buf, 32);
    ck_assert_str_eq(event_of(&buf, "token", DG_SPAN("7")), "id: 7\nevent: token\ndata: x\n\n");
    ck_assert_str_eq(event_of(&buf, "token", DG_SPAN("")), "event: token\ndata: x\n\n");
    ck_assert_str_eq(event_of(&buf, NULL, DG_SPAN("7")), "id: 7\ndata: x\n\n");
    ck_assert_str_eq(event_of(&buf, NULL, DG_SPAN("")), "data: x\n\n");
    ck_assert_ptr_null(event_of(&buf, "token", DG_SPAN("1234567890")));
    dg_buf_deinit(&buf);
}
END_TEST

DG_UNIT(form_pairs_are_decoded, bad_form_pairs_are_refused, gzip_can_be_read_back,
        sha1_agrees_with_the_standard, events_have_what_they_need)
