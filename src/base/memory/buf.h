/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A byte buffer that grows up to a maximum fixed by dg_buf_init.
 *
 *     struct dg_buf buf;
 *     dg_buf_init(&buf, 64 * 1024);                       nothing is allocated yet
 *     err = dg_buf_append(&buf, bytes, len);              DG_ERR_LIMIT past 64 KiB
 *     err = dg_buf_printf(&buf, "%d tokens", n);
 *     struct dg_span text = dg_buf_span(&buf);            borrowed until the next change
 *     dg_buf_deinit(&buf);                                mirror of init
 *
 * A failed call leaves the content as it was. The bytes are followed by a NUL that is not counted,
 * so that `buf.ptr` can be given to C functions when the content is known to be text. One thread.
 */
#ifndef DG_BASE_MEMORY_BUF_H
#define DG_BASE_MEMORY_BUF_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdarg.h>
#include <stddef.h>

struct dg_buf {
    char *ptr;  /* owned; NULL until the first byte */
    size_t len; /* bytes in use */
    size_t cap; /* bytes allocated */
    size_t max; /* `len` never passes this */
};

void dg_buf_init(struct dg_buf *buf, size_t max);
void dg_buf_deinit(struct dg_buf *buf);

/* Makes room for `more` bytes after the content; DG_ERR_LIMIT or DG_ERR_NOMEM. */
enum dg_err dg_buf_reserve(struct dg_buf *buf, size_t more) DG_MUST_CHECK;

enum dg_err dg_buf_append(struct dg_buf *buf, const void *bytes, size_t len) DG_MUST_CHECK;
enum dg_err dg_buf_append_span(struct dg_buf *buf, struct dg_span text) DG_MUST_CHECK;
enum dg_err dg_buf_append_cstr(struct dg_buf *buf, const char *text) DG_MUST_CHECK;
enum dg_err dg_buf_append_byte(struct dg_buf *buf, char byte) DG_MUST_CHECK;
enum dg_err dg_buf_printf(struct dg_buf *buf, const char *fmt, ...) DG_PRINTF(2, 3) DG_MUST_CHECK;
enum dg_err dg_buf_vprintf(struct dg_buf *buf, const char *fmt, va_list args)
    DG_PRINTF(2, 0) DG_MUST_CHECK;

/* Empties the buffer and keeps its memory. */
void dg_buf_clear(struct dg_buf *buf);

/* Drops `len` bytes (or all, if there are fewer) from the front; the rest moves there. */
void dg_buf_consume(struct dg_buf *buf, size_t len);

/* Shortens the content to `len` bytes; shorter content stays as it is. */
void dg_buf_truncate(struct dg_buf *buf, size_t len);

static inline struct dg_span dg_buf_span(const struct dg_buf *buf)
{
    return (struct dg_span){buf->ptr, buf->len};
}

#endif
