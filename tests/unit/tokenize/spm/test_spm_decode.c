/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Decoding: the rules of spaces, bytes and unknown pieces, computed by hand; the stream compared
 * with the decoder of whole sequences on random ids, with every combination of settings; deltas are
 * valid and never taken back. */
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "tokenize/spm/spm_decode.h"

#include "unit.h"
#include "spm_maker.h"

#define MARK "\xE2\x96\x81"

static const char *decode(const struct dg_spm *spm, const uint32_t *ids, size_t n)
{
    static char text[4096];
    struct dg_buf out;
    dg_buf_init(&out, sizeof text - 1);
    ck_assert_int_eq(dg_spm_decode(spm, ids, n, &out), DG_OK);
    memcpy(text, out.len ? out.ptr : "", out.len);
    text[out.len] = '\0';
    dg_buf_deinit(&out);
    return text;
}

#define DECODE(spm, ...)                                                                           \
    decode(spm, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

enum { A = 3, B, SPACE, TWO_SPACES, BYTES };

static void make(struct maker *maker)
{
    maker_init(maker);
    maker_piece(maker, MARK "a", -1, DG_PIECE_NORMAL);
    maker_piece(maker, "b", -1, DG_PIECE_NORMAL);
    maker_piece(maker, MARK, -1, DG_PIECE_NORMAL);
    maker_piece(maker, MARK MARK "c", -1, DG_PIECE_NORMAL);
    maker_bytes(maker);
}

START_TEST(decodes_by_the_rules)
{
    struct maker maker;
    make(&maker);
    struct dg_spm *spm = maker_open(&maker);
    ck_assert_str_eq(DECODE(spm, 1, A, B, A, 2), "ab a");
    /* the model removes extra spaces, so all of them disappear */
    ck_assert_str_eq(DECODE(spm, SPACE, SPACE, A), "a");
    ck_assert_str_eq(DECODE(spm, TWO_SPACES), " c"); /* but only one mark for each piece */
    ck_assert_str_eq(DECODE(spm, B, 0, B), "b \xE2\x81\x87 b");
    ck_assert_str_eq(DECODE(spm, BYTES + 0xC3, BYTES + 0xA9, A), "\xC3\xA9 a");
    ck_assert_str_eq(DECODE(spm, BYTES + 0xC3, B), "\xEF\xBF\xBD"
                                                   "b");
    ck_assert_str_eq(DECODE(spm, BYTES + 0xE2, BYTES + 0x82), "\xEF\xBF\xBD\xEF\xBF\xBD");
    struct dg_buf out;
    dg_buf_init(&out, 100);
    ck_assert_int_eq(dg_spm_decode(spm, (const uint32_t[]){BYTES + 256}, 1, &out), DG_ERR_RANGE);
    dg_buf_deinit(&out);
    dg_spm_close(spm);
    put_varint_field(&maker.normaliser, 4, 0);
    spm = maker_open(&maker);
    ck_assert_str_eq(DECODE(spm, SPACE, SPACE, A), "  a"); /* only the dummy prefix is removed */
    dg_spm_close(spm);
    maker_deinit(&maker);
}
END_TEST

static uint32_t next_random(uint32_t *state)
{
    return (*state = *state * 1664525u + 1013904223u) >> 8;
}

/* Streams the ids; every delta must consist of whole characters. */
static void stream_all(struct dg_spm_stream *stream, const uint32_t *ids, size_t n,
                       struct dg_buf *joined)
{
    struct dg_span delta = {0};
    dg_spm_stream_reset(stream);
    for (size_t i = 0; i <= n; i++) {
        ck_assert_int_eq(i < n ? dg_spm_stream_push(stream, ids[i], &delta)
                               : dg_spm_stream_finish(stream, &delta),
                         DG_OK);
        ck_assert(dg_utf8_valid(delta, NULL));
        ck_assert_int_eq(dg_buf_append_span(joined, delta), DG_OK);
    }
}

static void check_streams(const struct dg_spm *spm, uint32_t *state)
{
    struct dg_spm_stream stream;
    struct dg_buf joined, whole;
    dg_spm_stream_init(&stream, spm, 1 << 20);
    dg_buf_init(&joined, 1 << 20);
    dg_buf_init(&whole, 1 << 20);
    for (int round = 0; round < 400; round++) {
        uint32_t ids[40];
        size_t n = next_random(state) % 40;
        for (size_t i = 0; i < n; i++)
            ids[i] = next_random(state) % 3
                         ? next_random(state) % (BYTES + 4)
                         : BYTES + (next_random(state) % 2 ? 0x80 : 0xC0) + next_random(state) % 64;
        for (size_t i = 0; i < n; i++)
            ids[i] = ids[i] < dg_spm_size(spm) ? ids[i] : 0;
        dg_buf_clear(&joined);
        dg_buf_clear(&whole);
        stream_all(&stream, ids, n, &joined);
        ck_assert_int_eq(dg_spm_decode(spm, ids, n, &whole), DG_OK);
        ck_assert_uint_eq(joined.len, whole.len);
        ck_assert(dg_span_eq(dg_buf_span(&joined), dg_buf_span(&whole)));
    }
    dg_buf_deinit(&whole);
    dg_buf_deinit(&joined);
    dg_spm_stream_deinit(&stream);
}

/* Every setting of dummy prefix and extra spaces, with and without a denormaliser of every setting,
 * over a vocabulary that has a piece which ends in the middle of a character. */
START_TEST(stream_agrees_with_the_whole)
{
    uint32_t state = 5;
    for (unsigned settings = 0; settings < 64; settings++) {
        struct maker maker;
        make(&maker);
        maker_piece(&maker, "x\xC3", -1, DG_PIECE_NORMAL);
        maker_piece(&maker, "\xA9y", -1, DG_PIECE_NORMAL);
        put_varint_field(&maker.normaliser, 3, settings & 1);
        put_varint_field(&maker.normaliser, 4, settings >> 1 & 1);
        if (settings & 4) {
            maker_charsmap(&maker.denormaliser, settings & 8 ? 'b' : ' ',
                           settings & 8 ? "bee " : "_");
            put_varint_field(&maker.denormaliser, 3, settings >> 4 & 1);
            put_varint_field(&maker.denormaliser, 4, settings >> 5 & 1);
            put_varint_field(&maker.denormaliser, 5, settings >> 3 & 1);
        }
        struct dg_spm *spm = maker_open(&maker);
        check_streams(spm, &state);
        dg_spm_close(spm);
        maker_deinit(&maker);
    }
}
END_TEST

START_TEST(holds_back_only_what_may_change)
{
    struct maker maker;
    make(&maker);
    struct dg_spm *spm = maker_open(&maker);
    struct dg_spm_stream stream;
    struct dg_span delta;
    dg_spm_stream_init(&stream, spm, 1000);
    ck_assert_int_eq(dg_spm_stream_push(&stream, A, &delta), DG_OK);
    ck_assert(dg_span_eq(delta, DG_SPAN("a")));
    ck_assert_int_eq(dg_spm_stream_push(&stream, BYTES + 0xE2, &delta), DG_OK);
    ck_assert_uint_eq(delta.len, 0);
    ck_assert_int_eq(dg_spm_stream_push(&stream, BYTES + 0x82, &delta), DG_OK);
    ck_assert_uint_eq(delta.len, 0);
    ck_assert_int_eq(dg_spm_stream_push(&stream, BYTES + 0xAC, &delta), DG_OK);
    ck_assert(dg_span_eq(delta, DG_SPAN("\xE2\x82\xAC")));
    uint64_t before = dg_mem_count();
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(dg_spm_stream_push(&stream, A, &delta), DG_OK);
    ck_assert_uint_eq(dg_mem_count(), before); /* nothing is allocated per token */
    dg_spm_stream_deinit(&stream);
    dg_spm_close(spm);
    maker_deinit(&maker);
}
END_TEST

START_TEST(trims_both_ends)
{
    struct maker maker;
    make(&maker);
    put_varint_field(&maker.normaliser, 3, 0);
    put_varint_field(&maker.normaliser, 4, 0);
    struct dg_spm *spm = maker_open(&maker);
    struct dg_spm_stream stream;
    struct dg_span delta;
    dg_spm_stream_init(&stream, spm, 1000);
    dg_spm_stream_trim(&stream, true);
    static const uint32_t ids[] = {SPACE, TWO_SPACES, SPACE, SPACE};
    static const char *const expected[] = {"", "c", "", ""};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(dg_spm_stream_push(&stream, ids[i], &delta), DG_OK);
        ck_assert(dg_span_eq(delta, dg_span_cstr(expected[i])));
    }
    ck_assert_int_eq(dg_spm_stream_push(&stream, B, &delta), DG_OK);
    ck_assert(dg_span_eq(delta, DG_SPAN("  b")));
    ck_assert_int_eq(dg_spm_stream_push(&stream, SPACE, &delta), DG_OK);
    ck_assert_int_eq(dg_spm_stream_finish(&stream, &delta), DG_OK);
    ck_assert_uint_eq(delta.len, 0);
    dg_spm_stream_deinit(&stream);
    dg_spm_close(spm);
    maker_deinit(&maker);
}
END_TEST

DG_UNIT_SLOW(decodes_by_the_rules, stream_agrees_with_the_whole, holds_back_only_what_may_change,
             trims_both_ends)
