/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Output on its way: what a machine has made and its peer has not taken yet.
 *
 *     err = dg_out_append(&out, bytes, len);
 *     err = dg_out_give(&out, &answer);              a large one: its memory is taken, not copied
 *     struct dg_span next = dg_out_span(&out);       what to write next, not always all of it
 *     dg_out_written(&out, n);                       n bytes of it were
 *     dg_out_take(&out, &piece);                     or a piece goes to a write that ends later,
 * told by dg_out_written
 *
 * However much there is, each call takes the time of a piece; but what is given behind a rest that
 * is not out is copied. One thread. */
#ifndef DG_NET_PROTO_OUT_H
#define DG_NET_PROTO_OUT_H

#include "base/memory/buf.h"

enum { DG_OUT_PIECE = 512 * 1024 };

struct dg_out {
    struct dg_buf first; /* goes out before the rest */
    struct dg_buf rest;  /* when there is much */
    size_t at;           /* so much of the rest is out */
    size_t taken;        /* bytes taken and not reported as written */
};

void dg_out_init(struct dg_out *out);
void dg_out_deinit(struct dg_out *out);

enum dg_err dg_out_append(struct dg_out *out, const void *bytes, size_t len) DG_MUST_CHECK;

/* Takes the memory of `buf`, which is empty then; on failure nothing changes. */
enum dg_err dg_out_give(struct dg_out *out, struct dg_buf *buf) DG_MUST_CHECK;

/* Bytes that are not written, taken ones among them; and those that are not even taken. */
size_t dg_out_unwritten(const struct dg_out *out);
size_t dg_out_left(const struct dg_out *out);

struct dg_span dg_out_span(const struct dg_out *out);
void dg_out_written(struct dg_out *out, size_t len);

/* `into` is an initialised empty buffer, whose memory may be taken in exchange. */
void dg_out_take(struct dg_out *out, struct dg_buf *into);

/* Puts `buf` in front of what is there, of which nothing is out; takes its memory. */
enum dg_err dg_out_prepend(struct dg_out *out, struct dg_buf *buf) DG_MUST_CHECK;

/* Frees memory that holds nothing. */
void dg_out_trim(struct dg_out *out);

#endif
