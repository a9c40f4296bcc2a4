/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The matchers of protect.c. Each looks at `text` from `at` on and returns the end of what it
 * recognises, or 0. None looks beyond its match by more than a fixed number of bytes. Private to
 * protect*.c. */
#ifndef DG_TEXT_TERMS_PROTECT_INT_H
#define DG_TEXT_TERMS_PROTECT_INT_H

#include "base/memory/span.h"
#include "base/memory/chars.h"
#include "text/terms/protect.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool dg_protect_is_alnum(char c)
{
    return dg_chars_is_digit(c) || dg_chars_is_letter(c);
}

/* The byte at `at`, or 0 after the end. */
static inline char dg_protect_byte(struct dg_span text, size_t at)
{
    return at < text.len ? text.ptr[at] : '\0';
}

/* protect_name.c: spans that look like words */
size_t dg_protect_token_end(struct dg_span text, size_t at);
size_t dg_protect_match_url(struct dg_span text, size_t at);
size_t dg_protect_match_token(struct dg_span text, size_t at, size_t token_end,
                              enum dg_protect_kind *kind);
size_t dg_protect_match_mention(struct dg_span text, size_t at);
size_t dg_protect_match_hashtag(struct dg_span text, size_t at);

/* protect_mark.c: spans that a punctuation mark introduces */
size_t dg_protect_match_braces(struct dg_span text, size_t at);
size_t dg_protect_match_reference(struct dg_span text, size_t at);
size_t dg_protect_match_percent(struct dg_span text, size_t at, enum dg_protect_kind *kind);
size_t dg_protect_match_variable(struct dg_span text, size_t at);
size_t dg_protect_match_shortcode(struct dg_span text, size_t at);
size_t dg_protect_match_emoji(struct dg_span text, size_t at);

/* protect_number.c */
size_t dg_protect_match_number(struct dg_span text, size_t at);

#endif
