/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Small things about ASCII characters and words that several readers need. */
#ifndef DG_BASE_MEMORY_CHARS_H
#define DG_BASE_MEMORY_CHARS_H

#include "base/memory/span.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#define DG_CHARS_SPACE " \t\r\n"

static inline bool dg_chars_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* One of DG_CHARS_SPACE. */
static inline bool dg_chars_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static inline bool dg_chars_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool dg_chars_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

enum { DG_CHARS_DIGITS = 20 }; /* the most digits of a number, to base 10 or 16 */

/* The digits of a number to base 10 or 16, at least `n_min` of them; they lie in `room`. */
static inline struct dg_span dg_chars_digits(uint64_t number, unsigned base, size_t n_min,
                                             char room[DG_CHARS_DIGITS])
{
    size_t at = DG_CHARS_DIGITS;
    do {
        room[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number || DG_CHARS_DIGITS - at < n_min);
    return dg_span_make(room + at, DG_CHARS_DIGITS - at);
}

/* Whether `text` is one of `words`, a list that ends with NULL. */
static inline bool dg_chars_is_one_of(struct dg_span text, const char *const *words)
{
    while (*words && !dg_span_eq(text, dg_span_cstr(*words)))
        words++;
    return *words != NULL;
}

/* The same where capitals make no difference. */
static inline bool dg_chars_is_one_of_any_case(struct dg_span text, const char *const *words)
{
    while (*words && (text.len != strlen(*words) || strncasecmp(text.ptr, *words, text.len) != 0))
        words++;
    return *words != NULL;
}

/* `text` without the characters of `blanks` at its two ends. A NUL is not a blank. */
static inline struct dg_span dg_chars_trim(struct dg_span text, const char *blanks)
{
    const size_t n = strlen(blanks);
    while (text.len && memchr(blanks, text.ptr[0], n))
        text = dg_span_sub(text, 1, text.len);
    while (text.len && memchr(blanks, text.ptr[text.len - 1], n))
        text.len--;
    return text;
}

static inline struct dg_span dg_chars_trim_space(struct dg_span text)
{
    return dg_chars_trim(text, DG_CHARS_SPACE);
}

static inline bool dg_chars_is_all_space(struct dg_span text)
{
    return dg_chars_trim_space(text).len == 0;
}

/* 0 to 15, or -1 when it is not a hexadecimal digit. */
static inline int dg_chars_hex(char c)
{
    const char low = (char)(c | 0x20);
    return c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* Whether `word` stands anywhere in the text. */
static inline bool dg_chars_holds(struct dg_span text, const char *word)
{
    return dg_span_find_cstr(text, 0, word) < text.len;
}

#endif
