/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* UTF-8 after the Unicode standard's table 3-7 ("well-formed byte sequences"): the first byte
 * decides the length and the range of the second byte, all later ones are 80..BF.
 *
 * Most text is largely ASCII, so validation and counting look at 8 bytes at once: a byte is ASCII
 * exactly when its top bit is clear. */
#include "base/memory/utf8.h"

static const uint64_t top_bits = 0x8080808080808080u;

static uint64_t load64(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Length of the sequence at the start of `s`, of which `n` > 0 bytes are there; 0 if not valid. */
static size_t sequence(const unsigned char *s, size_t n)
{
    unsigned char first = s[0];
    if (first < 0x80)
        return 1;
    if (first < 0xC2 || first > 0xF4) /* a stray continuation, an overlong form, past U+10FFFF */
        return 0;
    size_t len = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (n < len)
        return 0;
    unsigned char low = 0x80, high = 0xBF;
    if (first == 0xE0)
        low = 0xA0; /* shorter would do */
    else if (first == 0xED)
        high = 0x9F; /* surrogates */
    else if (first == 0xF0)
        low = 0x90;
    else if (first == 0xF4)
        high = 0x8F; /* past U+10FFFF */
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++)
        if (!is_continuation(s[i]))
            return 0;
    return len;
}

/* The bytes before the first one in memory whose bit is set in `word`, which has one. */
static size_t bytes_before(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (size_t)__builtin_clzll(word) / 8;
#else
    return (size_t)__builtin_ctzll(word) / 8;
#endif
}

/* Where the next byte that is not ASCII is, from `at` on. */
static size_t skip_ascii(struct dg_span text, size_t at)
{
    while (text.len - at >= 32) {
        const char *p = text.ptr + at;
        if ((load64(p) | load64(p + 8) | load64(p + 16) | load64(p + 24)) & top_bits)
            break;
        at += 32;
    }
    for (; text.len - at >= 8; at += 8) {
        const uint64_t word = load64(text.ptr + at) & top_bits;
        if (word)
            return at + bytes_before(word);
    }
    while (at < text.len && !((unsigned char)text.ptr[at] & 0x80))
        at++;
    return at;
}

bool dg_utf8_valid(struct dg_span text, size_t *bad_at)
{
    size_t at = skip_ascii(text, 0);
    while (at < text.len) {
        const size_t len = sequence((const unsigned char *)text.ptr + at, text.len - at);
        if (len == 0) {
            if (bad_at)
                *bad_at = at;
            return false;
        }
        at += len;
        if (at < text.len && !((unsigned char)text.ptr[at] & 0x80)) /* letters that are not ASCII
                                                                       come in runs */
            at = skip_ascii(text, at);
    }
    return true;
}

size_t dg_utf8_decode(struct dg_span text, size_t at, uint32_t *cp)
{
    if (at >= text.len)
        return 0;
    const unsigned char *s = (const unsigned char *)text.ptr + at;
    size_t len = sequence(s, text.len - at);
    switch (len) {
    case 1:
        *cp = s[0];
        break;
    case 2:
        *cp = (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu);
        break;
    case 3:
        *cp = (s[0] & 0x0Fu) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
        break;
    case 4:
        *cp = (s[0] & 0x07u) << 18 | (s[1] & 0x3Fu) << 12 | (s[2] & 0x3Fu) << 6 | (s[3] & 0x3Fu);
        break;
    default:
        break;
    }
    return len;
}

size_t dg_utf8_encode(uint32_t cp, char out[DG_UTF8_MAX_LEN])
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if ((cp >= 0xD800 && cp <= 0xDFFF) || cp > 0x10FFFF)
        return 0;
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        out[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}

size_t dg_utf8_count(struct dg_span text)
{
    static const uint64_t low_bits = 0x0101010101010101u, even_bytes = 0x00FF00FF00FF00FFu;
    size_t n_continuations = 0;
    size_t at = 0;
    while (text.len - at >= 8) {
        size_t n = (text.len - at) / 8;
        uint64_t sums = 0; /* one in each byte, which has room for 255 */
        for (n = n < 255 ? n : 255; n > 0; n--, at += 8) {
            const uint64_t word = load64(text.ptr + at);
            /* 10xxxxxx: the top bit is set and the one below it is not. */
            sums += (word & ~(word << 1)) >> 7 & low_bits;
        }
        sums = (sums & even_bytes) + (sums >> 8 & even_bytes);
        n_continuations += (size_t)(sums * 0x0001000100010001u >> 48);
    }
    for (; at < text.len; at++)
        n_continuations += is_continuation((unsigned char)text.ptr[at]);
    return text.len - n_continuations;
}

struct dg_span dg_utf8_clip(struct dg_span text, size_t max)
{
    if (text.len <= max)
        return text;
    size_t len = max;
    while (len > 0 && max - len < 3 && is_continuation((unsigned char)text.ptr[len]))
        len--;
    if (is_continuation((unsigned char)text.ptr[len]))
        len = max; /* not UTF-8: cutting anywhere is as good */
    return dg_span_sub(text, 0, len);
}

bool dg_cp_is_unspaced(uint32_t cp)
{
    return (cp >= 0x2E80 && cp <= 0xA4CF) || (cp >= 0xF900 && cp <= 0xFAFF) ||
           (cp >= 0x20000 && cp <= 0x3FFFF) || (cp >= 0x0E00 && cp <= 0x0EFF) ||
           (cp >= 0x1000 && cp <= 0x109F) || (cp >= 0x1780 && cp <= 0x17FF);
}

bool dg_cp_is_sign(uint32_t cp)
{
    return (cp >= 0xA0 && cp < 0xC0 && cp != 0xAA && cp != 0xB5 && cp != 0xBA) || cp == 0xD7 ||
           cp == 0xF7 || (cp >= 0x2000 && cp < 0x2C00) || (cp >= 0x3000 && cp < 0x3040) ||
           (cp >= 0xFE00 && cp < 0xFE70) || (cp >= 0xFF00 && cp < 0xFF10) ||
           (cp >= 0x1F000 && cp < 0x1FB00);
}
