/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One event: an optional id, an optional name, one data field per line, an empty line. */
#include "net/proto/sse.h"

/* Cuts the first line off `rest`; false when that was the last. */
static bool cut_line(struct dg_span *rest, struct dg_span *line)
{
    size_t end = 0;
    while (end < rest->len && rest->ptr[end] != '\n' && rest->ptr[end] != '\r')
        end++;
    *line = dg_span_sub(*rest, 0, end);
    bool more = end < rest->len;
    bool pair = end + 1 < rest->len && rest->ptr[end] == '\r' && rest->ptr[end + 1] == '\n';
    *rest = dg_span_sub(*rest, end + 1 + pair, rest->len);
    return more;
}

enum dg_err dg_sse_event(struct dg_buf *buf, const char *event, struct dg_span id,
                         struct dg_span data)
{
    size_t before = buf->len;
    enum dg_err err = id.len > 0 ? dg_buf_printf(buf, "id: %.*s\n", DG_SPAN_FMT(id)) : DG_OK;
    if (!err && event)
        err = dg_buf_printf(buf, "event: %s\n", event);
    struct dg_span rest = data;
    bool more = true;
    while (!err && more) {
        struct dg_span line;
        more = cut_line(&rest, &line);
        err = dg_buf_append_cstr(buf, "data: ");
        if (!err)
            err = dg_buf_append_span(buf, line);
        if (!err)
            err = dg_buf_append_byte(buf, '\n');
    }
    if (!err)
        err = dg_buf_append_byte(buf, '\n');
    if (err)
        dg_buf_truncate(buf, before);
    return err;
}
