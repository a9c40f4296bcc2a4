/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One whole body as one gzip member (RFC 1952), for answers.
 *
 *     err = dg_gzip(&buf, text);            appends to buf; buf's maximum is respected
 *
 * Level 1: on translations it is within a tenth of level 6's size at a third of its time, and the
 * time is the loop thread's. Any thread. */
#ifndef DG_NET_PROTO_GZIP_H
#define DG_NET_PROTO_GZIP_H

#include "base/memory/buf.h"
#include "base/memory/err.h"
#include "base/memory/span.h"

/* DG_ERR_NOMEM, or DG_ERR_LIMIT of the buffer; then the buffer is as it was. */
enum dg_err dg_gzip(struct dg_buf *buf, struct dg_span text) DG_MUST_CHECK;

#endif
