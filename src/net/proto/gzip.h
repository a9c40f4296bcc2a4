/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Compresses the whole body of an answer into one gzip member (RFC 1952).
 *
 *     err = dg_gzip(&buf, text);            appends to buf; buf's maximum is respected
 *
 * The level is 1: on translations the result is at most a tenth larger than that of level 6, in a
 * third of the time. That matters because compression blocks the loop's thread. Any thread. */
#ifndef DG_NET_PROTO_GZIP_H
#define DG_NET_PROTO_GZIP_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

/* DG_ERR_NOMEM, or DG_ERR_LIMIT of the buffer; in either case the buffer is unchanged. */
enum dg_err dg_gzip(struct dg_buf *buf, struct dg_span text) DG_MUST_CHECK;

#endif
