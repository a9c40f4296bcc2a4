/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writes server-sent events (WHATWG HTML, section 9.2) to a buffer.
 *
 *     err = dg_sse_open(&buf, "token", id);             id: 7\nevent: token\ndata:
 *     ...                                               append the data, one line: {...}
 *     err = dg_sse_close(&buf);                         \n\n
 *
 * Any thread. */
#ifndef DG_NET_PROTO_SSE_H
#define DG_NET_PROTO_SSE_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

/* `event` is a literal of ours, and `id` one line of ours; NULL and empty for none. A failure may
 * leave the beginning of the event in the buffer. */
enum dg_err dg_sse_open(struct dg_buf *buf, const char *event, struct dg_span id) DG_MUST_CHECK;
enum dg_err dg_sse_close(struct dg_buf *buf) DG_MUST_CHECK;

#endif
