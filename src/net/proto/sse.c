/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One event: an optional id, an optional name, one data field, an empty line. */
#include "net/proto/sse.h"

/* Appends a field without its end. */
static enum dg_err put(struct dg_buf *buf, const char *name, struct dg_span value)
{
    enum dg_err err = dg_buf_append_cstr(buf, name);
    return err ? err : dg_buf_append_span(buf, value);
}

enum dg_err dg_sse_open(struct dg_buf *buf, const char *event, struct dg_span id)
{
    enum dg_err err = DG_OK;
    if (id.len > 0)
        err = put(buf, "id: ", id);
    if (!err && event)
        err = put(buf, id.len > 0 ? "\nevent: " : "event: ", dg_span_cstr(event));
    if (!err)
        err = dg_buf_append_cstr(buf, id.len > 0 || event ? "\ndata: " : "data: ");
    return err;
}

enum dg_err dg_sse_close(struct dg_buf *buf)
{
    return dg_buf_append_cstr(buf, "\n\n");
}
