/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Pending output: what a machine has produced and its peer has not taken yet.
 *
 *     err = dg_output_append(&out, bytes, len);
 *     err = dg_output_give(&out, &answer);              a large answer: takes its memory
 *     struct dg_span next = dg_output_span(&out);       what to write next, not always everything
 *     dg_output_written(&out, n);                       n bytes of it were written
 *     dg_output_take(&out, &piece);                     or a piece goes to an asynchronous write,
 *                                                    whose end dg_output_written reports
 *
 * However much output there is, each call takes only the time of one piece, except that
 * dg_output_give copies while an earlier `rest` is unwritten. One thread. */
#ifndef DG_NET_PROTO_OUTPUT_H
#define DG_NET_PROTO_OUTPUT_H

#include "base/memory/buf.h"

enum { DG_OUTPUT_PIECE = 512 * 1024, DG_OUTPUT_KEPT = 1024 };

struct dg_output {
    struct dg_buf first; /* is written before the rest */
    struct dg_buf rest;  /* used when there is much output */
    size_t at;           /* bytes of the rest that are out already */
    size_t taken;        /* bytes taken and not reported as written */
};

void dg_output_init(struct dg_output *out);
void dg_output_deinit(struct dg_output *out);

enum dg_err dg_output_append(struct dg_output *out, const void *bytes, size_t len) DG_MUST_CHECK;

/* Takes the memory of `buf`, which is empty afterwards; on failure nothing changes. */
enum dg_err dg_output_give(struct dg_output *out, struct dg_buf *buf) DG_MUST_CHECK;

/* The bytes not yet written, taken ones included, and the bytes not yet taken. */
size_t dg_output_unwritten(const struct dg_output *out);
size_t dg_output_left(const struct dg_output *out);

/* The memory of the output that was not written yet. */
size_t dg_output_memory(const struct dg_output *out);

struct dg_span dg_output_span(const struct dg_output *out);
void dg_output_written(struct dg_output *out, size_t len);

/* `into` is an initialised empty buffer, whose memory may be taken in exchange. */
void dg_output_take(struct dg_output *out, struct dg_buf *into);

/* Puts `buf` before the present output, none of which may be written yet; takes its memory. */
enum dg_err dg_output_prepend(struct dg_output *out, struct dg_buf *buf) DG_MUST_CHECK;

/* Frees memory that holds nothing and is more than a stream of small messages uses again and again:
 * an idle connection keeps DG_OUTPUT_KEPT bytes at most. */
void dg_output_trim(struct dg_output *out);

#endif
