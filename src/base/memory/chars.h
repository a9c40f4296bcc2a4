/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Small things about ASCII characters that several readers need. */
#ifndef DG_BASE_MEMORY_CHARS_H
#define DG_BASE_MEMORY_CHARS_H

#include "base/memory/span.h"

#include <string.h>

/* `text` without those of `blanks` at both its ends. A NUL is no blank. */
static inline struct dg_span dg_chars_trim(struct dg_span text, const char *blanks)
{
    const size_t n = strlen(blanks);
    while (text.len && memchr(blanks, text.ptr[0], n))
        text = dg_span_sub(text, 1, text.len);
    while (text.len && memchr(blanks, text.ptr[text.len - 1], n))
        text.len--;
    return text;
}

/* 0 to 15, or -1 when it is no hexadecimal digit. */
static inline int dg_chars_hex(char c)
{
    const char low = (char)(c | 0x20);
    return c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

#endif
