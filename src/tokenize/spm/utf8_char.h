/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One UTF-8 character at a time, by the rules that SentencePiece models are used with: two to four
 * byte forms, no overlong forms, no surrogates, nothing above U+10FFFF. Whatever is not a character
 * is one malformed byte.
 *
 *     size_t len = dg_utf8_char_len(at, end);
 *     if (len == 0)
 *         ... one malformed byte ... */
#ifndef DG_TOKENIZE_SPM_UTF8_CHAR_H
#define DG_TOKENIZE_SPM_UTF8_CHAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* U+FFFD, which stands for a malformed byte, and U+2581, which stands for a space inside pieces. */
#define DG_UTF8_CHAR_BAD   "\xEF\xBF\xBD"
#define DG_UTF8_CHAR_SPACE "\xE2\x96\x81"

static inline bool dg_utf8_char_is_trail(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Bytes of the well-formed character at `at` (at < end), or 0. */
static inline size_t dg_utf8_char_len(const uint8_t *at, const uint8_t *end)
{
    uint8_t lead = at[0];
    size_t left = (size_t)(end - at);
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4 || left < 2 || !dg_utf8_char_is_trail(at[1]))
        return 0;
    if (lead < 0xE0)
        return 2;
    if (left < 3 || !dg_utf8_char_is_trail(at[2]))
        return 0;
    if (lead < 0xF0) {
        if ((lead == 0xE0 && at[1] < 0xA0) || (lead == 0xED && at[1] > 0x9F))
            return 0;
        return 3;
    }
    if (left < 4 || !dg_utf8_char_is_trail(at[3]))
        return 0;
    if ((lead == 0xF0 && at[1] < 0x90) || (lead == 0xF4 && at[1] > 0x8F))
        return 0;
    return 4;
}

/* True when the bytes are the beginning of a well-formed character that needs more bytes. */
static inline bool dg_utf8_char_is_partial(const uint8_t *at, const uint8_t *end)
{
    size_t left = (size_t)(end - at);
    if (left == 0 || left >= 4 || at[0] < 0xC2 || at[0] > 0xF4)
        return false;
    uint8_t whole[4] = {at[0], 0x80, 0x80, 0x80};
    if (at[0] == 0xE0)
        whole[1] = 0xA0;
    if (at[0] == 0xF0)
        whole[1] = 0x90;
    for (size_t i = 1; i < left; i++)
        whole[i] = at[i];
    size_t len = dg_utf8_char_len(whole, whole + 4);
    return len > left;
}

/* Bytes that the lead byte promises, 1 to 4, without looking further: how the segmenters count
 * characters of text that was normalised before. */
static inline size_t dg_utf8_char_lead_len(uint8_t lead)
{
    return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

#endif
