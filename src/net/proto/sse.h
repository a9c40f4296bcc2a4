/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writes server-sent events (WHATWG HTML, section 9.2) to a buffer.
 *
 *     err = dg_sse_event(&buf, "token", id, json);      id: 7\nevent: token\ndata: {...}\n\n
 *
 * Data of several lines becomes several data fields, which the reader joins with LF. CR and CR LF
 * end a line too, because readers treat them so. Any thread. */
#ifndef DG_NET_PROTO_SSE_H
#define DG_NET_PROTO_SSE_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

/* `event` is a literal of ours, and `id` one line of ours; NULL and empty for none. */
enum dg_err dg_sse_event(struct dg_buf *buf, const char *event, struct dg_span id,
                         struct dg_span data) DG_MUST_CHECK;

#endif
