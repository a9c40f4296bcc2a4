/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/utf8.h"
#include "unit.h"

/* The definition, written for readability: decodes by arithmetic alone and checks the result. */
static size_t decode_ref(const unsigned char *s, size_t n, uint32_t *cp)
{
    if (n == 0)
        return 0;
    size_t len = s[0] < 0x80       ? 1
                 : s[0] >> 5 == 6  ? 2
                 : s[0] >> 4 == 14 ? 3
                 : s[0] >> 3 == 30 ? 4
                                   : 0;
    if (len == 0 || n < len)
        return 0;
    uint32_t value = len == 1 ? s[0] : s[0] & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        value = value << 6 | (s[i] & 0x3Fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < least[len] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return 0;
    *cp = value;
    return len;
}

START_TEST(agrees_with_the_definition_on_all_three_byte_starts)
{
    /* The fourth byte takes the values at the edges of its range; 0x41 after a short sequence is
     * plain text. */
    static const unsigned char fourth[] = {0x41, 0x7F, 0x80, 0xBF, 0xC0};
    for (uint32_t head = 0; head < 1u << 24; head++) {
        unsigned char s[4] = {(unsigned char)(head >> 16), (unsigned char)(head >> 8),
                              (unsigned char)head, 0};
        for (size_t f = 0; f < (s[0] < 0xF0 ? 1 : sizeof fourth); f++) {
            s[3] = fourth[f];
            uint32_t cp = 1, expected = 1;
            size_t len = dg_utf8_decode(dg_span_make((char *)s, 4), 0, &cp);
            if (len != decode_ref(s, 4, &expected) || cp != expected)
                ck_abort_msg("%02x %02x %02x %02x", s[0], s[1], s[2], s[3]);
        }
    }
}
END_TEST

START_TEST(encodes_and_decodes_every_code_point)
{
    for (uint32_t cp = 0; cp <= 0x110010; cp++) {
        char bytes[DG_UTF8_MAX_LEN];
        size_t len = dg_utf8_encode(cp, bytes);
        bool is_scalar = cp <= 0x10FFFF && !(cp >= 0xD800 && cp <= 0xDFFF);
        if ((len > 0) != is_scalar)
            ck_abort_msg("U+%X", cp);
        uint32_t back = 0;
        if (is_scalar && (dg_utf8_decode(dg_span_make(bytes, len), 0, &back) != len || back != cp))
            ck_abort_msg("U+%X", cp);
    }
}
END_TEST

START_TEST(names_the_first_bad_byte_wherever_it_stands)
{
    char text[100];
    for (size_t len = 1; len <= sizeof text; len++)
        for (size_t bad = 0; bad < len; bad++) {
            memset(text, 'a', len);
            text[bad] = '\xFF';
            size_t at = 1000;
            ck_assert(!dg_utf8_valid(dg_span_make(text, len), &at));
            ck_assert_uint_eq(at, bad);
        }
    memset(text, 'a', sizeof text);
    ck_assert(dg_utf8_valid(dg_span_make(text, sizeof text), NULL));
    ck_assert(dg_utf8_valid(dg_span_make(NULL, 0), NULL));
}
END_TEST

START_TEST(refuses_a_sequence_that_the_end_cuts_off)
{
    size_t at = 0;
    ck_assert(!dg_utf8_valid(DG_SPAN("abc\xE2\x82"), &at));
    ck_assert_uint_eq(at, 3);
    ck_assert(dg_utf8_valid(DG_SPAN("abc\xE2\x82\xAC"), &at));
}
END_TEST

START_TEST(counts_code_points)
{
    struct dg_span text = DG_SPAN("na\xC3\xAFve \xE2\x82\xAC 100 \xF0\x9F\x98\x80!");
    for (size_t from = 0; from < text.len; from++) {
        struct dg_span part = dg_span_sub(text, from, text.len);
        size_t expected = 0;
        for (size_t i = 0; i < part.len; i++)
            expected += ((unsigned char)part.ptr[i] & 0xC0) != 0x80;
        ck_assert_uint_eq(dg_utf8_count(part), expected);
    }
    ck_assert_uint_eq(dg_utf8_count(text), 14);
    ck_assert_uint_eq(dg_utf8_count(DG_SPAN("")), 0);
    char many[5003];
    memset(many, '\x80', sizeof many);
    for (size_t len = 2000; len <= sizeof many; len += 77)
        ck_assert_uint_eq(dg_utf8_count(dg_span_make(many, len)), 0);
    many[0] = many[2040] = many[sizeof many - 1] = 'a';
    ck_assert_uint_eq(dg_utf8_count(dg_span_make(many, sizeof many)), 3);
}
END_TEST

START_TEST(clips_between_code_points)
{
    struct dg_span text = DG_SPAN("a\xF0\x9F\x98\x80z");
    static const size_t expected[] = {0, 1, 1, 1, 1, 5, 6, 6};
    for (size_t max = 0; max < 8; max++)
        ck_assert_uint_eq(dg_utf8_clip(text, max).len, expected[max]);
    ck_assert_uint_eq(dg_utf8_clip(DG_SPAN("\x80\x80\x80\x80\x80\x80\x80\x80"), 6).len, 6);
}
END_TEST

DG_UNIT(agrees_with_the_definition_on_all_three_byte_starts, encodes_and_decodes_every_code_point,
        names_the_first_bad_byte_wherever_it_stands, refuses_a_sequence_that_the_end_cuts_off,
        counts_code_points, clips_between_code_points)
