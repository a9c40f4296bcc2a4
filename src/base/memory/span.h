/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A span: text as pointer and length. A span borrows its bytes; their owner keeps them alive. Text
 * is passed as spans, not as NUL-terminated strings, because NUL is legal input.
 *
 *     if (dg_span_eq(key, DG_SPAN("target"))) ... */
#ifndef DG_BASE_MEMORY_SPAN_H
#define DG_BASE_MEMORY_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct dg_span {
    const char *ptr; /* may be NULL when len is 0 */
    size_t len;      /* bytes */
};

/* A span over a string literal. */
#define DG_SPAN(literal) ((struct dg_span){"" literal, sizeof(literal) - 1})

/* For printf("%.*s", DG_SPAN_FMT(span)). The span must be shorter than INT_MAX bytes. */
#define DG_SPAN_FMT(span) ((int)(span).len), ((span).ptr ? (span).ptr : "")

static inline struct dg_span dg_span_make(const char *ptr, size_t len)
{
    return (struct dg_span){ptr, len};
}

static inline struct dg_span dg_span_cstr(const char *text)
{
    return (struct dg_span){text, text ? strlen(text) : 0};
}

static inline bool dg_span_eq(struct dg_span a, struct dg_span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool dg_span_starts(struct dg_span text, struct dg_span start)
{
    return text.len >= start.len && (start.len == 0 || memcmp(text.ptr, start.ptr, start.len) == 0);
}

static inline bool dg_span_ends(struct dg_span text, struct dg_span end)
{
    return text.len >= end.len &&
           (end.len == 0 || memcmp(text.ptr + (text.len - end.len), end.ptr, end.len) == 0);
}

/* Where `what`, which is not empty, begins in `text` at offset `from` or later; text.len: nowhere.
 */
static inline size_t dg_span_find(struct dg_span text, size_t from, struct dg_span what)
{
    while (what.len <= text.len && from <= text.len - what.len) {
        const char *first = memchr(text.ptr + from, what.ptr[0], text.len - what.len - from + 1);
        if (!first)
            break;
        if (memcmp(first, what.ptr, what.len) == 0)
            return (size_t)(first - text.ptr);
        from = (size_t)(first - text.ptr) + 1;
    }
    return text.len;
}

static inline size_t dg_span_find_cstr(struct dg_span text, size_t from, const char *what)
{
    return dg_span_find(text, from, dg_span_cstr(what));
}

/* At most `len` bytes of the text from offset `from` on; both are clipped to the text. */
static inline struct dg_span dg_span_sub(struct dg_span text, size_t from, size_t len)
{
    if (from > text.len)
        from = text.len;
    if (len > text.len - from)
        len = text.len - from;
    return (struct dg_span){text.ptr ? text.ptr + from : NULL, len};
}

#endif
