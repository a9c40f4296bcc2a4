/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Bounded growing buffer: doubles its memory up to the declared maximum, keeps a NUL after the
 * content. */
#include "base/memory/buf.h"
#include "base/memory/mem.h"

#include <stdio.h>
#include <string.h>

enum { SMALLEST = 64 };

void dg_buf_init(struct dg_buf *buf, size_t max)
{
    *buf = (struct dg_buf){.max = max};
}

void dg_buf_deinit(struct dg_buf *buf)
{
    dg_free(buf->ptr);
    *buf = (struct dg_buf){.max = buf->max};
}

enum dg_err dg_buf_reserve(struct dg_buf *buf, size_t more)
{
    if (more > buf->max - buf->len)
        return DG_ERR_LIMIT;
    size_t needed;
    if (!dg_add(buf->len + more, 1, &needed))
        return DG_ERR_LIMIT;
    if (needed <= buf->cap)
        return DG_OK;
    size_t cap = buf->cap ? buf->cap : SMALLEST;
    while (cap < needed)
        if (!dg_mul(cap, 2, &cap))
            cap = needed;
    if (cap - 1 > buf->max)
        cap = buf->max + 1;
    char *grown = dg_try_realloc(buf->ptr, cap);
    if (!grown)
        return DG_ERR_NOMEM;
    buf->ptr = grown;
    buf->cap = cap;
    buf->ptr[buf->len] = '\0';
    return DG_OK;
}

enum dg_err dg_buf_append(struct dg_buf *buf, const void *bytes, size_t len)
{
    enum dg_err err = dg_buf_reserve(buf, len);
    if (err)
        return err;
    if (len)
        memcpy(buf->ptr + buf->len, bytes, len);
    buf->len += len;
    buf->ptr[buf->len] = '\0';
    return DG_OK;
}

enum dg_err dg_buf_append_span(struct dg_buf *buf, struct dg_span text)
{
    return dg_buf_append(buf, text.ptr, text.len);
}

enum dg_err dg_buf_append_cstr(struct dg_buf *buf, const char *text)
{
    return dg_buf_append(buf, text, strlen(text));
}

enum dg_err dg_buf_append_byte(struct dg_buf *buf, char byte)
{
    return dg_buf_append(buf, &byte, 1);
}

enum dg_err dg_buf_printf(struct dg_buf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    enum dg_err err = dg_buf_vprintf(buf, fmt, args);
    va_end(args);
    return err;
}

enum dg_err dg_buf_vprintf(struct dg_buf *buf, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    const size_t room = buf->cap > buf->len ? buf->cap - buf->len : 0;
    const int len = vsnprintf(room ? buf->ptr + buf->len : NULL, room, fmt, args);
    enum dg_err err = len < 0 ? DG_ERR_INVALID : DG_OK;
    if (!err && (size_t)len >= room && !(err = dg_buf_reserve(buf, (size_t)len)))
        vsnprintf(buf->ptr + buf->len, (size_t)len + 1, fmt, again);
    if (!err)
        buf->len += (size_t)len;
    else if (room)
        buf->ptr[buf->len] = '\0';
    va_end(again);
    return err;
}

void dg_buf_clear(struct dg_buf *buf)
{
    dg_buf_truncate(buf, 0);
}

void dg_buf_consume(struct dg_buf *buf, size_t len)
{
    if (len > buf->len)
        len = buf->len;
    if (len == 0)
        return;
    memmove(buf->ptr, buf->ptr + len, buf->len - len);
    dg_buf_truncate(buf, buf->len - len);
}

void dg_buf_truncate(struct dg_buf *buf, size_t len)
{
    if (len >= buf->len)
        return;
    buf->len = len;
    buf->ptr[len] = '\0';
}
