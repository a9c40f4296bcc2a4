/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* zlib in one call: room for the worst case is reserved first, so that deflate() finishes at once.
 */
#include "net/proto/gzip.h"

#include <limits.h>
#include <zlib.h>

enum { LEVEL = 1, WINDOW_GZIP = 15 + 16, MEM_LEVEL = 8 };

enum dg_err dg_gzip(struct dg_buf *buf, struct dg_span text)
{
    if (text.len > UINT_MAX / 2)
        return DG_ERR_LIMIT;
    z_stream stream = {.zalloc = Z_NULL};
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, WINDOW_GZIP, MEM_LEVEL, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return DG_ERR_NOMEM;
    uLong room = deflateBound(&stream, (uLong)text.len);
    enum dg_err err = dg_buf_reserve(buf, room);
    if (!err) {
        stream.next_in = (Bytef *)(text.len ? text.ptr : ""); /* zlib's own API lacks the const */
        stream.avail_in = (uInt)text.len;
        stream.next_out = (Bytef *)buf->ptr + buf->len;
        stream.avail_out = (uInt)room;
        if (deflate(&stream, Z_FINISH) == Z_STREAM_END) {
            buf->len += stream.total_out;
            buf->ptr[buf->len] = '\0';
        } else {
            err = DG_ERR_NOMEM;
        }
    }
    deflateEnd(&stream);
    return err;
}
